"""Pairs of graphs as appendix K of the BREC paper generates them: not isomorphic, and not told apart by 1-WL.

    python -m tools.brec_generate basic --pairs 60            graphs of 10 nodes that are not regular, by search
    python -m tools.brec_generate regular --pairs 50          regular graphs of 6 to 10 nodes with the same degree
    python -m tools.brec_generate regular --pairs 5 --virtual_node
    python -m tools.brec_generate cycles 5 6 7 8 9            C_2l and C_l,l, each with a virtual node
    python -m tools.brec_generate cfi K4 C5 --nodes 3 5       CFI graphs over K_4, over C_5, over all backbones of 3 to 5 nodes

It prints graph6, a line per graph; lines 2i and 2i + 1 are a pair. Every pair is checked before it is printed. Not here: strongly
regular, 4-vertex condition and distance regular graphs, which the paper takes from collections of others.
"""

import argparse
import itertools
import re
import sys
from collections import defaultdict

import networkx as nx
import numpy as np
from tqdm import tqdm

from data.readers.graph6 import decode
from exact import METHODS
from exact.graphs import arrays
from exact.isomorphism import canonical_form
from exact.refinement import wl
from runs.signals import end_with_pipe

ATTEMPTS = 10_000  # random graphs looked at for one pair before a search gives up
SWITCHES = 5  # of a random graph of the search
MOST_NODES = 20_000  # of a CFI graph: it grows as two to the degree of the backbone
ATLAS = 7  # nodes of the largest graphs of networkx' list of all small graphs


# --------------------------------------------------------------------------------------------------------------------
# What a pair must be


def is_pair(g, h):
    """Not told apart by 1-WL, and not isomorphic."""
    g, h = arrays(g), arrays(h)
    return not METHODS["1-WL"](g, h) and canonical_form(g) != canonical_form(h)


# --------------------------------------------------------------------------------------------------------------------
# Basic graphs


def basic_pairs(n_nodes, n_pairs, random):
    """Pairs of graphs of n_nodes that are not regular; no graph occurs twice.

    Deviation: the paper looks at all 11.7 million graphs of 10 nodes. Here random graphs are changed by switches: an edge a - b
    and an edge c - d, with a and c of one colour of 1-WL and b and d of one, become a - d and c - b. Every node keeps the number of
    its neighbours of each colour, so 1-WL cannot tell the result from the start; it remains to see that it is another graph.
    """
    seen, attempts = set(), 0
    while n_pairs and attempts < ATTEMPTS:
        attempts += 1
        g = nx.gnp_random_graph(n_nodes, random.uniform(0.2, 0.8), seed=random)
        if nx.is_regular(g):
            continue
        h = switched(g, random)
        forms = {canonical_form(arrays(x)) for x in (g, h)} if h is not None else ()
        if len(forms) == 2 and not forms & seen:
            seen |= forms
            n_pairs, attempts = n_pairs - 1, 0
            yield g, h
    if n_pairs:
        raise ValueError(f"no further pair among {ATTEMPTS} graphs of {n_nodes} nodes; {n_pairs} are missing")


def switched(g, random):
    """The graph after some random switches; None if there is none to make."""
    colour = wl(arrays(g), arrays(g))[0].tolist()
    if len(set(colour)) == len(g):
        return None
    h = g.copy()
    for _ in range(SWITCHES):
        edges = defaultdict(list)  # in both directions, by the colours of their ends
        for a, b in itertools.chain.from_iterable(((a, b), (b, a)) for a, b in h.edges):
            edges[colour[a], colour[b]].append((a, b))
        possible = [
            (a, b, c, d)
            for alike in edges.values()
            for (a, b), (c, d) in itertools.combinations(alike, 2)
            if len({a, b, c, d}) == 4 and not h.has_edge(a, d) and not h.has_edge(c, b)
        ]
        if not possible:
            return None
        a, b, c, d = possible[random.integers(len(possible))]
        h.remove_edges_from([(a, b), (c, d)])
        h.add_edges_from([(a, d), (c, b)])
    return h


# --------------------------------------------------------------------------------------------------------------------
# Regular graphs, and graphs with a virtual node


