"""CSL is the dataset of A.6, the same on every machine, with the statistics of Tables 1 and 5."""

import csv
from collections import Counter
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from data.CSL import CSL, skip_link_edges
from data.dataset import DataConfig

TABLES = Path(__file__).resolve().parents[2] / "paper_tables" / "benchmarking_gnns"


def table_row(name):
    with open(TABLES / name, newline="") as file:
        return next(line for line in csv.DictReader(file) if line["dataset"] == "CSL")


def test_statistics_of_tables_1_and_5(csl):
    store, table1, table5 = csl.store, table_row("table1_datasets.csv"), table_row("table5_dataset_statistics.csv")
    assert store.n_graphs == int(table1["n_graphs"]) == int(table5["n_graphs"])
    assert store.n_nodes == int(table1["total_nodes"].replace(",", ""))
    assert {len(store.rows("node.in_degree", i)) for i in range(150)} == {int(table1["n_nodes_range"])}
    assert store.n_nodes / store.n_graphs == float(table5["avg_nodes"])
    assert store.n_edges / store.n_graphs == float(table5["avg_edges"])
    assert csl.n_classes == int(table5["n_classes"])
    assert Counter(store.column("graph.label").tolist()) == dict.fromkeys(range(10), 15)


def test_every_graph_is_4_regular_and_isomorphic_to_its_skip_link_graph(csl):
    for i in range(0, 150, 7):
        src, dst = csl.store.edges(i)
        g = nx.Graph(zip(src.tolist(), dst.tolist(), strict=True))
        label = csl.store.column("graph.label")[i]
        reference = nx.Graph(zip(*skip_link_edges(41, CSL.parameters["skips"][label]), strict=True))
        assert set(dict(g.degree).values()) == {4} and g.number_of_edges() == 82
        assert nx.is_isomorphic(g, reference)


def test_no_two_classes_are_isomorphic():
    graphs = [nx.Graph(zip(*skip_link_edges(41, c), strict=True)) for c in CSL.parameters["skips"]]
    # the number of closed walks of each length tells them apart
    spectra = [np.sort(np.linalg.eigvalsh(nx.to_numpy_array(g))) for g in graphs]
    assert all(np.abs(a - b).max() > 1e-3 for i, a in enumerate(spectra) for b in spectra[:i])


def test_copies_of_a_class_are_numbered_differently(csl):
    seen = {tuple(map(tuple, csl.store.edges(i))) for i in range(15)}
    assert len(seen) == 15


def test_folds_are_stratified_3_1_1_and_cover_everything(csl):
    labels = csl.store.column("graph.label")
    tested = []
    for f in csl.folds:
        parts = csl.fold(f).parts
        assert sorted(np.concatenate(list(parts.values())).tolist()) == list(range(150))
        for part, per_class in (("train", 9), ("val", 3), ("test", 3)):
            assert np.bincount(labels[parts[part]]).tolist() == [per_class] * 10
        tested += parts["test"].tolist()
    assert sorted(tested) == list(range(150))
    with pytest.raises(ValueError, match=r"fold=7: CSL has folds \[0, 1, 2, 3, 4\]"):
        csl.fold(7)


def test_the_dataset_never_changes_silently(csl, tmp_path):
    """The hash covers graphs, labels and folds. A deliberate change raises `version` and this value."""
    assert (
        CSL(DataConfig(store_dir=str(tmp_path))).store.hash
        == csl.store.hash
        == "f15b3ae8cbd47d6b23f5cd537c0b231c9852847d0baa66ce0d520b0c7dd42e60"
    )


def test_positions_separate_the_classes(csl):
    batch, labels = csl.store.batch([0, 20, 149])
    assert batch.ndata["pos_enc"].shape == (3 * 41, 20) and labels.tolist() == [0, 1, 9]
    assert csl.features.pos_enc_dim == 20 and csl.features.node is None
