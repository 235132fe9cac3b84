"""MoNet, B.1.2: neighbours weighted by Gaussian kernels of the degrees at the two ends of an edge."""

import torch
import torch.nn.functional as F
from torch import nn

from layers.graph_norm import graph_size_norm
from layers.ops import weighted_sum


class MoNetLayer(nn.Module):
    r"""Gaussian mixture convolution, eq. (21)-(23), with batch normalisation and residual connection, eq. (29).

        u_ij   = Tanh(A (deg_i^-1/2, deg_j^-1/2) + a)
        e_ij^k = exp(-1/2 (u_ij - μ_k)ᵀ Σ_k^-1 (u_ij - μ_k)),    Σ_k^-1 = diag(s_k²)
        ĥ_i    = Σ_k Σ_{j -> i} e_ij^k U^k h_j + b               h_i' = h_i + ReLU(BN(ĥ_i))

    Shapes: h (N, in_dim) -> (N, out_dim), u (E, pseudo_dim), e (E, K). Edge j -> i is stored as (src=j, dst=i); deg is the
    in-degree. U holds U^1 … U^K side by side and the bias b. The residual connection needs in_dim == out_dim and is left
    out otherwise. With graph_norm the argument of BN is divided by the root of the graph's size, eq. (73).

    Deviation: the text learns Σ_k^-1 itself; here its root s_k is learned, so that it stays positive and a weight is never
    above 1. A node that no edge enters counts as one of degree 1, since its deg^-1/2 would be infinite.
    """

    def __init__(
        self,
        in_dim,
        out_dim,
        n_kernels=3,
        pseudo_dim=2,
        dropout=0.0,
        batch_norm=True,
        residual=True,
        graph_norm=False,
    ):
        super().__init__()
        self.A = nn.Linear(2, pseudo_dim)
        self.mu = nn.Parameter(0.1 * torch.randn(n_kernels, pseudo_dim))
        self.s = nn.Parameter(torch.ones(n_kernels, pseudo_dim))
        self.U = nn.Linear(n_kernels * in_dim, out_dim)
        self.norm = nn.BatchNorm1d(out_dim) if batch_norm else nn.Identity()
        self.residual = residual and in_dim == out_dim
        self.graph_norm = graph_norm
        self.dropout = nn.Dropout(dropout)

    def forward(self, g, h):
        e = self.kernels(g, h.dtype)
        sums = weighted_sum(g, h[:, None].expand(-1, e.shape[1], -1), e)  # Σ_j e_ij^k h_j: (N, K, in_dim)
        h_new = self.U(sums.flatten(1))  # all U^k as one product
        if self.graph_norm:
            h_new = graph_size_norm(g, h_new)
        h_new = F.relu(self.norm(h_new))
        if self.residual:
            h_new = h + h_new
        return self.dropout(h_new)

    def kernels(self, g, dtype):
        """e (E, K), eq. (22)-(23)."""
        u = torch.tanh(self.A(degree_coordinates(g, dtype)))
        return torch.exp(-0.5 * ((u[:, None] - self.mu) * self.s).square().sum(-1))


def degree_coordinates(g, dtype):
    """(deg_i^-1/2, deg_j^-1/2) of each edge j -> i: (E, 2)."""
    src, dst = g.edges()
    root = g.in_degrees().clamp(min=1).to(dtype).rsqrt()
    return torch.stack([root.index_select(0, dst), root.index_select(0, src)], dim=1)
