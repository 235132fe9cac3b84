"""The twin of KP-GNN: 1-WL with the nodes at each distance k = 1, ..., K, and with counts of how these are joined.

    c'(v) = (p(v, k), {{c(u) : D(u, v) = k or u = v}}) for k = 1, ..., K

p(v, k) are the counts of the peripheral subgraph, that on the nodes at distance k from v (data/transforms/peripheral.py). The
multisets are closed: a node's own colour is added to those of others. A graph is {{c(v) : v}}.
"""

import numpy as np

from data.transforms.peripheral import peripheral_counts
from exact.colours import number_rows, number_tuples
from exact.refinement import closed_step
from exact.subgraphs import pair_distances


def kp_gnn(g, h, K, layers):
    """(2, n) colours."""
    n, distance = g[0], pair_distances(g, h)
    distance[distance == n] = K + 1  # no path
    periphery = np.stack([peripheral_counts(*graph, K) for graph in (g, h)])
    periphery = number_rows(periphery.reshape(2 * n, -1)).reshape(2, n)
    rings = []
    for k in range(1, K + 1):
        graph, src, dst = np.nonzero(distance == k)
        rings.append(closed_step(2 * n, graph * n + src, graph * n + dst))
    colours = np.zeros((2, n), dtype=np.int64)
    for _ in range(layers):
        colours = number_tuples(periphery, *(ring(colours) for ring in rings))
    return colours
