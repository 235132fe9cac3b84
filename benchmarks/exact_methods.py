"""How much faster colour refinement on arrays is than plain Python with dictionaries of tuples.

    python benchmarks/exact_methods.py [--rounds 5]

Both refine the same pairs to the end (nothing stops early: a graph and its copy renumbered), in turn in one process, and must
agree on the number of colours. What is printed are medians of the ratio of each round.
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
METHODS = {  # name: (ours, plain Python, most nodes that plain Python is asked to do)
    "1-WL": (wl, reference.wl, 40),
    "2-FWL": (lambda g, h: k_fwl(g, h, 2), lambda pair: reference.k_fwl(pair, 2), 40),
    "3-WL on tuples": (lambda g, h: k_wl(g, h, 3), lambda pair: reference.k_wl(pair, 3), 16),
    "3-FWL": (lambda g, h: k_fwl(g, h, 3), lambda pair: reference.k_fwl(pair, 3), 16),
}


def seconds(function, *arguments):
    start = time.perf_counter()
    result = function(*arguments)
    return time.perf_counter() - start, result


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=5, help="measurements of each variant")
    arguments = parser.parse_args(argv)
    print(f"{'':17}{'':24}{'plain, ms':>11}{'ours, ms':>11}{'ratio':>9}")
    for method, (ours, plain, most_nodes) in METHODS.items():
        for name, graph in GRAPHS.items():
            g = arrays(graph)
            if g[0] > most_nodes:
                continue
            pair, times = (g, renumbered(g, RANDOM)), []
            for _ in range(arguments.rounds):
                slow, expected = seconds(plain, pair)
                fast, colours = seconds(ours, *pair)
                assert n_colours(colours) == len(set().union(*(c.values() for c in expected))), "the two ways disagree"
                times.append((slow, fast))
            slow, fast = (statistics.median(column) * 1e3 for column in zip(*times, strict=True))
            ratio = statistics.median(a / b for a, b in times)
            print(f"{method:17}{name:24}{slow:11.2f}{fast:11.2f}{ratio:8.1f}x")


if __name__ == "__main__":
    main()
