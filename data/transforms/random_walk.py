"""Random-walk encodings: how likely a walk is back where it started."""

import numpy as np
import scipy.sparse

VERSION = 1
BLOCK = 1 << 25  # numbers that are kept at once: those of the walks from some of the nodes of a large graph


def random_walk_returns(n_nodes, src, dst, k, dead_end="stay"):
    """diag(P^t) for t = 1, 2, … k, (n_nodes, k) float32: the probability that a random walk that starts at a node is back there
    after t steps. P = D^-1 A goes along the edges as they are stored, D being the numbers of edges that leave the nodes.

    At a node that no edge leaves a walk stays for ever ("stay"), or it ends and is nowhere ("end": its row of P is 0).
    """
    src, dst = np.asarray(src, dtype=np.int64), np.asarray(dst, dtype=np.int64)
    degree = np.bincount(src, minlength=n_nodes)
    if dead_end == "stay":
        dead = np.flatnonzero(degree == 0)
        src, dst, degree = np.append(src, dead), np.append(dst, dead), np.maximum(degree, 1)
    step = scipy.sparse.coo_array((1 / degree[src], (dst, src)), shape=(n_nodes, n_nodes)).tocsr()  # the transpose of P
    returns, width = np.empty((n_nodes, k), dtype=np.float32), max(1, BLOCK // max(n_nodes, 1))
    for first in range(0, n_nodes, width):
        start = np.arange(first, min(first + width, n_nodes))
        walks = np.zeros((n_nodes, len(start)))  # a column: where a walk from start[j] is
        walks[start, start - first] = 1
        for t in range(k):
            walks = step @ walks
            returns[start, t] = walks[start, start - first]
    return returns
