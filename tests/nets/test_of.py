"""`net(g, of)`: what is asked for some nodes or pairs of nodes is what all of them would get, at their places."""

from types import SimpleNamespace

import dgl
import pytest
import torch

from data.dataset import Features
from data.store import Field
from nets import NETS, NetError, build_net, count_parameters
from nets.dense_input import DenseInput
from nets.inputs import ColumnEmbedding

ATOMS = (119, 4, 12, 12, 10, 6, 6, 2, 2)  # OGB's columns, paper era
BONDS = (5, 6, 2)
KEYS = {"L": 2, "hidden_dim": 8}
OWN = {"MF": {"hidden_dim": 8, "num_embs": 9}, "GAT": {**KEYS, "hidden_dim": 4}}
MODELS = ("MLP", "GCN", "GraphSage", "MoNet", "GAT", "GatedGCN", "GIN", "MF", "RingGNN", "3WLGNN")


def molecules():
    """Two graphs with OGB's columns, in float64's world: five and three nodes."""
    random = torch.Generator().manual_seed(3)
    g = dgl.batch([dgl.graph(([0, 1, 1, 2, 3, 4], [1, 0, 2, 1, 4, 3])), dgl.graph(([0, 1, 2, 1], [1, 0, 1, 2]))])
    g.ndata["feat"] = torch.stack([torch.randint(n, (g.num_nodes(),), generator=random) for n in ATOMS], 1)
    g.edata["feat"] = torch.stack([torch.randint(n, (g.num_edges(),), generator=random) for n in BONDS], 1)
    return g


FEATURES = Features(Field("node", "feat", "uint8", (9,), ATOMS), Field("edge", "feat", "uint8", (3,), BONDS))


def net_of(model, level, n_out=3, features=FEATURES, **keys):
    torch.manual_seed(1)
    config = NETS[model].Config(**(OWN.get(model) or KEYS), **keys)
    return build_net(config, features, SimpleNamespace(level=level, n_out=n_out)).double().eval()


@pytest.mark.parametrize("model", MODELS)
def test_some_nodes(model):
    g, of = molecules(), torch.tensor([6, 0, 6, 3])
    net = net_of(model, "node")
    torch.testing.assert_close(net(g, of), net(g)[of], rtol=0, atol=1e-12)


@pytest.mark.parametrize("model", [model for model in MODELS if model not in ("RingGNN", "3WLGNN")])
def test_the_pairs_of_the_edges_are_the_edges(model):
    g, net = molecules(), net_of(model, "pair")
    edges = net_of(model, "edge")
    edges.load_state_dict(net.state_dict())
    of = torch.stack(g.edges())
    torch.testing.assert_close(net(g, of), edges(g), rtol=0, atol=1e-12)
    turned = of.flip(1)[:, :4]
    torch.testing.assert_close(net(g, turned), edges(g).flip(0)[:4], rtol=0, atol=1e-12)


@pytest.mark.parametrize("model", ["RingGNN", "3WLGNN"])
def test_a_dense_net_refuses_pairs(model):
    with pytest.raises(NetError, match=f"{model}.*not for pairs"):
        net_of(model, "pair")


# Vocabularies per column


def test_the_sum_of_an_embedding_for_each_column():
    torch.manual_seed(0)
    embed = ColumnEmbedding((119, 4, 12), 5).double()
    x = torch.tensor([[118, 3, 11], [0, 0, 0], [6, 1, 3]])
    tables = embed.weight.split((119, 4, 12))
    by_hand = torch.stack([sum(tables[k][x[i, k]] for k in range(3)) for i in range(3)])
    torch.testing.assert_close(embed(x), by_hand, rtol=0, atol=1e-12)
    for table, n in zip(tables, (119, 4, 12), strict=True):  # Glorot: uniform within ±√(6 / (n + d))
        bound = (6 / (n + 5)) ** 0.5
        assert 0.8 * bound < table.abs().max() <= bound
    assert torch.autograd.gradcheck(lambda w: torch.func.functional_call(embed, {"weight": w}, x), embed.weight)


def test_ogbs_columns_have_a_parameter_for_each_type():
    """LRGB, 3: the node encoder has 173 w, the edge encoder 13 d parameters; one table of 28 and 4 types, 28 w and 4 d."""
    single = Features(Field("node", "feat", "uint8", n_types=28), Field("edge", "feat", "uint8", n_types=4))
    counts = {
        features: count_parameters(net_of("GatedGCN", "graph", 10, features, edge_feat=True))
        for features in (FEATURES, single)
    }
    assert sum(ATOMS) == 173 and counts[FEATURES] - counts[single] == (173 - 28) * 8 + (13 - 4) * 8


def test_the_wl_gnns_read_each_column_as_one_hot():
    g = molecules()
    dense = DenseInput(FEATURES, NETS["3WLGNN"].Config(**KEYS, edge_feat=True))
    assert dense.dim == 1 + 173 + 13
    node = dense(g, torch.float64).node
    first = torch.tensor([0, *ATOMS[:-1]]).cumsum(0)
    assert node.nonzero()[:, 1].view(-1, 9).tolist() == (g.ndata["feat"] + first).tolist()


@pytest.mark.parametrize(("model", "level"), [("DGCNN", "node"), ("GSN", "edge"), ("kNN", "graph")])
def test_a_net_for_another_level_is_refused(model, level):
    task = SimpleNamespace(level=level, n_out=2)
    with pytest.raises(NetError, match=f"net.model='{model}' predicts for each .*, not for each {level}"):
        build_net(NETS[model].Config.model_construct(model=model), None, task)
