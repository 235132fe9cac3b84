"""Return probabilities of random walks, on graphs where they are known."""

import numpy as np
import pytest

from data.transforms.random_walk import random_walk_returns


def test_return_probabilities_of_random_walks():
    """Of a triangle 0, 1/2, 1/4; of a path's middle and ends 0, 1 and 1/2, 0; a node without edges stays where it is."""
    src, dst = [0, 1, 1, 2, 2, 0, 3, 4, 4, 5], [1, 0, 2, 1, 0, 2, 4, 3, 5, 4]
    p = random_walk_returns(7, src, dst, 3)
    assert p.dtype == np.float32
    assert p.tolist() == [[0, 0.5, 0.25]] * 3 + [[0, 0.5, 0], [0, 1, 0], [0, 0.5, 0], [1, 1, 1]]


def test_return_probabilities_move_with_the_nodes():
    random = np.random.default_rng(0)
    A = np.triu(random.random((12, 12)) < 0.4, 1)
    src, dst = np.nonzero(A | A.T)
    number = random.permutation(12)
    before, after = random_walk_returns(12, src, dst, 8), random_walk_returns(12, number[src], number[dst], 8)
    assert np.allclose(after[number], before, atol=1e-6) and (before > 0).any()


def test_a_graph_with_an_edge_in_one_direction():
    """LRGB goes along the edges as they are: numbers of the original program for a graph with the edge 4 -> 1 alone."""
    edges = [[0, 1], [1, 0], [1, 2], [2, 1], [2, 3], [3, 2], [3, 0], [0, 3], [2, 4], [4, 2], [4, 1]]
    expected = np.array([[0, 6, 0, 5], [0, 5, 1, 4.5], [0, 6, 1, 5], [0, 5, 0, 4.5], [0, 2, 1, 1]]) / 12
    for dead_end in ("stay", "end"):
        np.testing.assert_allclose(random_walk_returns(5, *np.transpose(edges), 4, dead_end), expected, atol=1e-7)


def test_dead_ends():
    """0 - 1 -> 2, and 3 alone. A walk that ends is nowhere afterwards."""
    src, dst = [0, 1, 1], [1, 0, 2]
    assert random_walk_returns(4, src, dst, 2).tolist() == [[0, 0.5], [0, 0.5], [1, 1], [1, 1]]
    assert random_walk_returns(4, src, dst, 2, "end").tolist() == [[0, 0.5], [0, 0.5], [0, 0], [0, 0]]
    assert random_walk_returns(0, [], [], 3).shape == (0, 3)


@pytest.mark.parametrize("dead_end", ["stay", "end"])
def test_they_are_the_diagonals_of_the_powers_of_p(monkeypatch, dead_end):
    """A slow loop; with loops, edges that stand twice, and the walks in several blocks."""
    random = np.random.default_rng(1)
    n, k = 15, 6
    src, dst = random.integers(0, n, (2, 40))
    P = np.zeros((n, n))
    for a, b in zip(src, dst, strict=True):
        P[a, b] += 1 / (src == a).sum()
    if dead_end == "stay":
        P[P.sum(1) == 0] = np.eye(n)[P.sum(1) == 0]
    expected = np.stack([np.linalg.matrix_power(P, t).diagonal() for t in range(1, k + 1)], 1)
    whole = random_walk_returns(n, src, dst, k, dead_end)
    monkeypatch.setattr("data.transforms.random_walk.BLOCK", 4 * n)
    np.testing.assert_allclose(whole, expected, atol=1e-7)
    assert np.array_equal(random_walk_returns(n, src, dst, k, dead_end), whole)


def test_numbers_of_the_original_program():
    """Node 1 of the graph 01 12 23 34 45 16 26, after 1 to 6 steps."""
    edges = np.array([[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [1, 6], [2, 6]])
    src, dst = np.concatenate([edges, edges[:, ::-1]]).T
    expected = [0, 0.6111111, 0.1111111, 0.4382716, 0.1728395, 0.3460219]
    np.testing.assert_allclose(random_walk_returns(7, src, dst, 6, "end")[1], expected, atol=1e-7)
