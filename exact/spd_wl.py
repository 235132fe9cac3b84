"""SPD-WL (section 5 of BREC): 1-WL on the complete graph, with shortest path distances as colours of the edges."""

import numpy as np

from exact.graphs import distances
from exact.refinement import wl


def spd_wl(g, h, iterations=None):
    """(2, n) colours. Two nodes without a path between them have a distance of their own kind."""
    n = g[0]
    src, dst = np.divmod(np.arange(n * n), n)  # a node's edge to itself, of distance 0, adds only what it knows
    complete = (n, src, dst)
    return wl(complete, complete, edge_colours=[distances(g).ravel(), distances(h).ravel()], iterations=iterations)
