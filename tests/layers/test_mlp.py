"""The layer and the read-out that no graph enters, against loops."""

import pytest
import torch

from layers.mlp_layer import MLPLayer
from layers.mlp_readout import MLPReadout
from tests.layers import laws
from tests.layers.reference import DIM, N, randomised


def mlp_by_loop(layer, h):
    return torch.stack([(layer.W.weight @ h[i] + layer.W.bias).clamp(min=0) for i in range(N)])


@pytest.fixture(params=[DIM, 4], ids=["same width", "another width"])
def layer(request):
    torch.manual_seed(0)
    return randomised(MLPLayer(DIM, request.param))


def test_equals_the_loop(layer):
    laws.equals_the_loop(layer, mlp_by_loop)


@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: law.__name__)
def test_laws(layer, law):
    law(layer)


def test_the_readout_halves_its_width_twice():
    widths = [tuple(p.shape) for p in MLPReadout(146, 10).parameters() if p.dim() == 2]
    assert widths == [(73, 146), (36, 73), (10, 36)]


def test_the_readout_equals_its_equation():
    torch.manual_seed(0)
    readout, h = randomised(MLPReadout(8, 3)), torch.randn(5, 8, dtype=torch.float64)
    (Q1, Q2), P = readout.hidden, readout.out
    expected = [P.weight @ Q2(Q1(x).clamp(min=0)).clamp(min=0) + P.bias for x in h]
    laws.close([readout(h)], [torch.stack(expected)])
