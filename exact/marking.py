"""M_1 (section 5 of BREC): 1-WL on the copies of a graph in each of which one node is marked."""

import numpy as np

from exact.colours import number_rows, refine
from exact.refinement import wl_step


def m_1(g, h):
    """(2, n): the colour of copy v, in which node v is marked, is the histogram of its nodes' colours. Copies share no edge."""
    n = g[0]
    offset = n * np.arange(2 * n).reshape(2, n, 1)  # of the nodes of copy v of each graph
    src, dst = (np.concatenate([(g[end] + offset[0]).ravel(), (h[end] + offset[1]).ravel()]) for end in (1, 2))
    marked = np.stack([np.eye(n, dtype=np.int64)] * 2)  # (graph, copy, node)
    colours = refine(wl_step(2 * n * n, src, dst), marked)
    return number_rows(np.sort(colours, axis=2).reshape(2 * n, n)).reshape(2, n)
