"""Multi-head attention of the nodes of a graph to all nodes of the same graph: the global half of transformers on graphs."""

import torch
from torch import nn

from layers import fused, fused_attention
from layers.linear import Linear
from layers.padding import Pieces


class GraphAttention(nn.Module):
    r"""Scaled dot-product attention of H heads, inside each graph of a batch.

        a_ij = softmax_j(q_i · k_j / √(d/H))            o_i = O ‖_heads Σ_j a_ij v_j + b

    j runs over all nodes of the graph of i, itself included. q, k and v are linear maps of h with bias. Shapes: h (N, dim) ->
    (N, dim). Dropout acts on the attention weights. `pieces` (layers/padding.py) are made from g where they are not given.

        >>> g = dgl.batch([dgl.graph(([0], [1])), dgl.graph(([0, 1], [1, 2]))])
        >>> h = GraphAttention(8, n_heads=2)(g, torch.randn(5, 8))
    """

    def __init__(self, dim, n_heads, dropout=0.0):
        super().__init__()
        if dim % n_heads:
            raise ValueError(f"n_heads={n_heads}: {dim} numbers cannot be divided among so many heads")
        self.n_heads, self.dropout = n_heads, dropout
        self.qkv, self.O = Linear(dim, 3 * dim), Linear(dim, dim)
        nn.init.xavier_uniform_(self.qkv.weight)
        nn.init.zeros_(self.qkv.bias)
        nn.init.zeros_(self.O.bias)

    def forward(self, g, h, pieces=None):
        pieces = pieces or Pieces(g)
        p = self.dropout if self.training else 0.0
        if fused.suits(h):
            return self.O(fused_attention.attention(pieces, self.qkv(h), self.n_heads, p))
        out = []
        for a, v in self._weights_and_values(pieces, h):
            o = torch.dropout(a, p, train=True) @ v
            out.append(o.transpose(1, 2).flatten(2))
        return self.O(pieces.unpad(out, like=h))

    def _weights_and_values(self, pieces, h):
        """a (B, H, n, n) and v (B, H, n, d/H) of each piece."""
        for x, piece in zip(pieces.pad(self.qkv(h)), pieces, strict=True):
            q, k, v = x.unflatten(2, (3, self.n_heads, -1)).permute(2, 0, 3, 1, 4)
            score = q @ k.transpose(2, 3) / q.shape[-1] ** 0.5
            yield torch.softmax(score + piece.hidden, 3), v

    def weights(self, g, h):
        """The attention weights, for pictures: a matrix (H, n, n) per graph, its rows the nodes that attend."""
        pieces, found = Pieces(g), {}
        for (a, _), piece in zip(self._weights_and_values(pieces, h), pieces, strict=True):
            for matrix, n, node in zip(a, piece.padding.sizes.tolist(), self._firsts(pieces, piece), strict=True):
                found[node] = matrix[:, :n, :n]
        return [found[node] for node in sorted(found)]

    @staticmethod
    def _firsts(pieces, piece):
        """The first node of each graph of a piece."""
        sizes = piece.padding.sizes
        return pieces.order[piece.rows][sizes.cumsum(0) - sizes].tolist()
