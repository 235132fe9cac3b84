"""The layer of OSAN's downstream net: GIN on several copies of a graph whose edges have weights."""

import torch
from torch import nn

from layers.two_maps import two_maps


class WeightedGINLayer(nn.Module):
    r"""GIN with learned ε, where copy s of a graph weights the edge u -> v with w_s,uv.

        x_sv' = BN(W2 ReLU(BN(W1 x̂_sv + b1)) + b2)        x̂_sv = (1 + ε) x_sv + Σ_{u ∈ N(v)} w_s,uv x_su

    Shapes: x (R, dim), w (E, k) -> (R, dim), a row for each node of each of k copies; W1 doubles the width. No activation follows.

        >>> from layers.subgraphs import Subgraphs
        >>> s = Subgraphs(dgl.graph(([0, 1], [1, 0])), [torch.ones(3, 2).bool().numpy()])  # three copies of an edge
        >>> x = WeightedGINLayer(8)(s, torch.ones(6, 8), torch.ones(2, 3))
    """

    def __init__(self, dim):
        super().__init__()
        self.eps = nn.Parameter(torch.zeros(1))
        self.mlp = two_maps(dim, 2 * dim, dim, nn.BatchNorm1d)
        self.norm = nn.BatchNorm1d(dim)

    def forward(self, s, x, w):
        return self.norm(self.mlp((1 + self.eps) * x + s.weighted_sum_neighbours(x, w)))
