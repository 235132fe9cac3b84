"""Every metric equals scikit-learn's over the whole split, whatever the batches."""

import sys
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk

from train.metrics import MAE, Accuracy, BinaryF1, HitsAtK, WeightedAccuracy


def all_in_batches(metric, scores, y, cuts):
    """{name: value} of a metric that sees the items in batches."""
    for a, b in zip([0, *cuts], [*cuts, len(y)], strict=True):
        metric.update(scores[a:b], y[a:b])
    values = metric.compute()
    assert list(values) == [measure.name for measure in metric.measures]
    assert all(measure.allows(values[measure.name]) for measure in metric.measures)
    return values


def in_batches(metric, scores, y, cuts):
    """The first value, which selects."""
    return all_in_batches(metric, scores, y, cuts)[metric.measures[0].name]


@st.composite
def classification(draw, n_classes=4):
    n = draw(st.integers(1, 40))
    random = np.random.RandomState(draw(st.integers(0, 2**31)))
    y = torch.from_numpy(random.randint(0, draw(st.integers(1, n_classes)), n))  # classes may be absent
    scores = torch.from_numpy(random.randn(n, n_classes))
    return scores, y, sorted(draw(st.lists(st.integers(0, n), max_size=5)))


@given(classification())
def test_accuracy_is_scikit_learns(case):
    scores, y, cuts = case
    assert in_batches(Accuracy(), scores, y, cuts) == pytest.approx(100 * sk.accuracy_score(y, scores.argmax(1)))


@given(classification())
def test_weighted_accuracy_is_the_mean_recall_of_the_classes_that_occur(case):
    scores, y, cuts = case
    expected = sk.recall_score(y, scores.argmax(1), labels=np.unique(y), average="macro")
    assert in_batches(WeightedAccuracy(4), scores, y, cuts) == pytest.approx(100 * expected)


@given(classification(n_classes=2))
def test_f1_is_scikit_learns(case):
    scores, y, cuts = case
    expected = sk.f1_score(y, scores.argmax(1), zero_division=0)
    assert in_batches(BinaryF1(), scores, y, cuts) == pytest.approx(expected)


