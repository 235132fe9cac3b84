"""The twin of GSN: one round of 1-WL with counts of small subgraphs on the edges, then rounds without.

    c'(v)  = (c(v), {{(c(u), id(u, v)) : u in N(v)}})        id(u, v): in how many connected induced subgraphs of 3 to k nodes the
                                                             edge has each role (data/transforms/orbits.py)
    c''(v) = (c'(v), {{c'(u) : u in N(v)}}), and so on

A graph is {{c(v) : v}}. GSN-v has the counts of nodes in the place of those of edges: 1-WL that starts from them.
"""

import numpy as np

from data.transforms.orbits import edge_orbits, node_orbits
from exact.colours import number_rows
from exact.refinement import wl


def gsn(g, h, k, layers, scope="edge"):
    """(2, n) colours."""
    if scope == "node":
        ids = number_rows(np.concatenate([node_orbits(*graph, k=k) for graph in (g, h)]))
        return wl(g, h, initial=ids.reshape(2, g[0]), iterations=layers)
    ids = number_rows(np.concatenate([edge_orbits(*graph, k=k) for graph in (g, h)]))
    colours = wl(g, h, edge_colours=np.split(ids, [len(g[1])]), iterations=1)
    return wl(g, h, initial=colours, iterations=layers - 1)
