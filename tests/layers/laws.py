"""What must hold for every layer, whatever its equation. A layer is called as layer(g, h) or, with edges, as layer(g, h, e)."""

from unittest import mock

import dgl
import torch
from torch.func import functional_call

from layers import fused
from tests.layers.reference import DIM, N, odd_graph, renumbered


def random_inputs(g, edges, seed=0):
    generator = torch.Generator().manual_seed(seed)
    sizes = [g.num_nodes(), g.num_edges()] if edges else [g.num_nodes()]
    return [torch.randn(n, DIM, dtype=torch.float64, generator=generator) for n in sizes]


def outputs(layer, g, *inputs):
    """As a list, also of layers that give h alone."""
    out = layer(g, *inputs)
    return list(out) if isinstance(out, tuple) else [out]


def close(seen, expected):
    assert len(seen) == len(expected)
    for a, b in zip(seen, expected, strict=True):
        assert a.shape == b.shape
        torch.testing.assert_close(a, b, rtol=0, atol=1e-10)


def equals_the_loop(layer, loop, edges=False):
    g = odd_graph()
    inputs = random_inputs(g, edges)
    expected = loop(layer, *inputs)
    close(outputs(layer, g, *inputs), list(expected) if isinstance(expected, tuple) else [expected])


def follows_the_numbering(layer, edges=False):
    """Renumbered nodes give renumbered output; the edges keep their order."""
    g = odd_graph()
    h, *e = random_inputs(g, edges)
    number = torch.tensor([3, 0, 4, 2, 1])  # node i becomes number[i]
    h_renumbered = torch.empty_like(h)
    h_renumbered[number] = h
    seen = outputs(layer, renumbered(number), h_renumbered, *e)
    seen[0] = seen[0][number]
    close(seen, outputs(layer, g, h, *e))


def ignores_the_order_of_edges(layer, edges=False):
    g = odd_graph()
    h, *e = random_inputs(g, edges)
    order = torch.tensor([4, 2, 5, 0, 3, 1])
    src, dst = g.edges()
    seen = outputs(layer, dgl.graph((src[order], dst[order]), num_nodes=N), h, *(x[order] for x in e))
    expected = outputs(layer, g, h, *e)
    close(seen, [expected[0], *(x[order] for x in expected[1:])])


def has_right_gradients(layer, edges=False):
    """With respect to the inputs and to every parameter, under the setting that training runs with."""
    g = odd_graph()
    inputs = random_inputs(g, edges)
    names = [name for name, _ in layer.named_parameters()]

    def function(*values):
        parameters = dict(zip(names, values[len(inputs) :], strict=True))
        return functional_call(layer, parameters, (g, *values[: len(inputs)]))

    variables = [x.detach().clone().requires_grad_() for x in (*inputs, *layer.parameters())]
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True)
    try:
        assert torch.autograd.gradcheck(function, variables, fast_mode=True)
    finally:
        torch.use_deterministic_algorithms(before)


def leaves_nothing_on_the_graph(layer, edges=False):
    g = odd_graph()
    layer(g, *random_inputs(g, edges))
    assert not g.ndata and not g.edata


def treats_a_batch_as_its_graphs(layer, edges=False):
    """In evaluation mode; among the graphs a single node, nodes without edges, and none of either."""
    for module in layer.modules():
        if isinstance(module, torch.nn.BatchNorm1d):
            module.running_mean.normal_()
            module.running_var.uniform_(0.5, 2)
    layer.eval()
    graphs = [
        odd_graph(),
        dgl.graph(([], []), num_nodes=1),
        dgl.graph(([0], [0])),
        dgl.graph(([], []), num_nodes=3),
        dgl.graph(([], []), num_nodes=0),
        dgl.graph(([0, 1, 2], [1, 0, 1])),
    ]
    inputs = [random_inputs(g, edges, seed) for seed, g in enumerate(graphs)]
    one_by_one = [outputs(layer, g, *x) for g, x in zip(graphs, inputs, strict=True)]
    together = outputs(layer, dgl.batch(graphs), *(torch.cat(x) for x in zip(*inputs, strict=True)))
    close(together, [torch.cat(x) for x in zip(*one_by_one, strict=True)])
    assert len(together[0]) == sum(g.num_nodes() for g in graphs)


def works_on_batches_of_the_store(layer, edges=False):
    """Which are float32 and in CSC form with consecutive edge numbers; DGL has kernels of its own for both."""
    g = odd_graph()
    h, *e = random_inputs(g, edges)
    src, dst = g.edges()
    order = dst.argsort(stable=True)
    indptr = torch.cat([torch.zeros(1, dtype=torch.int64), g.in_degrees().cumsum(0)])
    packed = dgl.graph(("csc", (indptr, src[order], torch.tensor([], dtype=torch.int64))), num_nodes=N)
    inputs = [x.float().requires_grad_() for x in (h, *(x[order] for x in e))]
    expected = outputs(layer, g, h, *e)
    seen = outputs(layer.float(), packed, *inputs)
    for a, b in zip(seen, [expected[0], *(x[order] for x in expected[1:])], strict=True):
        torch.testing.assert_close(a.double(), b, rtol=1e-3, atol=1e-4)
    sum(a.square().sum() for a in seen).backward()
    assert all(torch.isfinite(x.grad).all() for x in (*inputs, *layer.parameters()))


def equals_its_plain_formula(layer, edges=False):
    """The fused functions give the values and gradients of the formula beside them; they are called at all."""
    g = odd_graph()

    def values_and_gradients(suits):
        inputs = [x.requires_grad_() for x in random_inputs(g, edges)]
        layer.zero_grad()
        with mock.patch.object(fused, "suits", return_value=suits) as asked:
            values = outputs(layer, g, *inputs)
        assert asked.called
        sum((x * torch.randn(x.shape, generator=torch.Generator().manual_seed(1))).sum() for x in values).backward()
        return [*values, *(x.grad for x in (*inputs, *layer.parameters()))]

    close(values_and_gradients(True), values_and_gradients(False))


def gives_the_same_nodes_without_edges(layer):
    """As the last layer of a net: what it has for e' gets no gradient, and everything else does."""
    g = odd_graph()
    h, e = random_inputs(g, edges=True)
    nodes, none = layer(g, h, e, edges=False)
    assert none is None and torch.equal(nodes, layer(g, h, e)[0])
    nodes.square().sum().backward()
    for_edges = {name for name, _ in layer.named_parameters() if name in ("B", "b") or name.startswith("update_e.")}
    assert {name for name, p in layer.named_parameters() if p.grad is None} <= for_edges
    assert all(p.grad is None for name, p in layer.named_parameters() if name.startswith("update_e."))


LAWS = [
    follows_the_numbering,
    ignores_the_order_of_edges,
    has_right_gradients,
    leaves_nothing_on_the_graph,
    treats_a_batch_as_its_graphs,
    works_on_batches_of_the_store,
]
