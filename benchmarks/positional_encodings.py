"""How fast encodings are made: all cores and their cache, against a plain loop over the graphs.

    python benchmarks/positional_encodings.py [--graphs 9000] [--rounds 3]                     CLUSTER, generated
    python benchmarks/positional_encodings.py --dataset Peptides-func --graphs 15535 --rounds 1    150 nodes per graph

The plain loop makes a dense matrix of each graph and asks numpy for all of its eigenvectors, or for all of its powers, in this
process. Variants are measured in turn in one run, on fresh copies of the store.
"""

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from data.dataset import DataConfig
from data.registry import open_dataset
from data.store import Packed
from data.transforms import with_transforms


def plain_eigenvectors(A, k, norm="sym", **_):
    """One dense eigenvalue problem."""
    degree = A.sum(1)
    scale = 1 / np.sqrt(np.maximum(degree, 1))
    L = np.eye(len(A)) - scale[:, None] * A * scale if norm == "sym" else np.diag(degree) - A
    np.linalg.eigh(L)[1][:, : k + 1].astype(np.float32)


def plain_walks(A, k, **_):
    """One dense product per step."""
    P = A / np.maximum(A.sum(0), 1)
    power = np.eye(len(A))
    for _ in range(k):
        power = P @ power
        power.diagonal().astype(np.float32)


# the core paper's eigenvectors; the eigenvectors and walks of the tuned baselines of LRGB
NEEDS = {
    "laplacian": (plain_eigenvectors, {"k": 20}),
    "spectrum": (plain_eigenvectors, {"k": 10, "norm": "none", "trivial": True}),
    "walk_returns": (plain_walks, {"k": 20, "dead_end": "end"}),
}


def plain_loop(store, one, parameters):
    for i in range(len(store)):
        src, dst = store.edges(i)
        A = np.zeros((len(store.rows("node.in_degree", i)),) * 2)
        A[dst, src] = 1
        one(A, **parameters)


def seconds(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def measure(source, folder, name, rounds):
    """{variant: [seconds]} of one transform."""
    one, parameters = NEEDS[name]
    needs = {name: parameters}
    times = {"plain loop": [], "one worker": [], "all cores": [], "cached": []}
    for i in range(rounds):
        stores = []
        for j in range(2):
            copy = Path(folder) / f"{name}{i}{j}"
            shutil.copytree(source.path, copy, ignore=shutil.ignore_patterns("derived"))
            stores.append(Packed(copy))
        times["plain loop"].append(seconds(lambda: plain_loop(source, one, parameters)))
        times["one worker"].append(seconds(lambda s=stores[0]: with_transforms(s, needs, workers=1)))
        times["all cores"].append(seconds(lambda s=stores[1]: with_transforms(s, needs, workers=None)))
        times["cached"].append(seconds(lambda s=stores[1]: with_transforms(s, needs, workers=None)))
    return times


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "--dataset", default="CLUSTER", help="any dataset; a generated one makes no more graphs than asked"
    )
    parser.add_argument("--graphs", type=int, default=9000, help="graphs of CLUSTER, or of another generated dataset")
    parser.add_argument("--rounds", type=int, default=3, help="measurements of each variant")
    parser.add_argument("--transforms", nargs="+", choices=NEEDS, default=list(NEEDS), help="what is computed")
    arguments = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        keys = (
            {"store_dir": f"{folder}/made", "limit": max(1, arguments.graphs // 3)}
            if arguments.dataset == "CLUSTER"
            else {}
        )
        store = open_dataset(arguments.dataset, DataConfig(**keys)).store
        print(
            f"{store.name}: {len(store)} graphs, {store.n_nodes / len(store):.0f} nodes per graph, {os.cpu_count()} cores"
        )
        for name in arguments.transforms:
            times = measure(store, folder, name, arguments.rounds)
            base = statistics.median(times["plain loop"])
            for variant, values in times.items():
                taken = statistics.median(values)
                print(
                    f"{name:14} {variant:12} {taken:8.1f} s, {base / taken:8.2f} times as fast as the plain loop",
                    flush=True,
                )


if __name__ == "__main__":
    main()
