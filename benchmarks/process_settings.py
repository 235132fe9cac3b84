"""What the process settings of process.py are worth: the same steps in processes with and without them, interleaved.

    python -m benchmarks.process_settings [--rounds 3]

Prints milliseconds and the ratio plain / set up, for tensors with a row an edge of a PATTERN batch and for small ones.
Run it on an idle machine: the binding of threads is only switched on there.
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


def measure(setting):
    env = {**os.environ, "GNN_PROCESS_SETTINGS": setting}
    done = subprocess.run([sys.executable, "-c", CHILD], env=env, capture_output=True, text=True, check=True)
    return [float(line) for line in done.stdout.split()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="processes of each kind (default 3)")
    rounds = parser.parse_args().rounds
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
