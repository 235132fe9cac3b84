"""The nets of the Fair Comparison against numbers of its program, and the parameter counts of all its configurations."""

import csv
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import dgl
import pytest
import torch

from data.dataset import Features, numbers
from layers import fused
from nets import NETS, build_net, count_parameters
from nets.heads import Scores
from runs.table_files import find_table

FACTS = Path(__file__).resolve().parents[3] / "shared" / "facts"
MODELS = {
    "Baseline-MolecularFingerprint": "Fingerprint",
    "Baseline-DeepMultisets": "DeepMultisets",
    "DGCNN": "DGCNN",
    "DiffPool": "DiffPool",
    "ECC": "ECC",
    "GIN": "FairGIN",
    "GraphSAGE": "FairGraphSAGE",
}
ROWS = {"REDDIT-5K": "REDDIT-MULTI-5K"}  # datasets that the table files name otherwise


def make(model, width=3, n_out=3, **keys):
    config = NETS[model].Config(**keys)
    task = SimpleNamespace(level="graph", n_out=n_out)
    return build_net(config, Features(numbers("node", width), None), task).double()


def by_the_rule(net, scale=1.0):
    """Entry k of every parameter is scale sin(0.1 k); BN and ε stay as they start."""
    for name, p in net.named_parameters():
        norms = [m for m in net.modules() if isinstance(m, torch.nn.BatchNorm1d)]
        if not any(p is q for norm in norms for q in norm.parameters()) and name != "eps":
            p.data = scale * torch.sin(0.1 * torch.arange(p.numel(), dtype=torch.float64)).view_as(p)
    return net


def golden_graph():
    """The two graphs of the golden numbers, both directions of each edge."""
    graphs = [
        (5, [(0, 1), (1, 2), (2, 3), (3, 0), (1, 3), (3, 4)]),
        (3, [(0, 1), (1, 2)]),
    ]
    made = []
    for n, edges in graphs:
        src, dst = zip(*edges, strict=True)
        made.append(dgl.graph((src + dst, dst + src), num_nodes=n))
    g = dgl.batch(made)
    g.ndata["feat"] = torch.cos(0.3 * torch.arange(24, dtype=torch.float64)).view(8, 3)
    # what remains after two Kron reductions
    g.ndata["kron"] = torch.tensor([[1, 1], [0, 0], [1, 0], [1, 1], [0, 0], [1, 1], [0, 0], [1, 0]])
    return g


@pytest.fixture
def graph():
    return golden_graph()


GOLDEN = [  # model, keys, scale of the weights, mode, scores of the two graphs
    (
        "Fingerprint",
        {"hidden_dim": 4},
        1,
        "eval",
        [[0.0, 0.0998334166, 0.1986693308], [2.4234538165, 6.7136164839, 9.9586107264]],
    ),
    (
        "DeepMultisets",
        {"hidden_dim": 4},
        1,
        "eval",
        [[4.5342391735, 12.984141801, 19.3988979324], [6.7136050064, 19.1703936108, 28.6153625817]],
    ),
    (
        "FairGIN",
        {"widths": [4, 4]},
        0.5,
        "eval",
        [[32.3912632257, 92.0024392233, 137.1401270137], [20.7292422885, 58.9153731005, 87.8369719285]],
    ),
    (
        "FairGIN",
        {"widths": [4, 4]},
        0.5,
        "train",
        [[0.3974823177, 1.7444813944, 2.8677392125], [2.7712239223, 9.9303783486, 15.5586543801]],
    ),
    (
        "FairGIN",
        {"widths": [4, 4], "pool": "mean"},
        0.5,
        "eval",
        [[6.4782526451, 18.480354578, 27.5869608674], [6.9097474295, 19.7050133113, 29.4114368634]],
    ),
    (
        "FairGIN",
        {"widths": [4, 4], "pool": "mean"},
        0.5,
        "train",
        [[0.0794964635, 0.4287630122, 0.7324833071], [0.9237413074, 3.3766817273, 5.3186643472]],
    ),
    (
        "FairGraphSAGE",
        {"L": 3, "hidden_dim": 4, "aggregation": "mean"},
        0.5,
        "eval",
        [[0.0507324479, 0.3304798313, 0.5654337153], [0.334704124, 2.1891376531, 3.7053364809]],
    ),
    (
        "FairGraphSAGE",
        {"L": 3, "hidden_dim": 4, "aggregation": "max"},
        0.5,
        "eval",
        [[0.6257669954, 4.9255796279, 8.4551335401], [0.6284101445, 4.9462450742, 8.4905586642]],
    ),
    (
        "FairGraphSAGE",
        {"L": 3, "hidden_dim": 4, "aggregation": "add"},
        0.5,
        "eval",
        [[2.65780846, 6.0515149328, 8.4972022579], [1.9929078636, 15.9439452364, 27.3851662314]],
    ),
    (
        "DGCNN",
        {"L": 2, "hidden_dim": 4, "k": 11, "dense_dim": 8},
        0.1,
        "eval",
        [[0.0230892827, 0.0758333307, 0.0885339087], [0.023453158, 0.0769241593, 0.0896900087]],
    ),
    (
        "ECC",
        {"L": 1, "hidden_dim": 4},
        0.3,
        "eval",
        [[19.2116766562, 51.0904187158, 74.9075362363], [7.8573109738, 20.9160667798, 30.6770647435]],
    ),
    (
        "ECC",
        {"L": 2, "hidden_dim": 4},
        0.3,
        "eval",
        [[723.5565964734, 1923.3673073764, 2819.5250406558], [19.9387506796, 56.2938748633, 83.7658631957]],
    ),
]


