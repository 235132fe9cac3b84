"""Encodings: golden numbers of the Long Range Graph Benchmark, signs, missing eigenvectors, where the vectors go."""

import dgl
import lrgb
import numpy as np
import pytest
import torch

from data.dataset import Features, categories, numbers
from nets import NETS, build_net
from nets.encodings import RWSE, Degree, LapPE, NodeIndex, needs_of
from nets.inputs import InputEmbedding
from train.tasks import GraphClassification

LRGB_LAPPE = {"k": 10, "trivial": True, "dim": 16}
DEEP_SET, TRANSFORMER = LapPE(**LRGB_LAPPE, net="DeepSet"), LapPE(**LRGB_LAPPE, net="Transformer")
WALKS = RWSE(k=16, batch_norm=True, dead_end="end", dim=20)


def config(*encodings, dim=8, **keys):
    return NETS["GCN"].Config(L=2, hidden_dim=dim, encodings=list(encodings), **keys)


def golden_graph():
    """Nodes 0-4 and 5-7 are two graphs; the second has three eigenvectors."""
    g = dgl.batch([dgl.graph(([], []), num_nodes=n) for n in (5, 3)])
    i, k = torch.arange(8, dtype=torch.float64)[:, None], torch.arange(10, dtype=torch.float64)
    pairs = torch.stack([0.5 * torch.sin(0.9 * i + 0.35 * k + 0.2), 0.1 * k + 0.02 * (i >= 5)], 2)
    pairs[5:, 3:] = np.nan
    t = torch.arange(1, 17)
    return g, {"feat": lrgb.node_features(), "spectrum": pairs, "walk_returns": torch.sin((0.3 * i + 0.1) * t).abs()}


def embedded(encoding, training=False):
    """[x | encoding] of the golden graph: the features pass through unchanged."""
    g, fields = golden_graph()
    g.ndata.update(fields)
    embedding = InputEmbedding(
        Features(numbers("node", 4), None), config(encoding, dim=4 + encoding.dim), 4 + encoding.dim
    )
    lrgb.filled(embedding.encodings[0])
    with torch.no_grad():
        embedding.double().node.weight.copy_(torch.eye(4))
        embedding.node.bias.zero_()
    return embedding.train(training)(g).detach()


# (encoding, training, node, first column, numbers)
SPOTS = [
    (DEEP_SET, False, 0, 12, [1.58406533, 1.85385581, 2.64171785, 3.45909427, 3.77479998, 3.31570534, 2.23583032]),
    (DEEP_SET, False, 6, 12, [0.22144875, 0.38767052, 0.79436903, 1.20898608, 1.38664749, 1.20353968, 0.72877709]),
    (TRANSFORMER, False, 0, 12, [0.81214241, -8.38296423, 14.89069653, -13.79275461, 8.75410273, 1.60132913]),
    (TRANSFORMER, False, 6, 12, [-0.63669879, -1.75521634, 4.17134359, -4.38299421, 3.39400377, -0.38834930]),
    (WALKS, False, 0, 4, [-0.55269636, -0.72173892, -0.75145854, -0.63613768, -0.39292927, -0.05904043, 0.31462464]),
    (WALKS, True, 3, 4, [-0.10858587, -0.12484885, -0.07965919, 0.02292797, 0.16742095, 0.32949104, 0.48064953]),
]


@pytest.mark.parametrize(("encoding", "training", "node", "first", "expected"), SPOTS)
def test_golden_numbers(encoding, training, node, first, expected):
    seen = embedded(encoding, training)[node, first : first + len(expected)]
    torch.testing.assert_close(seen, torch.tensor(expected, dtype=torch.float64), atol=1e-8, rtol=0)


ALL = [
    ("lappe_encoder_DeepSet", "eval", DEEP_SET),
    ("lappe_encoder_Transformer", "eval", TRANSFORMER),
    ("rwse_encoder", "eval", WALKS),
    ("rwse_encoder", "train", WALKS),
]


@pytest.mark.parametrize(("key", "mode", "encoding"), ALL)
def test_all_golden_numbers(key, mode, encoding):
    expected = torch.tensor(lrgb.golden(key)[mode]["x"], dtype=torch.float64)
    torch.testing.assert_close(embedded(encoding, mode == "train"), expected, atol=1e-8, rtol=0)


