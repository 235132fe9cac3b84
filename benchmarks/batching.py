"""What the packed store saves: batches and opening time, against a pickled list of DGLGraphs joined by `dgl.batch`.

Synthetic graphs with the sizes of ZINC and PATTERN. Both ways see the same graphs in the same batches, in turns within
one process, and each batch is used for one message-passing step, so that converting formats is counted. Times differ
from machine to machine; read the ratios.
"""

import argparse
import os
import pickle
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import process  # noqa: F401, I001 - before torch

import dgl
import numpy as np
import torch

from data.store import Field, Packed, PackedWriter, reader

SIZES = {"ZINC-like": (23, 50), "PATTERN-like": (118, 6080)}  # nodes and directed edges of a graph


def random_graphs(n_graphs, n_nodes, n_edges):
    random = np.random.default_rng(0)
    for _ in range(n_graphs):
        src, dst = random.integers(0, n_nodes, (2, n_edges))
        yield src, np.sort(dst), random.integers(0, 28, n_nodes), random.integers(0, 4, n_edges), random.random()


def build(folder, n_graphs, n_nodes, n_edges):
    """The same graphs twice: a packed store, and a pickle of [(DGLGraph, label), …]."""
    fields = [Field("node", "feat", "uint8", n_types=28), Field("edge", "feat", "uint8", n_types=4)]
    graphs, fields = [], [*fields, Field("graph", "label", "float32")]
    with PackedWriter(folder / "store", "synthetic", fields, total=n_graphs) as writer:
        for src, dst, node, edge, label in random_graphs(n_graphs, n_nodes, n_edges):
            writer.add(n_nodes, src, dst, node={"feat": node}, edge={"feat": edge}, graph={"label": label})
            g = dgl.graph((torch.from_numpy(src), torch.from_numpy(dst)), num_nodes=n_nodes, idtype=torch.int32)
            g.ndata["feat"], g.edata["feat"] = torch.from_numpy(node), torch.from_numpy(edge)
            graphs.append((g, torch.tensor(label, dtype=torch.float32)))
    (folder / "graphs.pickle").write_bytes(pickle.dumps(graphs))


def open_packed(folder):
    return Packed(folder / "store")


def open_list(folder):
    with open(folder / "graphs.pickle", "rb") as file:
        return pickle.load(file)


def batch_packed(store, indices):
    return store.batch(indices)


def batch_list(graphs, indices):
    picked, labels = zip(*(graphs[i] for i in indices), strict=True)
    return dgl.batch(picked), torch.stack(labels)


def seconds(function, *arguments):
    start = time.perf_counter()
    result = function(*arguments)
    return time.perf_counter() - start, result


def compare(name, n_graphs, batch_size, epochs, dim):
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        build(folder, n_graphs, *SIZES[name])
        open_seconds = {"packed": [], "list": []}
        for _ in range(3):
            seconds_packed, store = seconds(open_packed, folder)
            seconds_list, graphs = seconds(open_list, folder)
            open_seconds["packed"].append(seconds_packed)
            open_seconds["list"].append(seconds_list)
        variants = {"packed": (batch_packed, store), "list": (batch_list, graphs)}
        times = {key: [] for key in variants}
        for epoch in range(epochs):
            order = np.random.default_rng(epoch).permutation(n_graphs)
            for first in range(0, n_graphs - batch_size + 1, batch_size):
                indices, sums = order[first : first + batch_size].tolist(), []
                for key, (make, source) in variants.items():
                    made, (g, _) = seconds(make, source, indices)
                    h = torch.ones(g.num_nodes(), dim)
                    used, total = seconds(dgl.ops.copy_u_sum, g, h)
                    times[key].append((made, made + used))
                    sums.append(total)
                assert torch.equal(*sums), "the two ways disagree"
    report(name, times, open_seconds, batch_size)


def report(name, times, open_seconds, batch_size):
    print(f"\n{name}: {SIZES[name][0]} nodes, {SIZES[name][1]} edges, batches of {batch_size}; medians")
    print(f"{'':34}{'packed':>12}{'dgl.batch':>12}{'ratio':>9}")
    for column, what in enumerate(("batch, us a graph", "batch and copy_u_sum, us a graph")):
        ours, listed = ([t[column] / batch_size * 1e6 for t in times[key]] for key in times)
        # of each batch the ratio: another program on the machine slows both ways down
        ratio = statistics.median(b / a for a, b in zip(ours, listed, strict=True))
        print(f"{what:34}{statistics.median(ours):12.1f}{statistics.median(listed):12.1f}{ratio:8.1f}x")
    ours, listed = (statistics.median(open_seconds[key]) * 1e3 for key in open_seconds)
    print(f"{'open (pickle for dgl), ms':34}{ours:12.2f}{listed:12.1f}{listed / ours:8.0f}x")


def compare_takes(batch_size):
    """From which length of runs is it better to copy slices than to gather rows? Sets LONG_RUN of data/store/reader.py."""
    print(f"\n{batch_size} runs: time of gathering / time of copying slices (above 1: copying is faster)")
    for dtype, to in (("uint8", "int64"), ("int32", "int32"), ("float32", "float32")):
        for length in (16, 32, 64, 128, 256, 512, 1024, 4096):
            values = np.zeros(length * batch_size * 8, dtype)
            starts = np.random.default_rng(0).permutation(batch_size * 8)[:batch_size] * length
            ratios = []
            for _ in range(30):
                spent = []
                for reader.LONG_RUN in (float("inf"), 0):  # always gather, always copy
                    rows = reader.Rows(starts, starts + length)
                    spent.append(seconds(rows.take, values, to)[0])
                ratios.append(spent[0] / spent[1])
            print(f"  {dtype:8} -> {to:8} runs of {length:5}: {statistics.median(ratios):6.2f}")


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", type=int, default=2560, help="ZINC-like graphs (default 2560)")
    parser.add_argument("--large-graphs", type=int, default=512, help="PATTERN-like graphs (default 512)")
    parser.add_argument("--batch-size", type=int, default=128, help="graphs in a batch (default 128)")
    parser.add_argument("--epochs", type=int, default=5, help="passes over the graphs (default 5)")
    parser.add_argument("--dim", type=int, default=16, help="width of the message-passing step (default 16)")
    parser.add_argument("--threshold", action="store_true", help="only measure where copying slices beats gathering")
    arguments = parser.parse_args(argv)
    print(f"torch {torch.__version__}, dgl {dgl.__version__}, numpy {np.__version__}, {os.cpu_count()} cores")
    if arguments.threshold:
        compare_takes(arguments.batch_size)
        return
    compare("ZINC-like", arguments.graphs, arguments.batch_size, arguments.epochs, arguments.dim)
    compare("PATTERN-like", arguments.large_graphs, arguments.batch_size, arguments.epochs, arguments.dim)


if __name__ == "__main__":
    main()
