"""How much faster Laplacian encodings are made: all cores and their cache, against a plain loop over the graphs.

    python benchmarks/positional_encodings.py [--graphs 9000] [--rounds 3]

The plain loop makes a dense Laplacian of each graph and asks numpy for its eigenvectors, in this process. Variants are measured
in turn in one run; what is printed are ratios of medians.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from data.dataset import DataConfig
from data.SBMs import CLUSTER
from data.transforms import with_transforms


def plain_loop(store, k):
    """One dense eigenvalue problem after another."""
    for i in range(len(store)):
        src, dst = store.edges(i)
        n = len(store.rows("node.in_degree", i))
        A = np.zeros((n, n))
        A[dst, src] = 1
        scale = 1 / np.sqrt(np.maximum(A.sum(1), 1))
        np.linalg.eigh(np.eye(n) - scale[:, None] * A * scale)[1][:, 1 : k + 1].astype(np.float32)


def seconds(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--graphs", type=int, default=9000, help="graphs of CLUSTER")
    parser.add_argument("--rounds", type=int, default=3, help="measurements of each variant")
    parser.add_argument("--k", type=int, default=20, help="eigenvectors per node")
    arguments = parser.parse_args(argv)
    needs = {"laplacian": {"k": arguments.k}}
    times = {"plain loop": [], "one worker": [], "all cores": [], "cached": []}
    for _ in range(arguments.rounds):
        with tempfile.TemporaryDirectory() as folder:
            per_part = max(1, arguments.graphs // 3)
            stores = [CLUSTER(DataConfig(store_dir=f"{folder}/{i}", limit=per_part)).store for i in range(2)]
            times["plain loop"].append(seconds(lambda s=stores[0]: plain_loop(s, arguments.k)))
            times["one worker"].append(seconds(lambda s=stores[0]: with_transforms(s, needs, workers=1)))
            times["all cores"].append(seconds(lambda s=stores[1]: with_transforms(s, needs, workers=None)))
            times["cached"].append(seconds(lambda s=stores[1]: with_transforms(s, needs, workers=None)))
    base = statistics.median(times["plain loop"])
    print(
        f"{3 * per_part} graphs, {os.cpu_count()} cores, {arguments.rounds} rounds; the plain loop takes {base:.1f} s"
    )
    for name, values in times.items():
        print(f"{name:12} {base / statistics.median(values):8.2f} times as fast as the plain loop")


if __name__ == "__main__":
    main()
