"""A training step of LRGB's nets on peptides against the same nets in torch_geometric: ratios of time and memory.

    python benchmarks/lrgb.py [--models Transformer SAN GINE GCNII] [--rounds 3] [--steps 2] [--graphs 16]

Random trees with the sizes of Peptides (8 to 444 atoms, 151 on average), the widths of the rows of Table 4. A step is forward,
loss, backward and optimizer on one batch that is there already. Compared are

    ours    this project's net
    pyg     the same net in torch_geometric (pip install -r requirements-benchmark.txt): attention padded to the largest graph
            of the batch (GPSConv), SAN by lists of edges and of pairs without an edge, GINEConv, GCN2Conv
    floor   the dense products of the step alone, graph by graph

Every variant is a process of its own; they take turns, ratios are those of one turn, and their median is printed with the smallest
and the largest. Times are of the processor (user and system), so that other programs disturb less; memory is what the steps add to
the process at its peak. Ours includes what the heap keeps for speed (process.py): GNN_PROCESS_SETTINGS=off, for all variants, shows
the memory of the net alone. Set OMP_NUM_THREADS=1 on a machine that others use at the same time.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import process  # noqa: F401, I001 - before torch

import dgl
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from data.LRGB_declared import ATOM_TYPES, BOND_TYPES, DECLARED
from layers.transformer_layer import FeedForward
from nets import NETS, build_net
from runs.table_files import find_row

ROWS = {
    "Transformer": "Transformer+LapPE",
    "SAN": "SAN+RWSE",
    "SAN+LapPE": "SAN+LapPE",
    "GINE": "GINE",
    "GCNII": "GCNII",
}
VARIANTS = ("ours", "pyg", "floor")


def peptides(n_graphs, seed=0):
    """A batch of random trees, with features and encodings; edges sorted by destination as those of a store."""
    rng = np.random.default_rng(seed)
    torch.manual_seed(seed)
    graphs = []
    for n in np.clip(rng.gamma(3.2, 151 / 3.2, n_graphs), 8, 444).astype(int):
        child = np.arange(1, n)
        parent = np.maximum(child - rng.integers(1, 4, n - 1), 0)
        src, dst = np.concatenate([child, parent]), np.concatenate([parent, child])
        order = np.argsort(dst, kind="stable")
        graphs.append(dgl.graph((src[order], dst[order]), num_nodes=int(n)))
    g = dgl.batch(graphs)
    g.ndata["feat"] = torch.stack([torch.randint(n, (g.num_nodes(),)) for n in ATOM_TYPES], 1)
    g.edata["feat"] = torch.stack([torch.randint(n, (g.num_edges(),)) for n in BOND_TYPES], 1)
    g.ndata["spectrum"], g.ndata["walk_returns"] = torch.randn(g.num_nodes(), 10, 2), torch.rand(g.num_nodes(), 16)
    return g


def our_net(model):
    config = NETS[find_row(f"lrgb_table4_func/{ROWS[model]}").config["net"]["model"]].Config.model_validate(
        find_row(f"lrgb_table4_func/{ROWS[model]}").config["net"]
    )
    entry = DECLARED["Peptides-func"]
    return build_net(config, entry.features, entry.target), config


# --------------------------------------------------------------------------------------------------------------------
# The same nets in torch_geometric. Input and head are ours; the layers are not.


class PygNet(nn.Module):
    def __init__(self, model, g):
        super().__init__()
        from torch_geometric.nn import GCN2Conv, GINEConv, GPSConv

        net, config = our_net(model)
        d = config.hidden_dim
        self.embedding, self.edge_embedding, self.head = net.embedding, net.edge_embedding, net.head
        self.model, self.f = model.split("+")[0], nn.Parameter(torch.randn(d))
        self.edges = torch.stack(g.edges()).long()
        self.batch = torch.repeat_interleave(torch.arange(g.batch_size), g.batch_num_nodes())
        self.fake = fake_edges(g) if self.model == "SAN" else None
        make = {
            "Transformer": lambda: GPSConv(d, None, config.n_heads, attn_kwargs={"dropout": config.attention_dropout}),
            "SAN": lambda: PygSANLayer(d, config.n_heads, config.gamma),
            "GINE": lambda: GINEConv(nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, d))),
            "GCNII": lambda: GCN2Conv(d, alpha=0.2),
        }[self.model]
        self.layers = nn.ModuleList(make() for _ in range(config.L))

    def forward(self, g, of=None):
        h = h0 = self.embedding(g)
        e = self.edge_embedding(g) if self.edge_embedding is not None else None
        for layer in self.layers:
            if self.model == "Transformer":
                h = layer(h, self.edges, self.batch)
            elif self.model == "SAN":
                h = layer(h, e, self.f, self.edges, self.fake)
            elif self.model == "GINE":
                h = h + F.relu(layer(h, self.edges, e))
            else:
                h = F.relu(layer(h, h0, self.edges))
        return self.head(g, h)


class PygSANLayer(nn.Module):
    """SAN as message passing over two lists of edges, as its program has it."""

    def __init__(self, dim, n_heads, gamma):
        super().__init__()
        self.n_heads, self.gamma = n_heads, gamma
        self.Q, self.K, self.E, self.Q2, self.K2, self.E2, self.V = (nn.Linear(dim, dim, bias=False) for _ in range(7))
        self.O, self.feed_forward = nn.Linear(dim, dim), FeedForward(dim)
        self.norm1, self.norm2 = nn.BatchNorm1d(dim), nn.BatchNorm1d(dim)

    def forward(self, h, e, f, edges, fake):
        from torch_geometric.utils import scatter

        v = self.by_head(self.V(h))
        total = weight = 0
        for (src, dst), q, k, x, share in (
            (edges, self.Q(h), self.K(h), self.E(e), 1 / (1 + self.gamma)),
            (fake, self.Q2(h), self.K2(h), self.E2(f)[None], self.gamma / (1 + self.gamma)),
        ):
            score = self.by_head(k[src] * q[dst] * x).sum(2, keepdim=True) * v.shape[2] ** -0.5
            w = share * torch.exp(score.clamp(-5, 5))
            total = total + scatter(v[src] * w, dst, 0, len(h), "sum")
            weight = weight + scatter(w, dst, 0, len(h), "sum")
        h = self.norm1(h + self.O((total / (weight + 1e-6)).flatten(1)))
        return self.norm2(h + self.feed_forward(h))

    def by_head(self, x):
        return x.unflatten(1, (self.n_heads, -1))


def fake_edges(g):
    pairs, first = [], 0
    src, dst = (x.long() for x in g.edges())
    for n in g.batch_num_nodes().tolist():
        none = ~torch.eye(n, dtype=torch.bool)
        inside = (src >= first) & (src < first + n)
        none[dst[inside] - first, src[inside] - first] = False
        pairs.append(none.nonzero().T.flip(0) + first)
        first += n
    return torch.cat(pairs, 1)


# --------------------------------------------------------------------------------------------------------------------
# The floor


class Floor:
    """The dense products of a step, forward and backward, with nothing between them."""

    def __init__(self, model, g):
        net, config = our_net(model)
        rows, d, self.products = g.num_nodes(), config.hidden_dim, []
        for layer in net.layers:
            maps = [m.weight for m in layer.modules() if isinstance(m, nn.Linear)]
            maps += [p for name, p in layer.named_parameters(recurse=False) if name == "W"]
            self.products += [(torch.randn(g.num_edges() if w is getattr(getattr(layer, "E", None), "weight", None) else rows,
                                           w.shape[1]), w.detach(), torch.randn(1, w.shape[0])) for w in maps]  # fmt: skip
        heads = getattr(config, "n_heads", 0)
        sizes = g.batch_num_nodes().tolist() if heads else []
        self.pairs = [torch.randn(heads, n, d // heads) for n in sizes] if heads else []
        self.n_layers = config.L

    def step(self):
        for x, w, row in self.products:
            y = x @ w.T
            row.expand(len(x), -1).contiguous() @ w
            y.T @ x
        for _ in range(self.n_layers):
            for x in self.pairs:
                s = x @ x.transpose(1, 2)
                for _ in range(2):  # forward: the sum; backward: of the weights, of the values, of both ends of a score
                    s @ x
                    s.transpose(1, 2) @ x
                x @ x.transpose(1, 2)


# --------------------------------------------------------------------------------------------------------------------
# One variant in a process of its own, and all in turns


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # MB


def make_step(model, variant, n_graphs):
    g = peptides(n_graphs)
    y = torch.randint(0, 2, (g.batch_size, 10)).float()
    if variant == "floor":
        return Floor(model, g).step
    net = our_net(model)[0] if variant == "ours" else PygNet(model, g)
    optimizer = torch.optim.AdamW(net.parameters(), lr=3e-4)

    def step():
        optimizer.zero_grad()
        F.binary_cross_entropy_with_logits(net(g), y).backward()
        optimizer.step()

    return step


def run_variant(model, variant, n_graphs, steps):
    make_step(model, variant, 1)()  # compiles and loads what the steps need: no memory of theirs
    step = make_step(model, variant, n_graphs)
    before = peak()
    step()
    step()
    start = time.process_time()
    for _ in range(steps):
        step()
    return {"seconds": (time.process_time() - start) / steps, "MB": peak() - before}


def in_a_process(model, variant, arguments):
    words = [
        "--variant",
        variant,
        "--models",
        model,
        "--graphs",
        str(arguments.graphs),
        "--steps",
        str(arguments.steps),
    ]
    settings = {} if variant == "ours" else {"GNN_PROCESS_SETTINGS": "off"}  # else as this process has it
    done = subprocess.run(
        [sys.executable, __file__, *words], capture_output=True, text=True, env={**os.environ, **settings}, check=False
    )
    if done.returncode:
        raise SystemExit(f"{model}, {variant}: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout.splitlines()[-1])


def show(values):
    return f"{median(values):5.2f} ({min(values):.2f}-{max(values):.2f})"


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", choices=ROWS, default=["Transformer", "SAN", "GINE", "GCNII"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--graphs", type=int, default=16)
    parser.add_argument("--variant", choices=VARIANTS, help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if arguments.variant:
        print(json.dumps(run_variant(arguments.models[0], arguments.variant, arguments.graphs, arguments.steps)))
        return 0
    print(f"{arguments.graphs} graphs, {torch.get_num_threads()} threads; above 1: ours is faster, or needs less")
    print(f"{'':12} {'pyg / ours, time':>22} {'pyg / ours, memory':>22} {'floor / ours, time':>22}   ours")
    for model in arguments.models:
        turns = [{v: in_a_process(model, v, arguments) for v in VARIANTS} for _ in range(arguments.rounds)]
        time_ratio, floor = ([t[v]["seconds"] / t["ours"]["seconds"] for t in turns] for v in ("pyg", "floor"))
        memory = [t["pyg"]["MB"] / max(1, t["ours"]["MB"]) for t in turns]
        ours = median(t["ours"]["seconds"] for t in turns), median(t["ours"]["MB"] for t in turns)
        print(
            f"{model:12} {show(time_ratio):>22} {show(memory):>22} {show(floor):>22}   {ours[0]:.3f} s, {ours[1]:.0f} MB",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
