"""The neural models of BREC: golden numbers of the original programs, invariance, and what each can and cannot tell apart."""

import json
from functools import cache

import networkx as nx
import numpy as np
import pytest
import torch

from data.BREC import KINDS, renumbered
from data.readers.graph6 import decode
from data.transforms.orbits import edge_orbits, node_orbits, vocabulary
from layers.gin_layer import GINLayer
from nets import count_parameters
from nets.delta_lgnn_net import DeltaLGNNNet
from nets.dropgnn_net import DropGNNNet
from nets.ds_gnn_net import DSGNNNet
from nets.dss_gnn_net import DSSGNNNet
from nets.gnn_ak_net import GNNAKNet
from nets.graphormer_net import GraphormerNet
from nets.gsn_net import GSNNet
from nets.heads import as_scores, pool_nodes
from nets.i2_gnn_net import I2GNNNet
from nets.kc_set_gnn_net import KCSetGNNNet
from nets.kp_gnn_net import KPGNNNet
from nets.ngnn_net import DENGNNNet, NGNNNet
from nets.osan_net import OSANNet
from nets.sswl_net import SSWLNet
from nets.sun_net import SUNNet
from tests.exact.graphs import arrays
from tests.nets import brec

# name -> class, parameters here, parameters of the original program
NETS = {
    "NGNN": (NGNNNet, 3_568, 3_568),
    "DE+NGNN": (DENGNNNet, 201_488, 201_488),
    "DS-GNN": (DSGNNNet, 44_400, 44_400),
    "DSS-GNN": (DSSGNNNet, 41_616, 41_616),
    "SUN": (SUNNet, 192_016, 192_016),
    "SSWL_P": (SSWLNet, 223_336, 236_649),
    "GNN-AK": (GNNAKNet, 74_744, 1_214_076),
    "delta-2-LGNN": (DeltaLGNNNet, 16_076, 16_076),
    "I2-GNN": (I2GNNNet, 53_984, 60_544),
    "KP-GNN": (KPGNNNet, 29_702, 93_838),
    "KC-SetGNN": (KCSetGNNNet, 254_114, 362_578),
    "GSN": (GSNNet, 110_432, 110_432),
    "DropGNN": (DropGNNNet, 8_592, 8_592),
    "OSAN": (OSANNet, 155_180, 147_864 + 44_200),
    "Graphormer": (GraphormerNet, 477_176, 938_976),
}

# First numbers of the embedding of T4 in the batch of the golden graphs, in training and then in evaluation mode
GOLDEN = {
    "NGNN": ([-0.0063442655, 0.037366445, 0.081982351], [-0.0056787364, 0.033429709, 0.07341162]),
    "DE+NGNN": ([0.41834024, 0.82306872, 0.64146278], [0.37424045, 0.73689886, 0.57450697]),
    "DS-GNN": ([-0.56930466, -0.31751047, -0.65408644], [-0.17042419, -0.025568839, 0.011254386]),
    "DSS-GNN": ([-0.14584929, 0.15464112, 0.14022032], [-0.14439382, -0.0583188, -0.01240033]),
    "SUN": ([-0.098556042, 0.30292833, 0.42268906], [-32.732974, 48.445348, 66.018104]),
    "SSWL_P": ([0.019808185, -0.039744229, 0.096628074], [-0.25024279, 0.21616932, 0.2904873]),
    "GNN-AK": ([-0.011344985, 0.061975842, 0.35467276], [-0.3119576, -0.042867477, -0.181489]),
    "delta-2-LGNN": ([0.135082, 0.17491409, -0.034957753], [-0.08233534, -0.088741931, -0.1095014]),
    "I2-GNN": ([0.21842443, -0.47172843, -0.1803312], [0.51062102, -0.21730051, 0.64109962]),
    "KP-GNN": ([0.93121811, -0.63666304, 0.4657741], [0.86656937, -0.55347205, 0.41408114]),
    "KC-SetGNN": ([-0.21867535, -0.045383635, 0.14298987], [0.14221517, -0.33489325, 0.015215607]),
    "GSN": ([-9.8482967, -0.74049803, 4.5092142], [-5.2322807, -0.50922173, 4.5565231]),
    "DropGNN": ([-19.881861, -2.8141769, 2.1148214], [-6.3039586, 0.49847376, 3.012815]),
    "OSAN": ([-0.049607667, -0.078270677, -0.066474312], [-0.04697221, -0.083019485, -0.049911696]),
    "Graphormer": ([0.72859222, -0.055385448, -0.034981962], [0.72859222, -0.055385448, -0.034981962]),
}

