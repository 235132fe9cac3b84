"""The undirected edges of a graph."""

import numpy as np


def edge_numbers(n, src, dst):
    """(E,) int64: the number of a directed edge's undirected edge, in lexicographic order of (smaller end, larger end)."""
    code = np.minimum(src, dst) * n + np.maximum(src, dst)
    return np.unique(code, return_inverse=True)[1].reshape(-1)
