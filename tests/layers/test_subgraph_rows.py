"""The fast ways of the subgraph nets equal the plain formula, in values and gradients."""

from unittest import mock

import pytest
import torch

from layers import fused
from layers.subgraphs import EgoNets
from tests.layers.test_brec_layers import CASES, batch, distance_matrices

needs_loops = pytest.mark.skipif(fused.loops() is None, reason="the compiled loops need torch's OpenMP on Linux")


def ego_nets(case):
    return EgoNets(batch(torch.int32), distance_matrices(), *CASES[case])


def plain():
    return mock.patch.multiple(fused, suits=lambda x: False, compiled=lambda *x: False)


def with_gradients(f, *inputs):
    """f of the inputs, and the gradients of a weighted sum of it."""
    inputs = [x.detach().clone().requires_grad_() for x in inputs]
    out = f(*inputs)
    weights = torch.randn(out.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    (out * weights.to(out)).sum().backward()
    return [out.detach(), *(torch.zeros_like(x) if x.grad is None else x.grad for x in inputs)]


def assert_equal(fast, slow, tolerance):
    for a, b in zip(fast, slow, strict=True):
        torch.testing.assert_close(a.double(), b.double(), rtol=tolerance, atol=tolerance)


@needs_loops
@pytest.mark.parametrize("own", [None, 1.0, 0.5])
@pytest.mark.parametrize("case", CASES)
def test_sums_over_neighbours(case, own):
    s = ego_nets(case)
    x = torch.randn(len(s), 5)
    fast = with_gradients(lambda x: s.sum_neighbours(x, own=own), x)
    with plain():
        slow = with_gradients(lambda x: s.sum_neighbours(x, own=own), x.double())
    assert_equal(fast, slow, 1e-5)


@needs_loops
@pytest.mark.parametrize("case", CASES)
def test_a_learned_weight_of_the_own_row(case):
    s = ego_nets(case)
    x, own = torch.randn(len(s), 5), torch.tensor([0.3])
    fast = with_gradients(lambda x, own: s.sum_neighbours(x, own=1 + own), x, own)
    with plain():
        slow = with_gradients(lambda x, own: s.sum_neighbours(x, own=1 + own), x.double(), own.double())
    assert_equal(fast, slow, 1e-4)
