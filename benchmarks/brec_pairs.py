"""What a pair of BREC costs a net: core seconds, and the memory at its peak, on a few pairs of each kind.

    python benchmarks/brec_pairs.py NGNN GSN             rows of Table 2; all nets of the paper when none is named
    python benchmarks/brec_pairs.py NGNN --pairs 0,345   these pairs

Each pair is judged in a process of its own, as a run does it, within --memory GB. The last line estimates a seed over all 400
pairs: the seconds of a kind's sample times its number of pairs; of CFI a power of the number of nodes between measured sizes,
and the last of these powers beyond them.
"""

import argparse
import multiprocessing
import resource
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np

from data.BREC import BREC
from train import parse_config
from train.pair_config import schema_of
from train.pairs import answer_within
from train.siamese import NetJudge

SAMPLE = (0, 62, 110, 150, 165, 265, 300, 274, 360, 385)
NETS = (
    *("NGNN", "DE+NGNN", "DS-GNN", "DSS-GNN", "SUN", "SSWL_P", "GNN-AK", "KP-GNN", "I2-GNN", "PPGN", "delta-k-LGNN"),
    *("KC-SetGNN", "GSN", "DropGNN", "OSAN", "Graphormer"),
)


def judged(words, memory, i, answers):
    config = parse_config(words, "BREC", {"BREC": BREC}, "", schema_of=schema_of)
    judge, start = NetJudge(config, BREC(config.data)), time.process_time()
    answer = answer_within(judge, memory, i)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    answers.put((time.process_time() - start, peak, answer))


def measure(row, i, memory):
    """(seconds, GB, answer) of a pair, or None where its process died."""
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    process = context.Process(target=judged, args=(["--config", f"brec_table2/{row}"], memory, i, answers))
    process.start()
    while process.is_alive() and answers.empty():
        process.join(0.1)
    return None if answers.empty() else answers.get()


def estimate(costs, dataset):
    """Core hours of a seed, by the category of the pairs, from {pair: seconds}."""
    sizes = {i: dataset.edges(i)[0][0] for i in range(len(dataset))}
    hours = {}
    for i in sizes:
        kind = dataset.kind_of(i)
        near = [j for j in costs if dataset.kind_of(j) is kind]
        if not near:
            return {}
        seconds = np.mean([costs[j] for j in near])
        if kind.name == "CFI" and len(near) > 1:
            seconds = power_law(sizes[i], {sizes[j]: costs[j] for j in near})
        hours[kind.category] = hours.get(kind.category, 0) + seconds / 3600
    return hours


def power_law(n, known):
    """The cost of a size between or beyond the known ones, on the straight line of their logarithms."""
    x, y = np.log(sorted(known)), np.log([known[size] for size in sorted(known)])
    k = np.clip(np.searchsorted(x, np.log(n)), 1, len(x) - 1)
    slope = (y[k] - y[k - 1]) / (x[k] - x[k - 1])
    return float(np.exp(y[k] + slope * (np.log(n) - x[k])))


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", default=NETS, metavar="ROW")
    parser.add_argument("--pairs", default=",".join(map(str, SAMPLE)), help="as 0,345")
    parser.add_argument("--memory", type=float, default=8.0, help="GB that a pair may use")
    arguments = parser.parse_args(argv)
    dataset, pairs = BREC(), [int(i) for i in arguments.pairs.split(",")]
    for row in arguments.rows:
        costs = {}
        for i in pairs:
            found = measure(row, i, int(1e9 * arguments.memory))
            kind, n = dataset.kind_of(i), dataset.edges(i)[0][0]
            if found is None:
                print(f"{row:14} pair {i:3} {kind.name:20} {n:3} nodes: its process died", flush=True)
                continue
            seconds, peak, answer = found
            if "T2" in answer:
                costs[i] = seconds
            what = f"{answer.get('epochs', '-')} epochs" if "T2" in answer else ", ".join(answer)
            print(
                f"{row:14} pair {i:3} {kind.name:20} {n:3} nodes: {seconds:8.1f} s {peak:6.2f} GB  {what}", flush=True
            )
        hours = estimate(costs, dataset)
        if hours:
            each = ", ".join(f"{category} {value:.2f}" for category, value in hours.items())
            print(f"{row:14} core hours of a seed: {sum(hours.values()):.2f} ({each})", flush=True)


if __name__ == "__main__":
    main()
