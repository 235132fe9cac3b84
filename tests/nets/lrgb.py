"""Weights and inputs of the golden numbers of the Long Range Graph Benchmark, by the rules of their facts sheet
(../shared/facts/LRGB.md, section 8)."""

import json
from pathlib import Path

import pytest
import torch
from torch import nn

FACTS = Path(__file__).resolve().parents[3] / "shared" / "facts" / "golden_lrgb.json"


def golden(key):
    """The numbers of one key, all of them; the test is skipped where they are not."""
    if not FACTS.exists():
        pytest.skip(f"no golden numbers: {FACTS}")
    return json.loads(FACTS.read_text())[key]


def filled(net):
    """The net in float64 with the weights of the golden numbers: entry k of parameter p is a sine or cosine of both."""
    net.double()
    norms = (nn.BatchNorm1d, nn.LayerNorm)
    of_norm = {id(p) for module in net.modules() if isinstance(module, norms) for p in module.parameters()}
    with torch.no_grad():
        for p, weights in enumerate(net.parameters()):
            k = torch.arange(weights.numel(), dtype=torch.float64).view(weights.shape)
            if weights.dim() > 1:
                weights.copy_(0.3 * torch.sin(0.37 * k + 0.11 + 0.7 * p))
            elif id(weights) not in of_norm:
                weights.copy_(0.25 + 0.1 * torch.cos(0.53 * k + 0.7 * p))
            elif is_weight(net, weights):
                weights.copy_(1 + 0.1 * torch.sin(0.29 * k + 0.5 + 0.7 * p))
            else:
                weights.copy_(0.2 + 0.05 * torch.cos(0.41 * k + 0.7 * p))
    return net


def is_weight(net, weights):
    return next(name for name, other in net.named_parameters() if other is weights).endswith("weight")


def node_features(n=8, dim=4):
    i, j = torch.arange(n, dtype=torch.float64)[:, None], torch.arange(dim, dtype=torch.float64)
    return torch.sin(0.5 * i + 0.3 * j + 0.1)
