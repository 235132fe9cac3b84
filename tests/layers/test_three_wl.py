"""The 3-WL layer against loops over (40)-(42), with and without the program's ReLU; equivariance, padding, pooling, gradients."""

import copy
from unittest import mock

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from layers import fused, matmul
from layers.dense import dropout, max_diagonal_and_rest
from layers.padding import Padding
from layers.three_wl_layer import ThreeWLLayer
from tests.layers.reference import randomised
from tests.layers.test_ring import padded, random_graphs

torch.manual_seed(0)
IN, OUT = 3, 4


def mlp(M, x):
    """Eq. (41) for one vector, with any number of maps; in the program's form with a ReLU after the last too."""
    for i, channel_map in enumerate(M.maps):
        x = channel_map.weight @ (x.clamp(min=0) if i else x) + channel_map.bias
    return x.clamp(min=0) if M.last_relu else x


def by_loop(layer, h):
    """Eq. (40) and (42) for one graph: h (in, n, n) -> (out, n, n)."""
    n = h.shape[-1]
    out = torch.zeros(OUT, n, n, dtype=h.dtype)
    for i in range(n):
        for j in range(n):
            product = sum(mlp(layer.M1, h[:, i, p]) * mlp(layer.M2, h[:, p, j]) for p in range(n))
            W = torch.cat([layer.W_h.weight, layer.W_m.weight], 1)
            out[:, i, j] = W @ torch.cat([h[:, i, j], product]) + layer.W_h.bias
    if layer.norm is not None:
        mean, var = out.mean((1, 2), keepdim=True), out.var((1, 2), unbiased=False, keepdim=True)
        out = layer.norm.weight[..., 0] * (out - mean) / torch.sqrt(var + 1e-6) + layer.norm.bias[..., 0]
    if layer.R is not None:
        out = out + torch.einsum("oc,cij->oij", layer.R.weight, h) + layer.R.bias[:, None, None]
    return out


OPTIONS = {
    "program": {},
    "residual": {"residual": True},
    "layer norm": {"layer_norm": True, "residual": True},
    "depth 1": {"depth_of_mlp": 1},
    "depth 3": {"depth_of_mlp": 3},
    "text": {"form": "text"},
}


@pytest.fixture(params=OPTIONS)
def layer(request):
    return randomised(ThreeWLLayer(IN, OUT, **OPTIONS[request.param]))


@pytest.mark.parametrize("sizes", [[4], [1], [3, 3], [5, 1, 3]], ids=str)
def test_equals_the_loop(layer, sizes):
    graphs = random_graphs(sizes)
    expected, _ = padded([by_loop(layer, graph) for graph in graphs])
    torch.testing.assert_close(layer(*padded(graphs)), expected, rtol=0, atol=1e-10)


def test_the_form_decides_on_the_last_relu():
    assert ThreeWLLayer(IN, OUT).M1.last_relu and not ThreeWLLayer(IN, OUT, form="text").M2.last_relu
    with pytest.raises(ValueError, match="form='equation': expected one of program, text"):
        ThreeWLLayer(IN, OUT, form="equation")


def test_first_weights_are_those_of_the_program():
    """Xavier-uniform, [W_h W_m] as one map of in + out channels, biases 0; the residual map as nn.Linear has it."""
    torch.manual_seed(0)
    layer = ThreeWLLayer(300, 200, residual=True)
    bounds = {"W_h": 6 / (500 + 200), "W_m": 6 / (500 + 200), "R": 1 / 300, "M1.maps.0": 6 / 500, "M2.maps.1": 6 / 400}
    for name, square in bounds.items():
        assert layer.get_submodule(name).weight.abs().max().item() == pytest.approx(square**0.5, rel=0.01), name
    assert layer.R.bias.abs().max().item() == pytest.approx(300**-0.5, rel=0.05)
    assert not any(m.bias.any() for m in (layer.W_h, *layer.M1.maps, *layer.M2.maps))


def test_renumbered_nodes_give_renumbered_output(layer):
    h, padding = padded(random_graphs([5]))
    p = torch.randperm(5)
    expected = layer(h, padding)[:, :, p][..., p]
    torch.testing.assert_close(layer(h[:, :, p][..., p], padding), expected, rtol=0, atol=1e-10)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=5))
def test_a_batch_equals_its_graphs_one_by_one(sizes):
    layer = randomised(ThreeWLLayer(IN, OUT, layer_norm=True, residual=True))
    graphs = random_graphs(sizes)
    expected, _ = padded([layer(*padded([graph]))[:, 0] for graph in graphs])
    torch.testing.assert_close(layer(*padded(graphs)), expected, rtol=0, atol=1e-10)


def test_gradients(layer):
    h, padding = padded(random_graphs([3, 2]))
    h.requires_grad_()
    names, params = zip(*layer.named_parameters(), strict=True)

    def output(h, *params):
        h = h * padding.mask  # a layer takes zeros at the padding
        return torch.func.functional_call(layer, dict(zip(names, params, strict=True)), (h, padding))

    assert torch.autograd.gradcheck(output, (h, *params), fast_mode=True)