@pytest.mark.parametrize(("encoding", "expected"), [(DEEP_SET, 624), (TRANSFORMER, 137552), (WALKS, 32 + 17 * 20)])
def test_numbers_of_parameters(encoding, expected):
    """LRGB counts 624, 137,552 and 32 + 17 dim."""
    assert sum(p.numel() for p in encoding.build(encoding.dim).parameters()) == expected


def test_the_walks_of_the_tuned_baselines():
    """20 steps, batch normalisation, 28 numbers: 40 + 21 x 28 parameters."""
    tuned = RWSE(k=20, batch_norm=True, dead_end="end", dim=28)
    assert sum(p.numel() for p in tuned.build(28).parameters()) == 40 + 21 * 28
    assert tuned.needs == {"walk_returns": {"k": 20, "dead_end": "end"}}


# Signs


def with_spectrum(*sizes, k=6, missing=0):
    g = dgl.batch([dgl.graph(([], []), num_nodes=n) for n in sizes])
    pairs = torch.rand(g.num_nodes(), k, 2) + 0.1
    if missing:
        pairs[:, k - missing :] = np.nan
    g.ndata["spectrum"], g.ndata["laplacian"] = pairs, pairs[:, :, 0].nan_to_num()
    return g


@pytest.mark.parametrize("norm", ["sym", "none"])
def test_flipped_signs_are_one_for_each_eigenvector_of_the_whole_batch(norm):
    g, flip = with_spectrum(3, 4), LapPE(k=6, signs="flip", norm=norm)
    p = g.ndata["laplacian"]
    seen = set()
    for _ in range(40):
        ratio = flip.read(g, training=True) / p
        assert (ratio == ratio[0]).all() and (ratio.abs() == 1).all()
        seen.add(tuple(ratio[0].tolist()))
    assert len(seen) > 10
    assert torch.equal(flip.read(g, training=False), p)


def test_eigenvalues_keep_their_signs():
    g = with_spectrum(3, 4)
    for signs in ("kept", "flip", "abs"):
        pairs = LapPE(k=6, signs=signs, net="DeepSet").pairs(g, training=True)
        assert torch.equal(pairs[:, :, 1], g.ndata["spectrum"][:, :, 1])
        assert torch.equal(pairs[:, :, 0].abs(), g.ndata["spectrum"][:, :, 0])


@pytest.mark.parametrize("net", ["linear", "DeepSet", "Transformer"])
def test_absolute_values_do_not_see_the_signs(net):
    torch.manual_seed(0)
    g, module = with_spectrum(5), LapPE(k=6, signs="abs", norm="none", net=net).build(8).eval()
    before = module(g)
    g.ndata["spectrum"] = g.ndata["spectrum"] * torch.tensor([-1, 1])
    assert torch.equal(module(g), before)


# Graphs with few eigenvectors


@pytest.mark.parametrize("net", ["DeepSet", "Transformer"])
@pytest.mark.parametrize("missing", [2, 6])
def test_missing_eigenvectors_count_as_none(net, missing):
    """As many as there are give the same as a smaller k; none at all give 0, and gradients that are numbers."""
    torch.manual_seed(0)
    g, module = with_spectrum(5, missing=missing), LapPE(k=6, net=net).build(8).eval()
    seen = module(g)
    if missing == 6:
        assert (seen == 0).all()
    else:
        g.ndata["spectrum"] = g.ndata["spectrum"][:, : 6 - missing]
        torch.testing.assert_close(module(g), seen)
    seen.sum().backward()
    assert all(p.grad.isfinite().all() for p in module.parameters())


def test_missing_eigenvectors_are_zero_for_the_linear_map():
    read = LapPE(k=6, norm="none").read(with_spectrum(5, missing=2), training=False)
    assert (read[:, 4:] == 0).all() and (read[:, :4] > 0).all()


# What they need


def test_the_core_paper_needs_what_it_needed():
    assert LapPE(k=8).needs == {"laplacian": {"k": 8}}
    assert RWSE(k=16).needs == {"walk_returns": {"k": 16}}
    assert Degree().needs == NodeIndex(n=3).needs == {}