def regular_pairs(least, most, n_pairs, random):
    """Pairs of connected regular graphs of `least` to `most` nodes, of the same size and degree; no graph occurs twice."""
    sizes = [(n, k) for n in range(least, most + 1) for k in range(3, n - 1) if n * k % 2 == 0]
    seen, waiting, attempts = set(), defaultdict(list), 0
    while n_pairs and sizes and attempts < ATTEMPTS:
        attempts += 1
        n, k = sizes[random.integers(len(sizes))]
        g = nx.random_regular_graph(k, n, seed=random)
        form = canonical_form(arrays(g))
        if form in seen or not nx.is_connected(g):
            continue
        seen.add(form)
        waiting[n, k].append(g)
        if len(waiting[n, k]) == 2:
            n_pairs, attempts = n_pairs - 1, 0
            yield tuple(waiting.pop((n, k)))
    if n_pairs:
        raise ValueError(f"no further pair of regular graphs of {least} to {most} nodes; {n_pairs} are missing")


def with_virtual_node(g):
    """The graph with one more node that is joined to all others."""
    return nx.full_join(nx.convert_node_labels_to_integers(g), nx.empty_graph(1), rename=("", "virtual "))


def cycles(length):
    """C_2l and C_l,l, a cycle of 2l nodes and two cycles of l nodes, each with a virtual node; l = `length`."""
    if length < 3:
        raise ValueError(f"cycles of {length} nodes: expected 3 or more")
    one, two = nx.cycle_graph(2 * length), nx.disjoint_union(nx.cycle_graph(length), nx.cycle_graph(length))
    return with_virtual_node(one), with_virtual_node(two)


# --------------------------------------------------------------------------------------------------------------------
# CFI graphs


def cfi(backbone):
    """(untwisted, twisted): the two graphs of Cai, Fürer and Immerman over a backbone.

    A node v of the backbone with its edges e becomes two nodes (v, e, 0) and (v, e, 1) for each e, and a node (v, S) for each
    set S of an even number of these edges, joined to (v, e, 1) for e in S and to (v, e, 0) for the others. An edge e = vw of
    the backbone joins (v, e, i) to (w, e, i). In the twisted graph one e joins (v, e, i) to (w, e, 1 - i); if the backbone
    is connected it does not matter which, the graphs are isomorphic. k-FWL, which is as strong as (k + 1)-WL, tells the two
    apart if and only if the treewidth of the backbone is at most k.
    """
    edges = list(backbone.edges)
    if not edges or nx.number_of_selfloops(backbone):
        raise ValueError(f"backbone with {len(edges)} edges: expected one or more and no self-loops")
    n_nodes = sum(2 ** max(d - 1, 0) + 2 * d for _, d in backbone.degree)
    if n_nodes > MOST_NODES:
        raise ValueError(
            f"backbone of {len(backbone)} nodes: its CFI graphs have {n_nodes}, at most {MOST_NODES} are made"
        )
    untwisted = nx.Graph()
    for v in backbone:
        at_v = [e for e in edges if v in e]
        for size in range(0, len(at_v) + 1, 2):
            for chosen in itertools.combinations(at_v, size):
                untwisted.add_node((v, chosen))
                untwisted.add_edges_from(((v, chosen), (v, e, int(e in chosen))) for e in at_v)
    twisted = untwisted.copy()
    for e in edges:
        v, w = e
        untwisted.add_edges_from(((v, e, i), (w, e, i)) for i in (0, 1))
        twisted.add_edges_from(((v, e, i), (w, e, 1 - i if e == edges[0] else i)) for i in (0, 1))
    return untwisted, twisted


def backbone(text):
    """K4 for a complete graph, C5 for a cycle, else graph6."""
    if name := re.fullmatch(r"([KC])(\d{1,2})", text):
        return (nx.complete_graph if name[1] == "K" else nx.cycle_graph)(int(name[2]))
    n, a, b = decode(text)
    g = nx.empty_graph(n)
    g.add_edges_from(zip(a.tolist(), b.tolist(), strict=True))
    return g


