"""Laplacian eigenvectors: what the definition says, on graphs where it can be checked."""

import networkx as nx
import numpy as np
import pytest

from data import parallel
from data.CSL import CSL
from data.dataset import DataConfig
from data.transforms import with_transforms
from data.transforms.laplacian import DENSE_UP_TO, laplacian_eigenvectors


def edges_of(graph):
    a = np.array(graph.to_directed().edges).reshape(-1, 2)
    return a[:, 0], a[:, 1]


@pytest.mark.parametrize("solver", ["symmetric", "general"])
@pytest.mark.parametrize(
    "graph",
    [
        nx.path_graph(7),
        nx.star_graph(6),
        nx.complete_graph(5),
        nx.petersen_graph(),
        nx.disjoint_union(nx.path_graph(3), nx.cycle_graph(4)),
    ],
)
def test_they_are_the_smallest_non_trivial_eigenvectors_of_the_normalised_laplacian(graph, solver):
    """By the symmetric solver of length 1 and at right angles, also where an eigenvalue occurs several times. The general one may
    find complex vectors of such an eigenvalue; their real parts are shorter."""
    n, k = len(graph), 3
    p = laplacian_eigenvectors(n, *edges_of(graph), k, solver).astype(np.float64)
    laplacian = nx.normalized_laplacian_matrix(graph).toarray()
    values = np.linalg.eigvalsh(laplacian)[1 : k + 1]
    np.testing.assert_allclose(laplacian @ p, p * values, atol=1e-6)
    if solver == "symmetric":
        np.testing.assert_allclose(p.T @ p, np.eye(k), atol=1e-6)
    else:
        length = np.linalg.norm(p, axis=0)
        assert (length > 0.1).all() and (length < 1 + 1e-6).all()


def test_the_general_solver_is_another_one(monkeypatch):
    monkeypatch.setattr(np.linalg, "eigh", None)
    assert laplacian_eigenvectors(7, *edges_of(nx.path_graph(7)), 2, "general").any()
    with pytest.raises(TypeError):
        laplacian_eigenvectors(7, *edges_of(nx.path_graph(7)), 2)


def test_the_general_solver_is_for_small_graphs(monkeypatch):
    monkeypatch.setattr("data.transforms.laplacian.DENSE_UP_TO", 4)
    with pytest.raises(ValueError, match="solver=general: a graph of 7 nodes is too large"):
        laplacian_eigenvectors(7, *edges_of(nx.path_graph(7)), 2, "general")


def test_a_small_graph_is_padded_with_zeros():
    p = laplacian_eigenvectors(3, *edges_of(nx.path_graph(3)), 5)
    assert p.shape == (3, 5) and (p[:, 2:] == 0).all() and (np.abs(p[:, :2]).sum(0) > 0.5).all()
    assert laplacian_eigenvectors(1, [], [], 2).tolist() == [[0, 0]]
    assert laplacian_eigenvectors(0, [], [], 2).shape == (0, 2)


def test_isolated_nodes_and_no_edges():
    assert np.isfinite(laplacian_eigenvectors(4, [], [], 2)).all()
    assert np.isfinite(laplacian_eigenvectors(4, [0, 1], [1, 0], 3)).all()


def test_a_directed_graph_is_refused():
    with pytest.raises(ValueError, match="one direction"):
        laplacian_eigenvectors(3, [0, 1], [1, 2], 1)


# Large graphs, here those of more than 10 nodes


@pytest.fixture
def everything_is_large(monkeypatch):
    monkeypatch.setattr("data.transforms.laplacian.DENSE_UP_TO", 10)


def with_isolated_nodes(graph, n):
    return nx.disjoint_union(graph, nx.empty_graph(n))


@pytest.mark.parametrize(
    "graph",
    [
        nx.path_graph(60),
        nx.random_regular_graph(3, 80, seed=1),
        with_isolated_nodes(nx.path_graph(40), 3),
        nx.disjoint_union_all([nx.path_graph(40), nx.path_graph(31), *[nx.complete_graph(3)] * 12, nx.empty_graph(4)]),
    ],
    ids=["path", "regular", "isolated nodes", "15 components"],
)
def test_a_large_graph_has_the_smallest_eigenvectors_that_are_not_zero(graph, everything_is_large):
    n, k = len(graph), 5
    p = laplacian_eigenvectors(n, *edges_of(graph), k).astype(np.float64)
    adjacency = nx.to_numpy_array(graph, nodelist=range(n))
    scale = 1 / np.sqrt(np.maximum(adjacency.sum(axis=1), 1))
    laplacian = np.eye(n) - scale[:, None] * adjacency * scale  # a node without edges: eigenvalue 1
    values = np.linalg.eigvalsh(laplacian)
    values = values[values > 1e-9][:k]
    np.testing.assert_allclose(laplacian @ p, p * values, atol=1e-5)
    np.testing.assert_allclose(p.T @ p, np.eye(k), atol=1e-5)
    assert np.array_equal(p, laplacian_eigenvectors(n, *edges_of(graph), k))


def test_large_and_small_agree_on_a_connected_graph(monkeypatch):
    graph = nx.path_graph(50)  # its eigenvalues are simple: the vectors agree but for their signs
    small = laplacian_eigenvectors(50, *edges_of(graph), 4)
    monkeypatch.setattr("data.transforms.laplacian.DENSE_UP_TO", 10)
    np.testing.assert_allclose(np.abs(laplacian_eigenvectors(50, *edges_of(graph), 4)), np.abs(small), atol=1e-5)


def test_encodings_do_not_depend_on_who_computes_them(tmp_path, monkeypatch):
    """CSL has eigenvalues of multiplicity 2: any rotation would be as good, but it must always be the same."""
    encodings = []
    for name, patience, workers in (("alone", 1e9, 1), ("handed over", -1, 2)):
        monkeypatch.setattr(parallel, "PATIENCE", patience)
        store = CSL(DataConfig(store_dir=str(tmp_path / name))).store
        encodings.append(with_transforms(store, {"laplacian": {"k": 20}}, workers).column("node.laplacian"))
    assert np.array_equal(*encodings)


def test_a_cached_encoding_is_found_again(csl):
    """Its folder is named after dataset and parameters: with another name all stored encodings would be computed again."""
    assert (csl.store.path / "derived" / "laplacian-5e2724b2bbb9f99f").is_dir()


def test_a_large_graph_without_edges():
    n = DENSE_UP_TO + 1
    none = np.empty(0, dtype=np.int64)
    np.testing.assert_array_equal(laplacian_eigenvectors(n, none, none, 3).T @ np.ones(n), np.ones(3))