# Columns: C6 and 2 C3, prism and K33, rook and Shrikhande, then pairs of BREC by their number. "=": equal for any weights
COLUMNS = ("C6, 2 C3", "prism, K33", "rook, Shrikhande", 0, 59, 220, 265, 278)
LAWS = {
    "NGNN": "++=+====",
    "DE+NGNN": "++=+++++",
    "DS-GNN": "+==++++=",
    "DSS-GNN": "+==++++=",
    "SUN": "++=++++=",
    "SSWL_P": "++=+++++",
    "GNN-AK": "++=++++=",
    "delta-2-LGNN": "++=++++=",
    "I2-GNN": "++++++++",
    "KP-GNN": "++++++++",
    "KC-SetGNN": "++=++++=",
    "GSN": "++++++==",
    "Graphormer": "+===++++",
}
# Further pairs that a net leaves equal for any weights, and that SUN separates: ε = 0 (DS, DSS) or the radius (NGNN, GNN-AK)
LEFT_EQUAL = {"NGNN": (79, 82), "DS-GNN": (4, 24, 64, 89), "DSS-GNN": (4, 24, 64, 89), "GNN-AK": (252,)}


def make(name, seed=0, **keys):
    torch.manual_seed(seed)
    return NETS[name][0](**keys)


# Golden numbers

KEYS = {
    "GSN": {"vocabulary": [range(10)] * 12},
    "DropGNN": {"n_runs": 4},
    "Graphormer": {"attention_dropout": 0.0},
}
PROGRAM = {"GSN": 100_640, "OSAN": 147_864}  # parameters with these keys, and of the downstream net alone
EDGE_SCORES = {
    1: [-1.2345891, 1.3357879, 0.85967368, -0.023737665],
    2: [-0.03073944, -0.050229695, -0.36420314, -0.15108074],
}


def by_the_rule(name):
    """The net with the weights of the golden numbers; where the program reads a few rows of a table, we have these rows only."""
    net = brec.fill(make(name, **KEYS.get(name, {})))
    with torch.no_grad():
        rows_of_tables(name, net)
    return net


def rows_of_tables(name, net):
    if name == "OSAN":
        net.scorer.start.copy_(brec.rule(119, 64)[1])
        net.downstream.start.copy_(brec.rule(119, 64)[1])
    if name == "Graphormer":
        net.a.copy_(brec.rule(4, 80)[3])
        for table in (net.d_in.weight, net.d_out.weight, net.sp.weight):
            table.copy_(brec.rule(512, table.shape[1])[1 : 1 + len(table)])  # row 0 is not read
        for parameter, row in ((net.g, 0), (net.t, 0), (net.f, 0), (net.e, 1)):
            parameter.copy_(brec.rule(2, len(parameter))[row])
    if name == "GNN-AK":
        net.start.copy_(brec.rule(2, 32)[1])
        for layer in net.layers:
            layer.e.copy_(brec.rule(1, 48)[0])
            layer.t.weight.copy_(brec.rule(20, 16)[1:8])
    if name == "KP-GNN":
        net.start.copy_(brec.rule(2, 32)[1])
        net.peripheral.t.copy_(brec.rule(3, 4)[0])
        for layer in net.layers:
            layer.q.copy_(brec.rule(3, 4)[2].expand(2, 4))
    if name == "KC-SetGNN":
        start = net.start
        start.node.copy_(brec.rule(2, 64)[1])
        start.edge.copy_(brec.rule(1, 64)[0])
        start.of_components.weight.copy_(brec.rule(3, 64)[1:])
        net.readout.t2.copy_(brec.rule(3, 16)[1:])


