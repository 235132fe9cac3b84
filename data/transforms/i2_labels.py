"""The labels of I2-GNN: where a node lies as seen from a root and from one of the root's neighbours."""

import numpy as np


def i2_labels(n, src, dst, radius):
    """(root, z): a subgraph for each root i and neighbour j of i, in order of (i, j), as root (P,) int64 and z (P, n, 4) int64.

    The subgraph has the nodes within `radius` of i. z of node v is 0 outside, and inside
        z1 = D(i, v) + 1        z2 = z1 if at least two neighbours of v lie at distance D(i, v) - 1, else 0
        z3, z4                  the same as seen from j, with distances inside the subgraph, plus radius + 3
    An isolated root has one subgraph, itself, with z = (1, 0, 1, 0).
    """
    A = np.zeros((n, n), dtype=np.float32)
    A[src, dst] = 1
    from_i = _search(np.arange(n), np.ones((n, n), dtype=bool), A, radius)
    i, j = np.nonzero(A)
    from_j = _search(j, from_i[i, :, 0] > 0, A, n)
    z = np.concatenate([from_i[i], from_j + (radius + 3)], axis=2)
    z[from_i[i, :, 0] == 0] = 0
    alone = np.flatnonzero(A.sum(1) == 0)
    z_alone = np.zeros((len(alone), n, 4), dtype=np.int64)
    z_alone[np.arange(len(alone)), alone] = 1, 0, 1, 0
    root, z = np.concatenate([i, alone]), np.concatenate([z, z_alone])
    order = np.argsort(root, kind="stable")
    return root[order], z[order]


def _search(start, inside, A, most):
    """(P, n, 2) int64 by breadth-first search from start[p] among the nodes inside[p], `most` steps far: distance + 1, or 0 where
    the search does not come; and the same number again where it comes from two nodes or more."""
    labels = np.zeros((*inside.shape, 2), dtype=np.int64)
    frontier = np.zeros(inside.shape, dtype=bool)
    frontier[np.arange(len(start)), start] = True
    labels[frontier, 0] = 1
    for distance in range(1, most + 1):
        n_ways = frontier.astype(np.float32) @ A
        frontier = (n_ways > 0) & inside & (labels[:, :, 0] == 0)
        if not frontier.any():
            break
        labels[frontier, 0] = distance + 1
        labels[frontier & (n_ways > 1), 1] = distance + 1
    return labels
