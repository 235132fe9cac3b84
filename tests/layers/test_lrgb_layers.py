"""The layers of the Long Range Graph Benchmark and of its retuned rows: against loops over single pairs of nodes written from their
equations, against numbers of the original programs, and the laws of all layers."""

import dgl
import pytest
import torch
import torch.nn.functional as F

from layers import fused
from layers.attention import GraphAttention
from layers.gatedgcn_layer import GatedGCNLayer
from layers.gcnii_layer import GCNIILayer
from layers.gine_layer import GINELayer
from layers.gps_layer import GPSLayer
from layers.graph_norm import GraphLayerNorm
from layers.padding import Pieces
from layers.san_layer import FakePairs, SANLayer
from layers.sym_gcn_layer import SymGCNLayer
from layers.transformer_layer import TransformerLayer
from tests.layers import laws
from tests.layers.reference import DIM, DST, SRC, N, batch_norm, in_edges, odd_graph, randomised, updated
from tests.nets import lrgb

H = 2  # heads
TUNED = {"batch_norm": False, "keep_residual": True, "activation": F.gelu}


# --------------------------------------------------------------------------------------------------------------------
# Loops


def sym_norm_by_loop(h):
    """Each node has one self-loop: the graph's own, at node 0, is not counted twice."""
    neighbours = [[j for _, j in in_edges(i) if j != i] + [i] for i in range(N)]
    deg = [len(js) for js in neighbours]
    return torch.stack([sum(h[j] / (deg[j] * deg[i]) ** 0.5 for j in js) for i, js in enumerate(neighbours)])


def sym_gcn_by_loop(layer, h):
    h_hat = sym_norm_by_loop(h) @ layer.W.weight.T
    if layer.b is not None:
        h_hat = h_hat + layer.b
    h = updated(layer.update_h, h, h_hat)
    if not layer.l2_norm:
        return h
    return torch.stack([row / row.norm() if row.norm() else row for row in h])


def gine_by_loop(layer, h, e):
    rows = []
    for i in range(N):
        x = h[i] + sum(torch.relu(h[j] + e[edge]) for edge, j in in_edges(i))
        x = layer.W2(layer.activation(layer.W1(x)))
        x = layer.activation(x) if layer.outer else x
        rows.append(h[i] + x if layer.residual else x)
    return torch.stack(rows)


def attention_by_loop(layer, h):
    """All nodes are one graph."""
    width = h.shape[1] // layer.n_heads
    q, k, v = layer.qkv(h).chunk(3, 1)
    rows = []
    for i in range(len(h)):
        heads = []
        for c in (slice(a * width, (a + 1) * width) for a in range(layer.n_heads)):
            weight = [torch.exp(q[i, c] @ k[j, c] / width**0.5) for j in range(len(h))]
            heads.append(sum(w / sum(weight) * v[j, c] for j, w in enumerate(weight)))
        rows.append(layer.O(torch.cat(heads)))
    return torch.stack(rows)


def feed_forward_by_loop(layer, h):
    return layer.W2(layer.activation(layer.W1(h)))


def transformer_by_loop(layer, h):
    h = batch_norm(h + attention_by_loop(layer.attention, h), layer.norm1)
    return batch_norm(h + feed_forward_by_loop(layer.feed_forward, h), layer.norm2)


def san_by_loop(layer, h, e, f):
    width = h.shape[1] // layer.n_heads
    rows = []
    for i in range(N):
        heads = []
        for c in (slice(a * width, (a + 1) * width) for a in range(layer.n_heads)):
            pairs = [(j, layer.Q(h[i]) * layer.K(h[j]) * layer.E(e[edge]), 1.0) for edge, j in in_edges(i)]
            others = [j for j in range(N) if j != i and j not in [k for _, k in in_edges(i)]]
            pairs += [(j, layer.Q2(h[i]) * layer.K2(h[j]) * layer.E2(f), layer.gamma) for j in others]
            w = [s * torch.exp((x[c].sum() / width**0.5).clamp(-5, 5)) / (1 + layer.gamma) for _, x, s in pairs]
            heads.append(sum(a * layer.V(h[j])[c] for a, (j, _, _) in zip(w, pairs, strict=True)) / (sum(w) + 1e-6))
        rows.append(layer.O(torch.cat(heads)))
    h = batch_norm(h + torch.stack(rows), layer.norm1)
    return batch_norm(h + feed_forward_by_loop(layer.feed_forward, h), layer.norm2)