@pytest.mark.parametrize(("model", "keys", "scale", "mode", "scores"), GOLDEN)
def test_the_numbers_of_the_program(graph, model, keys, scale, mode, scores):
    net = by_the_rule(make(model, **keys), scale).train(mode == "train")
    torch.testing.assert_close(net(graph), torch.tensor(scores, dtype=torch.float64), rtol=1e-8, atol=1e-8)


DIFFPOOL = [  # layers, mode, scores, link loss and entropy
    (
        1,
        "eval",
        [[0.0071392902, 0.0284869163, 0.0432709611], [0.0127006359, 0.0423774299, 0.0606382867]],
        0.6126949012706766,
    ),
    (
        1,
        "train",
        [[0.0709912942, 0.1988512888, 0.2606345255], [0.2131745871, 0.5833701917, 0.7531655228]],
        0.588288495204496,
    ),
    (
        2,
        "eval",
        [[0.0062479494, 0.0270875223, 0.0418523626], [0.0086054755, 0.0338307524, 0.0506256925]],
        2.080598038980047,
    ),
    (
        2,
        "train",
        [[0.0880144755, 0.247632266, 0.3241326999], [0.2185337592, 0.6803631276, 0.9079097995]],
        1.9270749647265375,
    ),
]


@pytest.mark.parametrize(("L", "mode", "scores", "penalty"), DIFFPOOL)
def test_diffpool_of_the_program(graph, L, mode, scores, penalty):
    keys = {"L": L, "hidden_dim": 4, "embedding_dim": 5, "max_num_nodes": 20, "mlp_dim": 6, "padded": True}
    net = by_the_rule(make("DiffPool", **keys), 0.1).train(mode == "train")
    seen = net(graph)
    torch.testing.assert_close(seen.scores, torch.tensor(scores, dtype=torch.float64), rtol=1e-7, atol=1e-9)
    assert seen.penalty.item() == pytest.approx(penalty, abs=1e-10)


def test_the_clusters_of_the_datasets():
    rows, config = find_table("fair_DiffPool").rows, NETS["DiffPool"].Config
    known = {"ENZYMES": (13, 32, 8), "PROTEINS": (62, 155, 39), "NCI1": (12, 28, 7), "IMDB-BINARY": (14, 34, 9)}
    for name, clusters in {**known, "DD": (575, 1437, 360)}.items():
        keys = {"hidden_dim": 4, "embedding_dim": 5, "max_num_nodes": rows[name].config["net"]["max_num_nodes"]}
        assert (*config(L=1, **keys).clusters, *config(L=2, **keys).clusters) == clusters


def keys_of(model, text, dataset):
    keys = dict(pair.split("=") for pair in text.split(";"))
    if model == "DGCNN":
        ks = find_table("fair_DGCNN").row(ROWS.get(dataset, dataset)).config["grid"]["net.k"]
        k = ks[("0.9", "0.6").index(keys["k"])]
        return {"L": int(keys["num_layers"]), "hidden_dim": int(keys["embedding_dim"]), "k": k}
    if model == "DiffPool":
        row = find_table("fair_DiffPool").row(ROWS.get(dataset, dataset))
        return {
            "L": int(keys["num_layers"]),
            "hidden_dim": int(keys["gnn_dim_hidden"]),
            "embedding_dim": int(keys["dim_embedding"]),
            "max_num_nodes": row.config["net"]["max_num_nodes"],
        }
    if model == "ECC":
        return {"L": int(keys["num_layers"]), "hidden_dim": int(keys["dim_embedding"])}
    if model == "FairGIN":
        return {
            "widths": list(map(int, keys["hidden_units"].strip("[]").split())),
            "train_eps": keys["train_eps"] == "True",
        }
    if model == "FairGraphSAGE":
        return {
            "L": int(keys["num_layers"]),
            "hidden_dim": int(keys["dim_embedding"]),
            "aggregation": keys["aggregation"].split("/")[0],
        }
    return {"hidden_dim": int(keys["hidden_units"])}


