"""GIN against a loop written from eq. (27)-(29) and (73), and against DGL's own layer."""

import pytest
import torch
from dgl.nn import GINConv

from layers.gin_layer import GINLayer
from tests.layers import laws
from tests.layers.reference import DIM, N, batch_norm, in_edges, odd_graph, randomised, updated

REDUCE = {"sum": lambda x: x.sum(0), "mean": lambda x: x.mean(0), "max": lambda x: x.max(0).values}


def gin_by_loop(layer, h):
    rows = []
    for i in range(N):
        neighbours = [h[j] for _, j in in_edges(i)]
        around = REDUCE[layer.aggregator](torch.stack(neighbours)) if neighbours else torch.zeros_like(h[i])
        rows.append((1 + layer.eps) * h[i] + around)
    h_hat = torch.stack(rows)
    for V, norm in zip(layer.V, layer.norm_V, strict=True):
        h_hat = batch_norm(torch.stack([V.weight @ x + V.bias for x in h_hat]), norm).clamp(min=0)
    h_hat = torch.stack([layer.U.weight @ x + layer.U.bias for x in h_hat])
    return updated(layer.update_h, h, h_hat)


CASES = {
    "as in the tables": lambda: GINLayer(DIM, DIM),
    "mean": lambda: GINLayer(DIM, DIM, "mean"),
    "max": lambda: GINLayer(DIM, DIM, "max"),
    "fixed epsilon": lambda: GINLayer(DIM, DIM, learn_eps=False),
    "one linear map": lambda: GINLayer(DIM, DIM, n_mlp=1),
    "three to another width": lambda: GINLayer(DIM, 4, n_mlp=3),
    "plain": lambda: GINLayer(DIM, DIM, batch_norm=False, residual=False),
    "graph norm": lambda: GINLayer(DIM, DIM, graph_norm=True),
}


@pytest.fixture(params=CASES)
def layer(request):
    torch.manual_seed(0)
    return randomised(CASES[request.param]())


def test_equals_the_loop(layer):
    laws.equals_the_loop(layer, gin_by_loop)


@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: law.__name__)
def test_laws(layer, law):
    law(layer)


def test_epsilon_is_a_parameter_only_when_it_is_learned():
    assert "eps" in dict(GINLayer(2, 2).named_parameters())
    fixed = GINLayer(2, 2, learn_eps=False)
    assert "eps" not in dict(fixed.named_parameters()) and fixed.eps.item() == 0


@pytest.mark.parametrize("aggregator", ["sum", "mean", "max"])
def test_equals_ginconv_with_its_weights(aggregator):
    """GINConv is eq. (28) with the same ε; what it is given to apply are our own maps of (27) and the norm of (29)."""
    torch.manual_seed(0)
    layer = randomised(GINLayer(DIM, DIM, aggregator, residual=False))
    mlp = torch.nn.Sequential(
        layer.V[0], layer.norm_V[0], torch.nn.ReLU(), layer.U, layer.update_h.norm, torch.nn.ReLU()
    )
    conv = GINConv(mlp, aggregator, learn_eps=True).double()
    conv.eps = layer.eps
    g = odd_graph()
    (h,) = laws.random_inputs(g, edges=False)
    laws.close([layer(g, h)], [conv(g, h)])


def test_an_unknown_aggregator_is_refused():
    with pytest.raises(ValueError, match="aggregator='avg': expected one of sum, mean, max"):
        GINLayer(2, 2, "avg")