def test_the_maxima_never_see_padding_and_are_0_over_nothing():
    graphs = [-1 - torch.rand(2, n, n, dtype=torch.float64) for n in (3, 1, 2)]  # all below the 0 of the padding
    y = max_diagonal_and_rest(*padded(graphs))
    for b, h in enumerate(graphs):
        n = h.shape[-1]
        for c in range(2):
            assert y[b, c] == max(h[c, i, i] for i in range(n))
            rest = [h[c, i, j] for i in range(n) for j in range(n) if i != j]
            assert y[b, 2 + c] == (max(rest) if rest else 0)


def test_the_maxima_of_a_graph_without_nodes_are_0():
    padding = Padding(torch.tensor([0, 2]), torch.float64)
    h = torch.full((1, 2, 2, 2), -5.0, dtype=torch.float64) * padding.mask
    assert max_diagonal_and_rest(h, padding).tolist() == [[0, 0], [-5, -5]]


def test_gradients_of_the_maxima():
    h, padding = padded(random_graphs([3, 1, 2]))
    h.requires_grad_()
    assert torch.autograd.gradcheck(lambda h: max_diagonal_and_rest(h, padding), (h,))
    max_diagonal_and_rest(h, padding).sum().backward()
    assert (h.grad[:, 1, 1:] == 0).all() and (h.grad[:, 1, :, 1:] == 0).all()


def test_the_noise_of_dropout_belongs_to_the_graph():
    graphs = [torch.ones(200, n, n, dtype=torch.float64) for n in (3, 1)]
    seeds = torch.tensor([5, 6])
    both = dropout(*both_of(graphs), seeds)
    for b, graph in enumerate(graphs):
        n = graph.shape[-1]
        alone = dropout(*both_of([graph]), seeds[b : b + 1])
        assert torch.equal(both[:, b, :n, :n], alone[:, 0])
    assert set(both[:, 0].unique().tolist()) == {0, 4 / 3}
    assert 0.70 < (both[:, 0] > 0).double().mean() < 0.80


def both_of(graphs):
    h, padding = padded(graphs)
    return h, 0.25, padding


compiled_loops = pytest.mark.skipif(fused.loops() is None, reason="the compiled loops need torch's OpenMP on Linux")


@compiled_loops
@pytest.mark.parametrize("sizes", [[4], [1, 1], [5, 1, 3, 0], [23, 40]], ids=str)
def test_the_maxima_in_one_step(sizes):
    """float32 is computed by compiled loops, float64 by the plain formula: the same numbers, gradients in equal shares."""
    n, generator = max(sizes), torch.Generator().manual_seed(0)
    padding = Padding(torch.tensor(sizes), torch.float32)
    h = torch.randint(-3, 4, (OUT, len(sizes), n, n), generator=generator).float()  # with many equal ones
    h = padding.zero_(h).requires_grad_()
    exact = h.detach().double().requires_grad_()
    d = torch.randn(len(sizes), 2 * OUT, generator=generator)
    for x in (h, exact):
        pooled = max_diagonal_and_rest(x, padding)
        (pooled * d).sum().backward()
    assert torch.equal(max_diagonal_and_rest(h, padding), pooled.float())
    torch.testing.assert_close(h.grad, exact.grad.float())


@compiled_loops
def test_a_maximum_with_nan_is_nan():
    h = torch.randn(OUT, 1, 20, 20)
    h[0, 0, 3, 3], h[1, 0, 3, 17] = torch.nan, torch.nan
    pooled = max_diagonal_and_rest(h, Padding(torch.tensor([20]), torch.float32))[0]
    assert pooled.isnan().nonzero().flatten().tolist() == [0, OUT + 1]


@compiled_loops
@pytest.mark.parametrize("sizes", [[30, 30], [30, 7, 19]], ids=str)
def test_float32_is_close_to_float64(layer, sizes):
    """Also with the products of layers/matmul.py, wherever the test runs."""
    graphs = random_graphs(sizes)
    h, padding = padded(graphs)
    d = torch.randn_like(layer(h, padding))
    results = []
    for dtype in (torch.float64, torch.float32):
        net, x = copy.deepcopy(layer).to(dtype), h.detach().to(dtype, copy=True).requires_grad_()
        with mock.patch.object(fused, "matrices", lambda: matmul), mock.patch.object(fused, "MANY", 1):
            out = net(x, Padding(torch.tensor(sizes), dtype))
            (out * d.to(dtype)).sum().backward()
        results.append([x.double() for x in (out, x.grad, *(p.grad for p in net.parameters()))])
    for exact, mine in zip(*results, strict=True):
        torch.testing.assert_close(mine, exact, rtol=1e-5, atol=1e-5 * max(exact.abs().max().item(), 100))