@given(st.integers(1, 40), st.integers(0, 2**31), st.integers(1, 3))
def test_mae_is_scikit_learns(n, seed, n_targets):
    random = np.random.RandomState(seed)
    y, scores = torch.from_numpy(random.randn(n, n_targets)), torch.from_numpy(random.randn(n, n_targets))
    assert in_batches(MAE(), scores, y, [n // 2]) == pytest.approx(sk.mean_absolute_error(y, scores))


def test_mae_of_a_flat_target_is_not_broadcast():
    metric = MAE()
    metric.update(torch.tensor([[1.0], [2.0]]), torch.tensor([1.0, 4.0]))
    assert metric.compute() == {"MAE": 1.0}  # broadcasting (2, 1) against (2,) would give 1.5


def test_by_hand():
    # 3 of class 0 (2 recognised), 1 of class 1 (recognised): plain accuracy 75, mean of the classes 83.33
    scores, y = torch.eye(2)[[0, 0, 1, 1]], torch.tensor([0, 0, 0, 1])
    assert in_batches(Accuracy(), scores, y, []) == 75
    assert in_batches(WeightedAccuracy(2), scores, y, []) == pytest.approx(100 * (2 / 3 + 1) / 2)
    assert in_batches(BinaryF1(), scores, y, []) == pytest.approx(2 / 3)


@pytest.mark.parametrize("metric", [Accuracy(), WeightedAccuracy(2), BinaryF1(), MAE(), HitsAtK()])
def test_nan_scores_are_refused(metric):
    with pytest.raises(ValueError, match="NaN"):
        metric.update(torch.tensor([[float("nan"), 0.0]]), torch.tensor([[0, 0]]))


# Hits@K


def slow_hits(positive, negative, K):
    """A positive pair is a hit if fewer than K negatives score as high as it or higher."""
    return 100 * sum(sum(n >= p for n in negative) < K for p in positive) / len(positive)


@st.composite
def links(draw):
    n_positive, n_negative = draw(st.integers(1, 30)), draw(st.integers(0, 60))
    random = np.random.RandomState(draw(st.integers(0, 2**31)))
    levels = draw(st.integers(1, 40))  # few levels: many ties
    scores = torch.from_numpy(random.randint(-levels, levels, n_positive + n_negative) / 3).float()
    y = torch.from_numpy(random.permutation([1] * n_positive + [0] * n_negative))
    return scores, y, sorted(draw(st.lists(st.integers(0, len(y)), max_size=5)))


@given(links(), st.integers(1, 70))
def test_hits_at_k_is_the_slow_loops_with_ties_and_any_batches(case, K):
    scores, y, cuts = case
    positive, negative = scores[y == 1].tolist(), scores[y == 0].tolist()
    found = all_in_batches(HitsAtK(K, other_K=(1, 7)), scores[:, None], y, cuts)
    assert found == pytest.approx(
        {f"Hits@{k}": slow_hits(positive, negative, k) for k in (K, 1, 7)}
        | {f"Hits@{K}_paper": slow_hits(positive, negative[: len(positive)], K)}
    )
    assert next(iter(found)) == f"Hits@{K}"


@pytest.fixture(scope="module")
def ogb_evaluator():
    """OGB's evaluator, imported without the network call of its version check and without what else it would load."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in ("outdated", "torch_geometric"):
            patch.setitem(sys.modules, name, None)
        evaluate = pytest.importorskip("ogb.linkproppred", reason="no ogb, which dgl 2.1.0 would import everywhere")
    return evaluate.Evaluator("ogbl-collab")


@pytest.mark.parametrize("seed", range(5))
def test_hits_at_k_is_ogbs(ogb_evaluator, seed):
    random = np.random.RandomState(seed)
    n_positive, n_negative = random.randint(1, 500), random.randint(1, 2000) if seed else 30  # 30 < K
    positive, negative = random.randn(n_positive) + 1, random.randn(n_negative)
    positive, negative = (torch.from_numpy(x.round(1)).float() for x in (positive, negative))  # ties
    y = torch.cat([torch.ones(n_positive), torch.zeros(n_negative)])
    found = all_in_batches(HitsAtK(50), torch.cat([positive, negative]), y, [n_positive // 2])
    for K in (10, 50, 100):
        ogb_evaluator.K = K
        expected = ogb_evaluator.eval({"y_pred_pos": positive, "y_pred_neg": negative})[f"hits@{K}"]
        assert found[f"Hits@{K}"] == pytest.approx(100 * expected)


def test_hits_at_k_by_hand():
    y = torch.tensor([1, 1, 1, 1, 0, 0, 0])
    scores = torch.tensor([0.9, 0.5, 0.4, 0.1, 0.8, 0.5, 0.3])
    # negatives 0.8, 0.5, 0.3: the second highest is 0.5; 0.9 is above it, 0.5 is not
    assert in_batches(HitsAtK(1), scores, y, []) == 25
    assert in_batches(HitsAtK(2), scores, y, []) == 25
    assert in_batches(HitsAtK(3), scores, y, []) == 75
    assert in_batches(HitsAtK(4), scores, y, []) == 100  # fewer negatives than K


def test_the_papers_hits_look_at_as_many_negatives_as_positives():
    metric = HitsAtK(1, other_K=())
    metric.update(torch.tensor([0.6, 0.2, 0.3, 0.1, 0.9]), torch.tensor([1, 1, 0, 0, 0]))
    assert metric.compute() == {"Hits@1": 0, "Hits@1_paper": 50.0}  # the negative of 0.9 is the third


def test_hits_without_a_positive_pair():
    metric = HitsAtK()
    metric.update(torch.zeros(3, 1), torch.zeros(3))
    with pytest.raises(ValueError, match="no positive pair"):
        metric.compute()


def test_what_a_metric_says_of_itself():
    """Name, direction, unit and range: by these its results are checked and printed."""
    said = {
        measure.name: measure for metric in (Accuracy(), BinaryF1(), MAE(), HitsAtK()) for measure in metric.measures
    }
    assert [name for name, measure in said.items() if measure.better == "min"] == ["MAE"]
    assert {name for name, measure in said.items() if measure.percent} == set(said) - {"F1", "MAE"}
    assert (said["accuracy"].high, said["F1"].high, said["MAE"].high, said["Hits@50"].high) == (100, 1, None, 100)
    assert not said["accuracy"].allows(108.0) and not said["F1"].allows(1.1) and not said["MAE"].allows(-0.1)
    assert not said["MAE"].allows(float("nan")) and said["MAE"].allows(1e9)
    assert WeightedAccuracy(2).measures == Accuracy.measures
