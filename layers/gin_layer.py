"""GIN, B.1.2: an injective update of sums over the neighbourhood, as strong as the Weisfeiler-Lehman test."""

import torch
import torch.nn.functional as F
from dgl import ops
from torch import nn

from layers.graph_norm import graph_size_norm


def max_or_zero(g, h):
    """DGL's maximum is -inf where there are no neighbours."""
    return ops.copy_u_max(g, h).masked_fill((g.in_degrees() == 0)[:, None], 0)


AGGREGATORS = {"sum": ops.copy_u_sum, "mean": ops.copy_u_mean, "max": max_or_zero}


class GINLayer(nn.Module):
    r"""Graph isomorphism convolution, eq. (27)-(28), with batch normalisation and residual connection, eq. (29).

        ĥ_i  = (1 + ε) h_i + Σ_{j -> i} h_j
        h_i' = h_i + ReLU(BN(U ReLU(BN(V ĥ_i + v)) + b))

    Shapes: h (N, in_dim) -> (N, out_dim). Edge j -> i is stored as (src=j, dst=i). With neighbor_aggr mean or max these take
    the place of the sum; each is zero over no neighbours. n_mlp is the number of linear maps: the inner ReLU(BN(V ·)) stands
    n_mlp - 1 times. ε starts at 0 and stays there unless learn_eps. batch_norm switches the outer BN, that of eq. (29); the
    inner one belongs to (27). The residual connection needs in_dim == out_dim and is left out otherwise. With graph_norm the
    argument of the outer BN is divided by the root of the graph's size, eq. (73).
    """

    def __init__(
        self,
        in_dim,
        out_dim,
        neighbor_aggr="sum",
        n_mlp=2,
        learn_eps=True,
        dropout=0.0,
        batch_norm=True,
        residual=True,
        graph_norm=False,
    ):
        super().__init__()
        if neighbor_aggr not in AGGREGATORS:
            raise ValueError(f"neighbor_aggr_GIN={neighbor_aggr!r}: expected one of {', '.join(AGGREGATORS)}")
        self.neighbor_aggr = neighbor_aggr
        self.V = nn.ModuleList(nn.Linear(out_dim if i else in_dim, out_dim) for i in range(n_mlp - 1))
        self.norm_V = nn.ModuleList(nn.BatchNorm1d(out_dim) for _ in self.V)
        self.U = nn.Linear(out_dim if self.V else in_dim, out_dim)
        if learn_eps:
            self.eps = nn.Parameter(torch.zeros(1))
        else:
            self.register_buffer("eps", torch.zeros(1))
        self.norm = nn.BatchNorm1d(out_dim) if batch_norm else nn.Identity()
        self.residual = residual and in_dim == out_dim
        self.graph_norm = graph_norm
        self.dropout = nn.Dropout(dropout)

    def forward(self, g, h):
        h_hat = (1 + self.eps) * h + AGGREGATORS[self.neighbor_aggr](g, h)
        for V, norm in zip(self.V, self.norm_V, strict=True):
            h_hat = F.relu(norm(V(h_hat)))
        h_new = self.U(h_hat)
        if self.graph_norm:
            h_new = graph_size_norm(g, h_new)
        h_new = F.relu(self.norm(h_new))
        if self.residual:
            h_new = h + h_new
        return self.dropout(h_new)
