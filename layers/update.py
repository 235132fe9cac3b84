"""The end that the layers of B.1 share, eq. (29): normalisation, activation, residual connection, dropout."""

import torch.nn.functional as F
from torch import nn

from layers import fused
from layers.graph_norm import graph_size_norm


class Update(nn.Module):
    r"""What a layer does with its aggregate ĥ, eq. (29); then dropout.

        h' = h + σ(BN(ĥ))

    Shapes: h (N, in_dim), ĥ (N, out_dim) -> h' (N, out_dim). There is no residual connection where in_dim != out_dim. With
    graph_norm ĥ is first divided by the root of the size of its graph, eq. (73). With keep_residual dropout acts on σ(BN(ĥ)) alone,
    as in the retuned nets of LRGB, and h is added to what is left.

        >>> g = dgl.graph(([0, 1], [1, 2]))
        >>> h = Update(8, 8)(g, torch.ones(3, 8), torch.randn(3, 8))
    """

    def __init__(
        self,
        in_dim,
        out_dim,
        dropout=0.0,
        batch_norm=True,
        residual=True,
        graph_norm=False,
        activation=F.relu,
        keep_residual=False,
    ):
        super().__init__()
        self.norm = nn.BatchNorm1d(out_dim) if batch_norm else nn.Identity()
        self.residual = residual and in_dim == out_dim
        self.graph_norm, self.activation, self.keep_residual = graph_norm, activation, keep_residual
        self.dropout = nn.Dropout(dropout)

    def forward(self, g, h, h_hat):
        if self.graph_norm:
            h_hat = graph_size_norm(g, h_hat)
        early, late = self.residual and not self.keep_residual, self.residual and self.keep_residual
        if fused.norm_suits(self.norm, h_hat, self.activation):  # the same, in one step
            h_new = fused.normalise(self.norm, h_hat, self.activation, h if early else None)
        else:
            h_new = self.activation(self.norm(h_hat))
            h_new = h + h_new if early else h_new
        h_new = self.dropout(h_new)
        return h + h_new if late else h_new


class EdgeUpdate(Update):
    r"""The same for the edges, e' = e + σ(BN(ê)). Eq. (73) is of nodes: graph_norm changes nothing here.

    Shapes: e (E, in_dim), ê (E, out_dim) -> e' (E, out_dim).

        >>> g = dgl.graph(([0, 1], [1, 2]))
        >>> e = EdgeUpdate(8, 8)(g, torch.ones(2, 8), torch.randn(2, 8))
    """

    def __init__(self, in_dim, out_dim, graph_norm=False, **options):
        super().__init__(in_dim, out_dim, **options)
