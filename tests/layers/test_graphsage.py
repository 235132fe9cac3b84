"""GraphSage with its aggregators and edge variants against loops: the form of the program, and eq. (14)-(17), (29), (68)-(73)."""

import dgl
import pytest
import torch
from dgl.nn import SAGEConv

from layers.graphsage_layer import GraphSageEdgeFeatLayer, GraphSageEdgeReprLayer, GraphSageLayer
from tests.layers import laws
from tests.layers.reference import DIM, N, in_edges, odd_graph, randomised, updated


def affine(linear, x):
    return linear.weight @ x + linear.bias


def relu(x):
    return x.clamp(min=0)


def maximum(vectors):
    """Component by component; 0 for no vectors."""
    return torch.stack(vectors).max(0).values if vectors else torch.zeros(DIM, dtype=torch.float64)


def lstm_state(lstm, sequence):
    """The textbook LSTM: input, forget and output gates i, f, o, candidate z, cell c, state s."""
    s = c = torch.zeros(DIM, dtype=torch.float64)
    for x in sequence:
        both = lstm.weight_ih_l0 @ x + lstm.bias_ih_l0 + lstm.weight_hh_l0 @ s + lstm.bias_hh_l0
        i, f, z, o = both.split(DIM)
        c = f.sigmoid() * c + i.sigmoid() * z.tanh()
        s = o.sigmoid() * c.tanh()
    return s


def aggregated(layer, h, i):
    neighbours = [h[j] for _, j in in_edges(i)]
    if layer.aggregator == "mean":
        return sum(neighbours) / len(neighbours) if neighbours else torch.zeros_like(h[i])
    if layer.aggregator == "maxpool":
        return maximum([relu(affine(layer.V, x)) for x in neighbours])
    return lstm_state(layer.lstm, neighbours)


def on_the_unit_ball(x):
    return torch.stack([row / row.norm() if row.any() else row for row in x])


def finish(layer, h, c):
    """Of the program, or eq. (29) with (14)-(15) or (68) inside."""
    h_hat = torch.stack([affine(layer.U, torch.cat([h[i], c[i]])) for i in range(N)])
    inner = {"program": lambda x: relu(on_the_unit_ball(x)), "text_15": lambda x: on_the_unit_ball(relu(x))}
    return end(layer, layer.update_h, h, inner.get(layer.form, lambda x: x)(h_hat))


def end(layer, update, x, x_hat):
    """Eq. (29); that of the program has no ReLU after BN."""
    seen = update.activation(torch.tensor([-1.0, 2.0])).tolist()
    assert seen == ([-1, 2] if layer.form == "program" else [0, 2])
    return updated(update, x, x_hat)


def isotropic_by_loop(layer, h):
    return finish(layer, h, [aggregated(layer, h, i) for i in range(N)])


def gated(layer, h, e):
    return [maximum([relu(e[edge].sigmoid() * affine(layer.V, h[j])) for edge, j in in_edges(i)]) for i in range(N)]


def joint(layer, h):
    """Eq. (70) for all edges, in stored order."""
    e = {edge: affine(layer.A, h[i] + h[j]) for i in range(N) for edge, j in in_edges(i)}
    return torch.stack([e[edge] for edge in sorted(e)])


def edge_feat_by_loop(layer, h):
    return finish(layer, h, gated(layer, h, joint(layer, h)))


def edge_repr_by_loop(layer, h, e):
    e_hat = joint(layer, h) + torch.stack([affine(layer.B, x) for x in e])
    e_inside = relu(e_hat) if layer.form == "program" else e_hat
    return finish(layer, h, gated(layer, h, e_hat)), end(layer, layer.update_e, e, e_inside)


