"""The twin of GNN-AK: each layer runs a GIN on all ego nets, with distances to the root, and a node learns from three places.

    y(r, v)  = (c(v), D(r, v)) for D(r, v) <= radius, then twice y'(r, v) = (y(r, v), {{y(r, u) : u in N_r(v)}})
    c'(v)    = (y(v, v), {{y(v, u) : u}}, {{y(r, v) : r}})        its own row, its ego net, and itself in the ego nets of others

A graph is {{c(v) : v}}.
"""

import numpy as np

from exact.colours import number_tuples, refine
from exact.refinement import wl_step
from exact.subgraphs import pair_distances, pooled, subgraph_edges


def gnn_ak(g, h, radius, layers, inner_layers):
    """(2, n) colours."""
    n, distance = g[0], pair_distances(g, h)
    inside = distance <= min(radius, n - 1)  # n: no path
    inner_step = wl_step(distance.size, *subgraph_edges(g, h, inside))

    def step(colours):
        y = number_tuples(np.broadcast_to(colours[:, None, :], distance.shape), distance)
        for _ in range(inner_layers):
            y = inner_step(y)
        y = np.where(inside, y, -1)
        return number_tuples(y.diagonal(axis1=1, axis2=2), pooled(y), pooled(y.swapaxes(1, 2)))

    return refine(step, np.zeros((2, n), dtype=np.int64), layers)
