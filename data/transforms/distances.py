"""Distances between all nodes of a graph, counted in edges."""

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import shortest_path


def distances(n, src, dst, cap):
    """(n, n) int64: the number of edges on a shortest path from i to j, and `cap` where it is longer or there is none."""
    A = csr_matrix((np.ones(len(src)), (src, dst)), shape=(n, n))
    return np.minimum(shortest_path(A, unweighted=True), cap).astype(np.int64)
