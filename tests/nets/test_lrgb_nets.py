"""The nets of the Long Range Graph Benchmark: parameters of every row, whole nets and heads of the original program, attention."""

from types import SimpleNamespace

import dgl
import pytest
import torch

from data.dataset import Features, categories, numbers
from data.LRGB_declared import ATOM_TYPES, ATOM_TYPES_OGB_136, BOND_TYPES, DECLARED, N_CLASSES
from layers.mlp_readout import MLPReadout
from nets import NETS, NetError, build_net, count_parameters
from nets.heads import DotHead, Head
from runs.table_files import find_row, find_table
from tables.declare import read_csv
from tests.nets import lrgb
from train.config import Config

SHORT = {"PascalVOC-SP": "VOC", "COCO-SP": "COCO", "Peptides-func": "func", "Peptides-struct": "struct"}
NUMBERS = {"PascalVOC-SP": "3", "COCO-SP": "3", "Peptides-func": "4", "Peptides-struct": "4", "PCQM-Contact": "5"}
COUNTS = {line["row_id"]: line for line in read_csv("lrgb", "parameter_counts")}
TUNED = {line["row_id"]: line for line in read_csv("lrgb", "tuned")}


def row_of(row_id):
    """T3-COCO-SP-GCN is the row GCN of lrgb_table3_COCO."""
    table, _, rest = row_id.partition("-")
    dataset = next(name for name in (*SHORT, "PCQM-Contact") if rest.startswith(name))
    number = NUMBERS[dataset] + "_tuned" if table == "tuned" else table[1:]
    name = "_".join([f"lrgb_table{number}", *([SHORT[dataset]] if dataset in SHORT else [])])
    return find_row(f"{name}/{rest[len(dataset) + 1 :]}")


def build(row, atom_types=None):
    config = Config.model_validate(row.config)
    entry = DECLARED[config.dataset]
    if atom_types and entry.node.n_types:
        entry = entry._replace(node=categories("node", atom_types))
    return build_net(config.net, entry.features, entry.target)


# --------------------------------------------------------------------------------------------------------------------
# Parameters


def test_there_are_149_counts_and_20_of_retuned_nets():
    assert (len(COUNTS), len(TUNED)) == (149, 20)


@pytest.mark.parametrize("row_id", [*COUNTS, *TUNED])
def test_the_number_of_parameters(row_id):
    """Table 4 prints 508k for GCN on Peptides-func; the original program has 507,910, and 508,210 with a newer OGB."""
    known, row = (COUNTS | TUNED)[row_id], row_of(row_id)
    assert count_parameters(build(row)) == int(known["exact"])
    if known["exact_ogb_136"] != known["exact"]:
        assert count_parameters(build(row, ATOM_TYPES_OGB_136)) == int(known["exact_ogb_136"])


def test_every_row_of_the_table_files_has_a_count():
    rows = {str(row_of(row_id)) for row_id in (*COUNTS, *TUNED)}
    files = ("table3_VOC", "table3_COCO", "table4_func", "table4_struct", "table5", "tableA2_VOC", "tableA2_COCO")
    files += ("tableD2_VOC", "tableD2_COCO", "tableD3_func", "tableD3_struct", "tableD4")
    files += ("table3_tuned_VOC", "table3_tuned_COCO", "table4_tuned_func", "table4_tuned_struct", "table5_tuned")
    assert rows == {str(row) for name in files for row in find_table(f"lrgb_{name}").rows.values()}


# --------------------------------------------------------------------------------------------------------------------
# Whole nets of the program

