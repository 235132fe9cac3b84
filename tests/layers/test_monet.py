"""MoNet against a loop written from eq. (21)-(23), (29) and (73), and against DGL's own layer."""

import pytest
import torch
from dgl.nn import GMMConv

from layers.monet_layer import MoNetLayer, degree_coordinates
from tests.layers import laws
from tests.layers.reference import DIM, DST, SRC, N, batch_norm, in_edges, odd_graph, randomised


def degree(i):
    return max(len(in_edges(i)), 1)  # no in-edge counts as one


def monet_by_loop(layer, h):
    rows = []
    K, in_dim = len(layer.mu), h.shape[1]
    for i in range(N):
        h_hat = layer.U.bias
        for k in range(K):
            U_k = layer.U.weight[:, k * in_dim : (k + 1) * in_dim]
            inverse_sigma = torch.diag(layer.s[k] ** 2)
            for _, j in in_edges(i):
                coordinates = torch.tensor([degree(i) ** -0.5, degree(j) ** -0.5], dtype=torch.float64)
                offset = torch.tanh(layer.A.weight @ coordinates + layer.A.bias) - layer.mu[k]
                h_hat = h_hat + torch.exp(-0.5 * offset @ inverse_sigma @ offset) * (U_k @ h[j])
        rows.append(h_hat)
    h_hat = torch.stack(rows)
    if layer.graph_norm:
        h_hat = h_hat / N**0.5
    h_new = batch_norm(h_hat, layer.norm).clamp(min=0)
    return h + h_new if layer.residual else h_new


CASES = {
    "as in the tables": lambda: MoNetLayer(DIM, DIM),
    "plain": lambda: MoNetLayer(DIM, DIM, batch_norm=False, residual=False),
    "graph norm": lambda: MoNetLayer(DIM, DIM, graph_norm=True),
    "other sizes": lambda: MoNetLayer(DIM, 4, n_kernels=2, pseudo_dim=3),
}


@pytest.fixture(params=CASES)
def layer(request):
    torch.manual_seed(0)
    return randomised(CASES[request.param]())


def test_equals_the_loop(layer):
    laws.equals_the_loop(layer, monet_by_loop)


@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: law.__name__)
def test_laws(layer, law):
    law(layer)


def test_coordinates_by_hand_are_finite_and_the_end_of_an_edge_comes_first():
    root = [2**-0.5, 1, 3**-0.5, 1, 1]  # nodes 3 and 4 have no in-edge
    expected = torch.tensor([[root[i], root[j]] for j, i in zip(SRC, DST, strict=True)], dtype=torch.float64)
    laws.close([degree_coordinates(odd_graph(), torch.float64)], [expected])


def test_equals_gmmconv_with_its_weights():
    """U^k are the rows of fc that make kernel k; μ, s and b are mu, inv_sigma and bias. GMMConv takes u_ij as given."""
    torch.manual_seed(0)
    conv = randomised(GMMConv(DIM, 4, dim=2, n_kernels=3, allow_zero_in_degree=True))
    layer = randomised(MoNetLayer(DIM, 4, batch_norm=False, residual=False))
    with torch.no_grad():
        layer.U.weight.copy_(torch.cat(conv.fc.weight.split(4), dim=1))
        layer.U.bias.copy_(conv.bias)
        layer.mu.copy_(conv.mu)
        layer.s.copy_(conv.inv_sigma)
    g = odd_graph()
    (h,) = laws.random_inputs(g, edges=False)
    u = torch.tanh(layer.A(degree_coordinates(g, h.dtype)))
    laws.close([layer(g, h)], [conv(g, h, u).relu()])


def test_weights_are_never_above_one_whatever_the_parameters(layer):
    assert (layer.kernels(odd_graph(), torch.float64) <= 1).all()
