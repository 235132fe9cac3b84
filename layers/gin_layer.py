"""GIN, B.1.2: an injective update of sums over the neighbourhood, as strong as the Weisfeiler-Lehman test."""

import torch
import torch.nn.functional as F
from torch import nn

from layers import fused, ops
from layers.linear import Linear
from layers.update import Update


def max_or_zero(g, h):
    return ops.zero_without_neighbours(g, ops.copy_u_max(g, h))


AGGREGATORS = {"sum": ops.copy_u_sum, "mean": ops.copy_u_mean, "max": max_or_zero}


class GINLayer(nn.Module):
    r"""Graph isomorphism convolution, eq. (27)-(28), inside (29).

        ĥ_i  = (1 + ε) h_i + Σ_{j -> i} h_j
        h_i' = h_i + ReLU(BN(U ReLU(BN(V ĥ_i + v)) + b))

    Shapes: h (N, in_dim) -> h' (N, out_dim). Edge j -> i is stored as (src=j, dst=i). With the aggregators mean and max these
    take the place of the sum. n_mlp is the number of linear maps: the inner ReLU(BN(V ·)) stands n_mlp - 1 times. ε starts at 0
    and stays there unless learn_eps. `options` are those of layers/update.py: they concern the outer BN, the inner ones are
    of (27).

        >>> g = dgl.graph(([0, 1, 2], [1, 2, 0]))
        >>> h = GINLayer(8, 8)(g, torch.randn(3, 8))
    """

    def __init__(self, in_dim, out_dim, aggregator="sum", n_mlp=2, learn_eps=True, **options):
        super().__init__()
        if aggregator not in AGGREGATORS:
            raise ValueError(f"aggregator={aggregator!r}: expected one of {', '.join(AGGREGATORS)}")
        self.aggregator = aggregator
        self.V = nn.ModuleList(Linear(out_dim if i else in_dim, out_dim) for i in range(n_mlp - 1))
        self.norm_V = nn.ModuleList(nn.BatchNorm1d(out_dim) for _ in self.V)
        self.U = Linear(out_dim if self.V else in_dim, out_dim)
        if learn_eps:
            self.eps = nn.Parameter(torch.zeros(1))
        else:
            self.register_buffer("eps", torch.zeros(1))
        self.update_h = Update(in_dim, out_dim, **options)

    def forward(self, g, h):
        first, *others = *self.V, self.U
        x = self.map_of_sum(g, h, first)
        for norm, W in zip(self.norm_V, others, strict=True):
            x = W(fused.normalise(norm, x) if fused.norm_suits(norm, x) else F.relu(norm(x)))
        return self.update_h(g, h, x)

    def map_of_sum(self, g, h, W):
        """W ĥ, eq. (28) and the first map of (27)."""
        if self.aggregator != "sum":
            return W((1 + self.eps) * h + AGGREGATORS[self.aggregator](g, h))
        # the same: rows of a small table, in the first layer, are mapped before the sum
        if fused.is_lookup(h) and fused.sum_suits(g, h):
            return ops.closed_sum(g, fused.linear(h, W.weight), own=1 + self.eps) + W.bias
        return W(ops.closed_sum(g, h, own=1 + self.eps))
