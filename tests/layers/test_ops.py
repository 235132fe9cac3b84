"""The fused functions equal the plain operators in values and gradients, on any graph, to the bit the same each time."""

import dgl
import pytest
import torch

from layers import fused, ops
from tests.layers.reference import odd_graph

K, D = 3, 4


def shuffled(ids=torch.int64):
    """40 edges in any order between 9 nodes, with duplicates and self-loops, none at node 9."""
    r = torch.Generator().manual_seed(1)
    return dgl.graph(torch.randint(0, 9, (2, 40), generator=r).unbind(), num_nodes=10, idtype=ids)


def batch_of_the_store(ids=torch.int32):
    """In CSC form with edge numbers given as consecutive, as data/store makes it; node 2 has no in-edge."""
    indptr, src = torch.tensor([0, 2, 3, 3, 6], dtype=ids), torch.tensor([1, 0, 3, 0, 0, 2], dtype=ids)
    return dgl.graph(("csc", (indptr, src, torch.empty(0, dtype=ids))), num_nodes=4)


GRAPHS = {
    "odd": odd_graph,
    "shuffled": shuffled,
    "shuffled int32": lambda: shuffled(torch.int32),
    "store": batch_of_the_store,
    "store int64": lambda: batch_of_the_store(torch.int64),
    "no edges": lambda: dgl.graph(([], []), num_nodes=3),
    "no nodes": lambda: dgl.graph(([], []), num_nodes=0),
}


def node(g, *shape):
    return torch.randn(g.num_nodes(), *shape, dtype=torch.float64)


def edge(g, *shape):
    return torch.randn(g.num_edges(), *shape, dtype=torch.float64)


def gated_mean(g, Ah, Bh, Vh, e=None, C=None):
    e_hat = ops.u_add_v(g, Bh, Ah)
    e_hat = e_hat if e is None else e_hat + e @ C.t()
    gate = torch.sigmoid(e_hat)
    return ops.u_mul_e_sum(g, Vh, gate) / (ops.copy_e_sum(g, gate) + 1e-6), e_hat


def weighted_sum(g, z, weight):
    return ops.u_mul_e_sum(g, z, weight[..., None])


def attention(g, z, V_i, V_j, extra):
    return fused.attention(g, z, V_i, V_j, 0.2, extra)


def plain_attention(g, z, V_i, V_j, extra):
    score = ops.u_add_v(g, (V_j * z).sum(-1), (V_i * z).sum(-1)) + extra
    return weighted_sum(g, z, ops.edge_softmax(g, torch.nn.functional.leaky_relu(score, 0.2)))


def by_node(g, per_edge, reduce):
    """`reduce` of the numbers of the edges into each node, 0 where there are none."""
    dst = g.edges()[1]
    rows = [reduce(x) if len(x) else x.sum(0) for x in (per_edge[dst == i] for i in range(g.num_nodes()))]
    return torch.stack(rows) if rows else per_edge[:0]


def at_edges(x, ends):
    return x[ends.long()]


def or_zero(maximum):
    return lambda g, *x: ops.zero_without_neighbours(g, maximum(g, *x))


def largest(x):
    return x.max(0).values


# name: operator, what it equals, inputs
FUSED = {
    "gated mean": (
        fused.gated_mean,
        gated_mean,
        lambda g: [node(g, D), node(g, D), node(g, D), edge(g, K), torch.randn(D, K, dtype=torch.float64)],
    ),
    "gated mean of nodes": (fused.gated_mean, gated_mean, lambda g: [node(g, D), node(g, D), node(g, D)]),
    "weighted sum": (fused.weighted_sum, weighted_sum, lambda g: [node(g, K, D), edge(g, K)]),
    "weighted sum, one head": (fused.weighted_sum, weighted_sum, lambda g: [node(g, 1, D), edge(g, 1)]),
    "softmax": (fused.edge_softmax, ops.edge_softmax, lambda g: [edge(g, K)]),
    "softmax of large scores": (fused.edge_softmax, ops.edge_softmax, lambda g: [1000 * edge(g, K)]),
    "attention": (
        attention,
        plain_attention,
        lambda g: [node(g, K, D), *(torch.randn(K, D, dtype=torch.float64) for _ in range(2)), edge(g, K)],
    ),
}
PLAIN = {
    "u_add_v": (
        ops.u_add_v,
        lambda g, u, v: at_edges(u, g.edges()[0]) + at_edges(v, g.edges()[1]),
        lambda g: [node(g, D), node(g, D)],
    ),
    "copy_u_sum": (
        ops.copy_u_sum,
        lambda g, u: by_node(g, at_edges(u, g.edges()[0]), lambda x: x.sum(0)),
        lambda g: [node(g, D)],
    ),
    "copy_u_mean": (
        ops.copy_u_mean,
        lambda g, u: by_node(g, at_edges(u, g.edges()[0]), lambda x: x.mean(0)),
        lambda g: [node(g, D)],
    ),
    "copy_u_max": (
        or_zero(ops.copy_u_max),
        lambda g, u: by_node(g, at_edges(u, g.edges()[0]), largest),
        lambda g: [node(g, D)],
    ),
    "closed_sum": (
        ops.closed_sum,
        lambda g, u, own: own * u + by_node(g, at_edges(u, g.edges()[0]), lambda x: x.sum(0)),
        lambda g: [node(g, D), torch.rand(1, dtype=torch.float64)],
    ),
    "closed_max": (
        ops.closed_max,
        lambda g, u: by_node(dgl.add_self_loop(g), at_edges(u, dgl.add_self_loop(g).edges()[0]), largest),
        lambda g: [node(g, D)],
    ),
    "copy_e_sum": (ops.copy_e_sum, lambda g, e: by_node(g, e, lambda x: x.sum(0)), lambda g: [edge(g, D)]),
    "u_mul_e_sum": (
        ops.u_mul_e_sum,
        lambda g, u, e: by_node(g, at_edges(u, g.edges()[0]) * e, lambda x: x.sum(0)),
        lambda g: [node(g, D), edge(g, D)],
    ),
    "u_mul_e_max": (
        or_zero(ops.u_mul_e_max),
        lambda g, u, e: by_node(g, at_edges(u, g.edges()[0]) * e, largest),
        lambda g: [node(g, D), edge(g, D)],
    ),
}
OPERATORS = FUSED | PLAIN


