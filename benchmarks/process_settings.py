"""What the process settings of process.py are worth: the same steps in processes with and without them, interleaved.

    python -m benchmarks.process_settings [--rounds 3] [--beside 0 1 2]

Prints milliseconds and the ratio plain / set up, for tensors with a row per edge of a PATTERN batch and for small ones.
Run it on an idle machine: the binding of threads is only switched on there.

--beside trains GatedGCN on batches of 128 ZINC-sized graphs beside so many busy programs, and prints milliseconds per batch with
one thread, with all threads spinning while they wait, and with all threads that step aside (process.Sharing).
"""

import argparse
import os
import subprocess
import sys
from statistics import median

CHILD = """
import process, time, torch
from torch import nn
torch.manual_seed(0)
e = torch.randn(759_000, 70)  # one batch of 128 PATTERN graphs: edges, nodes, sources
h = torch.randn(15_000, 70)
src = torch.randint(0, len(h), (len(e),))
net = nn.Sequential(*[nn.Linear(146, 146) for _ in range(8)])
x = torch.randn(205, 146)  # one batch of 5 CSL graphs
def small_steps():
    for _ in range(50):
        net(x).sum().backward()
for f in (lambda: torch.relu(e), lambda: e + e, lambda: h.index_select(0, src), small_steps):
    for _ in range(3):
        f()
    start = time.perf_counter()
    for _ in range(5):
        f()
    print((time.perf_counter() - start) / 5 * 1000)
"""
NAMES = ("relu of all edges (212 MB)", "sum of all edges", "gather nodes to edges", "50 small steps (205 x 146)")


TRAINING = """
import process, sys, time, torch, dgl
from layers.gatedgcn_layer import GatedGCNLayer
torch.manual_seed(0)
torch.use_deterministic_algorithms(True)
process.idle_at_start = process.active = True  # what follows is chosen here
n, m = 2960, 6400
src, dst = torch.randint(0, n, (m,)), torch.randint(0, n, (m,)).sort().values
indptr = torch.cat([torch.zeros(1, dtype=torch.int64), torch.bincount(dst, minlength=n).cumsum(0)])
g = dgl.graph(("csc", (indptr.int(), src.int(), torch.arange(m, dtype=torch.int32))), num_nodes=n)
layers = torch.nn.ModuleList(GatedGCNLayer(70, 70) for _ in range(4))
h0, e0 = torch.randn(n, 70), torch.randn(m, 70)
sharing = process.Sharing(torch.get_num_threads())
def batch():
    if sys.argv[1] == "aside":
        sharing.look()
    h, e = h0, e0
    for layer in layers:
        h, e = layer(g, h, e)
    (h.square().mean() + e.square().mean()).backward()
for line in sys.stdin:
    seconds, n_batches, start = float(line), 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        batch()
        n_batches += 1
    print((time.perf_counter() - start) / n_batches * 1000, flush=True)
"""
WAYS = {"one thread": ("spin", 1), "all, spinning": ("spin", None), "all, stepping aside": ("aside", None)}


def trainings():
    """{way: its process}, which is told how many seconds to train and answers with milliseconds per batch."""
    children = {}
    for name, (word, threads) in WAYS.items():
        env = {key: value for key, value in os.environ.items() if key != "OMP_NUM_THREADS"}
        env |= {"OMP_NUM_THREADS": str(threads)} if threads else {}
        words = [sys.executable, "-c", TRAINING, word]
        children[name] = subprocess.Popen(words, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    return children


def milliseconds(child, seconds):
    child.stdin.write(f"{seconds}\n")
    child.stdin.flush()
    return float(child.stdout.readline())


def beside(numbers, rounds):
    children = trainings()
    for child in children.values():
        milliseconds(child, 1)
    print(f"{'busy programs':>14}" + "".join(f"{name:>22}" for name in WAYS))
    for n in numbers:
        busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(n)]
        try:
            for child in children.values():
                milliseconds(child, 5)  # time enough to see how busy it is
            times = {name: [] for name in WAYS}
            for _ in range(rounds):
                for name, child in children.items():
                    times[name].append(milliseconds(child, 2))
        finally:
            for program in busy:
                program.kill()
        print(f"{n:14}" + "".join(f"{median(seen):19.0f} ms" for seen in times.values()), flush=True)
    for child in children.values():
        child.stdin.close()
        child.wait()


def measure(setting):
    env = {**os.environ, "GNN_PROCESS_SETTINGS": setting}
    done = subprocess.run([sys.executable, "-c", CHILD], env=env, capture_output=True, text=True, check=True)
    return [float(line) for line in done.stdout.split()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="processes of each kind (default 3)")
    parser.add_argument("--beside", type=int, nargs="+", metavar="N", help="train beside so many busy programs instead")
    arguments = parser.parse_args()
    rounds = arguments.rounds
    if arguments.beside is not None:
        return beside(arguments.beside, rounds)
    times = {"off": [], "on": []}
    for _ in range(rounds):
        for setting, seen in times.items():
            seen.append(measure(setting))
    print(f"{'':28}{'plain ms':>10}{'set up ms':>11}{'ratio':>8}")
    for i, name in enumerate(NAMES):
        plain, ours = (median(seen[i] for seen in times[setting]) for setting in ("off", "on"))
        print(f"{name:28}{plain:10.1f}{ours:11.1f}{plain / ours:8.2f}")


if __name__ == "__main__":
    main()