def graph_norm_by_loop(norm, h):
    if not isinstance(norm, GraphLayerNorm):
        return batch_norm(h, norm)
    return (h - h.mean()) / torch.sqrt(h.var(unbiased=False) + 1e-5) * norm.weight + norm.bias


def gps_by_loop(layer, h, e):
    local, e_new = layer.local(odd_graph(), h, e)  # has tests of its own
    a = graph_norm_by_loop(layer.norm_local, h + local)
    a = a + graph_norm_by_loop(layer.norm_attention, h + attention_by_loop(layer.attention, h))
    return graph_norm_by_loop(layer.norm_out, a + feed_forward_by_loop(layer.feed_forward, a)), e_new


# --------------------------------------------------------------------------------------------------------------------
# The layers as the laws call them: layer(g, h) or layer(g, h, e)


class FromStart(torch.nn.Module):
    """GCNII with a start that is a function of h."""

    def __init__(self, **options):
        super().__init__()
        self.layer = GCNIILayer(DIM, **options)

    def forward(self, g, h):
        return self.layer(g, h, torch.cos(h))


def gcnii_by_loop(layer, h):
    alpha, beta, W = layer.layer.alpha, layer.layer.beta, layer.layer.W
    h_hat = (1 - alpha) * sym_norm_by_loop(h) + alpha * torch.cos(h)
    return torch.relu((1 - beta) * h_hat + beta * (h_hat @ W))


class WithFake(torch.nn.Module):
    """SAN with a vector of its own for the pairs without an edge, as a net has it."""

    def __init__(self, gamma):
        super().__init__()
        self.layer, self.f = SANLayer(DIM, H, gamma), torch.nn.Parameter(torch.ones(DIM))

    def forward(self, g, h, e):
        return self.layer(g, h, e, self.f)


CASES = {  # layer, its loop, whether it reads edges
    "GCN": (lambda: SymGCNLayer(DIM, DIM), sym_gcn_by_loop, False),
    "GCN, another width": (lambda: SymGCNLayer(DIM, 4, l2_norm=False), sym_gcn_by_loop, False),
    "GCN, retuned": (lambda: SymGCNLayer(DIM, DIM, bias=True, l2_norm=False, residual=True, **TUNED), sym_gcn_by_loop, False),
    "GCNII": (lambda: FromStart(), gcnii_by_loop, False),
    "GCNII, identity mapping": (lambda: FromStart(alpha=0.1, beta=0.3), gcnii_by_loop, False),
    "GINE": (lambda: GINELayer(DIM), gine_by_loop, True),
    "GINE, retuned": (lambda: GINELayer(DIM, F.gelu, outer=False), gine_by_loop, True),
    "GINE, no residual": (lambda: GINELayer(DIM, residual=False), gine_by_loop, True),
    "attention": (lambda: GraphAttention(DIM, H), attention_by_loop, False),
    "Transformer": (lambda: TransformerLayer(DIM, H), transformer_by_loop, False),
    "SAN": (lambda: WithFake(0.1), lambda layer, h, e: san_by_loop(layer.layer, h, e, layer.f), True),
    "SAN, small gamma": (lambda: WithFake(1e-6), lambda layer, h, e: san_by_loop(layer.layer, h, e, layer.f), True),
    "GPS": (lambda: GPSLayer(DIM, H), gps_by_loop, True),
    "GPS, graph-wise": (lambda: GPSLayer(DIM, H, norm="layer"), gps_by_loop, True),
}  # fmt: skip


@pytest.fixture(params=CASES)
def case(request):
    torch.manual_seed(0)
    make, loop, edges = CASES[request.param]
    return randomised(make()), loop, edges


@pytest.fixture(params=["fused", "plain"])
def way(request, monkeypatch):
    if request.param == "plain":
        monkeypatch.setattr(fused, "suits", lambda x: False)


