"""The layers of the Taxonomy against loops written from their equations; in complete graphs without and with edges."""

import dgl
import pytest
import torch
from torch import nn

from layers import sparse_rows
from layers.bare_gin_layer import BareGINLayer
from layers.closed_gcn_layer import ClosedGCNLayer
from layers.neighbourhood import Complete, CountedBatchNorm, Edges
from nets.taxonomy_nets import unit_relu
from tests.layers import laws
from tests.layers.reference import DIM, N, in_edges, randomised


class OfEdges(nn.Module):
    """A layer that is called with the graph itself, as the laws call it."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, g, x):
        return self.layer(Edges(g), x)


def gcn_by_loop(layer, x):
    """Self-loops are replaced by one; the double edge counts twice."""
    W, b = layer.layer.W, layer.layer.b
    neighbours = [[j for _, j in in_edges(i) if j != i] + [i] for i in range(N)]
    d = [len(js) for js in neighbours]
    rows = [sum(W @ x[j] / (d[i] * d[j]) ** 0.5 for j in js) for i, js in enumerate(neighbours)]
    return torch.stack(rows) + (0 if b is None else b)


def gin_by_loop(layer, x):
    W_1, W_2 = layer.layer.W_1, layer.layer.W_2
    sums = torch.stack([x[i] + sum(x[j] for _, j in in_edges(i)) for i in range(N)])
    return torch.relu(sums @ W_1.weight.T + W_1.bias) @ W_2.weight.T + W_2.bias


CASES = {
    "GCN": (lambda: ClosedGCNLayer(DIM, DIM), gcn_by_loop),
    "GCN without bias": (lambda: ClosedGCNLayer(DIM, 4, bias=False), gcn_by_loop),
    "GIN": (lambda: BareGINLayer(DIM, DIM), gin_by_loop),
}


@pytest.fixture(params=CASES)
def case(request):
    torch.manual_seed(0)
    make, loop = CASES[request.param]
    return OfEdges(randomised(make())), loop


def test_equals_the_loop(case):
    laws.equals_the_loop(*case)


@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: law.__name__)
def test_laws(case, law):
    law(case[0])


def clique(n):
    i, j = torch.nonzero(1 - torch.eye(n), as_tuple=True)
    return dgl.graph((i, j), num_nodes=n)


def test_complete_graphs_need_no_edges(case):
    """Nodes alone, pairs and larger cliques: every node has what the row of its graph has; outputs and gradients."""
    layer, sizes = case[0].layer, (1, 2, 5, 3)
    with_edges = dgl.batch([clique(n) for n in sizes])
    around = Complete(dgl.batch([dgl.graph(([], []), num_nodes=n) for n in sizes]))
    values = []
    for compute in (
        lambda x: layer(Edges(with_edges), x),
        lambda x: around.spread(layer(around, around.pool(x))),
    ):
        x = torch.randn(11, DIM, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).requires_grad_()
        y = compute(x)
        gradients = torch.autograd.grad((y * torch.arange(11.0)[:, None]).sum(), [x, *layer.parameters()])
        values.append([y, *gradients])
    laws.close(*values)


def test_batch_norm_of_rows_that_stand_for_several():
    counts, norms = torch.tensor([1, 4, 0, 3]), []
    for counted in (True, False):
        torch.manual_seed(3)
        norm, x = randomised(CountedBatchNorm(DIM)), torch.randn(4, DIM, dtype=torch.float64).requires_grad_()
        y = norm(x, counts).repeat_interleave(counts, 0) if counted else norm(x.repeat_interleave(counts, 0))
        gradients = torch.autograd.grad((y * torch.arange(8.0)[:, None] ** 2).sum(), [x, *norm.parameters()])
        norms.append([y, *gradients, norm.running_mean, norm.running_var, norm.num_batches_tracked.double()])
        assert norm.eval()(x, counts).shape == x.shape
    laws.close(*norms)
    with pytest.raises(ValueError, match="1 nodes"):
        CountedBatchNorm(DIM)(torch.ones(1, DIM), torch.tensor([1]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_unit_relu(dtype):
    """Equal to torch's own functions, and so are the gradients; a row without a positive number stays zero."""
    v = torch.randn(6, DIM, dtype=dtype, generator=torch.Generator().manual_seed(2))
    v[3] = -v[3].abs()
    v.requires_grad_()
    expected = torch.nn.functional.normalize(v.relu())
    weight = torch.arange(6.0 * DIM).view(6, DIM)
    gradients = [torch.autograd.grad((y * weight).sum(), v)[0] for y in (unit_relu(v), expected)]
    torch.testing.assert_close([unit_relu(v), gradients[0]], [expected, gradients[1]])
    assert not unit_relu(v)[3].any()


def test_unit_relu_gradient():
    v = torch.randn(5, DIM, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    assert torch.autograd.gradcheck(unit_relu, v.requires_grad_())


@pytest.mark.parametrize("share", [0.05, 0.5])
def test_features_that_are_mostly_zero(monkeypatch, share):
    """Seen for the first and for the second time, sparse or not: the same product and gradients. It goes with the tensor."""
    monkeypatch.setattr(sparse_rows, "LARGE", 1)
    random = torch.Generator().manual_seed(4)
    x = torch.randn(40, 30, dtype=torch.float64, generator=random) * (torch.rand(40, 30, generator=random) < share)
    W, b = (torch.randn(*size, dtype=torch.float64, generator=random).requires_grad_() for size in ((7, 30), (7,)))
    expected = torch.nn.functional.linear(x, W, b)
    weight = torch.arange(40.0 * 7).view(40, 7)
    for _ in range(3):
        y = sparse_rows.linear(x, W, b)
        gradients = torch.autograd.grad((y * weight).sum(), (W, b))
        laws.close(
            [y, *gradients], [expected, *torch.autograd.grad((expected * weight).sum(), (W, b), retain_graph=True)]
        )
    assert (sparse_rows._seen[x] is not None) == (share < 0.2)
    n = len(sparse_rows._seen)
    del x, expected
    assert len(sparse_rows._seen) == n - 1
