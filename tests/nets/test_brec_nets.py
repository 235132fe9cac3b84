"""The neural models of BREC: golden numbers of the original programs, invariance, and what each can and cannot tell apart."""

import json
from functools import cache
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch

from data.BREC import KINDS, renumbered
from data.readers.graph6 import decode
from nets import count_parameters
from nets.delta_lgnn_net import DeltaLGNNNet
from nets.ds_gnn_net import DSGNNNet
from nets.dss_gnn_net import DSSGNNNet
from nets.gnn_ak_net import GNNAKNet
from nets.i2_gnn_net import I2GNNNet
from nets.kc_set_gnn_net import KCSetGNNNet
from nets.kp_gnn_net import KPGNNNet
from nets.ngnn_net import DENGNNNet, NGNNNet
from nets.sswl_net import SSWLNet
from nets.sun_net import SUNNet
from tests.exact.graphs import arrays
from tests.nets import brec

FACTS = Path(__file__).resolve().parents[3] / "shared" / "facts" / "golden_brec.json"

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
}
# Further pairs that a net leaves equal for any weights, and that SUN separates: ε = 0 (DS, DSS) or the radius (NGNN, GNN-AK)
LEFT_EQUAL = {"NGNN": (79, 82), "DS-GNN": (4, 24, 64, 89), "DSS-GNN": (4, 24, 64, 89), "GNN-AK": (252,)}


def make(name, seed=0, **keys):
    torch.manual_seed(seed)
    return NETS[name][0](**keys)


# Golden numbers


def by_the_rule(name):
    """The net with the weights of the golden numbers; where the program reads a few rows of a table, we have these rows only."""
    net = brec.fill(make(name))
    with torch.no_grad():
        rows_of_tables(name, net)
    return net


def rows_of_tables(name, net):
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
    with torch.no_grad():
        return net.train()(g).numpy(), net.eval()(g).numpy()


@pytest.mark.parametrize("name", NETS)
def test_golden_numbers_of_one_graph(name):
    for seen, expected in zip(embeddings(name), GOLDEN[name], strict=True):
        np.testing.assert_allclose(seen[3, :3], expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", NETS)
def test_golden_numbers(name):
    if not FACTS.exists():
        pytest.skip(f"no golden numbers: {FACTS}")
    golden = json.loads(FACTS.read_text())["nets"][name]
    expected = [golden["train"], golden["eval_after_one_train_pass"]]
    for seen, numbers in zip(embeddings(name, tuple(golden["graphs"])), expected, strict=True):
        np.testing.assert_allclose(seen, numbers, rtol=2e-7, atol=2e-8 * np.abs(numbers).max())
    assert NETS[name][2] == golden["parameters"]


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


@pytest.mark.parametrize("name", NETS)
def test_a_batch_equals_its_graphs_one_by_one(name):
    """Of different sizes; among them a single node, isolated nodes, and a diameter beyond every radius."""
    net = calibrated(name)
    with torch.no_grad():
        together = net(brec.batch_of(*SOME_GRAPHS))
        one_by_one = torch.cat([net(brec.batch_of(g)) for g in SOME_GRAPHS])
    torch.testing.assert_close(together, one_by_one, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", NETS)
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
        x = net(g, prepared)
    assert x.shape == (4, 16) and x.dtype == torch.float32
    (x * torch.randn(16)).square().sum().backward()
    without = [n for n, p in net.named_parameters() if p.grad is None or not torch.isfinite(p.grad).all()]
    assert not without and not g.ndata and not g.edata


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


@pytest.mark.parametrize("name", NETS)
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
