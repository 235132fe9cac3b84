"""Rows (r, v), node v in the subgraph of root r: what the twins of the nets on subgraphs and on pairs of nodes share.

Colours of rows are arrays (2, n, n): graph, root, node. Row (r, v) of graph i has the number (i n + r) n + v.
"""

import numpy as np

from exact.colours import number_rows
from exact.graphs import distances


def pair_distances(g, h):
    """(2, n, n); n where there is no path."""
    return np.stack([distances(g), distances(h)])


def subgraph_edges(g, h, inside):
    """(src, dst): the edges of all subgraphs, as numbers of rows. inside (2, P, n) says which nodes a subgraph has; an edge is in
    it if both of its ends are."""
    n_rows = inside[0].size
    ends = []
    for i, (n, src, dst) in enumerate((g, h)):
        subgraph, edge = np.nonzero(inside[i][:, src] & inside[i][:, dst])
        ends.append([i * n_rows + subgraph * n + end[edge] for end in (src, dst)])
    return np.concatenate(ends, axis=1)


def pooled(colours):
    """{{c(..., v) : v}} as one colour: the last axis goes."""
    return number_rows(np.sort(colours, axis=-1).reshape(-1, colours.shape[-1])).reshape(colours.shape[:-1])