PLAIN = {"batch_norm": False, "residual": False}
CASES = {
    "mean": (lambda: GraphSageLayer(DIM, DIM, "mean"), isotropic_by_loop),
    "maxpool": (lambda: GraphSageLayer(DIM, DIM, "maxpool"), isotropic_by_loop),
    "lstm": (lambda: GraphSageLayer(DIM, DIM, "lstm"), isotropic_by_loop),
    "maxpool plain": (lambda: GraphSageLayer(DIM, DIM, **PLAIN), isotropic_by_loop),
    "maxpool, all norms": (lambda: GraphSageLayer(DIM, DIM, graph_norm=True), isotropic_by_loop),
    "maxpool to another width": (lambda: GraphSageLayer(DIM, 4), isotropic_by_loop),
    "(14)-(15)": (lambda: GraphSageLayer(DIM, DIM, "mean", form="text_15", **PLAIN), isotropic_by_loop),
    "(14)-(16) in (29)": (lambda: GraphSageLayer(DIM, DIM, form="text_15"), isotropic_by_loop),
    "(68)": (lambda: GraphSageLayer(DIM, DIM, form="text_68"), isotropic_by_loop),
    "(69)": (lambda: GraphSageEdgeFeatLayer(DIM, DIM, form="text_68"), edge_feat_by_loop),
    "(71)-(72)": (lambda: GraphSageEdgeReprLayer(DIM, DIM, form="text_68"), edge_repr_by_loop),
    "edgefeat": (lambda: GraphSageEdgeFeatLayer(DIM, DIM), edge_feat_by_loop),
    "edgefeat plain": (lambda: GraphSageEdgeFeatLayer(DIM, 4, graph_norm=True, **PLAIN), edge_feat_by_loop),
    "edgereprfeat": (lambda: GraphSageEdgeReprLayer(DIM, DIM), edge_repr_by_loop),
    "edgereprfeat plain": (lambda: GraphSageEdgeReprLayer(DIM, 4, graph_norm=True, **PLAIN), edge_repr_by_loop),
}


@pytest.fixture(params=CASES)
def case(request):
    torch.manual_seed(0)
    make, loop = CASES[request.param]
    return randomised(make()), loop, loop is edge_repr_by_loop


def test_equals_the_loop(case):
    laws.equals_the_loop(*case)


@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: law.__name__)
def test_laws(case, law):
    layer, _, edges = case
    if law is laws.ignores_the_order_of_edges and layer.aggregator == "lstm":
        with pytest.raises(AssertionError, match="not close"):
            law(layer, edges)
        return
    law(layer, edges)


@pytest.mark.parametrize(("aggregator", "theirs"), [("mean", "mean"), ("maxpool", "pool"), ("lstm", "lstm")])
def test_equals_sageconv_with_its_weights(aggregator, theirs):
    """U = (fc_self | fc_neigh) with the bias of fc_self, V = fc_pool; SAGEConv has no norm and no residual connection."""
    torch.manual_seed(0)
    conv = randomised(SAGEConv(DIM, 4, theirs, activation=torch.relu))
    layer = GraphSageLayer(DIM, 4, aggregator, form="text_68", **PLAIN).double()
    with torch.no_grad():
        layer.U.weight.copy_(torch.cat([conv.fc_self.weight, conv.fc_neigh.weight], dim=1))
        layer.U.bias.copy_(conv.fc_self.bias)
    if aggregator == "maxpool":
        layer.V.load_state_dict(conv.fc_pool.state_dict())
    if aggregator == "lstm":
        layer.lstm.load_state_dict(conv.lstm.state_dict())
    g = odd_graph()
    (h,) = laws.random_inputs(g, edges=False)
    laws.close([layer(g, h)], [conv(g, h)])


def test_the_lstm_reads_many_nodes_of_many_degrees():
    """Against one sequence at a time, on a graph whose edges are stored in no order."""
    torch.manual_seed(0)
    layer = randomised(GraphSageLayer(DIM, DIM, "lstm"))
    src, dst = torch.randint(30, (200,)), (torch.rand(200) ** 2 * 30).long()
    g = dgl.graph((src, dst), num_nodes=31)
    (h,) = laws.random_inputs(g, edges=False)
    expected = torch.stack([lstm_state(layer.lstm, [h[j] for j in src[dst == i]]) for i in range(31)])
    laws.close([layer.aggregate(g, h)], [expected])


def test_the_last_layer_of_a_net():
    torch.manual_seed(0)
    laws.gives_the_same_nodes_without_edges(randomised(GraphSageEdgeReprLayer(DIM, DIM)))


def test_a_vector_of_zeros_stays_zero_on_the_unit_ball():
    layer = GraphSageLayer(DIM, DIM, form="text_15", **PLAIN)
    torch.nn.init.constant_(layer.U.bias, -100.0)
    assert torch.equal(layer(odd_graph(), torch.ones(N, DIM)), torch.zeros(N, DIM))


def test_unknown_aggregators_and_forms_are_refused():
    with pytest.raises(ValueError, match="aggregator='avg': expected one of mean, maxpool, lstm"):
        GraphSageLayer(2, 2, "avg")
    with pytest.raises(ValueError, match="form='text': expected one of program, text_15, text_68"):
        GraphSageLayer(2, 2, form="text")
