"""Random-walk positional encodings (BREC): how likely a walk is back where it started."""

import numpy as np

VERSION = 1


def random_walk_returns(n_nodes, src, dst, k):
    """(n_nodes, k) float32: the probability that a random walk that starts at a node is back there after 1, 2, … k steps.

    Edges are given in both directions. A walk at a node without edges stays there.
    """
    A = np.zeros((n_nodes, n_nodes))
    np.add.at(A, (dst, src), 1.0)  # column: where a step begins
    degree = A.sum(axis=0)
    step = A / np.maximum(degree, 1) + np.diag((degree == 0).astype(float))
    encoding, power = np.empty((n_nodes, k), dtype=np.float32), np.eye(n_nodes)
    for i in range(k):
        power = step @ power
        encoding[:, i] = power.diagonal()
    return encoding
