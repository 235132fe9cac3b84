"""The layer of GNN-AK: a small GNN inside the ego net of each node, read from the centre, from the ego net and from the context."""

import torch
import torch.nn.functional as F
from torch import nn

from layers.chain import Chain, through
from layers.linear import Linear
from layers.two_maps import two_maps


class InnerGINELayer(nn.Module):
    r"""GINE inside the ego nets, with one learned vector e for all edges.

        y_rv' = y_rv + ReLU(BN(W2 ReLU(BN(W1 ŷ_rv))))        ŷ_rv = (1 + ε) y_rv + Σ_{u ∈ N_r(v)} ReLU(y_ru + e)

    Shapes: y (R, dim), e (dim,) -> (R, dim).

        >>> from layers.subgraphs import EgoNets
        >>> s = EgoNets(dgl.graph(([0, 1], [1, 0])), [[[0, 1], [1, 0]]])
        >>> y = InnerGINELayer(8)(s, torch.ones(4, 8), torch.ones(8))
    """

    def __init__(self, dim):
        super().__init__()
        self.eps = nn.Parameter(torch.zeros(1))
        self.mlp = two_maps(dim, dim, dim, nn.BatchNorm1d, bias=False)
        self.norm = nn.BatchNorm1d(dim)

    def forward(self, s, y, e):
        y_hat = (1 + self.eps) * y + s.sum_neighbours(F.relu(y + e))
        return y + through([*self.mlp, self.norm, nn.ReLU()], y_hat)


class GNNAKLayer(nn.Module):
    r"""An inner GNN on y_rv = [x_v ; t_D(r,v)], then centroid c, subgraph S and context C of each node, gated by the distance.

        z_rv = W y_rv + b    (after the inner layers)             c_r = z_rr ⊙ σ(G_c t_0)
        S_r = Σ_v ReLU(BN(W_S z_rv)) ⊙ σ(G_S t_D(r,v))            C_v = Σ_r ReLU(BN(W_C z_rv)) ⊙ σ(G_C t_D(r,v))
        x_v' = x_v + ReLU(BN(W_o [c_v ; S_v ; C_v]))

    Shapes: x (N, dim) -> (N, dim). t has a row of hop_dim numbers for each distance up to the radius, σ is the sigmoid, G are
    linear maps with bias.

        >>> from layers.subgraphs import EgoNets
        >>> s = EgoNets(dgl.graph(([0, 1], [1, 0])), [[[0, 1], [1, 0]]], radius=1)
        >>> x = GNNAKLayer(8, 4, radius=1)(s, torch.ones(2, 8))
    """

    def __init__(self, dim, hop_dim=16, radius=6, n_inner=2):
        super().__init__()
        inner_dim = dim + hop_dim
        self.t = nn.Embedding(radius + 1, hop_dim)
        self.e = nn.Parameter(torch.randn(inner_dim))
        self.inner = nn.ModuleList(InnerGINELayer(inner_dim) for _ in range(n_inner))
        self.W = Linear(inner_dim, dim)
        self.G = nn.ModuleDict({name: Linear(hop_dim, dim) for name in "cSC"})
        self.part = nn.ModuleDict({name: _normed(dim, dim) for name in "SC"})
        self.out = _normed(3 * dim, dim)

    def forward(self, s, x):
        y = torch.cat([s.of_nodes(x), self.t(s.distance)], 1)
        for layer in self.inner:
            y = layer(s, y, self.e)
        z = self.W(y)
        gate = {name: torch.sigmoid(G(self.t.weight)) for name, G in self.G.items()}  # a row for each distance
        c = z.index_select(0, s.root_row) * gate["c"][0]
        S = s.sum_nodes(self.part["S"](z) * F.embedding(s.distance, gate["S"]))
        C = s.sum_subgraphs(self.part["C"](z) * F.embedding(s.distance, gate["C"]))
        return x + self.out(torch.cat([c, S, C], 1))


def _normed(in_dim, out_dim):
    return Chain(Linear(in_dim, out_dim, bias=False), nn.BatchNorm1d(out_dim), nn.ReLU())
