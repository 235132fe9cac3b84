"""How far a trained Transformer looks: mean attention between nodes by their distance, layer by layer (LRGB, appendix E).

    python -m tools.attention RUN                                  writes RUN/attention.json; RUN is a folder out/…/seed_S/fold_F
    python -m tables.plot attention RUN --save attention.png       draws it

The bar of layer l and distance k is the mean of the attention weight a_vu over all ordered pairs (v, u) of nodes at distance k,
over the heads, and over all graphs together; k = 0 is a node's attention to itself. Distances are those of the undirected graph.
Graphs are drawn from the test part; pairs without a path count nowhere.

Deviation: LRGB's script of the bars is not published; how heads and graphs are averaged is our reading of the text.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np
import torch

from data.dataset import DataConfig
from data.errors import DataError
from data.registry import DATASETS
from data.transforms.distances import distances
from runs.errors import ConfigError
from runs.files import RunError, write_atomic
from train.weights import load

N_GRAPHS, BATCH = 128, 32


class ByDistance:
    """Sums of attention weights by distance, added graph by graph."""

    def __init__(self, n_layers):
        self.sums = [np.zeros(0) for _ in range(n_layers)]
        self.pairs = np.zeros(0, dtype=np.int64)

    def add(self, g, weights):
        """A batch of graphs, and [[(heads, n, n) of each graph] of each layer]."""
        found = [distance_of(graph) for graph in graphs_of(g)]
        for i, (n, distance) in enumerate(found):
            reached = distance < n
            pairs = np.bincount(distance[reached])
            self.pairs = added(self.pairs, pairs)
            for layer, of_graphs in enumerate(weights):
                mean = of_graphs[i].mean(0).double().cpu().numpy()
                self.sums[layer] = added(self.sums[layer], np.bincount(distance[reached], mean[reached]))

    def layers(self):
        """[[mean of distance 0, 1, …] of each layer]"""
        return [[float(s) / int(n) if n else None for s, n in zip(sums, self.pairs, strict=True)] for sums in self.sums]


def added(a, b):
    n = max(len(a), len(b))
    return np.pad(a, (0, n - len(a))) + np.pad(b, (0, n - len(b)))


def graphs_of(g):
    """(nodes, src, dst) of each graph of a batch that has nodes."""
    src, dst = (x.cpu().numpy() for x in g.edges())
    node, edge = 0, 0
    for n, m in zip(g.batch_num_nodes().tolist(), g.batch_num_edges().tolist(), strict=True):
        if n:
            yield n, src[edge : edge + m] - node, dst[edge : edge + m] - node
        node, edge = node + n, edge + m


def distance_of(graph):
    """(n, distances (n, n)); n stands for no path."""
    n, src, dst = graph
    return n, distances(n, np.concatenate([src, dst]), np.concatenate([dst, src]), cap=n)


def measure(folder, n_graphs=N_GRAPHS, seed=0):
    """What attention.json holds."""
    net, _, config = load(folder)
    if not hasattr(net, "attention_weights"):
        raise RunError(f"{folder}: a net {config.net.model} has no attention between all nodes: expected a Transformer")
    dataset = DATASETS[config.dataset](DataConfig.model_validate(config.data.model_dump()), needs=config.net.needs)
    test = dataset.fold(int(Path(folder).resolve().name.removeprefix("fold_"))).parts["test"]
    chosen = np.random.default_rng(seed).permutation(test)[:n_graphs]
    found = ByDistance(config.net.L)
    with torch.no_grad():
        for part in np.array_split(chosen, -(-len(chosen) // BATCH)):
            g = dataset.store.batch(part).g
            found.add(g, net.attention_weights(g))
    return {
        "dataset": config.dataset,
        "model": config.net.model,
        "graphs": len(chosen),
        "pairs": found.pairs.tolist(),
        "layers": found.layers(),
    }


def main(argv=None):
    parser = argparse.ArgumentParser(
        prog="python -m tools.attention", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path, help="folder of a finished run, out/…/seed_S/fold_F")
    parser.add_argument("--graphs", type=int, default=N_GRAPHS, help=f"how many test graphs ({N_GRAPHS})")
    parser.add_argument("--seed", type=int, default=0, help="of their choice (0)")
    arguments = parser.parse_args(argv)
    try:
        content = measure(arguments.run, arguments.graphs, arguments.seed)
        write_atomic(arguments.run / "attention.json", json.dumps(content).encode())
    except (RunError, DataError, ConfigError) as error:
        raise SystemExit(str(error)) from None
    print(f"written: {arguments.run / 'attention.json'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
