"""SPD-WL (section 5 of BREC): 1-WL on the complete graph, with shortest path distances as colours of the edges.

    c'(v) = (c(v), {{(D(u, v), c(u)) : u}})

The twin of Graphormer is the same with as many iterations as the net has layers, from the degrees of the nodes.
"""

import numpy as np

from exact.graphs import distances
from exact.refinement import wl


def spd_wl(g, h, initial=None, iterations=None):
    """(2, n) colours. Two nodes without a path between them have a distance of their own kind."""
    n = g[0]
    src, dst = np.divmod(np.arange(n * n), n)  # a node's edge to itself, of distance 0, adds only what it knows
    complete = (n, src, dst)
    return wl(complete, complete, initial, [distances(g).ravel(), distances(h).ravel()], iterations)


def graphormer(g, h, layers):
    """(2, n) colours."""
    return spd_wl(g, h, np.array([np.bincount(graph[2], minlength=graph[0]) for graph in (g, h)]), layers)
