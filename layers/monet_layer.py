"""MoNet, B.1.2: neighbours weighted by Gaussian kernels of the degrees at the two ends of an edge."""

import torch
from torch import nn

from layers import fused, ops
from layers.linear import Linear
from layers.update import Update

FORMS = ("program", "text")


class MoNetLayer(nn.Module):
    r"""Gaussian mixture convolution, eq. (21)-(23), inside (29).

        u_ij   = Tanh(A ((deg_i + 1)^-1/2, (deg_j + 1)^-1/2) + a)
        e_ij^k = exp(-1/2 (u_ij - μ_k)ᵀ Σ_k^-1 (u_ij - μ_k)),    Σ_k^-1 = diag(s_k²)
        ĥ_i    = Σ_k Σ_{j -> i} e_ij^k U^k h_j                   h_i' = h_i + ReLU(BN(ĥ_i)) + b

    Shapes: h (N, in_dim) -> h' (N, out_dim), u (E, pseudo_dim), e (E, K). Edge j -> i is stored as (src=j, dst=i); deg is the
    in-degree. U holds U^1 … U^K side by side and the bias b. `options` are those of layers/update.py; dropout comes after b.

    Deviation: the text learns Σ_k^-1 itself; here its root s_k is learned, so that it stays positive and a weight is never
    above 1. The rest is the program that made the tables (form="program"). form="text" has deg^-1/2 in (23), where a node that no
    edge enters counts as one of degree 1, and, as the text prints no bias and the counts need one, b inside BN: ĥ_i + b.

    U starts Xavier-normal with gain √2 as the one matrix of all U^k h, b at 0.

        >>> g = dgl.graph(([0, 1, 2], [1, 2, 0]))
        >>> h = MoNetLayer(8, 8)(g, torch.randn(3, 8))
    """

    def __init__(self, in_dim, out_dim, n_kernels=3, pseudo_dim=2, dropout=0.0, form="program", **options):
        super().__init__()
        if form not in FORMS:
            raise ValueError(f"form={form!r}: expected one of {', '.join(FORMS)}")
        self.form = form
        self.A = Linear(2, pseudo_dim)
        self.mu = nn.Parameter(0.1 * torch.randn(n_kernels, pseudo_dim))
        self.s = nn.Parameter(torch.ones(n_kernels, pseudo_dim))
        self.U = Linear(n_kernels * in_dim, out_dim)
        nn.init.normal_(self.U.weight, std=2 / (n_kernels * out_dim + in_dim) ** 0.5)
        nn.init.zeros_(self.U.bias)
        self.update_h = Update(in_dim, out_dim, **options)
        self.dropout = nn.Dropout(dropout)

    def forward(self, g, h):
        e = self.kernels(g, h.dtype)
        # Σ_j e_ij^k h_j (N, K, in_dim); the fused one is the same, in one step or by one sparse product per kernel
        sums = fused.kernel_sums(g, h, e) if fused.suits(h) else ops.u_mul_e_sum(g, h[:, None], e[..., None])
        if self.form == "text":
            return self.dropout(self.update_h(g, h, self.U(sums.flatten(1))))
        h_hat = fused.linear(sums.flatten(1), self.U.weight)  # all U^k as one product
        return self.dropout(self.update_h(g, h, h_hat) + self.U.bias)

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