LAPPE = {"kind": "LapPE", "k": 10, "trivial": True, "dim": 16}
RWSE = {"kind": "RWSE", "k": 16, "batch_norm": True, "dead_end": "end", "dim": 20}
NODE_HEAD, GRAPH_HEAD = {"mlp": [1.0, 1.0], "l2_norm": True}, {"mlp": []}
NETS_OF_THE_PROGRAM = {  # as in their files, smaller: dataset, keys
    "GCN/vocsuperpixels-GCN.yaml": ("PascalVOC-SP", {"model": "SymGCN"}),
    "GCNII/vocsuperpixels-GCNII.yaml": ("PascalVOC-SP", {"model": "GCNII"}),
    "GINE/vocsuperpixels-GINE.yaml": ("PascalVOC-SP", {"model": "GINE"}),
    "GatedGCN/vocsuperpixels-GatedGCN.yaml": ("PascalVOC-SP", {"model": "GatedGCN", "edge_feat": True}),
    "GT/vocsuperpixels-Transformer+LapPE.yaml": (
        "PascalVOC-SP", {"model": "Transformer", "n_heads": 4, "encodings": [LAPPE | {"net": "DeepSet"}]},
    ),
    "SAN/vocsuperpixels-SAN.yaml": (
        "PascalVOC-SP", {"model": "SAN", "n_heads": 4, "gamma": 0.1, "encodings": [LAPPE | {"net": "Transformer"}]},
    ),
    "GCN/peptides-func-GCN.yaml": ("Peptides-func", {"model": "SymGCN"}),
    "GINE/peptides-func-GINE.yaml": ("Peptides-func", {"model": "GINE"}),
    "GatedGCN/peptides-func-GatedGCN+RWSE.yaml": (
        "Peptides-func", {"model": "GatedGCN", "edge_feat": True, "encodings": [RWSE]},
    ),
    "GT/peptides-struct-Transformer+LapPE.yaml": (
        "Peptides-struct", {"model": "Transformer", "n_heads": 4, "encodings": [LAPPE | {"net": "DeepSet"}]},
    ),
    "SAN/peptides-struct-SAN+RWSE.yaml": (
        "Peptides-struct", {"model": "SAN", "n_heads": 4, "gamma": 1e-6, "encodings": [RWSE]},
    ),
    "GatedGCN/pcqm-contact-GatedGCN.yaml": ("PCQM-Contact", {"model": "GatedGCN", "edge_feat": True}),
}  # fmt: skip
SIZES = {  # width, layers
    "GT": (24, 2), "SAN/voc": (24, 2), "SAN/pep": (28, 2), "GatedGCN/peptides-func-GatedGCN+RWSE": (28, 2), "": (12, 3),
}  # fmt: skip


def net_of_the_program(name):
    dataset, keys = NETS_OF_THE_PROGRAM[name]
    width, L = next(size for start, size in SIZES.items() if name.startswith(start))
    head = NODE_HEAD if dataset == "PascalVOC-SP" else GRAPH_HEAD | ({"pair": "dot"} if "PCQM" in dataset else {})
    config = NETS[keys["model"]].Config(L=L, hidden_dim=width, head=head, **keys)
    entry = DECLARED[dataset]
    return build_net(config, entry.features, entry.target)


def in_their_order(net):
    """The parameters in the order of the program: encoder, edges, layers, head."""
    features = [net.embedding.node, *(encoding for encoding in net.embedding.encodings)]
    edges = net.unread[0] if hasattr(net, "unread") else net.edge_embedding
    order = [*of_tables(features[0]), *(p for encoding in features[1:] for p in encoding.parameters())]
    if edges is not None:
        order += of_tables(getattr(edges, "embed", edges))
    for i, layer in enumerate(net.layers):
        order += of_layer(net, i, layer)
    order += list(net.head.parameters())
    assert sum(p.numel() for p in order) == count_parameters(net)
    return order


def of_tables(embed):
    """OGB's columns have a table each; ours are parts of one."""
    if not hasattr(embed, "first"):
        return list(embed.parameters())
    types = {sum(types): types for types in (ATOM_TYPES, BOND_TYPES)}[len(embed.weight)]
    return list(embed.weight.data.split(types))


def of_layer(net, i, layer):
    kind = type(layer).__name__
    if kind == "GatedGCNLayer":
        return lrgb.parameters_of(layer, ["U", "V", "C", "A", "B", "update_h", "update_e"])
    if kind == "TransformerLayer":
        names = ["attention.qkv", "attention.O", lrgb.UNREAD, "norm1", "feed_forward", "norm2"]
        found = lrgb.parameters_of(layer, names)
        return [*found[:4], *net.unread[i + 1].parameters(), *found[6:]]
    if kind == "SANLayer":
        first = lrgb.parameters_of(layer, ["Q", "K", "E", "Q2", "K2", "E2", "V", "O", "norm1", "feed_forward", "norm2"])
        return [*first[:6], *([net.f.data[None]] if i == 0 else []), *first[6:]]
    return list(layer.parameters())