@cache
def embeddings(name, graphs=tuple(brec.GRAPHS)):
    """In training mode, then in evaluation mode."""
    net, g = by_the_rule(name), brec.batch_of(*(brec.GRAPHS[x] for x in graphs))
    run = {"DropGNN": given_drops, "OSAN": given_edges}.get(name, lambda net, g: net(g))
    with torch.no_grad():
        return run(net.train(), g).numpy(), run(net.eval(), g).numpy()


def given_drops(net, g):
    """Node v is dropped in run r when (3 r + v) mod 5 = 0."""
    s = net.prepare(g)
    return net.embed(s, (3 * torch.arange(net.n_runs) + torch.arange(s.N)[:, None]) % 5 == 0)


def given_edges(net, g):
    """Copy k lacks edge number k mod m of the m of its graph."""
    s, pairs = net.prepare(g)
    m = (g.batch_num_edges() // 2)[pairs.graph][:, None]
    keep = (torch.arange(net.k) % m != pairs.number[:, None]).double()
    return net.downstream(s, torch.cat([keep, torch.ones(len(keep), 1)], 1), net.run)


@pytest.mark.parametrize("name", NETS)
def test_golden_numbers_of_one_graph(name):
    for seen, expected in zip(embeddings(name), GOLDEN[name], strict=True):
        np.testing.assert_allclose(seen[3, :3], expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", NETS)
def test_golden_numbers(name):
    if not brec.FACTS.exists():
        pytest.skip(f"no golden numbers: {brec.FACTS}")
    golden = json.loads(brec.FACTS.read_text())["nets"][{"OSAN": "OSAN.downstream"}.get(name, name)]
    expected = [golden["train"], golden["eval_after_one_train_pass"]]
    for seen, numbers in zip(embeddings(name, tuple(golden["graphs"])), expected, strict=True):
        np.testing.assert_allclose(seen, numbers, rtol=2e-7, atol=2e-8 * np.abs(numbers).max())
    assert golden["parameters"] == PROGRAM.get(name, NETS[name][2])


def test_golden_scores_of_edges():
    """OSAN: the first four scores of the edges 0 -> 1, 0 -> 2 of T4, in the batch of the golden graphs and in training mode."""
    g = brec.batch_of(*brec.GRAPHS.values())
    theta = by_the_rule("OSAN").train().scorer(g)
    first = sum(len(brec.GRAPHS[name]) for name in ("C6", "K33", "prism"))
    src, dst = g.edges()
    for v, expected in EDGE_SCORES.items():
        (edge,) = ((src == first) & (dst == first + v)).nonzero()
        np.testing.assert_allclose(theta[edge.item(), :4].tolist(), expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", NETS)
def test_the_number_of_parameters(name):
    assert count_parameters(make(name)) == NETS[name][1]


# Any weights


@cache
def calibrated(name):
    return brec.calibrated(make(name))


SOME_GRAPHS = [
    nx.gnp_random_graph(7, 0.4, seed=1),
    nx.empty_graph(1),
    nx.disjoint_union(nx.path_graph(3), nx.empty_graph(1)),
    nx.gnp_random_graph(5, 0.6, seed=2),
    nx.path_graph(12),
]


INVARIANT = [name for name in NETS if name != "DropGNN"]


@pytest.mark.parametrize("name", INVARIANT)
def test_a_batch_equals_its_graphs_one_by_one(name):
    """Of different sizes; among them a single node, isolated nodes, and a diameter beyond every radius."""
    net = calibrated(name)
    with torch.no_grad():
        together = net(brec.batch_of(*SOME_GRAPHS))
        one_by_one = torch.cat([net(brec.batch_of(g)) for g in SOME_GRAPHS])
    torch.testing.assert_close(together, one_by_one, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", INVARIANT)
def test_the_numbering_of_the_nodes_does_not_matter(name):
    net = calibrated(name)
    with torch.no_grad():
        seen = net(brec.batch_of(*(brec.renumbered(g, seed) for seed, g in enumerate(SOME_GRAPHS))))
        torch.testing.assert_close(seen, net(brec.batch_of(*SOME_GRAPHS)), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", NETS)
def test_training_on_copies_of_the_store_reaches_every_parameter(name):
    """Copies have int32 edges and the net float32 numbers. A parameter without gradient would be one that no output reads."""
    net, random = make(name), np.random.default_rng(0)
    g = renumbered(*arrays(nx.gnp_random_graph(9, 0.3, seed=3)), 4, random)
    prepared = net.prepare(g)
    for _ in range(2):  # a batch is prepared once and used many times
        x = as_scores(net(g, prepared)).scores
    assert x.shape == (4, 16) and x.dtype == torch.float32
    (x * torch.randn(16)).square().sum().backward()
    without = [n for n, p in net.named_parameters() if p.grad is None or not torch.isfinite(p.grad).all()]
    assert not without and not g.ndata and not g.edata


@pytest.mark.parametrize("name", NETS)
def test_computing_again_instead_of_keeping_changes_nothing(name):
    """Neither gradients nor running statistics; random numbers are drawn again."""
    g, seen = brec.batch_of(*SOME_GRAPHS), []
    for recompute in (False, True):
        net = make(name).double().train()
        net.recompute = recompute
        torch.manual_seed(1)
        x = as_scores(net(g)).scores
        x.square().sum().backward()
        seen.append([x, *(p.grad for p in net.parameters()), *(b for b in net.buffers() if b.is_floating_point())])
    assert all(torch.equal(a, b) for a, b in zip(*seen, strict=True))


# What any weights leave equal and random weights separate


@cache
def pair_of_brec(folder, index):
    first = 0
    for kind in KINDS:
        if index < first + kind.n_pairs:
            words = np.load(folder / "BREC" / f"{kind.file}.npy").reshape(-1, 2)[index - first]
            break
        first += kind.n_pairs
    graphs = []
    for n, a, b in map(decode, words):
        graphs.append(nx.empty_graph(n))
        graphs[-1].add_edges_from(zip(a.tolist(), b.tolist(), strict=True))
    return graphs


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("i", range(len(COLUMNS)), ids=[str(c) for c in COLUMNS])
def test_what_it_tells_apart(name, i, request):
    pair = brec.PAIRS.get(COLUMNS[i]) or pair_of_brec(request.getfixturevalue("real_data"), COLUMNS[i])
    seen = brec.difference(calibrated(name), *pair)
    assert seen < 1e-13 if LAWS[name][i] == "=" else seen > 1e-8


@pytest.mark.parametrize("name", LEFT_EQUAL)
def test_pairs_that_stay_equal_for_any_weights(name, real_data):
    for index in LEFT_EQUAL[name]:
        pair = pair_of_brec(real_data, index)
        assert brec.difference(calibrated(name), *pair) < 1e-13
        assert brec.difference(calibrated("SUN"), *pair) > 1e-8


# Laws of single models


def test_the_vocabulary_of_gsn(real_data):
    """273 columns, sizes as in the program: the counts that occur in the pairs that it ran."""
    graphs = [g for index in range(260) for g in pair_of_brec(real_data, index)]
    values = vocabulary(edge_orbits(*arrays(g)) for g in graphs)
    assert [len(v) for v in values] == [17, 10, 27, 26, 24, 23, 25, 30, 25, 29, 17, 20]
    assert [v.tolist() for v in values] == [v.tolist() for v in make("GSN").vocabulary]
    values = vocabulary(node_orbits(*arrays(g)) for g in graphs)
    assert [v.tolist() for v in values] == [v.tolist() for v in make("GSN", scope="node").vocabulary]


def test_gsn_of_nodes():
    """GSN-v: ids of both ends, and a count without column is zero."""
    net = brec.calibrated(make("GSN", scope="node", k=3, vocabulary=[range(1, 5)] * 3))
    assert brec.difference(net, *brec.PAIRS["C6, 2 C3"]) > 1e-8
    assert brec.difference(net, *brec.PAIRS["rook, Shrikhande"]) < 1e-13
    assert net.places(np.array([[0, 2, 9]])).tolist() == [[12, 5, 12]]
    assert make("GSN", scope="node", k=3).id_dim == 2 * (22 + 31 + 30)


def test_dropgnn_without_drops_is_gin():
    net, g = calibrated("DropGNN"), brec.batch_of(*SOME_GRAPHS)
    s = net.prepare(g)
    x = torch.ones(g.num_nodes(), 1, dtype=torch.float64)
    y = net.out[0](pool_nodes(g, x, "sum"))
    for layer, out in zip(net.layers, net.out[1:], strict=True):
        gin = GINLayer(x.shape[1], 16, learn_eps=False, residual=False).double().eval()
        gin.V[0], gin.norm_V[0], _, gin.U = layer.mlp
        gin.update_h.norm = layer.norm
        x = gin(g, x)
        y = y + out(pool_nodes(g, x, "sum"))
    torch.testing.assert_close(net.embed(s, torch.zeros(s.N, 100, dtype=torch.bool)), y)


@torch.no_grad()
def test_dropgnn_is_random_and_its_mean_tells_cycles_apart():
    """With one node dropped in each run, C6 and 2 C3 differ; the draws have the probability 2 / (1 + n)."""
    net, pair = calibrated("DropGNN"), brec.batch_of(*brec.PAIRS["C6, 2 C3"])
    s = net.prepare(pair)
    x, y = net.embed(s, torch.eye(6, dtype=torch.bool).repeat(2, 17)[:, :100])
    assert (x - y).abs().max() > 1e-8 * x.abs().max()
    torch.manual_seed(0)
    assert not torch.equal(net(pair), net(pair))
    drawn = net.drop(net.prepare(brec.batch_of(nx.empty_graph(3), nx.empty_graph(199)))).double()
    assert abs(drawn[:3].mean() - 1 / 2) < 0.1 and abs(drawn[3:].mean() - 1 / 100) < 0.003
    torch.manual_seed(0)
    again = net(pair)
    torch.manual_seed(0)
    assert torch.equal(net(pair), again)


@torch.no_grad()
def test_osan_scores_edges_of_one_orbit_alike():
    """The nine edges of the prism fall into two orbits: six of triangles and three between them."""
    theta = calibrated("OSAN").scorer(brec.batch_of(brec.GRAPHS["prism"]))
    assert torch.allclose(theta, theta[:1].expand_as(theta))  # and 1-WL does not tell the two apart
    T4 = calibrated("OSAN").scorer(brec.batch_of(brec.GRAPHS["T4"]))
    assert torch.pdist(T4).max() > 1e-3


@torch.no_grad()
def test_osan_with_all_copies_tells_cycles_apart():
    """Each edge left out once: paths of six nodes, against a triangle and a path of three."""
    net, g = brec.calibrated(make("OSAN", k=6)), brec.batch_of(*brec.PAIRS["C6, 2 C3"])
    x, y = given_edges(net, g)
    assert (x - y).abs().max() > 1e-8 * x.abs().max()


def test_osan_trains_with_noise_and_a_penalty():
    net, g = make("OSAN", seed=1).double().train(), brec.batch_of(*SOME_GRAPHS)
    torch.manual_seed(0)
    first, penalty = net(g)
    assert penalty.item() >= 0 and not torch.equal(first, net(g).scores)
    penalty.backward()
    assert any(p.grad.abs().sum() > 0 for p in net.scorer.parameters())
    assert all(p.grad is None for p in net.downstream.parameters())
    assert net.eval()(g).shape == first.shape  # no penalty in evaluation
    groups = net.parameter_groups(weight_decay=1e-5)
    assert [group["weight_decay"] for group in groups] == [1e-5, 0.0]
    assert sum(len(group["params"]) for group in groups) == len(list(net.parameters()))


def test_what_the_nets_need():
    """Which transforms with which parameters: for whoever computes them beforehand."""
    needs = {name: {f.func.__name__: f.keywords for f in make(name).transforms.values()} for name in NETS}
    assert needs["NGNN"] == {"distances": {"cap": 2}} and needs["SSWL_P"] == {"distances": {"cap": 8}}
    assert needs["KP-GNN"] == {"distances": {"cap": 9}, "peripheral_counts": {"K": 8, "cap": 1000}}
    assert needs["I2-GNN"] == {"i2_labels": {"radius": 8}} and needs["KC-SetGNN"] == {"node_sets": {"k": 3, "c": 2}}
    assert needs["GSN"] == {"edge_orbits": {"k": 4}} and needs["DropGNN"] == {}
