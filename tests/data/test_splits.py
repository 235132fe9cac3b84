"""Splits: disjoint parts that cover what they are given, the same each time."""

import numpy as np
import pytest

from data.errors import DataError
from data.splits import consecutive, evenly_spaced, read_folds, read_nested_folds, scikit_folds, stratified_folds


def test_parts_one_after_the_other():
    split = consecutive({"train": 3, "val": 0, "test": 2})
    assert {part: graphs.tolist() for part, graphs in split.items()} == {"train": [0, 1, 2], "val": [], "test": [3, 4]}


def test_each_graph_is_tested_in_one_fold_and_classes_are_balanced():
    labels = np.repeat([0, 1, 2], [10, 20, 15])
    folds = list(stratified_folds(labels, 5, np.random.RandomState(0)))
    assert sorted(np.concatenate([fold["test"] for fold in folds])) == list(range(45))
    for fold, following in zip(folds, folds[1:] + folds[:1], strict=True):
        assert sorted(np.concatenate(list(fold.values()))) == list(range(45))
        assert np.array_equal(fold["val"], following["test"])
        assert np.bincount(labels[fold["test"]]).tolist() == [2, 4, 3]


def test_evenly_spaced_graphs_reach_from_the_first_to_the_last():
    assert evenly_spaced(np.arange(10), 4).tolist() == [0, 3, 6, 9]
    assert evenly_spaced(np.arange(3), 4).tolist() == [0, 1, 2]


@pytest.mark.parametrize("seed", [0, 123])
def test_folds_of_scikit_learn(seed):
    """Classes of 23, 9 and 15, whose first members stand in another order than their numbers."""
    from sklearn.model_selection import StratifiedKFold

    labels = np.random.RandomState(1).permutation(np.repeat([0, 1, 2], [23, 9, 15]))
    labels[0] = 2
    parts = [test for _, test in StratifiedKFold(5, shuffle=True, random_state=seed).split(labels, labels)]
    for f, fold in enumerate(scikit_folds(labels, 5, seed)):
        assert fold["test"].tolist() == parts[f].tolist() and fold["val"].tolist() == parts[(f + 1) % 5].tolist()
        assert sorted(np.concatenate(list(fold.values())).tolist()) == list(range(47))


FOLD = '{"test": [0], "model_selection": [{"train": [1, 2], "validation": [3]}]}'
BAD = [
    (FOLD.replace("3", "0.5"), "fold 0, val: 0.5: expected whole numbers"),
    (FOLD.replace("3", "2"), "fold 0: expected different graphs from 0 to 3"),
    (FOLD.replace("3", "18446744073709551616"), "fold 0, val: values of type object: expected whole numbers"),
    (FOLD.replace('"train"', '"validation": [0], "train"'), "the key 'validation' is there twice"),
    ("", "no folds"),
]


@pytest.mark.parametrize(("fold", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_folds_of_the_fair_comparison(tmp_path, fold, message):
    path = tmp_path / "splits.json"
    path.write_text(f"[{FOLD}]")
    assert read_nested_folds(path, 4)[0]["val"].tolist() == [3]
    path.write_text(f"[{fold}]")
    with pytest.raises(DataError, match=message):
        read_nested_folds(path, 4)


def test_an_index_file_without_folds(tmp_path):
    (tmp_path / "a.index").write_text("\n")
    with pytest.raises(DataError, match=r"a.index: no line of graph numbers"):
        read_folds([tmp_path / "a.index"], 3)
