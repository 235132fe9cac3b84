"""GatedGCN and its variants against loops written from eq. (24)-(26), (29), (55)-(60) and (73), and against DGL's own layer."""

import dgl
import pytest
import torch

from layers import fused
from layers.gatedgcn_layer import EdgeFeatGatedGCNLayer, GatedGCNLayer, IsotropicGatedGCNLayer
from tests.layers import laws
from tests.layers.reference import DIM, DST, SRC, E, N, in_edges, odd_graph, randomised, updated


def finish(layer, h, rows):
    return updated(layer.update_h, h, torch.stack(rows))


def isotropic_by_loop(layer, h):
    """Eq. (55)."""
    return finish(layer, h, [layer.U(h[i]) + sum(layer.V(h[j]) for _, j in in_edges(i)) for i in range(N)])


def gated_rows(layer, h, e_hat):
    """Eq. (24)-(25), (56)-(59): the argument of BN for each node."""
    rows = []
    for i in range(N):
        total = sum(torch.sigmoid(e_hat[edge]) for edge, _ in in_edges(i)) + 1e-6
        rows.append(layer.U(h[i]) + sum(torch.sigmoid(e_hat[edge]) / total * layer.V(h[j]) for edge, j in in_edges(i)))
    return rows


def edgefeat_by_loop(layer, h):
    """Eq. (56)-(57)."""
    e_hat = [layer.A(h[i]) + layer.B(h[j]) for j, i in zip(SRC, DST, strict=True)]
    return finish(layer, h, gated_rows(layer, h, e_hat))


def gatedgcn_by_loop(layer, h, e):
    """Eq. (24)-(26)."""
    e_hat = [layer.A(h[i]) + layer.B(h[j]) + layer.C(e[edge]) for edge, (j, i) in enumerate(zip(SRC, DST, strict=True))]
    return finish(layer, h, gated_rows(layer, h, e_hat)), updated(layer.update_e, e, torch.stack(e_hat))


KINDS = {
    "isotropic": (IsotropicGatedGCNLayer, isotropic_by_loop, False),
    "edgefeat": (EdgeFeatGatedGCNLayer, edgefeat_by_loop, False),
    "edgereprfeat": (GatedGCNLayer, gatedgcn_by_loop, True),
}
OPTIONS = {
    "as in the tables": {"out_dim": DIM},
    "plain": {"out_dim": DIM, "batch_norm": False, "residual": False},
    "graph norm": {"out_dim": DIM, "graph_norm": True},
    "another width": {"out_dim": 4},
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


def test_the_last_layer_of_a_net():
    torch.manual_seed(0)
    laws.gives_the_same_nodes_without_edges(randomised(GatedGCNLayer(DIM, DIM)))


@pytest.mark.skipif(not hasattr(dgl.nn, "GatedGCNConv"), reason="dgl 1.1.3 has no GatedGCNConv; dgl 2.x has")
def test_equals_the_layer_of_dgl():
    """Theirs -> ours: A -> U (the node itself), B -> V (message), C -> C, D -> B (source), E -> A (destination)."""
    torch.manual_seed(0)
    ours, theirs = randomised(GatedGCNLayer(DIM, DIM)), dgl.nn.GatedGCNConv(DIM, DIM, DIM).double()
    pairs = zip("ABCDE", "UVCBA", strict=True)
    for their_name, our_name in [*pairs, ("bn_node", "update_h.norm"), ("bn_edge", "update_e.norm")]:
        getattr(theirs, their_name).load_state_dict(ours.get_submodule(our_name).state_dict())
    h, e = torch.randn(N, DIM, dtype=torch.float64), torch.randn(E, DIM, dtype=torch.float64)
    laws.close(ours(odd_graph(), h, e), theirs(odd_graph(), h, e))
