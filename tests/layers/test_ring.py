"""The Ring-GNN layer against all 17 basis tensors of eq. (44), built one by one; equivariance, padding and gradients."""

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from layers.dense import PairNorm
from layers.padding import Padding
from layers.ring_layer import EquivariantMaps, RingLayer
from tests.layers.reference import randomised

torch.manual_seed(0)
IN, OUT = 3, 4


def basis(n):
    """The 15 linear maps of n x n matrices that commute with renumbering, {name: (n, n, n, n)}, T_ijkm of h_km to entry ij."""
    names = ["h_ij", "h_ji"]
    vectors = {"diagonal": lambda i, k, m: k == m == i, "row": lambda i, k, m: k == i, "column": lambda i, k, m: m == i}
    places = {"diagonal": lambda i, j: i if i == j else None, "row": lambda i, j: i, "column": lambda i, j: j}
    scalars = {"trace": lambda k, m: k == m, "total": lambda k, m: True}
    names += [f"{v} to {p}" for p in places for v in vectors] + [
        f"{s} to {p}" for p in ("diagonal", "all") for s in scalars
    ]
    T = {name: torch.zeros(n, n, n, n, dtype=torch.float64) for name in names}
    for i, j, k, m in itertools.product(range(n), repeat=4):
        T["h_ij"][i, j, k, m] = i == k and j == m
        T["h_ji"][i, j, k, m] = i == m and j == k
        for (v, vector), (p, place) in itertools.product(vectors.items(), places.items()):
            node = place(i, j)
            if node is not None and vector(node, k, m):
                T[f"{v} to {p}"][i, j, k, m] = 1 if v == "diagonal" else 1 / n
        for s, scalar in scalars.items():
            if scalar(k, m):
                T[f"{s} to all"][i, j, k, m] = 1 / n if s == "trace" else 1 / n**2
                T[f"{s} to diagonal"][i, j, k, m] = T[f"{s} to all"][i, j, k, m] if i == j else 0
    return T


def weights(L, m):
    """{name: (out, in)} of map m, in the names of `basis`."""
    W = {"h_ij": L.W_entry[m, :, 0], "h_ji": L.W_entry[m, :, 1]}
    for p, place in enumerate(("diagonal", "row", "column")):
        for v, vector in enumerate(("diagonal", "row", "column")):
            W[f"{vector} to {place}"] = L.W_vector[m, p, :, v]
    for p, place in enumerate(("diagonal", "all")):
        for s, scalar in enumerate(("trace", "total")):
            W[f"{scalar} to {place}"] = L.W_scalar[m, p, :, s]
    return W


def equivariant_map(L, m, h):
    """Eq. (44) for one graph: h (in, n, n) -> (out, n, n), without the bias along the diagonal."""
    n = h.shape[-1]
    T, W = basis(n), weights(L, m)
    assert T.keys() == W.keys() and len(T) == 15
    return sum(torch.einsum("oc,ijkl,ckl->oij", W[name], T[name], h) for name in T)


def by_equation(layer, h, biased):
    """Eq. (43) for one graph, with 1, 2, … factors in the terms, of which the first, the last or all have a diagonal bias."""
    eye = torch.eye(h.shape[-1], dtype=h.dtype)
    m, out = 0, layer.b[..., 0]
    for n_factors in range(1, len(layer.w) + 1):
        product = layer.w[n_factors - 1] * eye.expand(OUT, -1, -1)
        with_bias = {"first": [0], "last": [n_factors - 1], "all": range(n_factors)}[biased]
        for k in range(n_factors):
            factor = equivariant_map(layer.L, m + k, h)
            if k in with_bias:
                factor = factor + layer.L.diagonal_bias[m + k][:, None, None] * eye
            product = torch.einsum("cip,cpj->cij", product, factor)
        m, out = m + n_factors, out + product
    if layer.norm is not None:
        mean = out.mean((1, 2), keepdim=True)
        out = (out - mean) / torch.sqrt(out.var((1, 2), unbiased=False, keepdim=True) + 1e-6)
        out = layer.norm.weight[..., 0] * out + layer.norm.bias[..., 0]
    out = out.clamp(min=0)
    if layer.R is not None:
        out = out + torch.einsum("oc,cij->oij", layer.R.weight, h) + layer.R.bias[:, None, None]
    return out


def padded(graphs):
    """[(d, n_b, n_b)] -> (d, B, n, n), padding."""
    padding = Padding(torch.tensor([h.shape[-1] for h in graphs]), torch.float64)
    out = torch.zeros(graphs[0].shape[0], len(graphs), padding.n, padding.n, dtype=torch.float64)
    for b, h in enumerate(graphs):
        out[:, b, : h.shape[-1], : h.shape[-1]] = h
    return out, padding


def random_graphs(sizes, dim=IN):
    return [torch.randn(dim, n, n, dtype=torch.float64) for n in sizes]


