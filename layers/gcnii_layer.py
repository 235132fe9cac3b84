"""GCNII: a graph convolution that sees the input of the net in each layer (Long Range Graph Benchmark, Tables 3-5)."""

import torch
import torch.nn.functional as F
from torch import nn

from layers import ops


class GCNIILayer(nn.Module):
    r"""Graph convolution with an initial residual and an identity mapping.

        ĥ_i  = (1 - α) Σ_{j -> i or j = i} h_j / √(deg_j deg_i) + α h_i^0            h_i' = ReLU((1 - β) ĥ_i + β ĥ_i W)

    Shapes: h (N, dim), h^0 (N, dim) -> h' (N, dim). Edge j -> i is stored as (src=j, dst=i); deg is the in-degree with the
    self-loop, at both ends. W has no bias.

    Deviation: β = 1 here, no identity mapping, and there is neither normalisation nor residual connection: so runs LRGB's program,
    which gives its library no θ. GCNII's own paper has β = log(θ/ℓ + 1) in layer ℓ.

        >>> g, h0 = dgl.graph(([0, 1, 2], [1, 2, 0])), torch.randn(3, 8)
        >>> h = GCNIILayer(8)(g, h0, h0)
    """

    def __init__(self, dim, alpha=0.2, beta=1.0):
        super().__init__()
        self.alpha, self.beta = alpha, beta
        self.W = nn.Parameter(nn.init.xavier_uniform_(torch.empty(dim, dim)))

    def forward(self, g, h, h0):
        h_hat = ops.sym_norm_sum(g, h).mul_(1 - self.alpha).add_(h0, alpha=self.alpha)
        if self.beta == 1:
            return F.relu_(h_hat @ self.W)
        return F.relu_(torch.addmm(h_hat, h_hat, self.W, beta=1 - self.beta, alpha=self.beta))
