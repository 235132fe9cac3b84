"""MoNet against a loop: the program's form, and that of eq. (21)-(23), (29) and (73); and against DGL's own layer."""

import pytest
import torch
from dgl.nn import GMMConv

from layers import fused
from layers.monet_layer import MoNetLayer, degree_coordinates
from tests.layers import laws
from tests.layers.reference import DIM, DST, SRC, N, in_edges, odd_graph, randomised, updated


def root_of_degree(layer, i):
    degree = len(in_edges(i)) + 1 if layer.form == "program" else max(len(in_edges(i)), 1)  # no in-edge counts as one
    return degree**-0.5


def monet_by_loop(layer, h):
    rows = []
    K, in_dim = len(layer.mu), h.shape[1]
    for i in range(N):
        h_hat = torch.zeros_like(layer.U.bias) if layer.form == "program" else layer.U.bias
        for k in range(K):
            U_k = layer.U.weight[:, k * in_dim : (k + 1) * in_dim]
            inverse_sigma = torch.diag(layer.s[k] ** 2)
            for _, j in in_edges(i):
                coordinates = torch.tensor([root_of_degree(layer, end) for end in (i, j)], dtype=torch.float64)
                offset = torch.tanh(layer.A.weight @ coordinates + layer.A.bias) - layer.mu[k]
                h_hat = h_hat + torch.exp(-0.5 * offset @ inverse_sigma @ offset) * (U_k @ h[j])
        rows.append(h_hat)
    h_new = updated(layer.update_h, h, torch.stack(rows))
    return h_new + layer.U.bias if layer.form == "program" else h_new


CASES = {
    "as in the tables": lambda: MoNetLayer(DIM, DIM),
    "plain": lambda: MoNetLayer(DIM, DIM, batch_norm=False, residual=False),
    "graph norm": lambda: MoNetLayer(DIM, DIM, graph_norm=True),
    "other sizes": lambda: MoNetLayer(DIM, 4, n_kernels=2, pseudo_dim=3),
    "text": lambda: MoNetLayer(DIM, DIM, form="text"),
    "text plain": lambda: MoNetLayer(DIM, DIM, batch_norm=False, residual=False, form="text"),
}


@pytest.fixture(params=CASES)
def layer(request):
    torch.manual_seed(0)
    return randomised(CASES[request.param]())


@pytest.fixture(params=["fused", "plain"])
def way(request, monkeypatch):
    if request.param == "plain":
        monkeypatch.setattr(fused, "suits", lambda x: False)


def test_equals_the_loop(layer, way):
    laws.equals_the_loop(layer, monet_by_loop)


@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: law.__name__)
def test_laws(layer, law, way):
    law(layer)


def test_the_fused_sum_equals_the_formula_beside_it(layer):
    laws.equals_its_plain_formula(layer)


def test_coordinates_by_hand_are_finite_and_the_end_of_an_edge_comes_first():
    roots = {"program": [3**-0.5, 2**-0.5, 4**-0.5, 1, 1], "text": [2**-0.5, 1, 3**-0.5, 1, 1]}  # 3, 4: no in-edge
    for form, root in roots.items():
        expected = torch.tensor([[root[i], root[j]] for j, i in zip(SRC, DST, strict=True)], dtype=torch.float64)
        laws.close([degree_coordinates(odd_graph(), torch.float64, form)], [expected])


def test_equals_gmmconv_with_its_weights():
    """U^k are the rows of fc that make kernel k; μ, s and b are mu, inv_sigma and bias. GMMConv takes u_ij as given."""
    torch.manual_seed(0)
    conv = randomised(GMMConv(DIM, 4, dim=2, n_kernels=3, allow_zero_in_degree=True))
    layer = randomised(MoNetLayer(DIM, 4, batch_norm=False, residual=False, form="text"))
    with torch.no_grad():
        layer.U.weight.copy_(torch.cat(conv.fc.weight.split(4), dim=1))
        layer.U.bias.copy_(conv.bias)
        layer.mu.copy_(conv.mu)
        layer.s.copy_(conv.inv_sigma)
    g = odd_graph()
    (h,) = laws.random_inputs(g, edges=False)
    u = torch.tanh(layer.A(degree_coordinates(g, h.dtype, "text")))
    laws.close([layer(g, h)], [conv(g, h, u).relu()])


def test_first_weights_are_those_of_the_program():
    """U Xavier-normal with gain √2 as a matrix of 3 · 400 rows and 200 columns, b = 0, μ ~ N(0, 0.1), s = 1."""
    torch.manual_seed(0)
    layer = MoNetLayer(200, 400)
    assert layer.U.weight.std().item() == pytest.approx(2**0.5 * (2 / (3 * 400 + 200)) ** 0.5, rel=0.01)
    assert not layer.U.bias.any() and (layer.s == 1).all()
    assert torch.cat([MoNetLayer(1, 1).mu for _ in range(200)]).std().item() == pytest.approx(0.1, rel=0.1)


def test_an_unknown_form_is_refused():
    with pytest.raises(ValueError, match="form='equation': expected one of program, text"):
        MoNetLayer(2, 2, form="equation")


def test_weights_are_never_above_one_whatever_the_parameters(layer):
    assert (layer.kernels(odd_graph(), torch.float64) <= 1).all()
