"""CSL is the dataset of A.6, the same on every machine, with the statistics of Tables 1 and 5; so is the published one."""

import ast
import csv
import importlib
from collections import Counter
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from data.CSL import CSL, PublishedCSL, skip_link_edges
from data.dataset import DataConfig, GraphDataset, Target
from data.errors import DataError, StoreError
from data.splits import PARTS, read_folds

TABLES = Path(__file__).resolve().parents[2] / "paper_tables" / "benchmarking_gnns"


def table_row(name):
    with open(TABLES / name, newline="") as file:
        return next(line for line in csv.DictReader(file) if line["dataset"] == "CSL")


@pytest.fixture(scope="module")
def published(real_data, store_dir):
    return PublishedCSL(DataConfig(store_dir=store_dir, data_dir=str(real_data), offline=True))


@pytest.fixture(params=["CSL", "CSL-published"])
def either(request):
    return request.getfixturevalue({"CSL": "csl", "CSL-published": "published"}[request.param])


def test_statistics_of_tables_1_and_5(either):
    store, table1, table5 = either.store, table_row("table1_datasets.csv"), table_row("table5_dataset_statistics.csv")
    assert store.n_graphs == int(table1["n_graphs"]) == int(table5["n_graphs"])
    assert store.n_nodes == int(table1["total_nodes"].replace(",", ""))
    assert {len(store.rows("node.in_degree", i)) for i in range(150)} == {int(table1["n_nodes_range"])}
    assert store.n_nodes / store.n_graphs == float(table5["avg_nodes"])
    assert store.n_edges / store.n_graphs == float(table5["avg_edges"])
    assert either.target.n_out == int(table5["n_classes"])
    assert Counter(store.column("graph.label").tolist()) == dict.fromkeys(range(10), 15)


def test_every_graph_is_4_regular_and_isomorphic_to_its_skip_link_graph(either):
    for i in range(0, 150, 7):
        src, dst = either.store.edges(i)
        g = nx.Graph(zip(src.tolist(), dst.tolist(), strict=True))
        label = either.store.column("graph.label")[i]
        reference = nx.Graph(zip(*skip_link_edges(41, CSL.parameters["skips"][label]), strict=True))
        assert set(dict(g.degree).values()) == {4} and g.number_of_edges() == 82
        assert nx.is_isomorphic(g, reference)


def test_no_two_classes_are_isomorphic():
    graphs = [nx.Graph(zip(*skip_link_edges(41, c), strict=True)) for c in CSL.parameters["skips"]]
    # the number of closed walks of each length tells them apart
    spectra = [np.sort(np.linalg.eigvalsh(nx.to_numpy_array(g))) for g in graphs]
    assert all(np.abs(a - b).max() > 1e-3 for i, a in enumerate(spectra) for b in spectra[:i])


def test_copies_of_a_class_are_numbered_differently(either):
    seen = {tuple(map(tuple, either.store.edges(i))) for i in range(15)}
    assert len(seen) == 15


def test_folds_are_stratified_3_1_1_and_cover_everything(either):
    labels = either.store.column("graph.label")
    tested = []
    for f in either.folds:
        parts = either.fold(f).parts
        assert sorted(np.concatenate(list(parts.values())).tolist()) == list(range(150))
        for part, per_class in (("train", 9), ("val", 3), ("test", 3)):
            assert np.bincount(labels[parts[part]]).tolist() == [per_class] * 10
        tested += parts["test"].tolist()
    assert sorted(tested) == list(range(150))
    with pytest.raises(ValueError, match=rf"fold=7: {either.name} has folds \[0, 1, 2, 3, 4\]"):
        either.fold(7)


def test_the_dataset_never_changes_silently(csl, tmp_path):
    """The hash covers graphs, labels and folds. A deliberate change raises `version` and this value."""
    assert (
        CSL(DataConfig(store_dir=str(tmp_path))).store.hash
        == csl.store.hash
        == "f15b3ae8cbd47d6b23f5cd537c0b231c9852847d0baa66ce0d520b0c7dd42e60"
    )


def test_positions_separate_the_classes(csl):
    batch, _, labels = csl.store.batch([0, 20, 149])
    assert batch.ndata["laplacian"].shape == (3 * 41, 20) and labels.tolist() == [0, 1, 9]
    assert csl.features.node is None


# The published graphs and folds


def test_published_graphs_and_folds_never_change(published):
    assert published.store.hash == "25387cbede47fca9160a83793b6aa14bdb1c042828253f287ca3129ca5b4d2d0"


def test_published_folds_are_those_of_the_files(published, real_data):
    for part in PARTS:
        lines = (real_data / f"splits/benchmarking-gnns/CSL/CSL_{part}.index").read_text().split()
        ours = [published.fold(f).parts[part].tolist() for f in published.folds]
        assert ours == [[int(word) for word in line.split(",")] for line in lines]


