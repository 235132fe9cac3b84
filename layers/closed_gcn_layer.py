"""The graph convolution with self-loops, as the Taxonomy of Benchmarks uses it."""

import torch
from torch import nn

from layers import fused


class ClosedGCNLayer(nn.Module):
    r"""A weighted mean over the closed neighbourhood, then a linear map; appendix A.1 of the Taxonomy.

        y_i = W Σ_{j ∈ N(i) ∪ {i}} x_j / √(d_i d_j) + b

    d_i is the in-degree without self-loops, plus 1. Shapes: x (N, in_dim) -> y (N, out_dim). Edge j -> i is stored as
    (src=j, dst=i). `around` says who the neighbours are (layers/neighbourhood.py). W starts uniformly (Glorot), b at 0.

        >>> from layers.neighbourhood import Edges
        >>> y = ClosedGCNLayer(3, 8)(Edges(dgl.graph(([0, 1], [1, 0]))), torch.ones(2, 3))
    """

    def __init__(self, in_dim, out_dim, bias=True):
        super().__init__()
        self.W = nn.Parameter(torch.empty(out_dim, in_dim))
        nn.init.xavier_uniform_(self.W)
        self.b = nn.Parameter(torch.zeros(out_dim)) if bias else None

    def forward(self, around, x):
        return fused.linear(around.mean(x), self.W, self.b)
