"""The fast ways of the subgraph nets equal the plain formula, in values and gradients."""

from itertools import pairwise
from unittest import mock

import numpy as np
import pytest
import torch
from torch import nn

from layers import few_rows, fused
from layers.chain import Chain
from layers.closed_gin_layer import ClosedGINLayer
from layers.few_rows import FewRows, all_rows, distinct_rows
from layers.linear import Linear
from layers.subgraphs import EgoNets
from tests.layers.reference import randomised
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


@needs_loops
@pytest.mark.parametrize("used", ["all", "some", "none"])
@pytest.mark.parametrize("bias", [True, False])
def test_columns_that_relu_leaves_empty(used, bias):
    """1,500 rows of 48 numbers are enough for the fast way; W x < 0 in the empty columns, and has both signs in the others."""
    torch.manual_seed(0)
    x, W = torch.rand(1500, 48), torch.randn(48, 48)
    W -= W.mean(1, keepdim=True)
    empty = {"all": [], "some": [0, 5, 6, 47], "none": list(range(48))}[used]
    W[empty] = -W[empty].abs()
    b = -torch.rand(48)
    inputs = (x, W, b) if bias else (x, W)
    fast = with_gradients(fused.relu_linear, *inputs)
    assert (fast[0].abs().sum(0) == 0).nonzero().flatten().tolist() == empty
    with plain():
        slow = with_gradients(fused.relu_linear, *(y.detach().double() for y in inputs))
    assert_equal(fast, slow, 2e-4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("norm", [None, nn.BatchNorm1d])
def test_a_chain_is_a_sequence(norm, dtype):
    torch.manual_seed(0)
    modules = [Linear(48, 48), *([norm(48)] if norm else []), nn.ReLU(), Linear(48, 48), nn.ReLU()]
    x = torch.randn(1500, 48, dtype=dtype)
    chain, sequence = Chain(*modules).to(dtype), nn.Sequential(*modules).to(dtype)
    assert_equal(with_gradients(chain, x), with_gradients(sequence, x), 1e-4 if dtype == torch.float32 else 1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("case", CASES)
def test_a_net_on_few_rows(case, dtype):
    """Three layers that start from the distance; a kind may stand for one row or for many."""
    s, table = ego_nets(case), torch.eye(10, dtype=dtype)
    layers = nn.ModuleList(randomised(ClosedGINLayer(a, b, norm=None)) for a, b in pairwise([10, 7, 7, 7])).to(dtype)

    def net(x, *parameters):
        for layer in layers:
            x = layer(s, x)
        return all_rows(x)

    def run(x):
        layers.zero_grad()
        out = net(x)
        (out * torch.arange(out.numel()).view_as(out)).sum().backward()
        return [out.detach(), *(p.grad / 1000 for p in layers.parameters())]

    with mock.patch.object(few_rows, "MOST", 1.0):
        few = s.by_distance(table)
        assert isinstance(layers[0](s, few), FewRows)
        fast = run(few)
    slow = run(table[s.distance])
    assert_equal(fast, slow, 2e-3 if dtype == torch.float32 else 1e-9)


def test_few_rows_become_all_rows_when_there_are_too_many():
    s = ego_nets("whole graphs")
    with mock.patch.object(few_rows, "MOST", 0.0):
        x = s.by_distance(torch.eye(10))
        assert torch.equal(s.sum_neighbours(x, own=1.0), s.sum_neighbours(x.all(), own=1.0))


def test_sums_with_the_same_rounding_errors_are_one_kind():
    """Whole numbers may be added in any order; others are one kind only if their order is the same."""
    s = ego_nets("whole graphs")
    with mock.patch.object(few_rows, "MOST", 1.0):
        first = s.by_distance(torch.eye(10)).closed_sum(s).kinds
        second = first.sums(s)[0]
    around = s.neighbour_rows()
    for kinds, before, ordered in ((first, s.distance, sorted), (second, first.index, list)):
        seen = {}
        for row, index in enumerate(kinds.index.tolist()):
            neighbours = [int(before[u]) for u in around[row] if u >= 0]
            assert seen.setdefault(index, (int(before[row]), ordered(neighbours))) == (
                int(before[row]),
                ordered(neighbours),
            )
        assert len(seen) == kinds.T == len({str(value) for value in seen.values()})


def test_distinct_rows_of_many_columns():
    x = np.random.default_rng(0).integers(0, 1000, (200, 12))[np.arange(600) % 150]
    first, number = distinct_rows(x, 1000)
    assert len(first) == 150 and np.array_equal(x[first][number], x)
