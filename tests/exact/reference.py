"""Colour refinement in plain Python, straight from the definitions: dictionaries of tuples, one graph after the other.

Colours are nested tuples, not numbers, so that they mean the same in all graphs; slow, and only for a few rounds.
"""

import itertools

import numpy as np


def neighbours(g):
    n, src, dst = g
    at = [[] for _ in range(n)]
    for a, b in zip(src.tolist(), dst.tolist(), strict=True):
        at[b].append(a)
    return at


def renumber(*colourings):
    """Nested tuples as numbers that mean the same in all the dictionaries {place: colour}."""
    number = {colour: i for i, colour in enumerate(sorted({c for colours in colourings for c in colours.values()}))}
    return [{place: number[c] for place, c in colours.items()} for colours in colourings]


def refined(step, pair, colourings, iterations=None):
    """[{place: colour}] of the graphs of `pair` when no colour is divided any more, or after `iterations`."""
    colourings, rounds = renumber(*colourings), 0
    while rounds != iterations:
        new = renumber(*(step(g, colours) for g, colours in zip(pair, colourings, strict=True)))
        if len(set().union(*(c.values() for c in new))) == len(set().union(*(c.values() for c in colourings))):
            break
        colourings, rounds = new, rounds + 1
    return colourings


def wl(pair, initial=None, iterations=None):
    def step(g, colours):
        return {v: (colours[v], tuple(sorted(colours[u] for u in near))) for v, near in enumerate(neighbours(g))}

    initial = [dict.fromkeys(range(g[0]), 0) for g in pair] if initial is None else initial
    return refined(step, pair, initial, iterations)


def replaced(v, i, w):
    return (*v[:i], w, *v[i + 1 :])


def k_wl(pair, k, iterations=None):
    def step(g, colours):
        return {
            v: (c, tuple(tuple(sorted(colours[replaced(v, i, w)] for w in range(g[0]))) for i in range(k)))
            for v, c in colours.items()
        }

    return refined(step, pair, [first_colours(g, k) for g in pair], iterations)


def k_fwl(pair, k, iterations=None):
    def step(g, colours):
        return {
            v: (c, tuple(sorted(tuple(colours[replaced(v, i, w)] for i in range(k)) for w in range(g[0]))))
            for v, c in colours.items()
        }

    return refined(step, pair, [first_colours(g, k) for g in pair], iterations)


def first_colours(g, k):
    joined = set(zip(g[1].tolist(), g[2].tolist(), strict=True))
    return {
        v: tuple((a == b, (a, b) in joined) for a in v for b in v) for v in itertools.product(range(g[0]), repeat=k)
    }


def differ(colourings):
    first, second = (sorted(colours.values()) for colours in colourings)
    return first != second


def igraph_types(graphs, subsets):
    """As exact.isomorphism.isomorphism_types, by the canonical forms of igraph, whose licence is the GPL: for tests only."""
    import igraph

    def form(g, inside):
        n, src, dst = g
        graph = igraph.Graph(n, [(a, b) for a, b in zip(src.tolist(), dst.tolist(), strict=True) if a < b])
        graph = graph.induced_subgraph(np.flatnonzero(inside).tolist())
        # permute_vertices knows which of the permutation and its inverse igraph returned: that differs between its versions
        edges = graph.permute_vertices(graph.canonical_permutation()).get_edgelist()
        return graph.vcount(), tuple(sorted(tuple(sorted(edge)) for edge in edges))

    forms = [[form(g, inside) for inside in rows] for g, rows in zip(graphs, subsets, strict=True)]
    number = {f: i for i, f in enumerate(sorted({f for of_graph in forms for f in of_graph}))}
    return [np.array([number[f] for f in of_graph]) for of_graph in forms]
