"""The layer of delta-2-LGNN: pairs of nodes that see the neighbours of either end, the local part of the 2-dimensional WL test."""

import torch
from torch import nn

from layers.chain import Chain
from layers.linear import Linear


class DeltaLGNNLayer(nn.Module):
    r"""Local message passing on ordered pairs (v, w).

        a_vw = g1((1 + ε1) x_vw + Σ_{u ∈ N(v)} x_uw)        b_vw = g2((1 + ε2) x_vw + Σ_{u ∈ N(w)} x_vu)
        x_vw' = g3([a_vw ; b_vw])

    g is ReLU(BN(W2 ReLU(BN(W1 x + b1)) + b2)). Shapes: x (R, in_dim) -> (R, out_dim), a row for each pair; ε starts at 0.

        >>> from layers.subgraphs import EgoNets
        >>> s = EgoNets(dgl.graph(([0, 1], [1, 0])), [[[0, 1], [1, 0]]])
        >>> x = DeltaLGNNLayer(3, 8)(s, torch.ones(4, 3))
    """

    def __init__(self, in_dim, out_dim):
        super().__init__()
        self.eps1, self.eps2 = nn.Parameter(torch.zeros(1)), nn.Parameter(torch.zeros(1))
        self.g1, self.g2, self.g3 = _mlp(in_dim, out_dim), _mlp(in_dim, out_dim), _mlp(2 * out_dim, out_dim)

    def forward(self, s, x):
        """Row (r, v) of s is the pair v, w = r."""
        a = self.g1(s.sum_neighbours(x, own=1 + self.eps1))
        b = self.g2(s.swap(s.sum_neighbours(s.swap(x), own=1 + self.eps2)))
        return self.g3(torch.cat([a, b], 1))


def _mlp(in_dim, out_dim):
    maps = Linear(in_dim, out_dim), Linear(out_dim, out_dim)
    return Chain(*(module for W in maps for module in (W, nn.BatchNorm1d(out_dim), nn.ReLU())))
