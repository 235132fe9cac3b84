"""Weights and inputs of the golden numbers of the Long Range Graph Benchmark, by the rules of their facts sheet
(../shared/facts/LRGB.md, section 8)."""

import json
import os
from pathlib import Path

import dgl
import pytest
import torch
from torch import nn

from layers.graph_norm import GraphLayerNorm

DATA = Path(os.environ.get("GNN_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")
FACTS = DATA.parent / "facts" / "golden_lrgb.json"
EDGES = [
    (0, 1),
    (1, 0),
    (1, 2),
    (2, 1),
    (2, 3),
    (3, 2),
    (3, 0),
    (0, 3),
    (2, 4),
    (4, 2),
    (4, 1),
    (5, 6),
    (6, 5),
    (6, 7),
    (7, 6),
]
UNREAD = "weight and bias of a norm that the program has and never reads"
NORMS = (nn.BatchNorm1d, nn.LayerNorm, GraphLayerNorm)


def golden(key):
    """The numbers of one key, all of them; the test is skipped where they are not."""
    if not FACTS.exists():
        pytest.skip(f"no golden numbers: {FACTS}")
    return json.loads(FACTS.read_text())[key]


def filled(net, order=None):
    """The net in float64 with the weights of the golden numbers: entry k of parameter p is a sine or cosine of both. `order` has
    the parameters (or parts of them) in the order of the program, where it is another."""
    net.double()
    norms = [module for module in net.modules() if isinstance(module, NORMS)]
    of_norm = {id(p): name for module in norms for name, p in module.named_parameters()}
    with torch.no_grad():
        for p, weights in enumerate(net.parameters() if order is None else order):
            k = torch.arange(weights.numel(), dtype=torch.float64).view(weights.shape)
            if weights.dim() > 1:
                weights.copy_(0.3 * torch.sin(0.37 * k + 0.11 + 0.7 * p))
            elif id(weights) not in of_norm:
                weights.copy_(0.25 + 0.1 * torch.cos(0.53 * k + 0.7 * p))
            elif of_norm[id(weights)] == "weight":
                weights.copy_(1 + 0.1 * torch.sin(0.29 * k + 0.5 + 0.7 * p))
            else:
                weights.copy_(0.2 + 0.05 * torch.cos(0.41 * k + 0.7 * p))
    return net


def parameters_of(net, names):
    """The parameters of a net in this order; a name of a module stands for all of its own."""
    found = []
    for name in names:
        if name is UNREAD:
            found += [torch.empty(0), torch.empty(0)]
            continue
        module, _, last = name.rpartition(".")
        value = getattr(net.get_submodule(module), last)
        found += list(value.parameters()) if isinstance(value, nn.Module) else [value]
    assert {id(p) for p in found if len(p)} == {id(p) for p in net.parameters()}
    return found


def golden_graph():
    """Nodes 0-4 and 5-7 are two graphs; the edge 4 -> 1 has no reverse."""
    g = dgl.graph(tuple(torch.tensor(EDGES).T))
    g.set_batch_num_nodes(torch.tensor([5, 3]))
    g.set_batch_num_edges(torch.tensor([11, 4]))
    return g


def edge_features(n=15, dim=4):
    m, j = torch.arange(n, dtype=torch.float64)[:, None], torch.arange(dim, dtype=torch.float64)
    return torch.cos(0.4 * m + 0.2 * j)


def node_features(n=8, dim=4):
    i, j = torch.arange(n, dtype=torch.float64)[:, None], torch.arange(dim, dtype=torch.float64)
    return torch.sin(0.5 * i + 0.3 * j + 0.1)
