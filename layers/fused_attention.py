"""Attention inside graphs as single steps of autograd: the fast way for Transformer, GPS and SAN on a CPU.

Each equals, in values and gradients, the plain formula that stands beside its call. Pieces of a batch (layers/padding.py) are so
small that their n x n numbers stay in the cache. Backward computes these again instead of reading them from memory: what is kept
for a pair of nodes is a byte, whether dropout left it, or nothing.
"""

import torch
from torch.autograd import Function
from torch.autograd.function import once_differentiable


def by_head(x, piece, n_heads, parts=1):
    """Rows (M, parts d) of a piece -> parts tensors (B H, n, d/H), zero at the padding."""
    (B, n), width = piece.shape, x.shape[1] // (parts * n_heads)
    if piece.places is not None:
        x = x.new_zeros(B * n, x.shape[1]).index_copy_(0, piece.places, x)
    return x.view(B, n, parts, n_heads, width).permute(2, 0, 3, 1, 4).reshape(parts, B * n_heads, n, width)


def to_rows(x, piece, n_heads, out):
    """parts tensors (parts, B H, n, d/H) -> the rows of a piece, written to out (M, parts d)."""
    B, n = piece.shape
    x = x.view(-1, B, n_heads, n, x.shape[-1]).permute(1, 3, 0, 2, 4)
    if piece.places is None:
        out.view(x.shape).copy_(x)
    else:
        torch.index_select(x.reshape(B * n, -1), 0, piece.places, out=out)


# --------------------------------------------------------------------------------------------------------------------
# Softmax over all nodes of the graph (Transformer, GPS)


def attention(pieces, qkv, n_heads, p=0.0):
    """‖_heads Σ_j Drop(softmax_j(q_i · k_j / √(d/H))) v_j: q, k, v side by side (N, 3 d) -> (N, d). p is that of the dropout."""
    return SoftmaxAttention.apply(pieces, qkv, n_heads, p)


class SoftmaxAttention(Function):
    @staticmethod
    def forward(ctx, pieces, qkv, n_heads, p):
        ctx.pieces, ctx.n_heads, ctx.p = pieces, n_heads, p
        qkv = qkv.index_select(0, pieces.order)
        out = qkv.new_empty(len(qkv), qkv.shape[1] // 3)
        ctx.kept = []
        for piece in pieces:
            q, k, v = by_head(qkv[piece.rows], piece, n_heads, 3)
            a = softmax_of(q, k, piece, n_heads)
            if p:
                ctx.kept.append(kept_by_dropout(a, p))
                a.mul_(ctx.kept[-1])
                v = v / (1 - p)
            to_rows(torch.bmm(a, v)[None], piece, n_heads, out[piece.rows])
        out = out.index_select(0, pieces.inverse)
        ctx.save_for_backward(qkv, out)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx, d_out):
        pieces, n_heads, p = ctx.pieces, ctx.n_heads, ctx.p
        qkv, out = ctx.saved_tensors
        own = (d_out * out).index_select(0, pieces.order)  # Σ over a head of it is Σ_j a_ij da_ij
        d_out = d_out.index_select(0, pieces.order)
        d_qkv = torch.empty_like(qkv)
        for i, piece in enumerate(pieces):
            q, k, v = by_head(qkv[piece.rows], piece, n_heads, 3)
            (d_o,), (own_o,) = (by_head(x[piece.rows], piece, n_heads) for x in (d_out, own))
            a = softmax_of(q, k, piece, n_heads)
            dropped = a
            if p:
                d_o = d_o / (1 - p)
                dropped = a * ctx.kept[i]
            d_a = torch.bmm(d_o, v.transpose(1, 2))
            if p:
                d_a.mul_(ctx.kept[i])
            d_v = torch.bmm(dropped.transpose(1, 2), d_o)
            d_s = d_a.sub_(own_o.sum(2, keepdim=True)).mul_(a).mul_(q.shape[2] ** -0.5)
            d_q, d_k = torch.bmm(d_s, k), torch.bmm(d_s.transpose(1, 2), q)
            to_rows(torch.stack([d_q, d_k, d_v]), piece, n_heads, d_qkv[piece.rows])
        return None, d_qkv.index_select(0, pieces.inverse), None, None


