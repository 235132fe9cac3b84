"""The end that the layers share, eq. (29) and (73): against its equation, and switched by the keys of every net."""

import pytest
import torch
import torch.nn.functional as F

from data.dataset import Features
from layers.gatedgcn_layer import GatedGCNLayer
from layers.update import EdgeUpdate, Update
from nets import NETS, build_net
from tests.layers import laws
from tests.layers.reference import DIM, E, N, odd_graph, randomised, updated
from train.tasks import GraphClassification

CASES = {
    "as in the tables": {},
    "no BN": {"batch_norm": False},
    "no residual": {"residual": False},
    "graph norm": {"graph_norm": True},
    "graph norm alone": {"graph_norm": True, "batch_norm": False, "residual": False},
    "elu": {"activation": F.elu},
}


@pytest.mark.parametrize("out_dim", [DIM, 4])
@pytest.mark.parametrize("options", CASES.values(), ids=CASES)
def test_equals_the_equation(options, out_dim):
    torch.manual_seed(0)
    h, h_hat = torch.randn(N, DIM, dtype=torch.float64), torch.randn(N, out_dim, dtype=torch.float64)
    update = randomised(Update(DIM, out_dim, **options))
    laws.close([update(odd_graph(), h, h_hat)], [updated(update, h, h_hat)])


def test_the_size_of_the_graph_is_for_nodes():
    torch.manual_seed(0)
    e, e_hat = torch.randn(2, E, DIM, dtype=torch.float64)
    update = randomised(EdgeUpdate(DIM, DIM, graph_norm=True))
    laws.close([update(odd_graph(), e, e_hat)], [updated(update, e, e_hat)])
    assert not update.graph_norm


def test_dropout_acts_on_nodes_and_edges_in_training_only():
    torch.manual_seed(0)
    layer = GatedGCNLayer(DIM, DIM, dropout=0.5, batch_norm=False)
    h, e = torch.ones(N, DIM), torch.ones(E, DIM)
    kept = layer.eval()(odd_graph(), h, e)
    for x, all_of_x in zip(layer.train()(odd_graph(), h, e), kept, strict=True):
        assert (x == 0).any() and torch.equal(x[x != 0], 2 * all_of_x[x != 0]) and not (all_of_x == 0).any()


@pytest.mark.parametrize("model", ["GCN", "GraphSage", "MoNet", "GAT", "GatedGCN", "GIN"])
def test_the_keys_of_a_net_reach_the_end_of_every_layer(model):
    def ends(**keys):
        config = NETS[model].Config(L=2, hidden_dim=4, **keys)
        net = build_net(config, Features(None, None), GraphClassification(2))
        assert len(net.layers) == 2
        return [layer.update_h for layer in net.layers], net

    usual, _ = ends()
    assert all(isinstance(end.norm, torch.nn.BatchNorm1d) and end.residual and not end.graph_norm for end in usual)
    other, net = ends(batch_norm=False, residual=False, graph_norm=True, dropout=0.25)
    assert all(isinstance(end.norm, torch.nn.Identity) and not end.residual and end.graph_norm for end in other)
    assert all(any(getattr(m, "p", 0) == 0.25 for m in layer.modules()) for layer in net.layers)