def backbones(least, most):
    """All connected graphs of `least` to `most` nodes in which every node has two edges or more, one of each isomorphism class.

    Deviation: appendix K says all graphs of 3 to 7 nodes. All 100 of BREC are of this kind, 583 of 1,249 graphs.
    """
    graphs = [g for g in nx.graph_atlas_g() if least <= len(g) <= most and min(d for _, d in g.degree) >= 2]
    return [g for g in graphs if nx.is_connected(g)]


# --------------------------------------------------------------------------------------------------------------------
# Command line


def parse(argv):
    parser = argparse.ArgumentParser(
        prog="python -m tools.brec_generate", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="KIND")
    basic = kinds.add_parser("basic", help="graphs that are not regular, by search")
    basic.add_argument("--nodes", type=int, default=10, help="of each graph, 6 to 20 (10)")
    regular = kinds.add_parser("regular", help="regular graphs of the same size and degree")
    regular.add_argument("--nodes", type=int, nargs=2, default=(6, 10), metavar=("LEAST", "MOST"), help="(6 10)")
    regular.add_argument("--virtual_node", action="store_true", help="add a node that is joined to all others")
    for kind in (basic, regular):
        kind.add_argument("--pairs", type=int, default=10, help="how many (10)")
        kind.add_argument("--seed", type=int, default=0, help="of the search (0)")
    kinds.add_parser("cycles", help="C_2l and C_l,l with a virtual node").add_argument(
        "length", type=int, nargs="+", help="l, 3 or more"
    )
    cfi_graphs = kinds.add_parser("cfi", help="CFI graphs over backbones")
    cfi_graphs.add_argument("backbone", nargs="*", help="K4 (complete graph), C5 (cycle), or graph6")
    cfi_graphs.add_argument(
        "--nodes", type=int, nargs=2, metavar=("LEAST", "MOST"), help=f"all backbones of 3 to {ATLAS} nodes"
    )
    arguments = parser.parse_args(argv)
    check(arguments, parser)
    return arguments


def check(arguments, parser):
    """What argparse cannot say of the values."""
    if getattr(arguments, "pairs", 1) < 1 or getattr(arguments, "seed", 0) < 0:
        parser.error(
            f"--pairs {arguments.pairs} --seed {arguments.seed}: expected 1 or more pairs, a seed of 0 or more"
        )
    if arguments.kind == "basic" and not 6 <= arguments.nodes <= 20:
        parser.error(f"--nodes {arguments.nodes}: expected 6 to 20")
    if arguments.kind == "cfi" and not arguments.backbone and not arguments.nodes:
        parser.error("name a backbone, or all of some sizes with --nodes LEAST MOST")
    if arguments.kind == "cfi" and arguments.nodes and not 3 <= arguments.nodes[0] <= arguments.nodes[1] <= ATLAS:
        parser.error(f"--nodes {arguments.nodes[0]} {arguments.nodes[1]}: expected 3 to {ATLAS}, the smaller first")


def candidates(arguments):
    """(pairs, how many), of the kind that is asked for."""
    if arguments.kind == "cycles":
        return map(cycles, arguments.length), len(arguments.length)
    if arguments.kind == "cfi":
        chosen = [*map(backbone, arguments.backbone), *(backbones(*arguments.nodes) if arguments.nodes else ())]
        return map(cfi, chosen), len(chosen)
    random = np.random.default_rng(arguments.seed)
    if arguments.kind == "basic":
        return basic_pairs(arguments.nodes, arguments.pairs, random), arguments.pairs
    pairs = regular_pairs(*arguments.nodes, arguments.pairs, random)
    return (map(with_virtual_node, pair) for pair in pairs) if arguments.virtual_node else pairs, arguments.pairs


def main(argv=None):
    arguments = parse(argv)
    n_printed = n_left_out = 0
    try:
        pairs, total = candidates(arguments)
        for g, h in tqdm(pairs, desc=arguments.kind, total=total, unit=" pairs", disable=None):
            if not is_pair(g, h):
                n_left_out += 1
                continue
            n_printed += 1
            for graph in (g, h):
                print(nx.to_graph6_bytes(nx.convert_node_labels_to_integers(graph), header=False).decode().strip())
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"{n_printed} pairs; {n_left_out} left out that 1-WL tells apart or that are isomorphic", file=sys.stderr)
    return 0 if n_printed else 1


if __name__ == "__main__":
    end_with_pipe()
    sys.exit(main())
