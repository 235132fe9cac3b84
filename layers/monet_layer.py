"""MoNet, B.1.2: neighbours weighted by Gaussian kernels of the degrees at the two ends of an edge."""

import torch
import torch.nn.functional as F
from torch import nn

from layers.graph_norm import graph_size_norm
from layers.ops import weighted_sum

FORMS = ("program", "text")


class MoNetLayer(nn.Module):
    r"""Gaussian mixture convolution, eq. (21)-(23), with batch normalisation and residual connection, eq. (29).

        u_ij   = Tanh(A ((deg_i + 1)^-1/2, (deg_j + 1)^-1/2) + a)
        e_ij^k = exp(-1/2 (u_ij - μ_k)ᵀ Σ_k^-1 (u_ij - μ_k)),    Σ_k^-1 = diag(s_k²)
        ĥ_i    = Σ_k Σ_{j -> i} e_ij^k U^k h_j                   h_i' = h_i + ReLU(BN(ĥ_i)) + b

    Shapes: h (N, in_dim) -> (N, out_dim), u (E, pseudo_dim), e (E, K). Edge j -> i is stored as (src=j, dst=i); deg is the
    in-degree. U holds U^1 … U^K side by side and the bias b. The residual connection needs in_dim == out_dim and is left
    out otherwise. With graph_norm the argument of BN is divided by the root of the graph's size, eq. (73).

    Deviation: the text learns Σ_k^-1 itself; here its root s_k is learned, so that it stays positive and a weight is never
    above 1. The rest is the program that made the tables (form="program"). form="text" has deg^-1/2 in (23), where a node that no
    edge enters counts as one of degree 1, and, as the text prints no bias and the counts need one, b inside BN: ĥ_i + b.

    U starts Xavier-normal with gain √2 as the one matrix of all U^k h, b at 0.
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
        form="program",
    ):
        super().__init__()
        if form not in FORMS:
            raise ValueError(f"form={form!r}: expected one of {', '.join(FORMS)}")
        self.A = nn.Linear(2, pseudo_dim)
        self.mu = nn.Parameter(0.1 * torch.randn(n_kernels, pseudo_dim))
        self.s = nn.Parameter(torch.ones(n_kernels, pseudo_dim))
        self.U = nn.Linear(n_kernels * in_dim, out_dim)
        nn.init.normal_(self.U.weight, std=2 / (n_kernels * out_dim + in_dim) ** 0.5)
        nn.init.zeros_(self.U.bias)
        self.norm = nn.BatchNorm1d(out_dim) if batch_norm else nn.Identity()
        self.residual = residual and in_dim == out_dim
        self.graph_norm, self.form = graph_norm, form
        self.dropout = nn.Dropout(dropout)

    def forward(self, g, h):
        e = self.kernels(g, h.dtype)
        sums = weighted_sum(g, h[:, None].expand(-1, e.shape[1], -1), e)  # Σ_j e_ij^k h_j: (N, K, in_dim)
        inner, outer = (None, self.U.bias) if self.form == "program" else (self.U.bias, None)
        h_new = F.linear(sums.flatten(1), self.U.weight, inner)  # all U^k as one product
        if self.graph_norm:
            h_new = graph_size_norm(g, h_new)
        h_new = F.relu(self.norm(h_new))
        if self.residual:
            h_new = h + h_new
        if outer is not None:
            h_new = h_new + outer
        return self.dropout(h_new)

    def kernels(self, g, dtype):
        """e (E, K), eq. (22)-(23)."""
        u = torch.tanh(self.A(degree_coordinates(g, dtype, self.form)))
        return torch.exp(-0.5 * ((u[:, None] - self.mu) * self.s).square().sum(-1))


def degree_coordinates(g, dtype, form="program"):
    """((deg_i + 1)^-1/2, (deg_j + 1)^-1/2) of each edge j -> i, or deg^-1/2 as in the text: (E, 2)."""
    src, dst = g.edges()
    degree = g.in_degrees()
    root = (degree + 1 if form == "program" else degree.clamp(min=1)).to(dtype).rsqrt()
    return torch.stack([root.index_select(0, dst), root.index_select(0, src)], dim=1)
