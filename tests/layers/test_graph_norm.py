"""Graph size normalisation, eq. (73), of batches and gradients; its place in the layers is that of layers/update.py."""

import dgl
import torch

from layers.graph_norm import graph_size_norm
from tests.layers import laws
from tests.layers.reference import DIM, N, odd_graph


def test_every_node_is_divided_by_the_root_of_its_own_graph():
    sizes = [3, 1, 0, 4]
    g = dgl.batch([dgl.graph(([], []), num_nodes=n) for n in sizes])
    h = torch.randn(8, DIM, dtype=torch.float64)
    expected, node = torch.empty_like(h), 0
    for V in sizes:
        for _ in range(V):
            expected[node] = h[node] / V**0.5
            node += 1
    laws.close([graph_size_norm(g, h)], [expected])


def test_one_graph_and_gradients():
    g = odd_graph()
    h = torch.randn(N, DIM, dtype=torch.float64, requires_grad=True)
    laws.close([graph_size_norm(g, h)], [h / N**0.5])
    assert torch.autograd.gradcheck(lambda h: graph_size_norm(g, h), (h,))
    assert not g.ndata
