"""The nets of the Taxonomy against numbers of its program, and its parameter counts."""

import csv
from pathlib import Path
from types import SimpleNamespace

import dgl
import numpy as np
import pytest
import torch

from data.dataset import Features, categories, numbers
from nets import NETS, NetError, build_net, count_parameters
from tests.data.transforms.test_perturb import G1, G2, graph

COUNTS = Path(__file__).resolve().parents[3] / "shared" / "facts" / "taxonomy_param_counts.csv"


def make(model, field, n_out=3, level="graph", **keys):
    return build_net(NETS[model].Config(**keys), Features(field, None), SimpleNamespace(level=level, n_out=n_out))


def by_the_rule(net):
    """Entry k of every parameter is sin(0.1 k); BN stays as it starts."""
    norms = {id(p) for m in net.modules() if isinstance(m, torch.nn.BatchNorm1d) for p in m.parameters()}
    for p in net.parameters():
        if id(p) not in norms:
            p.data = torch.sin(0.1 * torch.arange(p.numel(), dtype=torch.float64)).view_as(p)
    return net.double()


def golden_batch():
    graphs = [graph(*g) for g in (G1, G2)]
    g = dgl.batch([dgl.graph((torch.tensor(a.src), torch.tensor(a.dst)), num_nodes=a.n) for a in graphs])
    g.ndata["feat"] = torch.from_numpy(np.concatenate([a.x for a in graphs]))
    return g


# of the program, width 8, 3 outputs: (model, batch normalisation, training): (parameters, scores)
GOLDEN = {
    ("TaxonomyGCN", True, False): (531, [[0.3199667915, 1.5991015557, 1.9678028824], [0.3200518801, 1.5990788333, 1.9676861321]]),
    ("TaxonomyGCN", True, True): (531, [[0.2928883986, 1.6129707091, 2.0142067399], [0.2918787087, 1.6137490628, 2.0163009982]]),
    ("TaxonomyGCN", False, False): (483, [[0.3180630582, 1.6011138052, 1.9725105112], [0.3174434315, 1.6016498661, 1.9738770923]]),
    ("TaxonomyGIN", True, False): (931, [[0.3181903747, 1.6018968327, 1.9734742758], [0.3184487946, 1.6015999824, 1.9728022206]]),
    ("TaxonomyGIN", True, True): (931, [[0.3094448413, 1.6083330411, 1.9911881083], [0.2968647317, 1.6132170884, 2.010573715]]),
    ("TaxonomyGIN", False, False): (843, [[0.3180920415, 1.6020103591, 1.9737307982], [0.318337239, 1.6017306593, 1.9730958632]]),
}  # fmt: skip


@pytest.mark.parametrize(("model", "batch_norm", "training"), GOLDEN)
def test_numbers_of_the_program(model, batch_norm, training):
    net = by_the_rule(make(model, numbers("node", 2), hidden_dim=8, batch_norm=batch_norm)).train(training)
    n_parameters, scores = GOLDEN[model, batch_norm, training]
    torch.testing.assert_close(net(golden_batch()), torch.tensor(scores, dtype=torch.float64), rtol=0, atol=2e-9)
    assert count_parameters(net) == n_parameters


def test_first_weights():
    """Xavier-uniform with gain √2: within √2 √(6 / (in + out)), and filling it; no biases. The convolutions begin as ever."""
    torch.manual_seed(0)
    plain = make("TaxonomyGCN", numbers("node", 50), batch_norm=False, level="node")
    torch.manual_seed(0)
    net = make("TaxonomyGCN", numbers("node", 50), batch_norm=False, level="node", init="xavier")
    for linear in (net.input, net.Q, net.P):
        bound = (2 * 6 / sum(linear.weight.shape)) ** 0.5
        assert 0.95 * bound < linear.weight.abs().max() <= bound and not linear.bias.any()
    assert all(torch.equal(a.W, b.W) for a, b in zip(plain.layers, net.layers, strict=True)) and plain.Q.bias.any()


# {dataset: (features, outputs, parameters of GCN, of GIN)}, batch normalisation where there are two numbers
PRINTED = {
    "ENZYMES": (21, 6, 103430, 186630),
    "NCI1": (37, 1, 104833, 188033),
    "IMDB-BINARY": (1, 1, 100225, 183425),
    "WebKB": (1703, 5, 317829, None),
}