def graph_of_the_program(name):
    g = lrgb.golden_graph()
    i, m, k = (torch.arange(n, dtype=torch.float64)[:, None] for n in (8, 15, 10))
    if NETS_OF_THE_PROGRAM[name][0] == "PascalVOC-SP":
        j = torch.arange(14, dtype=torch.float64)
        g.ndata["feat"] = torch.where(
            j < 12, 0.5 + 0.4 * torch.sin(0.6 * i + 0.45 * j), 100 + 40 * torch.cos(0.8 * i + 1.1 * j)
        )
        g.edata["feat"] = torch.cat([0.05 + 0.04 * torch.sin(m), 20 + 10 * torch.cos(0.7 * m)], 1)
    else:
        for data, n, types, step in ((g.ndata, 8, ATOM_TYPES, 2), (g.edata, 15, BOND_TYPES, 1)):
            c = torch.arange(len(types))
            data["feat"] = (torch.arange(n)[:, None] * (c + step) + c) % torch.tensor(types)
    pairs = torch.stack([0.5 * torch.sin(0.9 * i + 0.35 * k.T + 0.2), 0.1 * k.T + 0.02 * (i >= 5)], 2)
    pairs[5:, 3:] = torch.nan
    g.ndata["spectrum"], g.ndata["walk_returns"] = pairs, torch.sin((0.3 * i + 0.1) * torch.arange(1, 17)).abs()
    return g


def scores_of(name):
    net = net_of_the_program(name)
    lrgb.filled(net.double(), in_their_order(net))
    of = torch.tensor([[0, 1, 2, 5], [4, 3, 4, 7]]) if "pcqm" in name else None
    with torch.no_grad():
        return net.eval()(graph_of_the_program(name), of)


