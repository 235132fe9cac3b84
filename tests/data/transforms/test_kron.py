"""Kron reductions against numbers of the program and against the definition of the Schur complement."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse

from data.transforms.kron import inverse, kron_laplacians, kron_nodes, normalised_laplacian, power_iteration, reduced

# The first golden graph; the nodes that remain after one and two reductions, and the Laplacians of the program
N, EDGES = 5, [(0, 1), (1, 2), (2, 3), (3, 0), (1, 3), (3, 4)]
KEPT = np.array([[1, 1], [0, 0], [1, 0], [1, 1], [0, 0]])
FIRST = [
    [0.8333333333, -0.1666666667, -0.4714045208],
    [-0.1666666667, 0.8333333333, -0.4714045208],
    [-0.4714045208, -0.4714045208, 0.6666666667],
]
SECOND = [[0.8, -0.5656854249], [-0.5656854249, 0.4]]
START, DIRECTION = (
    [-0.75, -0.7, -0.65, -0.6, -0.55],
    [-0.4352554474, 0.2420449638, -0.4352554229, 0.6182372056, -0.4246203073],
)


def both_ways(edges):
    src, dst = np.array(edges).T
    return np.concatenate([src, dst]), np.concatenate([dst, src])


def edges_of(graph):
    return graph.number_of_nodes(), *both_ways(graph.edges)


def laplacians(n_nodes, src, dst, kept):
    """Of one graph, dense."""
    return [L.toarray() for L in kron_laplacians(np.array([n_nodes]), src, dst, kept)]


@pytest.fixture
def graph():
    return edges_of(nx.gnp_random_graph(20, 0.3, seed=1))


def test_the_laplacian():
    L = normalised_laplacian(N, *both_ways(EDGES)).toarray()
    expected = nx.normalized_laplacian_matrix(nx.Graph(EDGES), nodelist=range(N)).toarray()
    np.testing.assert_allclose(L, expected, atol=1e-12)
    assert not normalised_laplacian(3, [0, 1], [1, 0]).toarray()[2].any()  # a node without edges


def test_the_power_iteration_of_the_program():
    L = normalised_laplacian(N, *both_ways(EDGES))
    np.testing.assert_allclose(power_iteration(L, np.array(START)), DIRECTION, atol=1e-7)


def test_the_reductions_of_the_program():
    first, second = laplacians(N, *both_ways(EDGES), KEPT)
    np.testing.assert_allclose(first, FIRST, atol=1e-9)
    np.testing.assert_allclose(second, SECOND, atol=1e-9)
    path = laplacians(3, *both_ways([(0, 1), (1, 2)]), np.array([[1, 1], [0, 0], [1, 0]]))
    np.testing.assert_allclose(path[0], [[0.5, -0.5], [-0.5, 0.5]], atol=1e-12)
    assert path[1].tolist() == [[0]]  # and not what rounding leaves


def test_a_reduction_is_the_inverse_of_a_part_of_the_inverse():
    A = np.random.RandomState(0).randn(6, 6)
    A, plus = A @ A.T + np.eye(6), np.array([True, False, True, True, False, False])
    seen = reduced(scipy.sparse.csr_array(A), plus).toarray()
    np.testing.assert_allclose(seen, np.linalg.inv(np.linalg.inv(A)[np.ix_(plus, plus)]), atol=1e-9)


def test_the_inverse_of_pieces():
    """Pieces of 1, 3, 1, 3 and 2 rows, in any order."""
    random = np.random.RandomState(0)
    M = scipy.sparse.block_diag([random.rand(n, n) + 2 * np.eye(n) for n in (1, 3, 1, 3, 2)]).toarray()
    order = random.permutation(10)
    M = M[np.ix_(order, order)]
    np.testing.assert_allclose(inverse(scipy.sparse.csr_array(M)).toarray(), np.linalg.inv(M), atol=1e-12)


def test_a_batch_is_its_graphs():
    """Among them a graph with one node, and one that has one node after the first reduction."""
    graphs = [edges_of(nx.path_graph(2)), (1, [], []), edges_of(nx.gnp_random_graph(9, 0.4, seed=2))]
    kept = [kron_nodes(*graph, 3) for graph in graphs]
    sizes = np.array([n for n, _, _ in graphs])
    shifts = np.cumsum(sizes) - sizes
    src, dst = (
        np.concatenate([np.array(g[end], dtype=int) + f for g, f in zip(graphs, shifts, strict=True)]) for end in (1, 2)
    )
    alone = [laplacians(*graph, k) for graph, k in zip(graphs, kept, strict=True)]
    assert alone[0][1].tolist() == [[1]]
    for L, *parts in zip(kron_laplacians(sizes, src, dst, np.concatenate(kept)), *alone, strict=True):
        np.testing.assert_allclose(L.toarray(), scipy.sparse.block_diag(parts).toarray(), atol=1e-12)


def test_the_nodes_that_remain(graph):
    kept = kron_nodes(*graph, 10)
    assert kept.shape == (20, 10) and kept.dtype == np.float32
    assert (np.diff(kept, axis=1) <= 0).all() and kept[:, -1].any()  # fewer and fewer, never none
    assert 0 < kept[:, 0].sum() < 20
    v = power_iteration(normalised_laplacian(*graph), np.random.RandomState(0).uniform(-1, -0.5, 20))
    assert np.array_equal(kept[:, 0] > 0, v >= 0)
    assert np.array_equal(kept, kron_nodes(*graph, 10)) and np.array_equal(kept[:, :2], kron_nodes(*graph, 2))
    for L, n in zip(laplacians(*graph, kept), kept.sum(0), strict=True):
        assert L.shape == (n, n)
        np.testing.assert_allclose(L, L.T, atol=1e-9)


def test_odd_graphs():
    """One node, nodes without edges, several components: each node set is finite and not empty."""
    assert kron_nodes(1, [], [], 2).tolist() == [[1, 1]] and kron_nodes(0, [], [], 2).shape == (0, 2)
    assert [L.tolist() for L in laplacians(1, [], [], np.ones((1, 2)))] == [[[1]], [[1]]]
    assert kron_nodes(3, [], [], 2).all()
    pieces = edges_of(nx.disjoint_union_all([nx.path_graph(4), nx.cycle_graph(5), nx.empty_graph(2), nx.star_graph(6)]))
    kept = kron_nodes(*pieces, 10)
    assert all(np.isfinite(L).all() for L in laplacians(*pieces, kept))
    assert all(kept[nodes].any(0).all() for nodes in ([0, 1, 2, 3], [4, 5, 6, 7, 8], [9], [10]))  # no component is lost
    with pytest.raises(ValueError, match="one direction only"):
        kron_nodes(3, [0, 1], [1, 2], 1)
