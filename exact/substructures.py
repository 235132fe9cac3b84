"""S_k (section 5 and appendix H of BREC): 1-WL that starts from counts of the small connected subgraphs around each node.

For each connected graph of 2 to k nodes: in how many of its induced copies does the node lie? Its place in the copy (its orbit)
is not told. Copies that need not be induced would tell the same graphs apart: their numbers are sums of these.
"""

import numpy as np

from exact.colours import number_rows
from exact.graphs import adjacency
from exact.refinement import wl

MAX_K = 4  # connected graphs of up to 4 nodes are told apart by their degrees; of 5 nodes not all


def s_k(g, h, k):
    """(2, n) colours."""
    counts = np.concatenate([subgraph_counts(graph, k) for graph in (g, h)])
    return wl(g, h, initial=number_rows(counts).reshape(2, g[0]))


def subgraph_counts(g, k):
    """(n, columns): column t counts the connected induced subgraphs of type t that a node lies in; see `type_of`."""
    if k not in range(2, MAX_K + 1):
        raise ValueError(f"S_k with k={k}: expected 2 to {MAX_K}")
    n, A = g[0], adjacency(g)
    counts = [np.zeros((n, 0), dtype=np.int64)]
    subsets = np.arange(n)[:, None]
    for size in range(2, k + 1):
        subsets = grown(subsets, A)
        types = type_of(subsets, A)
        n_types = MAX_K**size
        flat = np.bincount((subsets * n_types + types[:, None]).ravel(), minlength=n * n_types)
        counts.append(flat.reshape(n, n_types))
    return np.concatenate(counts, axis=1)


def grown(subsets, A):
    """All connected sets of m+1 nodes, (N', m+1), from all connected sets of m nodes, (N, m): each contains one of them."""
    outside = A[subsets].any(axis=1)
    np.put_along_axis(outside, subsets, False, axis=1)
    row, node = np.nonzero(outside)  # a neighbour of the set that is not in it
    larger = np.sort(np.concatenate([subsets[row], node[:, None]], axis=1), axis=1)
    digits = len(A) ** np.arange(larger.shape[1])
    codes = np.sort(larger @ digits)  # a set as one number, in base n
    codes = codes[np.diff(codes, prepend=-1) > 0]  # each set once
    return codes[:, None] // digits % len(A)


def type_of(subsets, A):
    """A number for the isomorphism type of the subgraph on each set of m nodes: its degrees in order, as the digits of a number."""
    degrees = np.sort(A[subsets[:, :, None], subsets[:, None, :]].sum(axis=2), axis=1)
    return degrees @ MAX_K ** np.arange(degrees.shape[1])
