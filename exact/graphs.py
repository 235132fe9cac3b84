"""Graphs of the exact methods: (n, src, dst) with both directions of each edge, and their dense arrays."""

import numpy as np


def arrays(graph):
    """A networkx graph as (n, src, dst); its nodes are numbered in its own order."""
    number = {v: i for i, v in enumerate(graph)}
    a, b = np.array([(number[u], number[v]) for u, v in graph.edges], dtype=np.int64).reshape(-1, 2).T
    return len(graph), np.concatenate([a, b]), np.concatenate([b, a])


def check_graph(g):
    """Raise for what the methods do not define."""
    n, src, dst = g
    code = np.sort(src * n + dst)
    if n < 1:
        wrong = "nothing in it"
    elif len(src) and (min(src.min(), dst.min()) < 0 or max(src.max(), dst.max()) >= n):
        wrong = f"the nodes {min(src.min(), dst.min())} to {max(src.max(), dst.max())}"
    elif (src == dst).any():
        wrong = "an edge from a node to itself"
    elif (code[1:] == code[:-1]).any():
        wrong = "an edge given twice"
    elif not np.array_equal(code, np.sort(dst * n + src)):
        wrong = "an edge in one direction only"
    else:
        return
    raise ValueError(
        f"a graph of n={n} nodes with {wrong}: expected (n, src, dst) with nodes 0 to n-1 and both directions of each edge once"
    )


def adjacency(g):
    """(n, n) booleans."""
    n, src, dst = g
    A = np.zeros((n, n), dtype=bool)
    A[src, dst] = True
    return A


def distances(g):
    """(n, n) integers: edges of a shortest path; n where there is none."""
    n, A = g[0], adjacency(g).astype(np.float32)  # float32: a product of integers or booleans is ten times slower
    reached = np.eye(n, dtype=bool)
    distance = np.where(reached, 0, n)
    for d in range(1, n):
        new = (reached @ A > 0) & ~reached
        if not new.any():
            break
        distance[new] = d
        reached |= new
    return distance
