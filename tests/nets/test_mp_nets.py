"""What the message-passing nets do beyond their layers: keys that reach the layers, edges, the features of all layers."""

import dgl
import pytest
import torch
from torch.testing import assert_close

from data.dataset import Features
from data.store import Field
from nets import NETS, build_net
from nets.heads import Head, pool_nodes
from tests.nets.graphs import counted_only
from train.tasks import EdgeClassification, GraphClassification, NodeClassification

FEATURES = Features(Field("node", "feat", "float32", (3,)), Field("edge", "feat", "float32", (2,)))
TASKS = [GraphClassification(5), NodeClassification(5), EdgeClassification(5)]


def level(task):
    return task.level


@pytest.fixture
def graph():
    torch.manual_seed(0)
    g = dgl.batch([dgl.graph(([0, 1, 2, 2], [1, 0, 1, 2])), dgl.graph(([0, 1], [1, 0]), num_nodes=3)])
    g.ndata["feat"] = torch.randn(6, 3, dtype=torch.float64)
    g.edata["feat"] = torch.randn(6, 2, dtype=torch.float64)
    return g


def net_of(model, task, **keys):
    config = NETS[model].Config(**({"L": 2, "hidden_dim": 8} | keys))
    return build_net(config, FEATURES, task).double()


NETS_AND_KEYS = [
    ("MLP", {}),
    ("GCN", {}),
    *(("GAT", {"layer_type": kind}) for kind in ("attention", "isotropic", "edge_features", "edge_representations")),
    *(("GatedGCN", {"layer_type": kind}) for kind in ("isotropic", "edge_features", "edge_representations")),
    ("GatedGCN", {"layer_type": "edge_representations", "edge_feat": True}),
    ("GraphSage", {"aggregator": "mean"}),
    ("GraphSage", {"aggregator": "maxpool"}),
    ("GraphSage", {"aggregator": "lstm", "form": "text_15"}),
    ("GraphSage", {"layer_type": "edge_features"}),
    ("GraphSage", {"layer_type": "edge_representations"}),
    ("GraphSage", {"layer_type": "edge_representations", "edge_feat": True}),
    ("MoNet", {"n_kernels": 2, "pseudo_dim": 3}),
    ("GIN", {"aggregator": "mean", "n_mlp": 3}),
    ("GIN", {"aggregator": "max", "learn_eps": False, "jumping_knowledge": False}),
]


@pytest.mark.parametrize("task", TASKS, ids=level)
@pytest.mark.parametrize(("model", "keys"), NETS_AND_KEYS)
def test_every_net_predicts_at_every_level_and_every_parameter_learns(graph, model, keys, task):
    """But those that only the printed counts need: an embedding that is not read, and the last layer's own for the edges."""
    net = net_of(model, task, **keys if model == "MLP" else keys | {"graph_norm": True})
    y = net(graph)
    assert y.shape == ({"graph": 2, "node": 6, "edge": 6}[task.level], 5)
    y.square().sum().backward()
    for name, p in net.named_parameters():
        assert p.grad is None if name in counted_only(net) else torch.isfinite(p.grad).all(), name
    assert set(graph.ndata) == {"feat"} and set(graph.edata) == {"feat"}


def test_keys_reach_the_layers():
    layer = net_of("MoNet", TASKS[0], n_kernels=5, pseudo_dim=4).layers[0]
    assert layer.mu.shape == layer.s.shape == (5, 4)
    layer = net_of("GIN", TASKS[0], n_mlp=4, aggregator="max", learn_eps=False).layers[0]
    assert len(layer.V) == 3 and layer.aggregator == "max" and not isinstance(layer.eps, torch.nn.Parameter)
    layer = net_of("GraphSage", TASKS[0], aggregator="lstm", form="text_68").layers[0]
    assert layer.aggregator == "lstm" and layer.form == "text_68"
    assert net_of("MoNet", TASKS[0], form="text").layers[0].form == "text"


def test_edge_features_are_read_only_when_asked_for(graph):
    changed = graph.clone()
    changed.edata["feat"] = graph.edata["feat"] + 1
    for edge_feat in (False, True):
        net = net_of("GraphSage", NodeClassification(5), layer_type="edge_representations", edge_feat=edge_feat).eval()
        assert torch.equal(net(graph), net(changed)) is not edge_feat


@pytest.mark.parametrize("model", ["GAT", "GatedGCN", "GraphSage"])
def test_the_last_layer_computes_no_edges(graph, model):
    net = net_of(model, TASKS[0], layer_type="edge_representations")
    net(graph)
    assert [int(layer.update_e.norm.num_batches_tracked) for layer in net.layers] == [1, 0]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"layer_type": "edge_features", "aggregator": "mean"}, "exist with maxpool only"),
        ({"layer_type": "edge_representations", "aggregator": "lstm"}, "exist with maxpool only"),
        ({"layer_type": "edge_features", "edge_feat": True}, "read with edge_representations only"),
        ({"edge_feat": True}, "read with edge_representations only"),
    ],
)
def test_keys_that_do_not_go_together_are_refused(keys, message):
    with pytest.raises(ValueError, match=message):
        NETS["GraphSage"].Config(L=1, hidden_dim=2, **keys)


def layer_features(net, g):
    h = [net.embedding(g)]
    for layer in net.layers:
        h.append(layer(g, h[-1]))
    return h


@pytest.mark.parametrize("readout", ["sum", "mean", "max"])
def test_gin_adds_a_linear_prediction_from_every_layer(graph, readout):
    net = net_of("GIN", GraphClassification(5), head=Head(pool=readout)).eval()
    expected = 0
    for h, head in zip(layer_features(net, graph), net.head, strict=True):
        assert len(head.mlp.hidden) == 0
        P = head.mlp.out
        expected = expected + pool_nodes(graph, h, readout) @ P.weight.T + P.bias
    assert_close(net(graph), expected, rtol=0, atol=1e-10)


def test_gin_on_nodes_and_edges(graph):
    net = net_of("GIN", NodeClassification(5)).eval()
    heads = [head.mlp for head in net.head]
    expected = sum(h @ P.out.weight.T + P.out.bias for h, P in zip(layer_features(net, graph), heads, strict=True))
    assert_close(net(graph), expected, rtol=0, atol=1e-10)

    net = net_of("GIN", EdgeClassification(5)).eval()
    src, dst = graph.edges()
    expected = 0
    for h, head in zip(layer_features(net, graph), net.head, strict=True):
        (Q,), P = head.mlp.hidden, head.mlp.out
        assert Q.weight.shape == (8, 16)
        expected = expected + P(Q(torch.cat([h[src], h[dst]], dim=1)).relu())
    assert_close(net(graph), expected, rtol=0, atol=1e-10)


def test_gin_without_jumping_knowledge_looks_at_the_last_layer_only(graph):
    net = net_of("GIN", NodeClassification(5), jumping_knowledge=False).eval()
    assert_close(net(graph), net.head.mlp(layer_features(net, graph)[-1]), rtol=0, atol=1e-10)
    assert len(net.head.mlp.hidden) == 2


@pytest.mark.parametrize("model", ["GraphSage", "GAT", "GatedGCN"])
def test_edge_features_that_no_layer_would_read_are_an_error(model):
    with pytest.raises(ValueError, match="edge_feat=True with layer_type='isotropic'"):
        NETS[model].Config(L=1, hidden_dim=2, layer_type="isotropic", edge_feat=True)
