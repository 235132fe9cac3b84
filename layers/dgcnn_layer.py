"""The graph convolution of DGCNN (Fair Comparison, section 4): the mean over the closed neighbourhood, then tanh."""

import torch
from torch import nn

from layers import ops
from layers.linear import Linear


class DGCNNLayer(nn.Module):
    r"""The graph convolution of DGCNN.

        h_i' = tanh( (Σ_{j -> i} (W h_j + b) + W h_i + b) / (deg_i + 1) )

    Shapes: h (N, in_dim) -> (N, out_dim). Edge j -> i is stored as (src=j, dst=i); the graph has no self-loops of its own.

        >>> g = dgl.graph(([0, 1, 2], [1, 2, 0]))
        >>> h = DGCNNLayer(8, 4)(g, torch.ones(3, 8))
    """

    def __init__(self, in_dim, out_dim):
        super().__init__()
        self.W = Linear(in_dim, out_dim)

    def forward(self, g, h):
        Wh = self.W(h)
        total = ops.copy_u_sum(g, Wh) + Wh
        return torch.tanh(total / (g.in_degrees() + 1)[:, None].to(total.dtype))
