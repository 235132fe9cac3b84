"""The graph-agnostic layer of section 4: every node is updated without looking at its neighbours."""

import torch.nn.functional as F
from torch import nn

from layers.linear import Linear


class MLPLayer(nn.Module):
    r"""One fully connected layer per node, the baseline of section 4.

        h_i' = ReLU(W h_i + b)

    Shapes: h (N, in_dim) -> h' (N, out_dim). The graph is accepted and ignored, so that the layer fits where any other does.

        >>> g = dgl.graph(([0, 1, 2], [1, 2, 0]))
        >>> h = MLPLayer(8, 4)(g, torch.randn(3, 8))
    """

    def __init__(self, in_dim, out_dim, dropout=0.0):
        super().__init__()
        self.W = Linear(in_dim, out_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, g, h):
        return self.dropout(F.relu(self.W(h)))