def test_equals_the_loop(case, way):
    laws.equals_the_loop(*case)


@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: law.__name__)
def test_laws(case, law, way):
    layer, _, edges = case
    law(layer, edges)


@pytest.mark.parametrize("name", [name for name in CASES if not name.startswith("GCN")])
def test_the_fused_functions_equal_the_formula_beside_them(name):
    torch.manual_seed(0)
    laws.equals_its_plain_formula(randomised(CASES[name][0]()), CASES[name][2])


def test_the_last_gps_layer_of_a_net():
    torch.manual_seed(0)
    layer = randomised(GPSLayer(DIM, H))
    (h, e), g = laws.random_inputs(odd_graph(), edges=True), odd_graph()
    nodes, none = layer(g, h, e, edges=False)
    assert none is None and torch.equal(nodes, layer(g, h, e)[0])


# --------------------------------------------------------------------------------------------------------------------
# Attention stays inside a graph


def many_graphs(sizes=(3, 1, 7, 0, 7, 12, 2)):
    """Cycles of these sizes, with what lies across them left out."""
    rings = [dgl.graph((torch.arange(n), (torch.arange(n) + 1) % max(n, 1)), num_nodes=n) for n in sizes]
    return dgl.batch(rings)


@pytest.mark.parametrize("max_pairs", [1, 50, 10**6])
def test_pieces_hold_every_node_once_and_zeros_elsewhere(max_pairs):
    g = many_graphs()
    h = torch.arange(1.0, 33)[:, None]
    pieces = Pieces(g, max_pairs)
    tensors = pieces.pad(h)
    assert torch.equal(pieces.unpad(tensors, h), h)
    assert sorted(x for t in tensors for x in t.flatten().tolist() if x) == h.flatten().tolist()
    assert [tuple(t.shape[:2]) for t in tensors] == [piece.shape for piece in pieces]
    if max_pairs == 1:
        assert all(piece.shape[0] == 1 for piece in pieces)
    if max_pairs == 10**6:
        assert all(n <= 12 for _, n in (piece.shape for piece in pieces))


@pytest.mark.parametrize("name", ["attention", "Transformer", "SAN", "GPS, graph-wise"])
def test_no_node_sees_another_graph_or_the_padding(name, way):
    """In evaluation: the gradient of a node of one graph with respect to the nodes of the others is exactly 0."""
    torch.manual_seed(0)
    make, _, edges = CASES[name]
    layer, g = randomised(make()).eval(), many_graphs()
    h, *e = (x.requires_grad_() for x in laws.random_inputs(g, edges))
    laws.outputs(layer, g, h, *e)[0][4:11].square().sum().backward()  # the third graph
    assert (h.grad[4:11] != 0).all() and not h.grad[:4].any() and not h.grad[11:].any()


def test_dropout_of_attention_is_unbiased_and_off_in_evaluation(way):
    torch.manual_seed(0)
    for p in (0.5, 0.3):
        layer, g = GraphAttention(DIM, H, dropout=p), many_graphs((4, 6))
        h = torch.randn(10, DIM)
        expected = layer.eval()(g, h)
        assert torch.equal(expected, layer(g, h))
        layer.train()
        draws = torch.stack([layer(g, h).detach() for _ in range(400)])
        assert draws.std(0).min() > 0
        torch.testing.assert_close(draws.mean(0), expected, rtol=0, atol=5 * float(draws.std(0).max()) / 20)


def test_gradients_with_dropout():
    """With the same random bytes the step of autograd is that of the formula with the same mask."""
    torch.manual_seed(0)
    layer, g = GraphAttention(DIM, H, dropout=0.5).double(), many_graphs((4, 6))
    h = torch.randn(10, DIM, dtype=torch.float64, requires_grad=True)

    def function(h):
        torch.manual_seed(1)
        return layer(g, h)

    assert torch.autograd.gradcheck(function, h, fast_mode=True)


