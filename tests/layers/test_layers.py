"""Each layer against a loop written from its equation, in float64, and under renumbering of the nodes."""

import pytest
import torch

from layers.gcn_layer import GCNLayer
from layers.mlp_layer import MLPLayer
from layers.mlp_readout import MLPReadout
from tests.layers.reference import DIM, N, batch_norm, in_edges, odd_graph, randomised, renumbered

torch.manual_seed(0)


@pytest.fixture
def graph():
    return odd_graph()


def gcn_by_loop(layer, h):
    """Eq. (12), (13), (29)."""
    rows = []
    for i in range(N):
        neighbours = [h[j] for _, j in in_edges(i)]
        mean = sum(neighbours) / len(neighbours) if neighbours else torch.zeros_like(h[i])
        rows.append(layer.U.weight @ mean + layer.U.bias)
    h_new = batch_norm(torch.stack(rows), layer.norm).clamp(min=0)
    return h + h_new if layer.residual else h_new


def mlp_by_loop(layer, h):
    return torch.stack([(layer.W.weight @ h[i] + layer.W.bias).clamp(min=0) for i in range(N)])


CASES = {
    "GCN": (lambda: GCNLayer(DIM, DIM), gcn_by_loop),
    "GCN plain": (lambda: GCNLayer(DIM, DIM, batch_norm=False, residual=False), gcn_by_loop),
    "GCN to another width": (lambda: GCNLayer(DIM, 4), gcn_by_loop),
    "MLP": (lambda: MLPLayer(DIM, 4), mlp_by_loop),
}


@pytest.fixture(params=CASES)
def layer_and_loop(request):
    make, loop = CASES[request.param]
    return randomised(make()), loop


def test_equals_the_loop(graph, layer_and_loop):
    layer, loop = layer_and_loop
    h = torch.randn(N, DIM, dtype=torch.float64)
    torch.testing.assert_close(layer(graph, h), loop(layer, h), rtol=0, atol=1e-10)


def test_renumbered_nodes_give_renumbered_output(graph, layer_and_loop):
    layer, _ = layer_and_loop
    h = torch.randn(N, DIM, dtype=torch.float64)
    number = torch.randperm(N)  # node i becomes number[i]
    h_renumbered = torch.empty_like(h)
    h_renumbered[number] = h
    torch.testing.assert_close(layer(renumbered(number), h_renumbered)[number], layer(graph, h), rtol=0, atol=1e-10)


def test_gradients(graph, layer_and_loop):
    layer, _ = layer_and_loop
    h = torch.randn(N, DIM, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda h: layer(graph, h), (h,))


def test_nothing_is_left_on_the_graph(graph, layer_and_loop):
    layer_and_loop[0](graph, torch.randn(N, DIM, dtype=torch.float64))
    assert not graph.ndata and not graph.edata


def test_dropout_acts_in_training_only(graph):
    h = torch.ones(N, DIM)
    layer = GCNLayer(DIM, DIM, dropout=0.5, batch_norm=False)
    assert (layer(graph, h) == 0).any()
    layer.eval()
    assert torch.equal(layer(graph, h), layer(graph, h))


def test_the_readout_halves_its_width_twice():
    widths = [tuple(p.shape) for p in MLPReadout(146, 10).parameters() if p.dim() == 2]
    assert widths == [(73, 146), (36, 73), (10, 36)]