@pytest.mark.parametrize(
    ("name", "n_parameters", "expected"),
    [
        ("GCN/peptides-func-GCN.yaml", 2710, [0.58545123, 0.34673248, -0.06905521, 0.27491447]),
        ("SAN/vocsuperpixels-SAN.yaml", 153701, [0.04451017, 0.66279015, 0.00420776, 0.59401498]),
        ("GatedGCN/pcqm-contact-GatedGCN.yaml", 4872, [166.14035911, 184.68506918, 118.67044631, 115.11380564]),
        ("GT/peptides-struct-Transformer+LapPE.yaml", 12435, [1.27878635, 1.31520802, -2.31997343, 3.72290898]),
    ],
)
def test_plain_numbers_of_whole_nets(name, n_parameters, expected):
    assert count_parameters(net_of_the_program(name)) == n_parameters
    seen = scores_of(name).flatten()[:4]
    torch.testing.assert_close(seen, torch.tensor(expected, dtype=torch.float64), rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", NETS_OF_THE_PROGRAM)
def test_all_numbers_of_whole_nets(name):
    golden = lrgb.golden("whole_networks")
    assert set(NETS_OF_THE_PROGRAM) == {key for key in golden if not key.startswith("_")}
    assert count_parameters(net_of_the_program(name)) == golden[name]["n_params"]
    expected = torch.tensor(golden[name]["eval_pred"], dtype=torch.float64)
    torch.testing.assert_close(scores_of(name).view_as(expected), expected, rtol=0, atol=1e-8)


# --------------------------------------------------------------------------------------------------------------------
# Heads


def test_the_head_of_the_program():
    head = lrgb.filled(MLPReadout(4, 3, (1.0, 1.0), l2_norm=True))
    seen = head(lrgb.node_features()).detach()
    expected = torch.tensor([0.17697465, -0.19040923, 0.14577085], dtype=torch.float64)
    torch.testing.assert_close(seen[0], expected, rtol=0, atol=1e-8)
    golden = torch.tensor(lrgb.golden("head_mlp3")["eval"]["y"], dtype=torch.float64)
    torch.testing.assert_close(seen, golden, rtol=0, atol=1e-8)


def test_the_score_of_a_pair_is_a_product():
    torch.manual_seed(0)
    head = DotHead(4, 1, Head(mlp=[])).double()
    h, of = torch.randn(5, 4, dtype=torch.float64), torch.tensor([[0, 1, 4], [3, 1, 0]])
    z = head.mlp(h)
    expected = torch.stack([z[i] @ z[j] for i, j in of.T.tolist()])[:, None]
    torch.testing.assert_close(head(None, h, of), expected)
    torch.testing.assert_close(head(None, h, of.flip(0)), expected)
    assert head(None, h, of[:, :0]).shape == (0, 1)


def test_dropout_of_a_head_acts_in_training_only():
    torch.manual_seed(0)
    head = Head(mlp=[1.0], activation="gelu", dropout=0.5).readout(8, 2, ())
    h = torch.randn(6, 8)
    assert not torch.equal(head(h), head(h))
    head.eval()
    expected = head.out(torch.nn.functional.gelu(head.hidden[0](h)))
    assert torch.equal(head(h), expected)


@pytest.mark.parametrize(("level", "n_out"), [("graph", 1), ("pair", 2)])
def test_a_product_for_other_than_a_pair_is_refused(level, n_out):
    config = NETS["SymGCN"].Config(L=1, hidden_dim=4, head={"pair": "dot"})
    with pytest.raises(NetError, match=r"net\.head\.pair=dot"):
        build_net(config, Features(numbers("node", 2), None), SimpleNamespace(level=level, n_out=n_out))


# --------------------------------------------------------------------------------------------------------------------
# What the retuned nets read, and what all nets do


def test_features_are_standardised_inside_the_net():
    row = find_row("lrgb_table3_tuned_VOC/GINE")
    net = build(row)
    standard = row.config["net"]["standardise"]
    x = torch.tensor([standard["node_mean"], standard["node_sd"]])
    seen = net.embedding.node[0](torch.stack([x[0], x[0] + x[1]]))
    torch.testing.assert_close(seen, torch.stack([torch.zeros(14), torch.ones(14)]), rtol=0, atol=1e-4)
    assert len(standard["edge_mean"]) == 2 and not list(net.embedding.node[0].parameters())


@pytest.mark.parametrize("features", [(numbers("node", 3), None), (categories("node", 5), None)])
def test_other_features_than_the_means_are_refused(features):
    means = {"node_mean": [0.0] * 2, "node_sd": [1.0] * 2, "edge_mean": [], "edge_sd": []}
    config = NETS["SymGCN"].Config(L=1, hidden_dim=4, standardise=means)
    with pytest.raises(NetError, match=r"net\.standardise"):
        build_net(config, Features(*features), SimpleNamespace(level="graph", n_out=1))


@pytest.mark.parametrize("model", ["SymGCN", "GCNII", "GINE", "GatedGCN", "Transformer", "SAN", "GPS"])
def test_a_batch_equals_its_graphs_one_by_one(model):
    torch.manual_seed(0)
    own = {"Transformer": {"n_heads": 2}, "SAN": {"n_heads": 2, "gamma": 0.1}, "GPS": {"n_heads": 2, "norm": "layer"}}
    own["GatedGCN"] = {"edge_feat": True}
    config = NETS[model].Config(L=2, hidden_dim=8, **own.get(model, {}))
    net = build_net(config, DECLARED["PascalVOC-SP"].features, SimpleNamespace(level="graph", n_out=3)).double().eval()
    graphs = [dgl.rand_graph(n, 3 * n) for n in (4, 9, 5)]
    for g in graphs:
        g.ndata["feat"] = torch.randn(g.num_nodes(), 14, dtype=torch.float64)
        g.edata["feat"] = torch.randn(g.num_edges(), 2, dtype=torch.float64)
    one_by_one = torch.cat([net(g) for g in graphs])
    torch.testing.assert_close(net(dgl.batch(graphs)), one_by_one, rtol=0, atol=1e-10)


def test_the_program_starts_gcn_in_its_own_way():
    torch.manual_seed(0)
    net = build(find_row("lrgb_table3_VOC/GCN"))
    linear = net.head.mlp.hidden[0]
    assert not linear.bias.any() and 0.95 < float(linear.weight.detach().abs().max()) / (12 / 440) ** 0.5 <= 1
    conv = net.layers[0].W.weight.detach()
    assert 0.95 < float(conv.abs().max()) / (6 / 440) ** 0.5 <= 1


def test_classes_of_superpixels():
    assert N_CLASSES == {"PascalVOC-SP": 21, "COCO-SP": 81}
    assert build(find_row("lrgb_table3_COCO/GCN")).head.mlp.out.out_features == 81
