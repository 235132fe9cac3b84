"""What the tests of the BREC nets share: small graphs, weights by a rule, and which pairs of graphs a net must tell apart.

The rule, the graphs of the golden numbers and the laws are those of the facts sheet (../shared/facts/BREC_MODELS.md).
"""

from pathlib import Path

import dgl
import networkx as nx
import numpy as np
import torch
from torch import nn

from tests.exact.graphs import arrays, rook, shrikhande

FACTS = Path(__file__).resolve().parents[3] / "shared" / "facts" / "golden_brec.json"
EDGES = {
    "C6": "01 12 23 34 45 50",
    "K33": "03 04 05 13 14 15 23 24 25",
    "prism": "01 12 02 34 45 35 03 14 25",
    "T4": "01 12 23 34 45 02 14",
    "house": "01 12 23 30 04 14",
}
GRAPHS = {name: nx.Graph([(int(a), int(b)) for a, b in edges.split()]) for name, edges in EDGES.items()}
GRAPHS = {name: nx.from_numpy_array(nx.to_numpy_array(g, sorted(g))) for name, g in GRAPHS.items()}


def two_cycles(n):
    return nx.disjoint_union(nx.cycle_graph(n), nx.cycle_graph(n))


PAIRS = {  # that need no file
    "C6, 2 C3": (nx.cycle_graph(6), two_cycles(3)),
    "prism, K33": (GRAPHS["prism"], GRAPHS["K33"]),
    "rook, Shrikhande": (rook(), shrikhande()),
    265: (nx.cycle_graph(18), two_cycles(9)),
    278: (nx.cycle_graph(30), two_cycles(15)),
}


def dgl_graph(graph, idtype=torch.int64):
    """A networkx graph, its edges sorted by (dst, src)."""
    n, src, dst = arrays(graph)
    order = np.lexsort((src, dst))
    return dgl.graph((torch.from_numpy(src[order]), torch.from_numpy(dst[order])), num_nodes=n, idtype=idtype)


def batch_of(*graphs):
    return dgl.batch([dgl_graph(g) for g in graphs])


def renumbered(graph, seed=0):
    number = np.random.default_rng(seed).permutation(len(graph)).tolist()
    made = nx.empty_graph(len(graph))
    made.add_edges_from((number[a], number[b]) for a, b in graph.edges)
    return made


# Weights by the rule


def rule(rows, columns):
    i, j = torch.arange(rows)[:, None], torch.arange(columns)
    return ((17 * i * j + 37 * i + 101 * j + 11) % 97 - 48).double() / (48 * columns**0.5)


def rule_of_biases(n):
    return ((29 * torch.arange(n) + 7) % 31 - 15).double() / 150


def rolled_rule(slices, rows, columns):
    return torch.stack([rule(rows, columns).roll(7 * k, 0) for k in range(slices)])


RULES = {0: lambda: torch.tensor(0.3, dtype=torch.float64), 1: rule_of_biases, 2: rule, 3: rolled_rule}


@torch.no_grad()
def fill(net):
    """All parameters by the rule, in float64; normalisations keep 1 and 0, a learnt ε is 0.1, a number alone 0.3 (KP-GNN)."""
    for module in net.double().modules():
        for name, p in module.named_parameters(recurse=False):
            if isinstance(module, nn.BatchNorm1d | nn.LayerNorm):
                continue
            if name.startswith("eps") or isinstance(module, nn.ParameterList):
                p.fill_(0.1)
            else:
                p.copy_(RULES[p.dim()](*p.shape))
    return net


# Weights at random


def calibrated(net, seed=0):
    """In evaluation mode, with the statistics of one pass over six random graphs: with fresh statistics a deep GIN is nearly
    linear, and a linear net separates no regular graphs."""
    net = net.double().train()
    momenta = {m: m.momentum for m in net.modules() if isinstance(m, nn.BatchNorm1d)}
    graphs = [nx.gnp_random_graph(12, p, seed=seed) for p in (0.2, 0.25, 0.3, 0.35, 0.4, 0.5)]
    for norm in momenta:
        norm.momentum = 1.0
    with torch.no_grad():
        net(batch_of(*graphs))
    for norm, momentum in momenta.items():
        norm.momentum = momentum
    return net.eval()


@torch.no_grad()
def difference(net, g, h):
    """Relative to the size of the embeddings."""
    x, y = net(batch_of(g, h))
    return float((x - y).abs().max() / torch.maximum(x.abs().max(), y.abs().max()))
