"""The message-passing nets of CSL: invariance, batches, and what message passing can and cannot tell apart."""

import dgl
import pytest
import torch

from data.CSL import skip_link_edges
from data.dataset import Features
from data.store import Field
from data.transforms.laplacian import laplacian_eigenvectors
from nets import NETS, build_net
from nets.encodings import LapPE
from nets.heads import pool_nodes
from runs.table_files import find_row
from train.tasks import EdgeClassification, GraphClassification, GraphRegression, NodeClassification

MODELS = ("MLP", "GCN", "GraphSage", "GAT", "MoNet", "GatedGCN", "GIN")
NO_FEATURES = Features(node=None, edge=None)


def net_of(row, **changes):
    content = find_row(f"table3/{row}").config["net"] | changes
    return build_net(NETS[content["model"]].Config(**content), NO_FEATURES, GraphClassification(10))


def continuous(dim):
    return Features(Field("node", "feat", "float32", (dim,)), None)


def skip_link_graph(skip, number=None, k=20):
    src, dst = skip_link_edges(41, skip)
    if number is not None:
        src, dst = number[src], number[dst]
    g = dgl.graph((torch.as_tensor(src), torch.as_tensor(dst)), num_nodes=41)
    g.ndata["laplacian"] = torch.as_tensor(laplacian_eigenvectors(41, src, dst, k)).double()
    return g


@pytest.mark.parametrize("model", MODELS)
def test_without_positions_all_skip_lengths_look_alike_and_with_them_not(model):
    graphs = [skip_link_graph(c) for c in (2, 3, 4, 5, 6, 9, 11, 12, 13, 16)]
    without = net_of(f"{model}-none-L4").double().eval()
    scores = torch.cat([without(g) for g in graphs])
    assert torch.allclose(scores, scores[:1].expand_as(scores), rtol=0, atol=1e-12)
    with_pe = net_of(f"{model}-LapPE-L4").double().eval()
    scores = torch.cat([with_pe(g) for g in graphs])
    assert torch.pdist(scores).min() > 1e-6


@pytest.mark.parametrize("model", MODELS)
def test_graph_scores_do_not_depend_on_the_numbering(model):
    net = net_of(f"{model}-LapPE-L4").double().eval()
    g = skip_link_graph(5)
    number = torch.randperm(41)
    src, dst = g.edges()
    h = dgl.graph((number[src], number[dst]), num_nodes=41)
    h.ndata["laplacian"] = torch.empty_like(g.ndata["laplacian"])
    h.ndata["laplacian"][number] = g.ndata["laplacian"]
    torch.testing.assert_close(net(h), net(g), rtol=0, atol=1e-10)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("readout", ["mean", "sum", "max"])
def test_a_batch_equals_its_graphs_one_by_one(model, readout):
    net = net_of(f"{model}-LapPE-L4", head={"pool": readout}).double().eval()
    graphs = [skip_link_graph(c) for c in (2, 9, 13)]
    torch.testing.assert_close(net(dgl.batch(graphs)), torch.cat([net(g) for g in graphs]), rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    "task", [GraphClassification(3), NodeClassification(3), EdgeClassification(), GraphRegression(4)]
)
def test_each_level_predicts_for_its_items(task):
    config = NETS["GCN"].Config(L=2, hidden_dim=8)
    g = dgl.batch([dgl.graph(([0, 1], [1, 0])), dgl.graph(([0, 1, 2], [1, 2, 0]))])
    g.ndata["feat"] = torch.randn(5, 2)
    n_items = {"graph": 2, "node": 5, "edge": 5}[task.level]
    assert build_net(config, continuous(2), task)(g).shape == (n_items, task.n_out)


def test_pooling_by_hand_with_a_graph_that_has_no_nodes():
    g = dgl.batch([dgl.graph(([], []), num_nodes=n) for n in (2, 0, 1)])
    h = torch.tensor([[1.0], [-3.0], [-5.0]])
    assert pool_nodes(g, h, "sum").flatten().tolist() == [-2, 0, -5]
    assert pool_nodes(g, h, "mean").flatten().tolist() == [-1, 0, -5]
    assert pool_nodes(g, h, "max").flatten().tolist() == [1, 0, -5]


def test_signs_flip_in_training_only_and_together_for_the_whole_batch():
    encoding = LapPE(k=20, signs="flip").build(20)
    torch.nn.init.eye_(encoding.linear.weight)
    torch.nn.init.zeros_(encoding.linear.bias)
    g = dgl.graph(([], []), num_nodes=7)
    g.ndata["laplacian"] = torch.ones(7, 20)
    seen = set()
    for _ in range(20):
        signs = encoding(g)
        assert (signs == signs[0]).all() and (signs.abs() == 1).all()
        seen.add(tuple(signs[0].tolist()))
    assert len(seen) > 15  # of 2^20
    encoding.eval()
    assert (encoding(g) == 1).all()
    g.ndata["laplacian"] = -torch.ones(7, 20)
    assert (LapPE(k=20, signs="abs").read(g, training=True) == 1).all()
    assert (LapPE(k=20).read(g, training=True) == -1).all()


def test_a_missing_encoding_is_an_error_not_a_net_without_it():
    net = net_of("GCN-LapPE-L4")
    with pytest.raises(KeyError, match="laplacian"):
        net(dgl.graph(([0], [1])))


def test_a_net_says_which_transforms_it_needs():
    config = NETS["GCN"].Config(L=1, hidden_dim=2, encodings=[{"kind": "LapPE", "k": 3}, {"kind": "RWSE", "k": 4}])
    assert config.needs == {"laplacian": {"k": 3}, "walk_returns": {"k": 4}}
    assert NETS["kNN"].Config().needs == {} == NETS["GCN"].Config(L=1, hidden_dim=2).needs
    with pytest.raises(ValueError, match="encodings need laplacian with"):
        NETS["GCN"].Config(L=1, hidden_dim=2, encodings=[{"kind": "LapPE", "k": 3}, {"kind": "LapPE", "k": 4}])
