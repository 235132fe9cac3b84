"""Small-world and Scale-free: the published graphs, features and classes against networkx, and the generator."""

from collections import Counter
from itertools import islice

import networkx as nx
import numpy as np
import pytest

from data.dataset import DataConfig
from data.errors import DataError, StoreError
from data.synthetic import DATASETS, ScaleFree, average_path, bins, cell_of, clustering, page_rank


def config(folder, data_dir):
    return DataConfig(store_dir=str(folder), data_dir=str(data_dir), raw_dir="-", offline=True)


# {name: graphs of each class}
COUNTS = {
    "Small-world": [51, 51, 50, 52, 52],
    "Scale-free": [51, 51, 51, 51, 52],
    "Small-world-10": [25, 26, 25, 26, 26, 24, 27, 25, 26, 26],
    "Scale-free-10": [25, 26, 25, 26, 26, 25, 26, 25, 25, 27],
}


@pytest.mark.parametrize("name", COUNTS)
def test_published_graphs(real_data, store_dir, name):
    dataset = DATASETS[name](config(store_dir, real_data))  # `check` compares 256 graphs and the edges
    assert np.bincount(dataset.store.column("graph.label")).tolist() == COUNTS[name]
    assert len(dataset.folds) == 10 and dataset.declared.target.n_out == len(COUNTS[name])


@pytest.mark.parametrize("graph", [nx.karate_club_graph(), nx.path_graph(5), nx.complete_graph(4)], ids=str)
def test_features(graph):
    A = nx.to_numpy_array(graph, weight=None)
    assert clustering(A) == pytest.approx(list(nx.clustering(graph).values()))
    assert page_rank(A) == pytest.approx(
        list(nx.pagerank(graph, weight=None, tol=1e-12, max_iter=1000).values()), abs=1e-9
    )
    assert average_path(A) == pytest.approx(nx.average_shortest_path_length(graph))


def test_bins_hold_as_many_graphs_each():
    values = np.array([5.0, 1.0, 3.0, 2.0, 4.0, 6.0])
    assert bins(values, 3).tolist() == [2, 0, 1, 0, 1, 2]
    assert bins(np.array([1.0, 1.0, 1.0, 2.0]), 2).tolist() == [1, 1, 1, 1]  # equal values are never divided


BAD = [
    ({}, StoreError, r"\(1, 3.0\), of Scale-free"),
    ({"node_ptr": np.array([0, 10**6])}, DataError, "a graph of 1000000 nodes, expected 64"),
    ({"edge": np.array([[0, 64]] * 3)}, DataError, "64 in row 1: expected 0 to 63"),
    ({"edge": np.array([[0, -1]] * 3)}, DataError, "-1 in row 1: expected 0 to 63"),
    ({"edge_ptr": np.array([0, 2])}, DataError, "edge_ptr does not run from 0 to 3 over 1 graphs"),
    ({"edge_ptr": np.array([0, 2.5])}, DataError, "values of type float64: expected integers"),
]


@pytest.mark.parametrize(("changes", "error", "message"), BAD, ids=[message for *_, message in BAD])
def test_bad_files(tmp_path, changes, error, message):
    (tmp_path / "synthetic").mkdir()
    edges = {"edge_ptr": np.array([0, 3]), "edge": np.array([[0, 1], [1, 2], [0, 2]])}
    np.savez(tmp_path / "synthetic/scalefree.npz", **{"node_ptr": np.array([0, 64]), **edges} | changes)
    with pytest.raises(error, match=message):
        ScaleFree(config(tmp_path / "stores", tmp_path))


@pytest.mark.parametrize("name", ["Small-world-generated", "Scale-free-generated"])
def test_the_generator_fills_cells(tmp_path, name):
    """The first 60 graphs: connected, 64 nodes, at most four in a cell; drawn from the seed alone."""
    made = []
    for _ in range(2):
        dataset = object.__new__(DATASETS[name])
        made.append(list(islice(dataset.graphs(), 60)))
    assert all(np.array_equal(a, b) for a, b in zip(*made, strict=True))
    cells = Counter(cell_of(A) for A in made[0])
    assert max(cells.values()) <= 4 and all(nx.is_connected(nx.from_numpy_array(A)) and len(A) == 64 for A in made[0])


def test_a_generator_that_finds_nothing_ends(monkeypatch):
    monkeypatch.setattr("data.synthetic.MOST_DRAWS", 5)
    dataset = object.__new__(DATASETS["Small-world-generated"])
    with pytest.raises(DataError, match="5 graphs were drawn"):
        list(dataset.graphs())
