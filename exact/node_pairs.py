"""The twins of SSWL_P and delta-2-LGNN, which hold colours c(u, v) of all pairs of nodes.

    delta-2-LGNN  c'(u, v) = (c(u, v), {{c(u, w) : w in N(v)}}, {{c(w, v) : w in N(u)}})       from: equal, adjacent, neither
    SSWL_P        the same and c(v, v) beside, from distances; then s(u) = {{c(u, v) : v}}

A graph is {{c(u, v) : u, v}}, of SSWL_P {{s(u) : u}}.
"""

import numpy as np

from exact.colours import number_tuples, refine
from exact.refinement import atomic_types, wl_step
from exact.subgraphs import pair_distances, pooled, subgraph_edges


def delta_2_lgnn(g, h, layers):
    """(2, n, n) colours."""
    local = both_directions(g, h)
    return refine(lambda colours: number_tuples(*local(colours)), atomic_types(g, h, 2), layers)


def sswl_p(g, h, told, layers):
    """(2, n) colours s(u). Distances above `told` look alike, also those of nodes without a path."""
    local = both_directions(g, h)

    def step(colours):
        return number_tuples(*local(colours), colours.diagonal(axis1=1, axis2=2)[:, None, :])

    return pooled(refine(step, number_tuples(np.minimum(pair_distances(g, h), told)), layers))


def both_directions(g, h):
    """((c(u, v), {{c(u, w) : w in N(v)}}), (c(u, v), {{c(w, v) : w in N(u)}})) as a function of the colours."""
    n = g[0]
    step = wl_step(2 * n * n, *subgraph_edges(g, h, np.ones((2, n, n), dtype=bool)))
    return lambda colours: (step(colours), step(colours.swapaxes(1, 2)).swapaxes(1, 2))