def softmax_of(q, k, piece, n_heads):
    """softmax_j(q_i · k_j / √(d/H)) (B H, n, n), with 0 for the padding."""
    score = torch.bmm(q * q.shape[2] ** -0.5, k.transpose(1, 2))
    if piece.places is not None:
        B, n = piece.shape
        score.view(B, n_heads, n, n).add_(piece.hidden)
    return torch.softmax(score, 2)


def kept_by_dropout(like, p):
    """True with probability 1 - p for each number of `like`. For p = 1/2 and the like from random bytes, ten times as fast."""
    n, share = like.numel(), 256 * (1 - p)
    if share != int(share):
        return torch.rand(like.shape, device=like.device) >= p
    words = torch.empty(n // 8 + 1, dtype=torch.int64, device=like.device).random_(-(2**63), None)
    return (words.view(torch.uint8)[:n] < int(share)).view(like.shape)


# --------------------------------------------------------------------------------------------------------------------
# Clamped scores of the pairs that are no edges (SAN)


def fake_attention(fake, q, k, v, n_heads, share, limit):
    """Σ_j w_ij v_j (N, d) and Σ_j w_ij (N, H) of w_ij = share exp(clamp(q_i · k_j, ±limit)) over the pairs of `fake`."""
    return FakeAttention.apply(fake, q, k, v, n_heads, share, limit)


class FakeAttention(Function):
    @staticmethod
    def forward(ctx, fake, q, k, v, n_heads, share, limit):
        ctx.fake, ctx.n_heads, ctx.share, ctx.limit = fake, n_heads, share, limit
        qkv = torch.cat([q, k, v], 1).index_select(0, fake.pieces.order)
        total, weight = qkv.new_empty(len(v), v.shape[1]), qkv.new_empty(len(v), n_heads)
        for piece, mask in zip(fake.pieces, fake.masks, strict=True):
            q, k, v = by_head(qkv[piece.rows], piece, n_heads, 3)
            w = torch.bmm(q, k.transpose(1, 2)).clamp_(-limit, limit).exp_()
            w.view(-1, n_heads, *mask.shape[1:]).mul_(mask[:, None])
            to_rows(torch.bmm(w, v)[None], piece, n_heads, total[piece.rows])
            to_rows(w.sum(2)[None, :, :, None], piece, n_heads, weight[piece.rows])
        ctx.save_for_backward(qkv)
        return tuple(x.index_select(0, fake.pieces.inverse).mul_(share) for x in (total, weight))

    @staticmethod
    @once_differentiable
    def backward(ctx, d_total, d_weight):
        pieces, n_heads, limit = ctx.fake.pieces, ctx.n_heads, ctx.limit
        (qkv,) = ctx.saved_tensors
        d_total, d_weight = ((x * ctx.share).index_select(0, pieces.order) for x in (d_total, d_weight))
        d_qkv = torch.empty_like(qkv)
        for piece, mask in zip(pieces, ctx.fake.masks, strict=True):
            q, k, v = by_head(qkv[piece.rows], piece, n_heads, 3)
            (d_t,), (d_w,) = (by_head(x[piece.rows], piece, n_heads) for x in (d_total, d_weight))
            score = torch.bmm(q, k.transpose(1, 2))
            w = score.clamp(-limit, limit)
            inside = w == score  # where the clamp lets a gradient through
            w.exp_().view(-1, n_heads, *mask.shape[1:]).mul_(mask[:, None])
            d_v = torch.bmm(w.transpose(1, 2), d_t)
            d_s = torch.baddbmm(d_w, d_t, v.transpose(1, 2)).mul_(w).mul_(inside)
            d_q, d_k = torch.bmm(d_s, k), torch.bmm(d_s.transpose(1, 2), q)
            to_rows(torch.stack([d_q, d_k, d_v]), piece, n_heads, d_qkv[piece.rows])
        d_q, d_k, d_v = d_qkv.index_select(0, pieces.inverse).chunk(3, 1)
        return None, d_q, d_k, d_v, None, None, None
