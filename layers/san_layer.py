"""SAN, the spectral attention network as the Long Range Graph Benchmark runs it: attention to neighbours and, by other maps and
with less weight, to all other nodes of the graph."""

import torch
from torch import nn

from layers import fused, fused_attention, ops
from layers.linear import Linear
from layers.padding import Pieces
from layers.transformer_layer import FeedForward

LIMIT = 5.0  # scores are clamped to ±LIMIT
EPS = 1e-6


class SANLayer(nn.Module):
    r"""Attention over the edges and, `gamma` times as strong, over the pairs of nodes that are none.

        w_ij = exp(clamp(Σ_c (Q h_i)_c (K h_j)_c (E e_ij)_c / √(d/H))) / (1 + γ)                     j -> i an edge
        w_ij = γ exp(clamp(Σ_c (Q₂ h_i)_c (K₂ h_j)_c (E₂ f)_c / √(d/H))) / (1 + γ)                   j ≠ i, none
        o_i  = ‖_heads Σ_j w_ij V h_j / (Σ_j w_ij + ε)
        ĥ_i  = BN(h_i + O o_i + b)                                         h_i' = BN(ĥ_i + W_2 ReLU(W_1 ĥ_i + b_1) + b_2)

    c runs over the d/H numbers of a head; clamp is to ±5. Shapes: h (N, dim), e (E, dim), f (dim,), what the net gives to pairs
    without an edge -> h' (N, dim). Edge j -> i is stored as (src=j, dst=i); e is not updated. `fake` are the pairs without an edge
    (FakePairs), made from g where they are not given. The sums over them are products of n x n matrices.

        >>> g = dgl.batch([dgl.graph(([0], [1])), dgl.graph(([0, 1], [1, 2]))])
        >>> h = SANLayer(8, n_heads=2, gamma=0.1)(g, torch.randn(5, 8), torch.randn(3, 8), torch.randn(8))
    """

    def __init__(self, dim, n_heads, gamma, dropout=0.0):
        super().__init__()
        if dim % n_heads:
            raise ValueError(f"n_heads={n_heads}: {dim} numbers cannot be divided among so many heads")
        self.n_heads, self.gamma = n_heads, gamma
        self.Q, self.K, self.E, self.Q2, self.K2, self.E2, self.V = (Linear(dim, dim, bias=False) for _ in range(7))
        self.O = Linear(dim, dim)
        self.norm1 = nn.BatchNorm1d(dim)
        self.feed_forward = FeedForward(dim, dropout=dropout)
        self.norm2 = nn.BatchNorm1d(dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, g, h, e, f, fake=None):
        v = self.V(h)
        real_sum, real_weight = self._over_edges(g, h, e, v)
        fake_sum, fake_weight = self._over_fake_pairs(fake or FakePairs(g, h.dtype), h, f, v)
        weight = (real_weight + fake_weight + EPS)[:, :, None]
        o = self._by_head(real_sum + fake_sum) / weight
        h = self.norm1(h + self.dropout(self.O(o.flatten(1))))
        return self.norm2(h + self.feed_forward(h))

    def _by_head(self, x):
        return x.unflatten(1, (self.n_heads, -1))

    def _over_edges(self, g, h, e, v):
        """Σ_j w_ij V h_j (N, dim) and Σ_j w_ij (N, H) over the edges."""
        q, k = self.Q(h), self.K(h)
        src, dst = g.edges()
        product = k.index_select(0, src.long()) * q.index_select(0, dst.long()) * self.E(e)
        score = self._by_head(product).sum(2) * self._by_head(h).shape[2] ** -0.5
        w = torch.exp(score.clamp(-LIMIT, LIMIT)) / (1 + self.gamma)
        weighted = fused.weighted_sum if fused.suits(h) else lambda g, z, w: ops.u_mul_e_sum(g, z, w[:, :, None])
        return weighted(g, self._by_head(v), w).flatten(1), ops.copy_e_sum(g, w)

    def _over_fake_pairs(self, fake, h, f, v):
        """The same over the pairs that are no edges."""
        q, k = self.Q2(h) * (self.E2(f) * self._by_head(h).shape[2] ** -0.5), self.K2(h)
        if fused.suits(h):
            return fused_attention.fake_attention(fake, q, k, v, self.n_heads, self.gamma / (1 + self.gamma), LIMIT)
        sums, weights = [], []
        for x, is_fake in zip(fake.pieces.pad(torch.cat([q, k, v], 1)), fake.masks, strict=True):
            q, k, v_ = x.unflatten(2, (3, self.n_heads, -1)).permute(2, 0, 3, 1, 4)
            w = torch.exp((q @ k.transpose(2, 3)).clamp(-LIMIT, LIMIT)) * is_fake[:, None]
            w = w * (self.gamma / (1 + self.gamma))
            sums.append((w @ v_).transpose(1, 2).flatten(2))
            weights.append(w.sum(3).transpose(1, 2))
        return fake.pieces.unpad(sums, like=v), fake.pieces.unpad(weights, like=v[:, : self.n_heads])


class FakePairs:
    """The pairs of different nodes of a graph that are no edges of it, as n x n matrices.

    pieces    of the batch (layers/padding.py)
    masks     [(B, n, n) of each piece]: 1 at [i, j] where j -> i is no edge and j ≠ i, both of them nodes

        >>> FakePairs(dgl.graph(([0, 1], [1, 2]))).masks[0].tolist()
        [[[0.0, 1.0, 1.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]]
    """

    def __init__(self, g, dtype=torch.float32):
        self.pieces, self.masks = Pieces(g, dtype=dtype), []
        src, dst = (self.pieces.inverse[x.long()] for x in g.edges())
        piece_of = torch.empty(len(self.pieces.order), dtype=torch.int64, device=src.device)
        for i, piece in enumerate(self.pieces):
            piece_of[piece.rows] = i
        order = piece_of[src].argsort(stable=True)
        counts = torch.bincount(piece_of[src], minlength=len(self.pieces.pieces)).tolist()
        for piece, edges in zip(self.pieces, order.split(counts), strict=True):
            self.masks.append(fake_mask(piece, src[edges], dst[edges], dtype))


def fake_mask(piece, src, dst, dtype):
    """(B, n, n) of a piece whose edges are src -> dst, in the order of the pieces."""
    (B, n), start = piece.shape, piece.rows.start
    real = piece.padding.real
    mask = (real[:, :, None] & real[:, None, :]).to(dtype)
    mask.diagonal(dim1=1, dim2=2).zero_()
    src, dst = (x - start if piece.places is None else piece.places[x - start] for x in (src, dst))
    mask.view(B * n, n)[dst, src % n] = 0
    return mask
