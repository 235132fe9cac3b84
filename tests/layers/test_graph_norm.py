"""Graph size normalisation, eq. (73): its values, and its place before batch normalisation in the layers."""

import dgl
import pytest
import torch

from data.dataset import Features
from layers.gcn_layer import GCNLayer
from layers.graph_norm import graph_size_norm
from nets import NETS, build_net
from tests.layers import laws
from tests.layers.reference import DIM, N, batch_norm, in_edges, odd_graph, randomised
from train.tasks import GraphClassification


def test_every_node_is_divided_by_the_root_of_its_own_graph():
    sizes = [3, 1, 0, 4]
    g = dgl.batch([dgl.graph(([], []), num_nodes=n) for n in sizes])
    h = torch.randn(8, DIM, dtype=torch.float64)
    expected, node = torch.empty_like(h), 0
    for V in sizes:
        for _ in range(V):
            expected[node] = h[node] / V**0.5
            node += 1
    laws.close([graph_size_norm(g, h)], [expected])


def test_one_graph_and_gradients():
    g = odd_graph()
    h = torch.randn(N, DIM, dtype=torch.float64, requires_grad=True)
    laws.close([graph_size_norm(g, h)], [h / N**0.5])
    assert torch.autograd.gradcheck(lambda h: graph_size_norm(g, h), (h,))
    assert not g.ndata


def gcn_by_loop(layer, h):
    rows = []
    for i in range(N):
        neighbours = [h[j] for _, j in in_edges(i)]
        mean = sum(neighbours) / len(neighbours) if neighbours else torch.zeros_like(h[i])
        rows.append((layer.U.weight @ mean + layer.U.bias) / N**0.5)
    h_new = batch_norm(torch.stack(rows), layer.norm).clamp(min=0)
    return h + h_new if layer.residual else h_new


@pytest.mark.parametrize("batch_norm_too", [True, False])
def test_in_gcn_it_stands_before_batch_normalisation(batch_norm_too):
    layer = randomised(GCNLayer(DIM, DIM, batch_norm=batch_norm_too, graph_norm=True))
    laws.equals_the_loop(layer, gcn_by_loop)
    laws.treats_a_batch_as_its_graphs(layer)


@pytest.mark.parametrize("model", ["GCN", "GraphSage", "MoNet", "GIN"])
def test_the_config_switches_it_on_in_every_layer(model):
    for graph_norm in (False, True):
        config = NETS[model].Config(L=2, hidden_dim=4, graph_norm=graph_norm)
        net = build_net(config, Features(None, None), GraphClassification(2))
        assert [layer.graph_norm for layer in net.layers] == [graph_norm] * 2