def test_published_copies_are_others_than_the_generated_ones(published, csl):
    def graphs(store):
        return {tuple(map(tuple, store.edges(i))) for i in range(150)}

    assert len(graphs(published.store)) == 150 and not graphs(published.store) & graphs(csl.store)


def write_published(folder, **changes):
    """Ten graphs, one per class, with a loop on every node, as the published arrays have them; two folds."""
    loops, edges = np.tile(np.arange(41), (2, 1)), []
    for skip in CSL.parameters["skips"]:
        edges.append(np.concatenate([loops, skip_link_edges(41, skip)], axis=1).T)
    arrays = {
        "edge": np.concatenate(edges).astype(np.uint8),
        "edge_ptr": np.arange(11) * 205,
        "num_nodes": np.full(10, 41),
        "y": np.arange(10),
    }
    (folder / "CSL").mkdir(exist_ok=True)
    np.savez(folder / "CSL/csl_published.npz", **arrays | changes)
    index = folder / "splits/benchmarking-gnns/CSL"
    index.mkdir(parents=True, exist_ok=True)
    for part, text in zip(PARTS, ("0,1,2\n3,4,5\n", "6,7\n8,9\n", "8,9\n6,7\n"), strict=True):
        (index / f"CSL_{part}.index").write_text(text)


BAD = {
    "edges": ({"edge_ptr": np.arange(11) * 204}, "graph 0: 163 edges without loops, expected 164"),
    "node": ({"num_nodes": np.full(10, 40)}, "node 40: expected 0 to 39"),
    "label": ({"y": np.arange(1, 11)}, "10: expected 0 to 9"),
    "pointers": ({"edge_ptr": np.arange(10) * 205}, "10 labels, 10 pointers, 10 sizes"),
    "pickle": ({"y": np.array([{}] * 10)}, "y: not an array of numbers"),
    "wrong number": ({}, r"graphs, nodes, edges are \(10, 410, 1640\), and `counts` of PublishedCSL is \(150"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files_are_refused(tmp_path, case):
    changes, message = BAD[case]
    write_published(tmp_path, **changes)
    with pytest.raises((DataError, StoreError), match=message):
        PublishedCSL(DataConfig(store_dir=str(tmp_path / "stores"), data_dir=str(tmp_path), offline=True))


def test_index_files(tmp_path):
    write_published(tmp_path)
    paths = [tmp_path / f"splits/benchmarking-gnns/CSL/CSL_{part}.index" for part in PARTS]
    folds = read_folds(paths, 10)
    assert [[fold[part].tolist() for part in PARTS] for fold in folds] == [
        [[0, 1, 2], [6, 7], [8, 9]],
        [[3, 4, 5], [8, 9], [6, 7]],
    ]
    with pytest.raises(DataError, match=r"CSL_val\.index, line 2: expected graph numbers from 0 to 8, found 8 to 9"):
        read_folds(paths, 9)
    paths[2].write_text("8,9\n")
    with pytest.raises(DataError, match=r"numbers of folds differ: .*CSL_train\.index 2, .*CSL_test\.index 1"):
        read_folds(paths, 10)


# A copy, as the README says


LEFT_OUT = ("counts", "check", "declared", "PublishedCSL")


def without_what_is_known(source):
    """The text of data/CSL.py without what the README leaves out."""
    module = ast.parse(source)
    csl = next(node for node in module.body if getattr(node, "name", "") == "CSL")
    gone = [
        node
        for node in [*module.body, *csl.body]
        if (node.targets[0].id if isinstance(node, ast.Assign) else getattr(node, "name", "")) in LEFT_OUT
    ]
    assert len(gone) == len(LEFT_OUT)
    lines = {i for node in gone for i in range(node.lineno, node.end_lineno + 1)}
    return "\n".join(line for i, line in enumerate(source.splitlines(), 1) if i not in lines) + "\n"


def test_a_copy_without_what_is_known_of_csl_is_the_same_dataset(csl, tmp_path, monkeypatch):
    source = Path(importlib.import_module("data.CSL").__file__).read_text()
    (tmp_path / "copied_csl.py").write_text(without_what_is_known(source))
    monkeypatch.syspath_prepend(tmp_path)
    copy = importlib.import_module("copied_csl").CSL(DataConfig(store_dir=str(tmp_path)))
    assert copy.target == Target("classes", "graph", 10) and copy.store.splits == csl.store.splits
    for key in ("graph.label", "edge.src", "free.split.fold4.test"):
        assert np.array_equal(copy.store.column(key), csl.store.column(key))


def test_the_target_of_a_dataset_that_is_being_built(tmp_path):
    class Early(GraphDataset):
        name, version, parameters = "early", 1, {}

        def build(self, path):
            assert self.target

    with pytest.raises(DataError, match="early: the target is not known while the dataset is built: write the number"):
        Early(DataConfig(store_dir=str(tmp_path)))
