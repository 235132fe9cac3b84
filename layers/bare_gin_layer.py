"""GIN without normalisation inside, as the Taxonomy of Benchmarks uses it."""

import torch.nn.functional as F
from torch import nn

from layers.linear import Linear


class BareGINLayer(nn.Module):
    r"""The sum over the closed neighbourhood, then two linear maps; appendix A.1 of the Taxonomy.

        y_i = W_2 ReLU(W_1 (x_i + Σ_{j -> i} x_j) + b_1) + b_2

    Shapes: x (N, in_dim) -> y (N, out_dim). Edge j -> i is stored as (src=j, dst=i). `around` says who the neighbours are
    (layers/neighbourhood.py).

        >>> from layers.neighbourhood import Edges
        >>> y = BareGINLayer(3, 8)(Edges(dgl.graph(([0, 1], [1, 0]))), torch.ones(2, 3))
    """

    def __init__(self, in_dim, out_dim):
        super().__init__()
        self.W_1, self.W_2 = Linear(in_dim, out_dim), Linear(out_dim, out_dim)

    def forward(self, around, x):
        return self.W_2(F.relu(self.W_1(around.sum(x))))
