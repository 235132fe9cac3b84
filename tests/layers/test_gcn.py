"""GCN against a loop written from eq. (12), (13), (29) and (73), and against DGL's own layer."""

import pytest
import torch
from dgl.nn import GraphConv

from layers.gcn_layer import GCNLayer
from tests.layers import laws
from tests.layers.reference import DIM, N, in_edges, odd_graph, randomised, updated


def gcn_by_loop(layer, h):
    rows = []
    for i in range(N):
        neighbours = [h[j] for _, j in in_edges(i)]
        mean = sum(neighbours) / len(neighbours) if neighbours else torch.zeros_like(h[i])
        rows.append(layer.U.weight @ mean + layer.U.bias)
    return updated(layer.update_h, h, torch.stack(rows))


CASES = {
    "as in the tables": lambda: GCNLayer(DIM, DIM),
    "plain": lambda: GCNLayer(DIM, DIM, batch_norm=False, residual=False),
    "another width": lambda: GCNLayer(DIM, 4),
    "graph norm": lambda: GCNLayer(DIM, DIM, graph_norm=True),
}


@pytest.fixture(params=CASES)
def layer(request):
    torch.manual_seed(0)
    return randomised(CASES[request.param]())


def test_equals_the_loop(layer):
    laws.equals_the_loop(layer, gcn_by_loop)


@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: law.__name__)
def test_laws(layer, law):
    law(layer)


def test_equals_graphconv_with_its_weights():
    torch.manual_seed(0)
    conv = randomised(GraphConv(DIM, 4, norm="right", activation=torch.relu, allow_zero_in_degree=True))
    layer = GCNLayer(DIM, 4, batch_norm=False, residual=False).double()
    with torch.no_grad():
        layer.U.weight.copy_(conv.weight.t())
        layer.U.bias.copy_(conv.bias)
    (h,) = laws.random_inputs(odd_graph(), edges=False)
    laws.close([layer(odd_graph(), h)], [conv(odd_graph(), h)])
