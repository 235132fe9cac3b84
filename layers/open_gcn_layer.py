"""The convolution of OSAN's edge scorer: GCN whose normalisation counts a self-loop that is not there."""

from torch import nn

from layers import ops
from layers.linear import Linear


class OpenGCNLayer(nn.Module):
    r"""Sum over the neighbours, without the node itself.

        y_v = Σ_{u ∈ N(v)} (W x_u + b) / √((d_u + 1)(d_v + 1))

    Shapes: x (N, in_dim) -> (N, out_dim). No normalisation and no activation follow.

        >>> y = OpenGCNLayer(3, 8)(dgl.graph(([0, 1], [1, 0])), torch.ones(2, 3))
    """

    def __init__(self, in_dim, out_dim):
        super().__init__()
        self.W = Linear(in_dim, out_dim)

    def forward(self, g, x):
        scale = (g.in_degrees() + 1).to(x.dtype).rsqrt()[:, None]
        return scale * ops.copy_u_sum(g, scale * self.W(x))
