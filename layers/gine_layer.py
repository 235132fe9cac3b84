"""GINE: GIN whose messages carry the features of their edges (Long Range Graph Benchmark, Tables 3-5)."""

import torch.nn.functional as F
from torch import nn

from layers import fused, ops
from layers.linear import Linear


class GINELayer(nn.Module):
    r"""Graph isomorphism convolution with edge features.

        ĥ_i = h_i + Σ_{j -> i} ReLU(h_j + e_ij)            h_i' = h_i + σ(W_2 σ(W_1 ĥ_i + b_1) + b_2)

    Shapes: h (N, dim), e (E, dim) -> h' (N, dim). Edge j -> i is stored as (src=j, dst=i). e is not updated, and nothing is
    normalised. The retuned one of LRGB has no outer σ (outer=False) and dropout after the inner σ and before the sum.

        >>> g = dgl.graph(([0, 1, 2], [1, 2, 0]))
        >>> h = GINELayer(8)(g, torch.randn(3, 8), torch.randn(3, 8))
    """

    def __init__(self, dim, activation=F.relu, outer=True, dropout=0.0, residual=True):
        super().__init__()
        self.W1, self.W2 = Linear(dim, dim), Linear(dim, dim)
        self.activation, self.outer, self.residual = activation, outer, residual
        self.dropout = nn.Dropout(dropout)

    def forward(self, g, h, e):
        total = fused.relu_sum(g, h, e) if fused.suits(h) else ops.copy_e_sum(g, F.relu(ops.u_add_e(g, h, e)))
        h_new = self.W2(self.dropout(self.activation(self.W1(h + total))))
        h_new = self.dropout(self.activation(h_new) if self.outer else h_new)
        return h + h_new if self.residual else h_new
