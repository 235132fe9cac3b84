"""Colour refinement on arrays against plain Python with dictionaries of tuples, isomorphism types against igraph.

    python benchmarks/exact_methods.py [--rounds 5]

Both work on the same pairs to the end (nothing stops early: a graph and its copy renumbered), in turn in one process, and must
agree on the number of colours. What is printed are medians of the ratio of each round: above 1, ours is faster.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import networkx as nx
import numpy as np

from exact.colours import n_colours
from exact.isomorphism import isomorphism_types
from exact.neighbourhoods import neighbourhoods
from exact.refinement import k_fwl, k_wl, wl
from tests.exact import reference
from tests.exact.graphs import arrays, cfi, random_graph, renumbered, rook

RANDOM = np.random.default_rng(0)
GRAPHS = {
    "random, 10 nodes": random_graph(RANDOM, 10, 0.3),
    "rook, 16 nodes": rook(),
    "CFI over K4, 40 nodes": cfi(nx.complete_graph(4), twisted=False),
    "random, 40 nodes": random_graph(RANDOM, 40, 0.1),
}


def neighbourhood_types(types, k):
    """A function of a pair: how many isomorphism types the neighbourhoods of N_k have, by the function `types`."""
    return lambda g, h: np.concatenate(types((g, h), [neighbourhoods(x, k) for x in (g, h)]))


def plain(refinement, *parameters):
    """A refinement in plain Python, its colours as an array."""
    return lambda *pair: np.array([[*c.values()] for c in refinement(pair, *parameters)])


METHODS = {  # name: (ours, the other, most nodes that the other is asked to do)
    "1-WL": (wl, plain(reference.wl), 40),
    "2-FWL": (lambda g, h: k_fwl(g, h, 2), plain(reference.k_fwl, 2), 40),
    "3-WL on tuples": (lambda g, h: k_wl(g, h, 3), plain(reference.k_wl, 3), 16),
    "3-FWL": (lambda g, h: k_fwl(g, h, 3), plain(reference.k_fwl, 3), 16),
    **{
        f"types of N_{k}": (
            neighbourhood_types(isomorphism_types, k),
            neighbourhood_types(reference.igraph_types, k),
            40,
        )
        for k in (1, 2, 10)
    },
}


def seconds(function, *arguments):
    start = time.perf_counter()
    result = function(*arguments)
    return time.perf_counter() - start, result


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=5, help="measurements of each variant")
    arguments = parser.parse_args(argv)
    print(f"{'':17}{'':24}{'other, ms':>11}{'ours, ms':>11}{'ratio':>9}")
    for method, (ours, other, most_nodes) in METHODS.items():
        for name, graph in GRAPHS.items():
            g = arrays(graph)
            if g[0] > most_nodes:
                continue
            pair, times = (g, renumbered(g, RANDOM)), []
            for _ in range(arguments.rounds):
                slow, expected = seconds(other, *pair)
                fast, colours = seconds(ours, *pair)
                assert n_colours(colours) == n_colours(expected), "the two ways disagree"
                times.append((slow, fast))
            slow, fast = (statistics.median(column) * 1e3 for column in zip(*times, strict=True))
            ratio = statistics.median(a / b for a, b in times)
            print(f"{method:17}{name:24}{slow:11.2f}{fast:11.2f}{ratio:8.1f}x")


if __name__ == "__main__":
    main()
