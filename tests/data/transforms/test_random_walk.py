"""Return probabilities of random walks, on graphs where they are known."""

import numpy as np

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