def test_fake_pairs_are_those_of_the_program():
    """All ordered pairs of different nodes of a graph that are no edges, row by row."""
    g, expected = lrgb.golden_graph(), lrgb.golden("fake_edges")["fake_edge_index"]
    pairs = FakePairs(g)
    found = []
    for piece, mask in zip(pairs.pieces, pairs.masks, strict=True):
        first = pairs.pieces.order[piece.rows][piece.padding.sizes.cumsum(0) - piece.padding.sizes]
        found += [(int(first[b] + j), int(first[b] + i)) for b, i, j in mask.nonzero().tolist()]
    assert sorted(found) == sorted(zip(*expected, strict=True))


def test_fake_pairs_of_an_odd_graph():
    fake = FakePairs(odd_graph()).masks[0][0]
    edges = set(zip(SRC, DST, strict=True))
    assert {(j, i) for i in range(N) for j in range(N) if fake[i, j]} == {
        (j, i) for i in range(N) for j in range(N) if i != j and (j, i) not in edges
    }


def test_too_many_heads_are_refused():
    for make in (lambda: GraphAttention(6, 4), lambda: SANLayer(6, 4, 0.1)):
        with pytest.raises(ValueError, match="n_heads=4: 6 numbers cannot"):
            make()


# --------------------------------------------------------------------------------------------------------------------
# Numbers of the original programs

GATED = ["U", "V", "C", "A", "B"]  # theirs are A, B, C, D (destination), E (source)
ATTENTION = ["attention.qkv", "attention.O"]
GOLDEN = {  # layer, its parameters in the order of the program, what it is called with beside g and h
    "gcn_layer": (lambda: SymGCNLayer(4, 4), None, ""),
    "gcnii_layer": (lambda: GCNIILayer(4), None, "0"),
    "gine_layer_residual": (lambda: GINELayer(4), None, "e"),
    "gine_layer_noresidual": (lambda: GINELayer(4, residual=False), None, "e"),
    "gatedgcn_layer": (lambda: GatedGCNLayer(4, 4), [*GATED, "update_h", "update_e"], "e"),
    "transformer_layer": (
        lambda: TransformerLayer(4, 2), [*ATTENTION, lrgb.UNREAD, "norm1", "feed_forward", "norm2"], "",
    ),
    **{
        f"san_layer_gamma_{gamma}": (
            lambda gamma=gamma: WithFakeOf4(float(gamma)),
            ["layer.Q", "layer.K", "layer.E", "layer.Q2", "layer.K2", "layer.E2", "f", "layer.V", "layer.O", "layer.norm1",
             "layer.feed_forward", "layer.norm2"],
            "e",
        )
        for gamma in ("0.1", "1e-5", "1e-6")
    },
    "tuned_gcn_layer": (
        lambda: SymGCNLayer(4, 4, bias=True, l2_norm=False, residual=True, **TUNED), ["b", "W"], "",
    ),
    "tuned_gine_layer": (lambda: GINELayer(4, F.gelu, outer=False), None, "e"),
    "tuned_gatedgcn_layer": (
        lambda: GatedGCNLayer(4, 4, keep_residual=True), [*GATED, "update_h", "update_e"], "e",
    ),
    **{
        f"tuned_gps_layer_{short}": (
            lambda norm=norm: GPSLayer(4, 2, norm=norm),
            [*(f"local.{name}" for name in [*GATED, "update_h", "update_e"]), *ATTENTION, "norm_local", "norm_attention",
             "feed_forward", "norm_out"],
            "e",
        )
        for short, norm in (("bn", "batch"), ("ln", "layer"))
    },
}  # fmt: skip


class WithFakeOf4(WithFake):
    def __init__(self, gamma):
        torch.nn.Module.__init__(self)
        self.layer, self.f = SANLayer(4, 2, gamma), torch.nn.Parameter(torch.ones(1, 4))

    def forward(self, g, h, e):
        return self.layer(g, h, e, self.f[0])


def of_the_program(name, mode):
    """The outputs of a layer with the weights and inputs of the golden numbers."""
    make, names, more = GOLDEN[name]
    layer = make()
    lrgb.filled(layer, None if names is None else lrgb.parameters_of(layer, names))
    i, j = torch.arange(8, dtype=torch.float64)[:, None], torch.arange(4, dtype=torch.float64)
    inputs = {"": [], "0": [torch.cos(0.2 * i - 0.6 * j)], "e": [lrgb.edge_features()]}[more]
    with torch.no_grad():
        return laws.outputs(layer.train(mode == "train"), lrgb.golden_graph(), lrgb.node_features(), *inputs)


