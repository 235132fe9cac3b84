"""Edge-conditioned convolution against the plain formula with one map per edge, and against numbers of the program."""

import dgl
import pytest
import torch
from torch import nn

from layers.ecc_layer import ECCLayer, neighbour_sums
from nets.ecc_net import ECCStep
from tests.layers import laws
from tests.layers.reference import DIM, N, in_edges, randomised
from tests.nets.test_fair_nets import by_the_rule, golden_graph

OUT = [
    [-4.8958002157, -2.1115732336, 5.2823085409, 2.2633072658],
    [-8.6302360445, -4.0507031895, 8.2672611836, 3.0544175525],
    [-7.0293875964, -3.7099122377, 5.4130073441, 1.4130495032],
    [-7.4630969362, -3.8556485619, 6.2472540923, 1.9525205582],
    [-8.6951447732, -4.6636646686, 6.8574730285, 1.8343363851],
    [9.2954879235, 4.6921597248, -7.8975015041, -2.2546319734],
    [13.2900724777, 6.9332039859, -10.7996883791, -2.8701915963],
    [10.2847850908, 5.4289967334, -8.0312138493, -1.8611252371],
]
LAYER = {  # three convolutions with ReLU and batch normalisation, weights of 1: node 0, 3 and 7
    "eval": [
        [1609.0708503758, 966.0746071914, 0.0, 0.0],
        [1167.5379851334, 697.6503117317, 0.0, 0.0],
        [847.2812988465, 504.362228811, 0.0, 0.0],
    ],
    "train": [
        [0.7950219833, 1.0751651737, -0.7597256089, -0.4100676451],
        [0.9036069875, -0.9994214827, -0.7597256089, 2.6380824066],
        [-1.2092300493, -0.9994214827, 1.492673211, -0.4100676451],
    ],
}


class Weighted(nn.Module):
    """The layer with the first number of each edge as its weight."""

    def __init__(self):
        super().__init__()
        self.layer = ECCLayer(DIM, 4)

    def forward(self, g, h, e):
        return self.layer(g, h, e[:, 0])


def by_loop(layer, h, w):
    """A map of in_dim x out_dim for each edge."""
    rows = []
    for i in range(N):
        row = h[i] @ layer.R + layer.b
        for edge, j in in_edges(i):
            a = (layer.a.weight[:, 0] * w[edge] + layer.a.bias).clamp(min=0)
            row = row + h[j] @ (layer.theta.weight @ a + layer.theta.bias).view(DIM, 4)
        rows.append(row)
    return torch.stack(rows)


def test_the_factored_form_is_the_plain_one():
    laws.equals_the_loop(randomised(Weighted()), lambda layer, h, e: by_loop(layer.layer, h, e[:, 0]), edges=True)


def test_without_weights_all_are_one():
    laws.equals_the_loop(randomised(ECCLayer(DIM, 4)), lambda layer, h: by_loop(layer, h, torch.ones(6)))


@pytest.mark.parametrize("edges", [([1, 2, 0, 1, 2], [0, 0, 1, 2, 2]), ([*range(1, 30)], [0] * 29), ([], [])])
@pytest.mark.parametrize("reverse", [False, True])
def test_the_sums_over_neighbours(edges, reverse):
    """With degrees that are alike, with a hub, without edges; edges in any order. Gradients too."""
    n = 30 if len(edges[0]) > 5 else 4
    src, dst = (torch.tensor(end[::-1] if reverse else end, dtype=torch.int64) for end in edges)
    g = dgl.graph((src, dst), num_nodes=n)
    h = torch.randn(n, 3, dtype=torch.float64, requires_grad=True)
    c = torch.randn(len(src), 2, dtype=torch.float64, requires_grad=True)
    plain = torch.zeros(n, 2, 3, dtype=torch.float64)
    for e, (j, i) in enumerate(zip(src, dst, strict=True)):
        plain = plain.index_add(0, i[None], (c[e][:, None] * h[j])[None])
    assert torch.allclose(neighbour_sums(g, h, c), plain)
    if len(src):
        ours, wanted = (torch.autograd.grad((x**3).sum(), (h, c)) for x in (neighbour_sums(g, h, c), plain))
        assert all(map(torch.allclose, ours, wanted))


@pytest.mark.parametrize("law", laws.LAWS)
def test_laws(law):
    law(randomised(Weighted()), edges=True)
    law(randomised(ECCLayer(DIM, 4)))


def test_the_convolution_of_the_program():
    g = golden_graph()
    src, dst = g.edges()
    order = torch.argsort(src * 8 + dst)
    g2 = dgl.graph((src[order], dst[order]))
    layer = by_the_rule(ECCLayer(3, 4).double(), 0.5)
    seen = layer(g2, g.ndata["feat"], torch.linspace(-1, 1, 16, dtype=torch.float64))
    torch.testing.assert_close(seen, torch.tensor(OUT, dtype=torch.float64), rtol=0, atol=1e-8)


@pytest.mark.parametrize("mode", LAYER)
@pytest.mark.parametrize("weights", [None, torch.ones(16, dtype=torch.float64)])
def test_a_layer_of_the_program(mode, weights):
    g = golden_graph()
    h = g.ndata["feat"]
    for dims in ((3, 4), (4, 4), (4, 4)):
        h = by_the_rule(ECCStep(*dims, dropout=0.0).double(), 0.5).train(mode == "train")(g, h, weights)
    expected = torch.tensor(LAYER[mode], dtype=torch.float64)
    torch.testing.assert_close(h[[0, 3, 7]], expected, rtol=1e-7, atol=1e-7)
