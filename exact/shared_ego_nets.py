"""The twins of DSS-GNN and SUN: ego nets with a marked root, which share what they know of a node after each layer.

Rows (r, v), closed neighbourhoods N_r[v] inside the ego net and N[v] in the whole graph. Nodes outside an ego net stay, alone.

    DSS-GNN  c'(r, v) = ({{c(r, u) : u in N_r[v]}}, {{m(u) : u in N[v]}})                 m(v) = {{c(r, v) : r}}
    SUN      c'(r, v) = (r = v, c(v, v), c(r, r), c(r, v), both of DSS-GNN, s(r))         s(r) = {{c(r, v) : v}}

A graph is {{c(r, v) : r, v}}. DSS-GNN has no term of its own c(r, v) and may forget; SUN has.
"""

import numpy as np

from exact.colours import number_tuples, refine
from exact.refinement import closed_step
from exact.subgraphs import pair_distances, pooled, subgraph_edges


def dss_gnn(g, h, radius, layers):
    """(2, n, n) colours."""
    colours, multisets = start(g, h, radius)
    for _ in range(layers):
        colours = number_tuples(*multisets(colours))
    return colours


def sun(g, h, radius, layers):
    """(2, n, n) colours."""
    colours, multisets = start(g, h, radius)
    root = np.broadcast_to(np.eye(g[0], dtype=np.int64), colours.shape)

    def step(colours):
        of_root = colours.diagonal(axis1=1, axis2=2)  # c(v, v)
        s = pooled(colours)
        return number_tuples(
            root, of_root[:, None, :], of_root[:, :, None], colours, *multisets(colours), s[:, :, None]
        )

    return refine(step, colours, layers)


def start(g, h, radius):
    """The first colours, and both multisets of DSS-GNN as a function of the colours."""
    n = g[0]
    distance = pair_distances(g, h)
    inside = distance <= min(radius, n - 1)  # n: no path
    in_ego_nets = closed_step(distance.size, *subgraph_edges(g, h, inside))
    in_graph = closed_step(2 * n, *subgraph_edges(g, h, np.ones((2, 1, n), dtype=bool)))

    def multisets(colours):
        return in_ego_nets(colours), in_graph(pooled(colours.swapaxes(1, 2)))[:, None, :]

    return np.minimum(distance, 1), multisets
