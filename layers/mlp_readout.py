"""The prediction MLP that ends every net, eq. (32)-(35)."""

from itertools import pairwise

import torch.nn.functional as F
from torch import nn

from layers.linear import Linear


class MLPReadout(nn.Module):
    r"""Three linear layers that halve the width twice: d -> d/2 -> d/4 -> out, with ReLU between.

        y = P ReLU(Q_2 ReLU(Q_1 h))

    Shapes: h (…, in_dim) -> y (…, out_dim). `shares` are the hidden widths as shares of in_dim. The heads of LRGB make the rows of
    each hidden layer of length 1 (l2_norm), or have another activation, and dropout before each map.

    Deviation: the text prints two layers, y = P ReLU(Q h); the printed parameter counts need these three.

        >>> y = MLPReadout(8, 3)(torch.randn(5, 8))
    """

    def __init__(self, in_dim, out_dim, shares=(0.5, 0.25), activation=F.relu, l2_norm=False, dropout=0.0):
        super().__init__()
        self.activation, self.l2_norm, self.dropout = activation, l2_norm, nn.Dropout(dropout)
        widths = [in_dim, *(int(share * in_dim) for share in shares)]
        self.hidden = nn.ModuleList(Linear(a, b) for a, b in pairwise(widths))
        self.out = Linear(widths[-1], out_dim)

    def forward(self, h):
        for layer in self.hidden:
            h = self.activation(layer(self.dropout(h)))
            if self.l2_norm:
                h = F.normalize(h, dim=-1)
        return self.out(self.dropout(h))