# fmt: off
SPOTS = [  # layer, mode, node (or edge), its numbers
    ("gcn_layer", "eval", 1, [0.63465432, 0.77279615, 0.0, 0.0]),
    ("gcn_layer", "eval", 6, [0.0, 0.0, 0.70998627, 0.70421552]),
    ("gcn_layer", "train", 1, [0.73035747, 0.68306512, 0.0, 0.0]),
    ("gcnii_layer", "eval", 1, [0.10632409, 0.08557010, 0.05323459, 0.01369403]),
    ("gine_layer_residual", "eval", 1, [2.53652246, 0.84594486, 0.93203909, 0.99749499]),
    ("gine_layer_residual", "eval", 6, [0.49255183, -0.24838456, -0.52983614, -0.48720953]),
    ("gatedgcn_layer", "eval", 1, [2.73061913, 1.94235797, 0.93203909, 0.99749499]),
    ("gatedgcn_layer", "train", 1, [1.63190045, 1.78484460, 0.93203909, 0.99749499]),
    ("transformer_layer", "eval", 1, [2.70002955, 0.51092030, 2.04064978, 0.69949422]),
    ("transformer_layer", "eval", 6, [1.47922048, -0.10098554, 0.35715663, -0.17484939]),
    ("transformer_layer", "train", 1, [0.67251637, 0.79176754, 1.18433581, 1.21587577]),
    ("san_layer_gamma_0.1", "eval", 1, [0.69986374, 2.85661539, 1.06318002, 2.95126701]),
    ("san_layer_gamma_0.1", "train", 1, [0.47678238, 0.97643307, 1.08173617, 1.48703060]),
    ("san_layer_gamma_1e-6", "eval", 1, [0.69894896, 2.85608319, 1.06406373, 2.95203099]),
    ("tuned_gcn_layer", "eval", 1, [1.60869122, 1.19343724, 0.77880908, 0.93861737]),
    ("tuned_gine_layer", "eval", 1, [2.51092448, 0.86168794, -0.68002365, 0.92706052]),
    ("tuned_gatedgcn_layer", "train", 1, [1.63190045, 1.78484460, 0.93203909, 0.99749499]),
    ("tuned_gps_layer_bn", "eval", 1, [4.43659447, 5.08579462, 2.19349902, 4.49542266]),
    ("tuned_gps_layer_bn", "train", 1, [0.77678287, 1.02766892, 1.16535489, 1.33882313]),
    ("tuned_gps_layer_ln", "eval", 6, [0.18112492, 0.46380479, 0.56644805, -0.83957218]),
    ("tuned_gps_layer_ln", "train", 1, [0.37663678, 1.32059731, 0.08499291, 0.16568369]),
]
# fmt: on


@pytest.mark.parametrize(("name", "mode", "row", "expected"), SPOTS)
def test_plain_numbers_of_the_program(name, mode, row, expected):
    seen = of_the_program(name, mode)[0][row]
    torch.testing.assert_close(seen, torch.tensor(expected, dtype=torch.float64), rtol=0, atol=1e-8)


def test_an_edge_of_the_program():
    expected = torch.tensor([-0.65364362, 1.68115811, 1.89488023, 0.01642456], dtype=torch.float64)
    torch.testing.assert_close(of_the_program("gatedgcn_layer", "eval")[1][10], expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("mode", ["eval", "train"])
@pytest.mark.parametrize("name", GOLDEN)
def test_all_numbers_of_the_program(name, mode, way):
    golden = lrgb.golden(name)[mode]
    nodes, *edges = of_the_program(name, mode)
    torch.testing.assert_close(nodes, torch.tensor(golden["x"], dtype=torch.float64), rtol=0, atol=1e-8)
    for e in edges:
        torch.testing.assert_close(e, torch.tensor(golden["e"], dtype=torch.float64), rtol=0, atol=1e-8)
