"""The layer of a plain transformer on graphs: every node attends to all nodes of its graph (LRGB, Transformer+LapPE)."""

import torch.nn.functional as F
from torch import nn

from layers.attention import GraphAttention
from layers.linear import Linear


class FeedForward(nn.Module):
    """Drop(W_2 Drop(σ(W_1 h + b_1)) + b_2), twice as wide inside: h (N, dim) -> (N, dim).

    >>> h = FeedForward(8)(torch.randn(3, 8))
    """

    def __init__(self, dim, activation=F.relu, dropout=0.0):
        super().__init__()
        self.W1, self.W2 = Linear(dim, 2 * dim), Linear(2 * dim, dim)
        self.activation, self.dropout = activation, nn.Dropout(dropout)

    def forward(self, h):
        return self.dropout(self.W2(self.dropout(self.activation(self.W1(h)))))


class TransformerLayer(nn.Module):
    r"""Attention, then a network of two maps; batch normalisation after each.

        ĥ_i = BN(h_i + Attention(h)_i)            h_i' = BN(ĥ_i + W_2 ReLU(W_1 ĥ_i + b_1) + b_2)

    Shapes: h (N, dim) -> h' (N, dim). Edges are not read. W_1 is dim -> 2 dim. BN is over the nodes of the batch. `pieces` are
    those of layers/padding.py.

        >>> g = dgl.batch([dgl.graph(([0], [1])), dgl.graph(([0, 1], [1, 2]))])
        >>> h = TransformerLayer(8, n_heads=2)(g, torch.randn(5, 8))
    """

    def __init__(self, dim, n_heads, dropout=0.0, attention_dropout=0.0):
        super().__init__()
        self.attention = GraphAttention(dim, n_heads, attention_dropout)
        self.norm1 = nn.BatchNorm1d(dim)
        self.feed_forward = FeedForward(dim, dropout=dropout)
        self.norm2 = nn.BatchNorm1d(dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, g, h, pieces=None):
        h = self.norm1(h + self.dropout(self.attention(g, h, pieces)))
        return self.norm2(h + self.feed_forward(h))
