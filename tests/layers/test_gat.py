"""GAT and its variants against loops written from eq. (18)-(20), (29), (61)-(67) and (73), and against DGL's own layer."""

import pytest
import torch
import torch.nn.functional as F
from dgl.nn import GATConv

from layers import fused
from layers.gat_layer import EdgeFeatGATLayer, EdgeReprGATLayer, GATLayer, IsotropicGATLayer
from tests.layers import laws
from tests.layers.reference import DIM, DST, SRC, N, in_edges, odd_graph, randomised, updated


def head(matrix, k, layer):
    """Rows of head k."""
    return matrix[k * layer.d : (k + 1) * layer.d]


def leaky(x, layer):
    slope = 0.2 if type(layer) is GATLayer else 0.01
    return torch.where(x > 0, x, slope * x)


def finish(layer, h, rows):
    return updated(layer.update_h, h, torch.stack(rows))


def isotropic_by_loop(layer, h):
    """Eq. (61)."""
    zero = torch.zeros(len(layer.U.weight), dtype=h.dtype)
    return finish(layer, h, [sum((layer.U.weight @ h[j] for _, j in in_edges(i)), zero) for i in range(N)])


def attention_rows(layer, h, score):
    """Eq. (18)-(19): the heads of each node side by side; score[edge][k]."""
    rows = []
    for i in range(N):
        heads = []
        for k in range(layer.K):
            U = head(layer.U.weight, k, layer)
            total = sum(torch.exp(score[edge][k]) for edge, _ in in_edges(i))
            parts = [torch.exp(score[edge][k]) / total * (U @ h[j]) for edge, j in in_edges(i)]
            heads.append(sum(parts, torch.zeros(layer.d, dtype=h.dtype)))
        rows.append(torch.cat(heads))
    return rows


def gat_by_loop(layer, h):
    """Eq. (18)-(20)."""
    score = []
    for j, i in zip(SRC, DST, strict=True):
        score.append([])
        for k in range(layer.K):
            U, V = head(layer.U.weight, k, layer), layer.V[:, k].flatten()
            score[-1].append(leaky(V @ torch.cat([U @ h[i], U @ h[j]]), layer))
    return finish(layer, h, attention_rows(layer, h, score))


def edgerepr_by_loop(layer, h, e):
    """Eq. (64)-(67)."""
    score, e_hat = [], []
    for edge, (j, i) in enumerate(zip(SRC, DST, strict=True)):
        score.append([])
        heads = []
        for k in range(layer.K):
            U, A = head(layer.U.weight, k, layer), head(layer.A.weight, k, layer)
            x = torch.cat([A @ e[edge], U @ h[i], U @ h[j]])
            score[-1].append(leaky(layer.V[:, k].flatten() @ x, layer))
            heads.append(torch.cat(list(layer.B[:, k]), dim=1) @ x + head(layer.b, k, layer))
        e_hat.append(torch.cat(heads))
    return finish(layer, h, attention_rows(layer, h, score)), updated(layer.update_e, e, torch.stack(e_hat))


KINDS = {
    "isotropic": (IsotropicGATLayer, isotropic_by_loop, False),
    "GAT": (GATLayer, gat_by_loop, False),
    "edgefeat": (EdgeFeatGATLayer, gat_by_loop, False),
    "edgereprfeat": (EdgeReprGATLayer, edgerepr_by_loop, True),
}
OPTIONS = {
    "three heads": {"out_dim": DIM, "n_heads": 3},
    "one head": {"out_dim": DIM, "n_heads": 1},
    "plain": {"out_dim": DIM, "n_heads": 2, "batch_norm": False, "residual": False},
    "graph norm": {"out_dim": DIM, "n_heads": 2, "graph_norm": True},
    "another width": {"out_dim": 4, "n_heads": 2},
}


@pytest.fixture(params=KINDS)
def kind(request):
    return KINDS[request.param]


@pytest.fixture(params=OPTIONS)
def layer(request, kind):
    torch.manual_seed(0)
    return randomised(kind[0](DIM, **OPTIONS[request.param]))


@pytest.fixture(params=["fused", "plain"])
def way(request, monkeypatch):
    if request.param == "plain":
        monkeypatch.setattr(fused, "suits", lambda x: False)


def test_equals_the_loop(layer, kind, way):
    laws.equals_the_loop(layer, kind[1], kind[2])


@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: law.__name__)
def test_laws(layer, kind, law, way):
    law(layer, kind[2])


def test_the_fused_functions_equal_the_formula_beside_them(layer, kind):
    if kind[1] is not isotropic_by_loop:
        laws.equals_its_plain_formula(layer, kind[2])


@pytest.mark.parametrize("n_heads", [1, 3])
def test_equals_the_layer_of_dgl(n_heads):
    """Theirs -> ours: fc -> U, attn_r (destination) -> V[0], attn_l (source) -> V[1]."""
    torch.manual_seed(0)
    ours = randomised(GATLayer(DIM, DIM, n_heads, batch_norm=False))
    theirs = GATConv(DIM, DIM // n_heads, n_heads, bias=False, activation=F.elu, allow_zero_in_degree=True).double()
    theirs.fc.load_state_dict(ours.U.state_dict())
    theirs.attn_r.data, theirs.attn_l.data = ours.V[None, 0].data, ours.V[None, 1].data
    h = torch.randn(N, DIM, dtype=torch.float64)
    torch.testing.assert_close(ours(odd_graph(), h), h + theirs(odd_graph(), h).flatten(1), rtol=0, atol=1e-10)


def test_the_last_layer_of_a_net():
    torch.manual_seed(0)
    laws.gives_the_same_nodes_without_edges(randomised(EdgeReprGATLayer(DIM, DIM, 2)))


def test_first_weights_are_those_of_the_program():
    """GAT: Xavier-normal with gain √2, V^k of all heads as one matrix of DGL's. Its variants: all as nn.Linear has them."""
    torch.manual_seed(0)
    d, n_heads = 300, 3
    gat = GATLayer(d, d, n_heads)
    assert gat.U.weight.std().item() == pytest.approx((2 / d) ** 0.5, rel=0.02)
    assert gat.V.std().item() == pytest.approx((2 * 2 / (d + d // n_heads)) ** 0.5, rel=0.1)
    for kind in (IsotropicGATLayer, EdgeFeatGATLayer, EdgeReprGATLayer):
        layer = kind(d, d, n_heads)
        fan_ins = {"U": d, "A": d, "V": d // n_heads * (2 if kind is EdgeFeatGATLayer else 3), "B": d, "b": d}
        for name, fan_in in fan_ins.items():
            if (weight := getattr(layer, name, None)) is not None:
                weight = getattr(weight, "weight", weight)
                assert weight.abs().max().item() == pytest.approx(fan_in**-0.5, rel=0.02), (kind, name)


def test_heads_must_divide_the_width():
    with pytest.raises(ValueError, match="out_dim=6: expected a multiple of n_heads=4"):
        GATLayer(DIM, DIM, 4)