@pytest.fixture(params=GRAPHS)
def graph(request):
    torch.manual_seed(0)
    return GRAPHS[request.param]()


@pytest.fixture(params=OPERATORS)
def operator(request):
    return OPERATORS[request.param]


def values_and_gradients(operator, g, inputs):
    inputs = [x.detach().clone().requires_grad_() for x in inputs]
    out = operator(g, *inputs)
    out = out if isinstance(out, tuple) else (out,)
    r = torch.Generator().manual_seed(2)
    total = sum((x * torch.randn(x.shape, dtype=x.dtype, generator=r)).sum() for x in out)
    if total.requires_grad:
        total.backward()
    return [*out, *(torch.zeros_like(x) if x.grad is None else x.grad for x in inputs)]


def test_equal_to_the_plain_formula(graph, operator, monkeypatch):
    function, plain, make = operator
    inputs = make(graph)
    expected = values_and_gradients(plain, graph, inputs)
    for block in (fused.BLOCK, 8):  # all edges at once, and two by two
        monkeypatch.setattr(fused, "BLOCK", block)
        for a, b in zip(values_and_gradients(function, graph, inputs), expected, strict=True):
            torch.testing.assert_close(a, b, rtol=0, atol=1e-10)


def test_gradients(graph, operator):
    function, _, make = operator
    inputs = [x.requires_grad_() for x in make(graph)]
    if graph.num_nodes():
        assert torch.autograd.gradcheck(lambda *x: function(graph, *x), inputs)


@pytest.mark.parametrize("name", ["store", "shuffled int32"])
def test_float32_under_the_deterministic_setting_twice_the_same_bits(operator, name):
    function, plain, make = operator
    g = GRAPHS[name]()
    inputs = [x.float() for x in make(g)]
    torch.use_deterministic_algorithms(True)
    try:
        first, second = (values_and_gradients(function, g, inputs) for _ in range(2))
    finally:
        torch.use_deterministic_algorithms(False)
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    for a, b in zip(first, values_and_gradients(plain, g, inputs), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)


def test_many_edges_and_threads_twice_the_same_bits():
    torch.manual_seed(0)
    g = dgl.rand_graph(300, 20_000, idtype=torch.int32)
    for function, _, make in OPERATORS.values():
        inputs = [x.float() for x in make(g)]
        first, second = (values_and_gradients(function, g, inputs) for _ in range(2))
        assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("scale", [1e-3, 20.0, 40.0, 100.0, 1e4, 1e30])
def test_the_softmax_of_any_scores_sums_to_one(scale):
    g = shuffled()
    score = scale * torch.linspace(-1, 1, 40)[:, None].expand(-1, 2)
    score = torch.cat([score, score - 3 * scale], dim=1)  # some heads far below the others
    a = fused.edge_softmax(g, score)
    torch.testing.assert_close(a, ops.edge_softmax(g, score))
    sums = dgl.ops.copy_e_sum(g, a)
    torch.testing.assert_close(sums, (g.in_degrees() > 0).float()[:, None].expand_as(sums))


def test_a_destination_far_below_the_others_does_not_vanish():
    g = dgl.graph(([0, 1, 0, 1], [0, 0, 1, 1]))
    score = torch.tensor([[500.0], [500.0], [-500.0], [-501.0]])
    expected = torch.softmax(torch.tensor([-500.0, -501.0]), 0)
    torch.testing.assert_close(fused.edge_softmax(g, score)[2:, 0], expected)


def test_a_score_that_is_not_a_number_is_seen():
    score = torch.tensor([[float("nan")], [1.0]])
    assert fused.edge_softmax(dgl.graph(([0, 1], [0, 0])), score).isnan().all()


def test_a_maximum_over_no_neighbours_is_never_above_zero():
    for g, nothing in ((odd_graph(), -torch.inf), (GRAPHS["no edges"](), 0)):
        alone = g.in_degrees() == 0
        assert alone.any()
        for h in (ops.copy_u_max(g, node(g, D)), ops.u_mul_e_max(g, node(g, D), edge(g, D))):
            assert (h[alone] == nothing).all() and torch.isfinite(h[~alone]).all()


def test_nothing_is_left_on_the_graph(graph, operator):
    function, _, make = operator
    before = set(vars(graph))
    values_and_gradients(function, graph, make(graph))
    assert not graph.ndata and not graph.edata and set(vars(graph)) == before


def test_other_number_types_take_the_plain_formula():
    g = odd_graph()
    x = torch.randn(5, D).to(torch.bfloat16)
    assert not fused.suits(x) and fused.suits(x.float())
    assert not fused.suits(torch.empty(1, device="meta"))
    assert ops.u_add_v(g, x.float(), x.float()).shape == (6, D)
