"""The layer of DSS-GNN: GIN inside each ego net, and GIN on the whole graph for what the ego nets agree on."""

import torch.nn.functional as F
from torch import nn

from layers import ops
from layers.two_maps import two_maps


class DSSLayer(nn.Module):
    r"""Two closed sums, one in subgraph r and one of the means over all subgraphs on the whole graph.

        x_rv' = ReLU(BN1(MLP1(x_rv + Σ_{u ∈ N_r(v)} x_ru)) + BN2(MLP2(x̄_v + Σ_{u ∈ N(v)} x̄_u)))        x̄_v = (1/n) Σ_r x_rv

    Shapes: x (R, in_dim) -> (R, out_dim). BN1 normalises over R rows, BN2 over N; MLP = W2 ReLU(BN(W1 x + b1)) + b2.

        >>> from layers.subgraphs import EgoNets
        >>> s = EgoNets(dgl.graph(([0, 1], [1, 0])), [[[0, 1], [1, 0]]])
        >>> x = DSSLayer(3, 8)(s, torch.ones(4, 3))
    """

    def __init__(self, in_dim, out_dim):
        super().__init__()
        self.mlp1 = two_maps(in_dim, out_dim, out_dim, nn.BatchNorm1d)
        self.mlp2 = two_maps(in_dim, out_dim, out_dim, nn.BatchNorm1d)
        self.norm1 = nn.BatchNorm1d(out_dim)
        self.norm2 = nn.BatchNorm1d(out_dim)

    def forward(self, s, x):
        inside = self.norm1(self.mlp1(s.sum_neighbours(x, own=1.0)))
        mean = s.mean_subgraphs(x)
        shared = self.norm2(self.mlp2(mean + ops.copy_u_sum(s.g, mean)))
        return F.relu(inside + s.of_nodes(shared))
