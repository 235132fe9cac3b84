"""The vanilla graph convolution of B.1.2: an isotropic mean over the neighbourhood."""

import torch.nn.functional as F
from dgl import ops
from torch import nn

from layers.graph_norm import graph_size_norm


class GCNLayer(nn.Module):
    r"""Graph convolution, eq. (12)-(13), with batch normalisation and residual connection, eq. (29).

        ĥ_i = U (1/deg_i) Σ_{j -> i} h_j + b        h_i' = h_i + ReLU(BN(ĥ_i))

    Shapes: h (N, in_dim) -> (N, out_dim). Edge j -> i is stored as (src=j, dst=i); deg_i is the in-degree, and the mean
    over no neighbours is zero. The residual connection needs in_dim == out_dim and is left out otherwise. With graph_norm
    the argument of BN is divided by the root of the graph's size, eq. (73).
    """

    def __init__(self, in_dim, out_dim, dropout=0.0, batch_norm=True, residual=True, graph_norm=False):
        super().__init__()
        self.U = nn.Linear(in_dim, out_dim)
        self.norm = nn.BatchNorm1d(out_dim) if batch_norm else nn.Identity()
        self.residual = residual and in_dim == out_dim
        self.graph_norm = graph_norm
        self.dropout = nn.Dropout(dropout)

    def forward(self, g, h):
        h_new = self.U(ops.copy_u_mean(g, h))
        if self.graph_norm:
            h_new = graph_size_norm(g, h_new)
        h_new = F.relu(self.norm(h_new))
        if self.residual:
            h_new = h + h_new
        return self.dropout(h_new)
