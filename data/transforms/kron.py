"""Kron reductions of a graph (ECC): half of the nodes by the sign of an eigenvector of the Laplacian, again and again.

Which nodes remain is a node field, computed once per dataset. The Laplacians of what remains follow from it.
"""

import numpy as np

from data.transforms.laplacian import refuse_directed

VERSION = 1
N_ITERATIONS = 30
ROUNDING = 1e-9  # entries of a reduced Laplacian below this are 0 but for rounding


def kron_nodes(n_nodes, src, dst, k, seed=0):
    """Which nodes remain after 1 to k reductions: (n_nodes, k) of 0 and 1, float32.

    The nodes that remain are those where the dominant eigenvector of the Laplacian, by power iteration, is not negative; all of
    them if it is negative everywhere.

    Deviation: the program draws the start of the iteration without a seed; here every graph has the same one. The signs, and so the
    nodes, depend on it and on the numbering.
    """
    L, random = normalised_laplacian(n_nodes, src, dst), np.random.RandomState(seed)
    remaining, columns = np.arange(n_nodes), np.zeros((n_nodes, k), dtype=np.float32)
    for i in range(k):
        plus = power_iteration(L, random.uniform(-1, -0.5, len(remaining))) >= 0
        L = reduced(L, plus)
        remaining = remaining[plus] if plus.any() else remaining
        columns[remaining, i] = 1
    return columns


def kron_laplacians(n_nodes, src, dst, kept):
    """The Laplacians after each of the reductions whose nodes are the columns of `kept` (n_nodes, k)."""
    L, before, laplacians = normalised_laplacian(n_nodes, src, dst), np.ones(n_nodes, dtype=bool), []
    for after in kept.astype(bool).T:
        L = reduced(L, after[before])
        before = after
        laplacians.append(L)
    return laplacians


def normalised_laplacian(n_nodes, src, dst):
    """I - D^(-1/2) A D^(-1/2), (n_nodes, n_nodes); the row of a node without edges is 0."""
    A = np.zeros((n_nodes, n_nodes))
    A[dst, src] = 1
    refuse_directed(not np.array_equal(A, A.T), n_nodes)
    degree = A.sum(1)
    scale = 1 / np.sqrt(np.maximum(degree, 1))
    return np.diag((degree > 0).astype(float)) - scale[:, None] * A * scale[None, :]


def power_iteration(L, start, n=N_ITERATIONS):
    """L^n start, of length 1 after each step; 0 where L has no other direction."""
    v = start
    for _ in range(n):
        v = L @ v
        v = v / max(np.linalg.norm(v), np.finfo(float).tiny)
    return v


def reduced(L, plus):
    """The Kron reduction L++ - L+- (L--)^-1 L-+ to the nodes `plus`. One node: [1]; no node is plus: L."""
    if len(L) == 1:
        return np.ones((1, 1))
    if plus.all() or not plus.any():
        return L
    up, down = L[plus], L[~plus]
    result = up[:, plus] - up[:, ~plus] @ np.linalg.solve(down[:, ~plus], down[:, plus])
    return np.where(np.abs(result) < ROUNDING, 0, result)