def test_the_general_solver_is_asked_for_by_name():
    assert LapPE(k=4, solver="general").needs == {"laplacian": {"k": 4, "solver": "general"}}
    assert LapPE(k=4).needs == {"laplacian": {"k": 4}}
    for keys in ({"norm": "none"}, {"trivial": True}, {"net": "DeepSet"}):
        with pytest.raises(ValueError, match="solver=general: goes with"):
            LapPE(k=4, solver="general", **keys)


@pytest.mark.parametrize("keys", [{"norm": "none"}, {"trivial": True}, {"net": "DeepSet"}, {"net": "Transformer"}])
def test_others_need_the_spectrum(keys):
    needs = LapPE(k=4, **keys).needs
    assert needs == {"spectrum": {"k": 4, "norm": keys.get("norm", "sym"), "trivial": keys.get("trivial", False)}}


def test_two_encodings_cannot_need_a_transform_twice():
    with pytest.raises(ValueError, match="give them the same numbers"):
        needs_of([LapPE(k=4, net="DeepSet"), LapPE(k=5, net="DeepSet")])


# Degrees


def star(n):
    return dgl.graph((list(range(1, n)), [0] * (n - 1)))


def test_degrees_are_numbers_or_one_hot():
    g = dgl.batch([star(4), star(2)])
    assert Degree().read(g, False).tolist() == [[3], [0], [0], [0], [1], [0]]
    assert Degree(one_hot=2).read(g, False).argmax(1).tolist() == [2, 0, 0, 0, 1, 0]  # 2 stands for more
    assert Degree(one_hot=2).read(g, False).sum(1).tolist() == [1] * 6


# Where the vectors go


def test_added_and_beside():
    torch.manual_seed(0)
    added, beside, last = NodeIndex(n=5), Degree(dim=2), LapPE(k=6, dim=3)
    embedding = InputEmbedding(Features(categories("node", 4), None), config(beside, added, last, dim=9), 9)
    g = with_spectrum(3, 5)
    g.ndata["feat"] = torch.tensor([0, 1, 2, 3, 3, 2, 1, 0])
    first, second, third = (encoding(g) for encoding in embedding.encodings)
    expected = torch.cat([embedding.node(g.ndata["feat"]) + second, first, third], 1)
    assert torch.equal(embedding(g), expected) and expected.shape == (8, 9) and second.shape == (8, 4)


def test_without_node_features_a_vector_for_all_stands_beside():
    embedding = InputEmbedding(Features(None, None), config(Degree(dim=3)), 8)
    h = embedding(star(4))
    assert h.shape == (4, 8) and (h[:, :5] == embedding.constant.weight).all() and (h[0, 5:] != h[1, 5:]).any()
    assert InputEmbedding(Features(None, None), config(Degree()), 8).constant is None


def test_encodings_wider_than_the_net_are_refused():
    with pytest.raises(ValueError, match=r"net.encodings: 8 of the 8 numbers of a node: choose smaller dim"):
        build_net(config(Degree(dim=8)), Features(None, None), GraphClassification(2))


def test_a_transformer_needs_a_multiple_of_its_heads():
    with pytest.raises(ValueError, match=r"dim=6 with net=Transformer: expected a multiple of its 4 heads"):
        LapPE(k=4, net="Transformer").build(6)


@pytest.mark.parametrize(
    "encoding", [LapPE(k=4, net="DeepSet"), RWSE(k=4, batch_norm=True), Degree(dim=3)], ids=lambda e: e.kind
)
def test_dense_nets_read_numbers_alone(encoding):
    with pytest.raises(ValueError, match="reads its numbers as they are"):
        NETS["3WLGNN"].Config(L=1, hidden_dim=4, encodings=[encoding])


def test_a_dense_net_with_degrees():
    net = build_net(
        NETS["3WLGNN"].Config(L=1, hidden_dim=4, encodings=[Degree(one_hot=3), LapPE(k=6, norm="none")]),
        Features(None, None),
        GraphClassification(2),
    )
    assert net.input.dim == 1 + 4 + 6 and net(with_spectrum(3, 4)).shape == (2, 2)