@pytest.mark.skipif(not FACTS.is_dir(), reason=f"no folder {FACTS}")
@pytest.mark.parametrize("name", MODELS)
def test_the_parameter_counts_of_all_configurations(name):
    with open(FACTS / "fair_param_counts.csv", newline="") as file:
        lines = [line for line in csv.DictReader(file) if line["model"] == name]
    assert len(lines) >= 9
    for line in lines:
        keys = keys_of(MODELS[name], line["config"], line["dataset"])
        net = make(MODELS[name], int(line["dim_features"]), int(line["dim_target"]), **keys)
        assert count_parameters(net) == int(line["params_as_published_PyG1.4"]), line


def test_the_baselines_do_not_look_at_edges(graph):
    other = dgl.batch([dgl.graph(([], []), num_nodes=n) for n in (5, 3)])
    other.ndata["feat"] = graph.ndata["feat"]
    for model in ("Fingerprint", "DeepMultisets"):
        net = make(model, hidden_dim=4)
        torch.testing.assert_close(net(graph), net(other))


@pytest.mark.skipif(fused.loops() is None, reason="the compiled loops need torch's OpenMP on Linux")
def test_gin_normalises_its_features_as_pytorch_does():
    """Equal features are 0 after BN but for rounding, of which this net learns; the layers after it take the faster BN."""
    g = dgl.graph(([0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]))
    g.ndata["feat"] = torch.ones(4, 1)
    net = make("FairGIN", width=1, widths=[8, 8]).float().train()
    with mock.patch.object(fused, "normalise", wraps=fused.normalise) as ours:
        net(g)
    norms = [call.args[0] for call in ours.call_args_list]
    assert norms == [m for layer in net.layers for m in layer if isinstance(m, torch.nn.BatchNorm1d)]


def test_the_programs_dropout_at_evaluation_is_an_option(graph):
    net = make("FairGIN", widths=[8], dropout=0.5).eval()
    assert torch.equal(net(graph), net(graph))
    noisy = make("FairGIN", widths=[8], dropout=0.5, noisy=True).eval()
    assert len({noisy(graph).sum().item() for _ in range(20)}) > 1


POOLING = {
    "DGCNN": {"L": 2, "hidden_dim": 4, "k": 10},
    "DiffPool": {"L": 2, "hidden_dim": 4, "embedding_dim": 5, "max_num_nodes": 20},
    "ECC": {"L": 2, "hidden_dim": 4},
}


def scores_of(net, g):
    output = net(g)
    return output.scores if isinstance(output, Scores) else output


@pytest.mark.parametrize("model", POOLING)
def test_a_batch_is_its_graphs(graph, model):
    """In evaluation mode; among graphs of other sizes a graph has the scores it has alone."""
    torch.manual_seed(0)
    net = make(model, **POOLING[model]).eval()
    alone = torch.cat([scores_of(net, g) for g in dgl.unbatch(graph)])
    torch.testing.assert_close(scores_of(net, graph), alone, rtol=0, atol=1e-10)


@pytest.mark.parametrize("model", POOLING)
def test_the_numbering_of_nodes_does_not_matter(graph, model):
    torch.manual_seed(0)
    net = make(model, **POOLING[model]).eval()
    number = torch.tensor([3, 0, 4, 2, 1, 6, 5, 7])  # within each graph
    src, dst = graph.edges()
    other = dgl.graph((number[src], number[dst]), num_nodes=8)
    other.set_batch_num_nodes(graph.batch_num_nodes())
    other.set_batch_num_edges(graph.batch_num_edges())
    for field, x in graph.ndata.items():
        other.ndata[field] = torch.empty_like(x).index_copy(0, number, x)
    torch.testing.assert_close(scores_of(net, other), scores_of(net, graph), rtol=0, atol=1e-10)


def test_the_programs_threshold_leaves_self_loops_only(graph):
    kept = graph.ndata["kron"].bool()
    for drop_below in (None, 1e-4):
        net = make("ECC", L=2, hidden_dim=4, drop_below=drop_below)
        for level, weights in net.reductions(graph, kept, torch.float64):
            src, dst = level.edges()
            assert ((src == dst).all() and (weights > 0).all()) == (drop_below is not None)


def test_all_configurations_of_a_grid_need_the_same_reductions():
    config = NETS["ECC"].Config
    assert config(L=1, hidden_dim=4).needs == config(L=2, hidden_dim=4).needs == {"kron": {"k": 10}}
