"""What follows from the edges of a graph alone, worked out once per graph.

Every layer of a net asks a batch for its edges again, forward and backward; DGL's answer takes 25 µs, as much as a small layer.
"""

import functools
import weakref


def once_per_graph(function):
    """`function(g)`, remembered as long as g lives. Nothing is left on the graph; one whose edges were changed is asked again.

    >>> degrees, g = once_per_graph(lambda g: g.in_degrees()), dgl.graph(([0, 1], [1, 0]))
    >>> degrees(g) is degrees(g)
    True
    """
    known = weakref.WeakKeyDictionary()

    @functools.wraps(function)
    def remembered(g):
        edges, value = known.get(g, (None, None))
        if edges is not g._graph:  # DGL puts another one there when edges or nodes are added or removed
            value = function(g)
            known[g] = g._graph, value
        return value

    return remembered
