"""Kron reductions of a graph (ECC): half of the nodes by the sign of an eigenvector of the Laplacian, again and again.

Which nodes remain is a node field, computed once per dataset. The Laplacians of what remains follow from it. All matrices are
sparse: the nodes that go fall into small pieces, and a reduction inverts these alone.
"""

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import connected_components

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
        if plus.any():
            L, remaining = reduced(L, plus), remaining[plus]
        columns[remaining, i] = 1
    return columns


def kron_laplacians(sizes, src, dst, kept):
    """The Laplacians of a batch of graphs with `sizes` nodes after each of the reductions whose nodes are the columns of `kept`
    (N, k): sparse and block-diagonal. A graph that has one node already has the Laplacian [1]."""
    graph_of_node = np.repeat(np.arange(len(sizes)), sizes)
    L, before, laplacians = normalised_laplacian(len(graph_of_node), src, dst), np.ones(len(kept), dtype=bool), []
    for after in kept.astype(bool).T:
        alone = (np.bincount(graph_of_node[before], minlength=len(sizes)) == 1)[graph_of_node[after]]
        L = reduced(L, after[before])
        if alone.any():
            L = L + scipy.sparse.diags_array(np.where(alone, 1 - L.diagonal(), 0))
        before = after
        laplacians.append(L.tocsr())
    return laplacians


def normalised_laplacian(n_nodes, src, dst):
    """I - D^(-1/2) A D^(-1/2), sparse; the row of a node without edges is 0."""
    A = scipy.sparse.coo_array((np.ones(len(src)), (dst, src)), shape=(n_nodes, n_nodes)).tocsr()
    A.data[:] = 1  # an edge that stands twice counts once
    refuse_directed((A != A.T).nnz, n_nodes)
    degree = A.sum(axis=1)
    scale = scipy.sparse.diags_array(1 / np.sqrt(np.maximum(degree, 1)))
    return (scipy.sparse.diags_array((degree > 0).astype(float)) - scale @ A @ scale).tocsr()


def power_iteration(L, start, n=N_ITERATIONS):
    """L^n start, of length 1 after each step; 0 where L has no other direction."""
    v = start
    for _ in range(n):
        v = L @ v
        v = v / max(np.linalg.norm(v), np.finfo(float).tiny)
    return v


def reduced(L, plus):
    """The Kron reduction L++ - L+- (L--)^-1 L-+ to the nodes `plus`."""
    if plus.all():
        return L
    up, down = L[plus], L[~plus]
    result = (up[:, plus] - up[:, ~plus] @ (inverse(down[:, ~plus]) @ down[:, plus])).tocsr()
    result.data[np.abs(result.data) < ROUNDING] = 0
    result.eliminate_zeros()
    return result


def inverse(M):
    """The inverse of a sparse matrix that falls into pieces: those of one size are inverted together."""
    n_pieces, piece = connected_components(M, directed=False)
    sizes = np.bincount(piece, minlength=n_pieces)
    order = np.argsort(piece, kind="stable")
    first = np.cumsum(sizes) - sizes
    place = np.empty(len(piece), dtype=np.int64)  # of a row within its piece
    place[order] = np.arange(len(piece)) - first[piece[order]]
    M = M.tocoo()
    row, column = M.row, M.col
    values, rows, columns = [], [], []
    for size in np.unique(sizes):
        pieces = np.flatnonzero(sizes == size)
        here, number = sizes[piece[row]] == size, np.searchsorted(pieces, piece[row])
        blocks = np.zeros((len(pieces), size, size))
        blocks[number[here], place[row[here]], place[column[here]]] = M.data[here]
        members = order[first[pieces][:, None] + np.arange(size)]  # (pieces, size)
        values.append(np.linalg.inv(blocks).ravel())
        rows.append(np.repeat(members, size, axis=1).ravel())
        columns.append(np.tile(members, (1, size)).ravel())
    entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
    return scipy.sparse.coo_array(entries, shape=M.shape).tocsr()
