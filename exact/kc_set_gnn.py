"""The twin of KC-SetGNN: colours of the sets of 1, 2 and 3 nodes that have at most 2 components.

    c(S)  = the isomorphism type of the subgraph on S if it is connected, else the numbers of its nodes and components
    c'(S) = (c(S), r(S), {{c(R) : R in S}}, {{r(R) : R in S}})        r(S) = {{c(T) : T contains S}}

Sets that contain each other differ by one node. A graph is {{c(S) : S}}.
"""

import numpy as np

from data.transforms.node_sets import node_sets
from exact.colours import number_rows, number_tuples, refine
from exact.refinement import received


def kc_set_gnn(g, h, layers):
    """(2, m) colours of m sets; one colour more fills up where a graph has fewer."""
    sets = [node_sets(*graph, k=3, c=2) for graph in (g, h)]
    most = max(len(s.size) for s in sets)
    n_small = int((sets[0].size < 3).sum())  # sets of 1 and 2 nodes come first: all there are
    large, small, small_only = (
        np.concatenate([getattr(s, end) + i * stride for i, s in enumerate(sets)])
        for end, stride in (("large", most), ("small", most), ("small", n_small))
    )
    above = received(2 * n_small, large, small_only)
    below, r_below = (received(2 * most, numbers, large) for numbers in (small, small_only))

    def step(colours):
        r = number_rows(above(colours)).reshape(2, n_small)
        multisets = (number_rows(rows).reshape(2, most) for rows in (below(colours), r_below(r)))
        return number_tuples(colours, np.pad(r, [(0, 0), (0, most - n_small)]), *multisets)

    initial = np.stack([np.pad(first_colours(s), (0, most - len(s.size))) for s in sets])
    return refine(step, number_tuples(initial), layers)


def first_colours(s):
    """(m,) numbers above 0: nodes, components, and edges of connected sets; of three nodes these say which graph it is."""
    n_edges = np.bincount(s.row_set[s.row_src], minlength=len(s.size))
    return (s.size * 4 + s.components) * 8 + n_edges
