"""Eigenvectors with their eigenvalues: numbers of the original program, the definition, small, directed and large graphs."""

import dgl
import networkx as nx
import numpy as np
import pytest

from data.store import Field, Packed, PackedWriter
from data.transforms import with_transforms
from data.transforms.laplacian import laplacian_eigenvectors, laplacian_spectrum

# LRGB, the graph 01 12 23 34 45 16 26
SEVEN = nx.Graph([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (1, 6), (2, 6)])
EIGENVALUES = {
    "none": [0, 0.2679492, 1, 1.5857864, 3, 3.7320508, 4.4142136],
    "sym": [0, 0.1698936, 0.6950259, 1, 1.5, 1.7173932, 1.9176873],
}
NODE_2 = {  # absolute values of the eigenvectors at node 2
    "none": [0.377964473, 0.1625287918, 0.3535533906, 0.0340616976, 0.3535533906, 0.3139815151, 0.6935291327],
    "sym": [0.4629100499, 0.1726041968, 0.47121709, 0, 0.6546536707, 0.1446056413, 0.2905069896],
}
NORMS = ["none", "sym"]


def edges_of(graph):
    a = np.array(graph.to_directed().edges).reshape(-1, 2)
    return a[:, 0], a[:, 1]


@pytest.mark.parametrize("norm", NORMS)
def test_numbers_of_the_original_program(norm):
    pairs = laplacian_spectrum(7, *edges_of(SEVEN), 10, norm, trivial=True)
    assert pairs.shape == (7, 10, 2) and pairs.dtype == np.float32
    np.testing.assert_allclose(pairs[:, :7, 1], np.tile(EIGENVALUES[norm], (7, 1)), atol=1e-6)
    np.testing.assert_allclose(np.abs(pairs[2, :7, 0]), NODE_2[norm], atol=1e-6)
    assert np.isnan(pairs[:, 7:]).all() and (pairs[:, :7, 1] >= 0).all()


def laplacian(graph, norm):
    A = nx.to_numpy_array(graph, nodelist=range(len(graph)))
    np.fill_diagonal(A, 0)
    degree = A.sum(1)
    scale = 1 / np.sqrt(np.maximum(degree, 1))
    return np.diag(degree) - A if norm == "none" else np.eye(len(A)) - scale[:, None] * A * scale


GRAPHS = {
    "path": nx.path_graph(9),
    "cycle": nx.cycle_graph(8),
    "with loops": nx.Graph([(0, 0), (0, 1), (1, 2), (2, 3), (3, 3), (3, 4), (4, 5)]),
    "two parts and two nodes": nx.disjoint_union_all([nx.path_graph(3), nx.cycle_graph(4), nx.empty_graph(2)]),
}


@pytest.mark.parametrize("trivial", [True, False])
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_they_are_the_smallest_pairs(graph, norm, trivial):
    n, k, L = len(graph), 4, laplacian(graph, norm)
    pairs = laplacian_spectrum(n, *edges_of(graph), k, norm, trivial).astype(np.float64)
    v, values = pairs[:, :, 0], pairs[0, :, 1]
    first = 0 if trivial else 1
    np.testing.assert_allclose(values, np.linalg.eigvalsh(L)[first : first + k], atol=1e-6)
    np.testing.assert_allclose(L @ v, v * values, atol=1e-6)
    np.testing.assert_allclose(v.T @ v, np.eye(k), atol=1e-6)
    assert (pairs[:, :, 1] == values).all()


@pytest.mark.parametrize("norm", NORMS)
def test_small_graphs_have_nan_for_what_is_missing(norm):
    def found(n, trivial):
        return (~np.isnan(laplacian_spectrum(n, *edges_of(nx.path_graph(n)), 3, norm, trivial))).all((0, 2)).sum()

    assert [found(n, True) for n in (1, 2, 3, 4)] == [1, 2, 3, 3]
    assert [found(n, False) for n in (1, 2, 3, 4)] == [0, 1, 2, 3]
    assert laplacian_spectrum(0, [], [], 3, norm).shape == (0, 3, 2)


@pytest.mark.parametrize("norm", NORMS)
def test_an_edge_counts_once_and_in_both_directions(norm):
    src, dst = edges_of(SEVEN)
    once = src < dst
    expected = laplacian_spectrum(7, src, dst, 5, norm)
    assert np.array_equal(laplacian_spectrum(7, src[once], dst[once], 5, norm), expected)
    assert np.array_equal(laplacian_spectrum(7, np.tile(src, 2), np.tile(dst, 2), 5, norm), expected)


def test_without_the_trivial_one_they_are_those_of_the_core_paper():
    pairs = laplacian_spectrum(7, *edges_of(SEVEN), 6)
    np.testing.assert_allclose(
        np.abs(pairs[:, :, 0]), np.abs(laplacian_eigenvectors(7, *edges_of(SEVEN), 6)), atol=1e-6
    )


@pytest.mark.parametrize("trivial", [True, False])
@pytest.mark.parametrize("norm", NORMS)
def test_a_large_graph_has_the_same(norm, trivial, monkeypatch):
    graph = nx.random_labeled_tree(60, seed=3)
    small = laplacian_spectrum(60, *edges_of(graph), 5, norm, trivial)
    monkeypatch.setattr("data.transforms.laplacian.DENSE_UP_TO", 10)
    large = laplacian_spectrum(60, *edges_of(graph), 5, norm, trivial)
    assert not np.array_equal(large, small)  # another way
    np.testing.assert_allclose(np.abs(large), np.abs(small), atol=1e-5)


def test_a_store_keeps_them_by_their_parameters(tmp_path):
    """Computed once; other parameters are another field of the same name; a batch has (N, k, 2) numbers, some of them NaN."""
    with PackedWriter(tmp_path / "store", "some", [Field("graph", "label", "int64", n_types=2)]) as writer:
        for graph in (SEVEN, nx.path_graph(3)):
            writer.add(len(graph), *edges_of(graph), graph={"label": 0})
    store = Packed(tmp_path / "store")
    parameters = [{"k": 4, "norm": norm, "trivial": True} for norm in NORMS]
    for given in (*parameters, *parameters):
        with_transforms(store, {"spectrum": given})
    folders = [path.name for path in (store.path / "derived").iterdir() if path.is_dir()]
    assert len(folders) == 2 and all(name.startswith("spectrum-") for name in folders)
    g = with_transforms(store, {"spectrum": parameters[0], "walk_returns": {"k": 3}}).batch([1, 0]).g
    assert isinstance(g, dgl.DGLGraph) and g.ndata["spectrum"].shape == (10, 4, 2)
    assert g.ndata["spectrum"][:, :, 0].isnan().sum(1).tolist() == [1] * 3 + [0] * 7
    assert g.ndata["walk_returns"].shape == (10, 3)
