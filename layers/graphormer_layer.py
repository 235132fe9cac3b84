"""The layer of Graphormer: self-attention over all nodes of a graph, with a bias for each pair of nodes."""

import torch
from torch import nn

from layers.linear import Linear


class GraphormerLayer(nn.Module):
    r"""Transformer layer with normalisation before each part, and one bias b_ij for each head.

        x̂_i  = x_i + O ‖_heads Σ_j softmax_j(q_i · k_j / √d + b_ij) v_j
        x_i' = x̂_i + W_2 GELU(W_1 LN(x̂_i))

    q, k, v are linear maps of LN(x), d = dim / heads numbers for each head. All maps have biases. Shapes: x (B, n, dim),
    bias (B, heads, n, n) -> (B, n, dim). A bias of -∞ in a column hides a padded place. Dropout acts on the attention weights.

        >>> bias = torch.zeros(1, 2, 3, 3)
        >>> x = GraphormerLayer(8, n_heads=2)(torch.ones(1, 3, 8), bias)
    """

    def __init__(self, dim, n_heads, attention_dropout=0.1):
        super().__init__()
        if dim % n_heads:
            raise ValueError(f"n_heads={n_heads}: {dim} numbers cannot be divided among so many heads")
        self.n_heads = n_heads
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.q, self.k, self.v, self.o = (Linear(dim, dim) for _ in range(4))
        self.mlp = nn.Sequential(Linear(dim, dim), nn.GELU(), Linear(dim, dim))
        self.dropout = nn.Dropout(attention_dropout)

    def forward(self, x, bias):
        h = self.norm1(x)
        q, k, v = (W(h).unflatten(2, (self.n_heads, -1)).transpose(1, 2) for W in (self.q, self.k, self.v))
        weight = torch.softmax(q @ k.transpose(2, 3) / q.shape[-1] ** 0.5 + bias, 3)
        x = x + self.o((self.dropout(weight) @ v).transpose(1, 2).flatten(2))
        return x + self.mlp(self.norm2(x))
