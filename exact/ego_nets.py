"""The twins of NGNN, DE+NGNN and DS-GNN: a GIN on the ego net of each node, a set of subgraphs.

With N_r(v) the neighbours of v inside the ego net of root r, which has the nodes at distance D(r, v) <= radius:

    c(r, v)  = min(D(r, v), told)                     told = 0: nothing, 1: which node is the root, radius: all distances
    c'(r, v) = {{c(r, u) : u in N_r(v) or u = v}}     closed, since epsilon is 0 in these nets
    s(r)     = {{c(r, v) : v}}, and a graph is {{s(r) : r}}

Closed multisets forget: in a regular graph a root and its neighbours look alike after one layer. With epsilon learnt the rule would
be that of 1-WL (closed=False), and DS-GNN would tell four more pairs of BREC apart.
"""

import numpy as np

from exact.refinement import closed_step, wl_step
from exact.subgraphs import pair_distances, pooled, subgraph_edges


def ego_nets(g, h, radius, told, layers, closed=True):
    """(2, n) colours s(r)."""
    distance = pair_distances(g, h)
    inside = distance <= min(radius, g[0] - 1)  # n: no path
    # rows outside have no edges, and there is one colour for them
    colours = np.where(inside, np.minimum(distance, told), told + 1)
    step = (closed_step if closed else wl_step)(colours.size, *subgraph_edges(g, h, inside))
    for _ in range(layers):
        colours = step(colours)
    return pooled(colours)