OPTIONS = {
    "program": {},
    "program, transposed": {"biased": "first"},
    "text": {"biased": "all"},
    "residual": {"residual": True},
    "layer norm": {"layer_norm": True},
    "radius 1": {"radius": 1},
    "radius 3": {"radius": 3, "residual": True},
    "radius 3, transposed": {"radius": 3, "biased": "first"},
}


@pytest.fixture(params=OPTIONS)
def options(request):
    return OPTIONS[request.param]


@pytest.fixture
def layer(options):
    return randomised(RingLayer(IN, OUT, **options))


def test_the_15_maps_are_independent_and_complete():
    rows = torch.stack([T.flatten() for T in basis(4).values()])
    assert rows.shape[0] == 15 and torch.linalg.matrix_rank(rows) == 15
    # there are as many equivariant maps as ways to divide four indices into groups: the space is spanned
    orbits = {tuple(index.index(x) for x in index) for index in itertools.product(range(4), repeat=4)}
    assert len(orbits) == 15


@pytest.mark.parametrize("name", basis(2))
def test_each_map_is_equivariant(name):
    T, h, p = basis(4)[name], torch.randn(4, 4, dtype=torch.float64), torch.randperm(4)
    apply = lambda h: torch.einsum("ijkl,kl->ij", T, h)  # noqa: E731
    torch.testing.assert_close(apply(h[p][:, p]), apply(h)[p][:, p], rtol=0, atol=1e-12)


def test_each_map_alone_is_in_the_layer_once():
    n = 4
    h, padding = padded(random_graphs([n]))
    for name, T in basis(n).items():
        L = EquivariantMaps(IN, OUT, 1, biased=[]).double()
        for p in L.parameters():
            torch.nn.init.zeros_(p)
        with torch.no_grad():
            weights(L, 0)[name].copy_(torch.randn(OUT, IN))
        expected = torch.einsum("oc,ijkl,ckl->oij", weights(L, 0)[name], T, h[:, 0])
        (out,) = L(h, padding, torch.ones(1, dtype=h.dtype), torch.zeros(OUT, dtype=h.dtype))
        torch.testing.assert_close(out[:, 0], expected, rtol=0, atol=1e-12)
        assert out.abs().max() > 0, name


@pytest.mark.parametrize("sizes", [[4], [1], [3, 3], [5, 1, 3, 4]], ids=str)
def test_equals_the_equation(layer, options, sizes):
    graphs = random_graphs(sizes)
    h, padding = padded(graphs)
    expected, _ = padded([by_equation(layer, graph, options.get("biased", "last")) for graph in graphs])
    torch.testing.assert_close(layer(h, padding), expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("sizes", [[4], [1], [5, 1, 3, 4]], ids=str)
def test_the_plain_formula_gives_the_same_values_and_gradients(layer, sizes):
    h, padding = padded(random_graphs(sizes))
    results = []
    for way in (layer, layer.plain):
        layer.zero_grad()
        x = h.clone().requires_grad_()
        y = way(padding.zero_(1 * x), padding)  # a layer takes zeros at the padding
        (y * torch.arange(y.numel(), dtype=y.dtype).cos().view_as(y)).sum().backward()
        results.append([y, *(p.grad for p in (x, *layer.parameters()))])
    for seen, expected in zip(*results, strict=True):
        torch.testing.assert_close(seen, expected, rtol=0, atol=1e-10)


def test_renumbered_nodes_give_renumbered_output(layer):
    h, padding = padded(random_graphs([5]))
    p = torch.randperm(5)
    expected = layer(h, padding)[:, :, p][..., p]
    torch.testing.assert_close(layer(h[:, :, p][..., p], padding), expected, rtol=0, atol=1e-10)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=5))
def test_a_batch_equals_its_graphs_one_by_one(sizes):
    layer = randomised(RingLayer(IN, OUT, layer_norm=True, residual=True))
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


def test_factors_that_are_unknown_are_refused():
    with pytest.raises(ValueError, match="biased='none': expected one of first, last, all"):
        RingLayer(IN, OUT, biased="none")


def test_the_residual_map_starts_as_nn_linear():
    torch.manual_seed(0)
    R = RingLayer(300, 200, residual=True).R
    assert R.weight.abs().max().item() == pytest.approx(300**-0.5, rel=0.01)
    assert R.bias.abs().max().item() == pytest.approx(300**-0.5, rel=0.05)


def test_the_norm_of_equal_entries_is_its_bias():
    norm = randomised(PairNorm(2))
    h, padding = padded([torch.full((2, n, n), 3.0, dtype=torch.float64) for n in (3, 1)])
    out = norm(h, padding)
    torch.testing.assert_close(out[:, 0], norm.bias[:, 0].expand(2, 3, 3), rtol=0, atol=1e-12)
    torch.testing.assert_close(out[:, 1, 0, 0], norm.bias[:, 0, 0, 0], rtol=0, atol=1e-12)
    assert (out[:, 1, 1:] == 0).all() and (out[:, 1, :, 1:] == 0).all()
