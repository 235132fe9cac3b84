"""The set layer of DS-GNN: each subgraph looks at itself and at the mean of all subgraphs of its graph."""

import torch.nn.functional as F
from torch import nn

from layers.linear import Linear


class DeepSetsLayer(nn.Module):
    r"""Linear map that does not depend on the order of the subgraphs, then ELU.

        h_r' = ELU(W1 h_r + b1 + W2 (1/n) Σ_q h_q + b2)

    Shapes: h (N, in_dim) -> (N, out_dim), a row for each root; the mean is over the n roots q of the same graph.

        >>> from layers.subgraphs import EgoNets
        >>> s = EgoNets(dgl.graph(([0, 1], [1, 0])), [[[0, 1], [1, 0]]])
        >>> h = DeepSetsLayer(3, 8)(s, torch.ones(2, 3))
    """

    def __init__(self, in_dim, out_dim):
        super().__init__()
        self.W1 = Linear(in_dim, out_dim)
        self.W2 = Linear(in_dim, out_dim)

    def forward(self, s, h):
        mean = self.W2(s.mean_graphs(h))
        return F.elu(self.W1(h) + mean.index_select(0, s.graph))
