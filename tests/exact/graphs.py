"""Pairs of graphs for the tests of the exact methods, as (n, src, dst)."""

import itertools

import networkx as nx

from exact.graphs import arrays


def renumbered(g, random):
    """The same graph with its nodes and edges in another order."""
    n, src, dst = g
    number, order = random.permutation(n), random.permutation(len(src))
    return n, number[src][order], number[dst][order]


def random_graph(random, n, p=0.5):
    return nx.gnp_random_graph(n, p, seed=int(random.integers(2**31)))


def shrikhande():
    """Z_4 x Z_4; neighbours differ by ±(0, 1), ±(1, 0) or ±(1, 1)."""
    nodes = list(itertools.product(range(4), repeat=2))
    steps = ((0, 1), (1, 0), (1, 1))
    return nx.Graph([((a, b), ((a + x) % 4, (b + y) % 4)) for a, b in nodes for x, y in steps])


def rook():
    """The squares of a 4 x 4 board; neighbours share a row or a column."""
    return nx.line_graph(nx.complete_bipartite_graph(4, 4))


def skip_links(n, skip):
    return nx.circulant_graph(n, [1, skip])


def cfi(backbone, twisted):
    """The CFI graph over a backbone: a node (v, S) for each even set S of edges at v, and two nodes (e, v, 0), (e, v, 1) for each
    edge e at v. Twisting one edge of a connected backbone gives a graph that is not isomorphic."""
    graph, edges = nx.Graph(), [frozenset(e) for e in backbone.edges]
    for v in backbone:
        at_v = [e for e in edges if v in e]
        for inside in itertools.product((0, 1), repeat=len(at_v)):
            if sum(inside) % 2 == 0:
                graph.add_edges_from(((v, inside), (e, v, bit)) for e, bit in zip(at_v, inside, strict=True))
    for i, e in enumerate(edges):
        u, v = e
        graph.add_edges_from(((e, u, bit), (e, v, bit ^ (twisted and i == 0))) for bit in (0, 1))
    return graph


PAIRS = {
    "C6, 2 C3": (nx.cycle_graph(6), nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))),
    "CSL": (skip_links(41, 2), skip_links(41, 3)),
    "Shrikhande, rook": (shrikhande(), rook()),
    "CFI over K3": tuple(cfi(nx.complete_graph(3), twisted) for twisted in (False, True)),
    "CFI over K4": tuple(cfi(nx.complete_graph(4), twisted) for twisted in (False, True)),
    # two rings of 6 that share an edge, two rings of 5 joined by an edge: neither has cycles of 3 or 4 nodes
    "decalin, bicyclopentyl": (
        nx.Graph([*nx.cycle_graph(10).edges, (0, 5)]),
        nx.Graph([*nx.disjoint_union(nx.cycle_graph(5), nx.cycle_graph(5)).edges, (0, 5)]),
    ),
}
PAIRS = {name: tuple(map(arrays, pair)) for name, pair in PAIRS.items()}
