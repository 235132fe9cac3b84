"""The twin of I2-GNN: 1-WL on the ego nets of each root i, one copy for each neighbour j of i, labelled as seen from i and from j.

c(i, j, v)  = z(i, j, v)                                                   data/transforms/i2_labels.py
c'(i, j, v) = (c(i, j, v), {{c(i, j, u) : u in N_i(v)}})
s(i)        = {{ {{c(i, j, v) : v}} : j in N(i)}}, and a graph is {{s(i) : i}}
"""

import numpy as np

from data.transforms.i2_labels import i2_labels
from exact.colours import number_rows, refine
from exact.refinement import received, wl_step
from exact.subgraphs import pooled, subgraph_edges


def i2_gnn(g, h, radius, layers):
    """(2, n) colours s(i)."""
    roots, labels = zip(*(i2_labels(*graph, radius) for graph in (g, h)), strict=True)
    n, most = g[0], max(map(len, roots))  # subgraphs; there may be fewer of one graph: the others are empty
    labels = np.stack([np.pad(z, [(0, most - len(z)), (0, 0), (0, 0)]) for z in labels])  # (graph, (i, j), v, 4)
    colours = number_rows(labels.reshape(-1, 4)).reshape(2, most, n)
    step = wl_step(colours.size, *subgraph_edges(g, h, labels[..., 0] > 0))
    copies = pooled(refine(step, colours, layers))
    copy = np.concatenate([i * most + np.arange(len(root)) for i, root in enumerate(roots)])
    root = np.concatenate([i * n + root for i, root in enumerate(roots)])
    return number_rows(received(2 * n, copy, root)(copies)).reshape(2, n)
