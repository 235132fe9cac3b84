"""GCN, the vanilla graph convolution of B.1.2: an isotropic mean over the neighbours."""

from torch import nn

from layers import fused, ops
from layers.linear import Linear
from layers.update import Update


class GCNLayer(nn.Module):
    r"""Graph convolution, eq. (12)-(13), inside (29).

        ĥ_i = U (1/deg_i) Σ_{j -> i} h_j + b        h_i' = h_i + ReLU(BN(ĥ_i))

    Shapes: h (N, in_dim) -> h' (N, out_dim). Edge j -> i is stored as (src=j, dst=i); deg_i is the in-degree, and the mean over
    no neighbours is zero. `options` are those of layers/update.py.

        >>> g = dgl.graph(([0, 1, 2], [1, 2, 0]))
        >>> h = GCNLayer(8, 8)(g, torch.randn(3, 8))
    """

    def __init__(self, in_dim, out_dim, **options):
        super().__init__()
        self.U = Linear(in_dim, out_dim)
        self.update_h = Update(in_dim, out_dim, **options)

    def forward(self, g, h):
        if fused.is_lookup(h):  # the same: rows of a small table, in the first layer, are mapped before the mean
            h_hat = ops.copy_u_mean(g, fused.linear(h, self.U.weight)) + self.U.bias
        else:
            h_hat = self.U(ops.copy_u_mean(g, h))
        return self.update_h(g, h, h_hat)
