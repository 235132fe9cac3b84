"""GraphSAGE as the Fair Comparison runs it: one map for a node and its neighbours alike."""

import torch
from torch import nn

from layers import fused, ops


class ClosedSAGELayer(nn.Module):
    r"""GraphSAGE over closed neighbourhoods (Fair Comparison, section 4).

        h_i' = Agg_{j -> i or j = i}(W h_j) + b            Agg: mean, max or add

    Shapes: h (N, in_dim) -> (N, out_dim). Edge j -> i is stored as (src=j, dst=i); the graph has no self-loops of its own.

    Deviation: later versions of the library it used have two maps, one for the neighbours and one for the node itself; the printed
    table was made with one.

        >>> g = dgl.graph(([0, 1, 2], [1, 2, 0]))
        >>> h = ClosedSAGELayer(8, 4, "mean")(g, torch.ones(3, 8))
    """

    def __init__(self, in_dim, out_dim, aggregation="mean"):
        super().__init__()
        bound = in_dim**-0.5
        self.aggregation = aggregation
        self.W = nn.Parameter(torch.empty(in_dim, out_dim).uniform_(-bound, bound))
        self.b = nn.Parameter(torch.empty(out_dim).uniform_(-bound, bound))

    def forward(self, g, h):
        Wh = fused.matmul(h, self.W)
        if self.aggregation == "max":
            return ops.closed_max(g, Wh) + self.b
        total = ops.closed_sum(g, Wh)
        if self.aggregation == "mean":
            total = total / (g.in_degrees() + 1)[:, None].to(total.dtype)
        return total + self.b
