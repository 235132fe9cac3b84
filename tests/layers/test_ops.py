"""The fused operators equal the plain formulas in values and gradients, on any graph, to the bit the same each time."""

import dgl
import pytest
import torch
import torch.nn.functional as F

from layers import ops
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


# name: fused, plain, inputs
OPERATORS = {
    "gated mean": (
        ops.gated_mean,
        ops.gated_mean_plain,
        lambda g: [node(g, D), node(g, D), node(g, D), edge(g, K), torch.randn(D, K, dtype=torch.float64)],
    ),
    "gated mean of nodes": (ops.gated_mean, ops.gated_mean_plain, lambda g: [node(g, D), node(g, D), node(g, D)]),
    "weighted sum": (ops.weighted_sum, ops.weighted_sum_plain, lambda g: [node(g, K, D), edge(g, K)]),
    "weighted sum, one head": (ops.weighted_sum, ops.weighted_sum_plain, lambda g: [node(g, 1, D), edge(g, 1)]),
    "softmax": (ops.edge_softmax, ops.edge_softmax_plain, lambda g: [edge(g, K)]),
    "softmax of large scores": (ops.edge_softmax, ops.edge_softmax_plain, lambda g: [1000 * edge(g, K)]),
    "u_add_v": (
        ops.u_add_v,
        lambda g, u, v: u[g.edges()[0].long()] + v[g.edges()[1].long()],
        lambda g: [node(g, D), node(g, D)],
    ),
}


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
    torch.autograd.backward(out, [torch.randn(x.shape, dtype=x.dtype, generator=r) for x in out])
    return [*out, *(x.grad for x in inputs)]


def test_equal_to_the_plain_formula(graph, operator, monkeypatch):
    fused, plain, make = operator
    inputs = make(graph)
    expected = values_and_gradients(plain, graph, inputs)
    for block in (ops.BLOCK, 8):  # all edges at once, and two by two
        monkeypatch.setattr(ops, "BLOCK", block)
        for a, b in zip(values_and_gradients(fused, graph, inputs), expected, strict=True):
            torch.testing.assert_close(a, b, rtol=0, atol=1e-10)


def test_gradients(graph, operator):
    fused, _, make = operator
    inputs = [x.requires_grad_() for x in make(graph)]
    if graph.num_nodes():
        assert torch.autograd.gradcheck(lambda *x: fused(graph, *x), inputs)


@pytest.mark.parametrize("name", ["store", "shuffled int32"])
def test_float32_under_the_deterministic_setting_twice_the_same_bits(operator, name):
    fused, plain, make = operator
    g = GRAPHS[name]()
    inputs = [x.float() for x in make(g)]
    torch.use_deterministic_algorithms(True)
    try:
        first, second = (values_and_gradients(fused, g, inputs) for _ in range(2))
    finally:
        torch.use_deterministic_algorithms(False)
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    for a, b in zip(first, values_and_gradients(plain, g, inputs), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)


def test_many_edges_and_threads_twice_the_same_bits():
    torch.manual_seed(0)
    g = dgl.rand_graph(300, 20_000, idtype=torch.int32)
    for fused, _, make in OPERATORS.values():
        inputs = [x.float() for x in make(g)]
        first, second = (values_and_gradients(fused, g, inputs) for _ in range(2))
        assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("scale", [1e-3, 20.0, 40.0, 100.0, 1e4, 1e30])
def test_the_softmax_of_any_scores_sums_to_one(scale):
    g = shuffled()
    score = scale * torch.linspace(-1, 1, 40)[:, None].expand(-1, 2)
    score = torch.cat([score, score - 3 * scale], dim=1)  # some heads far below the others
    a = ops.edge_softmax(g, score)
    torch.testing.assert_close(a, ops.edge_softmax_plain(g, score))
    sums = dgl.ops.copy_e_sum(g, a)
    torch.testing.assert_close(sums, (g.in_degrees() > 0).float()[:, None].expand_as(sums))


def test_a_destination_far_below_the_others_does_not_vanish():
    g = dgl.graph(([0, 1, 0, 1], [0, 0, 1, 1]))
    score = torch.tensor([[500.0], [500.0], [-500.0], [-501.0]])
    expected = torch.softmax(torch.tensor([-500.0, -501.0]), 0)
    torch.testing.assert_close(ops.edge_softmax(g, score)[2:, 0], expected)


def test_a_score_that_is_not_a_number_is_seen():
    score = torch.tensor([[float("nan")], [1.0]])
    assert ops.edge_softmax(dgl.graph(([0, 1], [0, 0])), score).isnan().all()


def test_nothing_is_left_on_the_graph(graph, operator):
    fused, _, make = operator
    before = set(vars(graph))
    values_and_gradients(fused, graph, make(graph))
    assert not graph.ndata and not graph.edata and set(vars(graph)) == before


def test_other_number_types_take_the_plain_formula():
    g = odd_graph()
    x = torch.randn(5, D).to(torch.bfloat16)
    assert not ops.is_fused(x) and ops.is_fused(x.float())
    assert not ops.is_fused(torch.empty(1, device="meta"))
    assert ops.u_add_v(g, x.float(), x.float()).shape == (6, D)


def test_parameters_without_influence_get_a_zero_gradient():
    p, h = torch.nn.Parameter(torch.ones(3)), torch.ones(2, requires_grad=True)
    out = ops.without_influence(F.relu(h), [p])
    out.sum().backward()
    assert torch.equal(out, h) and torch.equal(h.grad, torch.ones(2)) and torch.equal(p.grad, torch.zeros(3))