@pytest.mark.parametrize("name", PRINTED)
def test_numbers_of_parameters(name):
    d, n_out, gcn, gin = PRINTED[name]
    assert count_parameters(make("TaxonomyGCN", numbers("node", d), n_out, batch_norm=gin is not None)) == gcn
    if gin:
        assert count_parameters(make("TaxonomyGIN", numbers("node", d), n_out)) == gin


def test_all_counts():
    if not COUNTS.exists():
        pytest.skip("the list of all counts is not here")
    for row in csv.DictReader(COUNTS.read_text().splitlines()):
        d, n_out, norm = int(row["d_in"]), int(row["outputs"]), row["setting"] == "inductive"
        for model in ("GCN", "GIN") if row["GIN"] else ("GCN",):
            counted = count_parameters(make(f"Taxonomy{model}", numbers("node", d), n_out, batch_norm=norm))
            assert counted == int(row[model]), row["dataset"]
        without = count_parameters(make("TaxonomyGCN", numbers("node", 1), n_out, batch_norm=norm))
        assert without == int(row["GCN_NoNodeFtrs(d_in=1)"])


def test_categories_are_one_hot_vectors():
    torch.manual_seed(0)
    net = make("TaxonomyGCN", categories("node", (4, 3)), batch_norm=False).double()
    same = make("TaxonomyGCN", numbers("node", 7), batch_norm=False).double()
    same.load_state_dict(net.state_dict())
    g, x = golden_batch(), torch.tensor([[i % 4, i % 3] for i in range(22)])
    g.ndata["feat"] = x
    scores = net(g)
    g.ndata["feat"] = torch.cat([torch.eye(n, dtype=torch.float64)[c] for n, c in zip((4, 3), x.T, strict=True)], 1)
    torch.testing.assert_close(scores, same(g), rtol=0, atol=1e-12)


@pytest.mark.parametrize("model", ["TaxonomyGCN", "TaxonomyGIN"])
def test_some_nodes(model):
    torch.manual_seed(0)
    net, of = make(model, numbers("node", 2), level="node", batch_norm=False).double(), torch.tensor([6, 0, 6, 21])
    torch.testing.assert_close(net(golden_batch(), of), net(golden_batch())[of], rtol=0, atol=1e-12)


@pytest.mark.parametrize("model", ["TaxonomyGCN", "TaxonomyGIN"])
def test_marked_cliques(model):
    """The scores of complete graphs are the same with their edges and with the mark alone."""
    torch.manual_seed(0)
    net = make(model, numbers("node", 2)).double()
    g = golden_batch()
    pairs = [(i, j) for n, s in ((9, 0), (13, 9)) for i in range(s, s + n) for j in range(s, s + n) if i != j]
    with_edges = dgl.graph(tuple(torch.tensor(pairs).T), num_nodes=22)
    marked = dgl.graph(([], []), num_nodes=22)
    for h in (with_edges, marked):
        h.set_batch_num_nodes(g.batch_num_nodes())
        h.ndata["feat"] = g.ndata["feat"]
    marked.ndata["clique"] = torch.ones(22, dtype=torch.bool)
    for training in (True, False):
        net.train(training)
        torch.testing.assert_close(net(with_edges), net(marked), rtol=0, atol=1e-12)


def test_rows_have_length_1():
    net = make("TaxonomyGCN", numbers("node", 2), level="node", batch_norm=False).double()
    seen = []
    net.Q.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0]))
    net(golden_batch())
    torch.testing.assert_close(seen[0].norm(dim=1), torch.ones(22, dtype=torch.float64))


def test_of_equal_features_the_net_sees_rounding_errors():
    """Batch normalisation takes equal rows to 0 but for rounding, and rows of length 1 magnify what is left
    (docs/deviations/taxonomy.md, NoNodeFtrs)."""
    net = make("TaxonomyGCN", numbers("node", 1), hidden_dim=128).train()
    rounding = net.norms[0](net.input(torch.ones(100, 1)))
    assert rounding.abs().max() < 1e-3
    assert net.act(rounding).norm(dim=1).max() > 0.99


def test_what_does_not_fit():
    with pytest.raises(NetError, match="add NoNodeFtrs"):
        make("TaxonomyGCN", None)
    with pytest.raises(NetError, match="not level edge"):
        make("TaxonomyGCN", numbers("node", 2), level="edge")
