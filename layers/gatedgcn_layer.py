"""GatedGCN, B.1.2, and its two simpler variants of section E.1: a sum over the neighbours, gated for each edge and channel."""

import torch.nn.functional as F
from dgl import ops as dgl_ops
from torch import nn

from layers import ops
from layers.graph_norm import graph_size_norm


class IsotropicGatedGCNLayer(nn.Module):
    r"""Without gates, eq. (55), and what all variants share: batch normalisation and residual connection, eq. (29).

        ĥ_i = U h_i + Σ_{j -> i} V h_j        h_i' = h_i + ReLU(BN(ĥ_i))

    Shapes: h (N, in_dim) -> (N, out_dim). Edge j -> i is stored as (src=j, dst=i). All maps have a bias. The residual connection
    needs in_dim == out_dim and is left out otherwise. With graph_norm the argument of BN is divided by the root of the
    graph's size, eq. (73).
    """

    def __init__(self, in_dim, out_dim, dropout=0.0, batch_norm=True, residual=True, graph_norm=False):
        super().__init__()
        self.U = nn.Linear(in_dim, out_dim)
        self.V = nn.Linear(in_dim, out_dim)
        self.norm_h = nn.BatchNorm1d(out_dim) if batch_norm else nn.Identity()
        self.residual = residual and in_dim == out_dim
        self.graph_norm = graph_norm
        self.dropout = nn.Dropout(dropout)

    def forward(self, g, h):
        return self.update(g, h, self.U(h) + dgl_ops.copy_u_sum(g, self.V(h)))

    def update(self, g, h, h_new):
        if self.graph_norm:
            h_new = graph_size_norm(g, h_new)
        h_new = F.relu(self.norm_h(h_new))
        if self.residual:
            h_new = h + h_new
        return self.dropout(h_new)


class EdgeFeatGatedGCNLayer(IsotropicGatedGCNLayer):
    r"""Gates from the two ends of an edge, eq. (56)-(57).

        ê_ij = A h_i + B h_j        η_ij = σ(ê_ij) / (Σ_{j' -> i} σ(ê_ij') + ε)
        ĥ_i  = U h_i + Σ_{j -> i} η_ij ⊙ V h_j        h_i' = h_i + ReLU(BN(ĥ_i))

    Shapes and options as in the isotropic layer; ê (E, out_dim).
    """

    def __init__(self, in_dim, out_dim, *args, **options):
        super().__init__(in_dim, out_dim, *args, **options)
        self.A = nn.Linear(in_dim, out_dim)
        self.B = nn.Linear(in_dim, out_dim)

    def forward(self, g, h):
        mean, _ = ops.gated_mean(g, self.A(h), self.B(h), self.V(h))
        return self.update(g, h, self.U(h) + mean)


class GatedGCNLayer(EdgeFeatGatedGCNLayer):
    r"""Gated graph convolution with edge representations, eq. (24)-(26) and (58)-(60).

        ê_ij = A h_i + B h_j + C e_ij        η_ij = σ(ê_ij) / (Σ_{j' -> i} σ(ê_ij') + ε)
        ĥ_i  = U h_i + Σ_{j -> i} η_ij ⊙ V h_j        h_i' = h_i + ReLU(BN(ĥ_i))
        e_ij' = e_ij + ReLU(BN(ê_ij))

    Shapes: h (N, in_dim), e (E, in_dim) -> h' (N, out_dim), e' (E, out_dim); the rest as in the isotropic layer. Where nothing
    reads e' (the last layer of a net), `update_edges = False` leaves it out: None is returned in its place.

    Deviation: the text takes the gates from e', after normalisation and residual connection; here they are those of ê, as
    in the original program.
    """

    def __init__(self, in_dim, out_dim, dropout=0.0, batch_norm=True, residual=True, graph_norm=False):
        super().__init__(in_dim, out_dim, dropout, batch_norm, residual, graph_norm)
        self.C = nn.Linear(in_dim, out_dim)
        self.norm_e = nn.BatchNorm1d(out_dim) if batch_norm else nn.Identity()
        self.update_edges = True

    def forward(self, g, h, e):
        # the bias of C is added at the nodes: there are fewer of them than edges
        mean, e_hat = ops.gated_mean(g, self.A(h) + self.C.bias, self.B(h), self.V(h), e, self.C.weight)
        h = self.update(g, h, self.U(h) + mean)
        if not self.update_edges:
            return ops.without_influence(h, self.norm_e.parameters()), None
        e_new = F.relu(self.norm_e(e_hat))
        if self.residual:
            e_new = e + e_new
        return h, self.dropout(e_new)
