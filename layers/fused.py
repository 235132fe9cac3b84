"""Gated and weighted sums over the neighbours as single steps of autograd: the fast way for GatedGCN, GAT and MoNet on a CPU.

Each equals, in values and gradients, the plain formula that stands beside its call in `forward` of a layer. They build fewer
tensors of E x d numbers, work on any graph (layers/ops.py), leave nothing on it, and are deterministic to the bit with a fixed
number of threads.
"""

import warnings

import dgl
import torch
from dgl import ops
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from layers.ops import with_edge_ids

EPS = 1e-6  # of the gates, eq. (25)
# numbers of an edge-sized tensor that are worked on at a time: they stay in the cache from one step to the next
BLOCK = 2**18
SAFE = 30.0  # exp of scores within +-SAFE neither overflows nor vanishes, also not in float32

with warnings.catch_warnings():  # torch says once in a process that its CSR tensors are in beta
    warnings.simplefilter("ignore")
    torch.sparse_csr_tensor(torch.tensor([0, 0]), torch.tensor([], dtype=torch.int64), torch.tensor([]), (1, 1))


def suits(x):
    """Whether the functions below work on x; where not (CUDA, other number types), layers compute their plain formula."""
    return x.device.type == "cpu" and x.dtype in (torch.float32, torch.float64) and torch.backends.mkl.is_available()


def blocks(n_rows, width):
    """Slices of so many rows at a time that a block of this width stays in the cache."""
    step = max(1, BLOCK // max(1, width))
    return [slice(start, start + step) for start in range(0, n_rows, step)]


# --------------------------------------------------------------------------------------------------------------------
# Gated mean (GatedGCN)


def gated_mean(g, Ah, Bh, Vh, e=None, C=None):
    r"""Σ_j η_ij ⊙ Vh_j (N, d) with the gates of eq. (25), and what is in them, ê (E, d).

        ê_ij = Ah_i + Bh_j + C e_ij (the last term only with e)        η_ij = σ(ê_ij) / (Σ_j' σ(ê_ij') + ε)

    The plain formula makes six tensors of E x d numbers forward and seven backward; this makes the two it keeps (ê and σ(ê)) and
    one for each gradient, block by block of edges, and its matrix products on blocks that fit the cache.
    """
    return GatedMean.apply(g, Ah, Bh, Vh, e, C)


class GatedMean(Function):
    @staticmethod
    def forward(ctx, g, Ah, Bh, Vh, e, C):
        g = with_edge_ids(g)
        src, dst = g.edges()
        e_hat = Ah.new_empty(len(src), Ah.shape[1])
        gate = torch.empty_like(e_hat)
        for rows in blocks(*e_hat.shape):
            x = torch.index_select(Bh, 0, src[rows], out=e_hat[rows])
            x += Ah.index_select(0, dst[rows])
            if e is not None:
                x.addmm_(e[rows], C.t())
            torch.sigmoid(x, out=gate[rows])
        total = ops.copy_e_sum(g, gate) + EPS
        mean = ops.u_mul_e_sum(g, Vh, gate) / total
        ctx.g = g
        ctx.save_for_backward(Vh, e, C, gate, total, mean)
        ctx.set_materialize_grads(False)  # the last layer has no use for ê: no gradient of E x d zeros
        return mean, e_hat

    @staticmethod
    @once_differentiable
    def backward(ctx, d_mean, d_e_hat):
        Vh, e, C, gate, total, mean = ctx.saved_tensors
        g, (src, dst) = ctx.g, ctx.g.edges()
        d_mean = torch.zeros_like(mean) if d_mean is None else d_mean
        reverse = dgl.reverse(g, copy_ndata=False)
        d_sum = d_mean / total  # of Σ_j σ(ê_ij) ⊙ Vh_j
        d_Vh = ops.u_mul_e_sum(reverse, d_sum, gate)
        d = torch.empty_like(gate)  # of ê: σ' ⊙ d_sum_i ⊙ (Vh_j - mean_i), and what comes from its other use
        d_e = None if e is None else torch.empty_like(e)
        d_C = None if e is None else torch.zeros_like(C)
        for rows in blocks(*gate.shape):
            x = torch.index_select(Vh, 0, src[rows], out=d[rows])
            x -= mean.index_select(0, dst[rows])
            x *= d_sum.index_select(0, dst[rows])
            torch.ops.aten.sigmoid_backward.grad_input(x, gate[rows], grad_input=x)
            if d_e_hat is not None:
                x += d_e_hat[rows]
            if e is not None:
                torch.mm(x, C, out=d_e[rows])
                d_C.addmm_(x.t(), e[rows])
        return None, ops.copy_e_sum(g, d), ops.copy_e_sum(reverse, d), d_Vh, d_e, d_C


# --------------------------------------------------------------------------------------------------------------------
# Sum of rectified messages (GINE)


def relu_sum(g, h, e):
    """Σ_{j -> i} ReLU(h_j + e_ij): h (N, d), e (E, d) -> (N, d). It keeps one tensor of E x d numbers."""
    return ReluSum.apply(g, h, e)


class ReluSum(Function):
    @staticmethod
    def forward(ctx, g, h, e):
        g = with_edge_ids(g)
        src, _ = g.edges()
        message = torch.empty_like(e)
        for rows in blocks(*e.shape):
            x = torch.index_select(h, 0, src[rows], out=message[rows])
            x += e[rows]
            x.relu_()
        ctx.g = g
        ctx.save_for_backward(message)
        return ops.copy_e_sum(g, message)

    @staticmethod
    @once_differentiable
    def backward(ctx, d_sum):
        (message,) = ctx.saved_tensors
        _, dst = ctx.g.edges()
        d = torch.empty_like(message)
        for rows in blocks(*message.shape):
            x = torch.index_select(d_sum, 0, dst[rows], out=d[rows])
            torch.ops.aten.threshold_backward.grad_input(x, message[rows], 0, grad_input=x)
        return None, ops.copy_e_sum(dgl.reverse(ctx.g, copy_ndata=False), d), d


# --------------------------------------------------------------------------------------------------------------------
# Attention (GAT), weighted sums (MoNet)


def attention(g, z, score):
    """Σ_j a_ij^k z_j^k with a = softmax_j(score_ij), eq. (18)-(19): z (N, K, d), score (E, K) -> (N, K, d)."""
    return weighted_sum(g, z, edge_softmax(g, score))


def weighted_sum(g, z, weight):
    """Σ_j weight_ij^k z_j^k: z (N, K, d), one weight per edge and head (E, K) -> (N, K, d). One sparse product per head."""
    return WeightedSum.apply(g, z, weight)


class WeightedSum(Function):
    @staticmethod
    def forward(ctx, g, z, weight):
        ctx.g = g
        ctx.save_for_backward(z, weight)
        indptr, src, ids = g.adj_tensors("csc")
        return matmul_heads(indptr, src, by_head(weight, ids), z)

    @staticmethod
    @once_differentiable
    def backward(ctx, d_out):
        z, weight = ctx.saved_tensors
        indptr, dst, ids = ctx.g.adj_tensors("csr")
        d_z = matmul_heads(indptr, dst, by_head(weight, ids), d_out)
        return None, d_z, dot_heads(ctx.g, z, d_out) if ctx.needs_input_grad[2] else None


def matmul_heads(indptr, columns, weight, x):
    """One CSR product per head: weight (K, E) in the order of the CSR form, x (N, K, d) -> (N, K, d)."""
    size = (len(indptr) - 1, len(x))
    heads = [torch.sparse_csr_tensor(indptr, columns, w, size) @ x[:, k] for k, w in enumerate(weight)]
    return torch.stack(heads, dim=1)


def dot_heads(g, u, v):
    """u_j^k · v_i^k for each edge and head: (N, K, d), (N, K, d) -> (E, K)."""
    indptr, src, ids = g.adj_tensors("csc")
    pattern = torch.sparse_csr_tensor(indptr, src, u.new_zeros(len(src)), (len(v), len(u)))
    heads = [torch.sparse.sampled_addmm(pattern, v[:, k], u[:, k].t(), beta=0.0).values() for k in range(u.shape[1])]
    dots = torch.stack(heads, dim=1)
    return dots if len(ids) == 0 else torch.empty_like(dots).index_copy_(0, ids.long(), dots)


def by_head(weight, ids):
    """weight (E, K) in the order of the edge numbers -> (K, E) in the order `ids` (empty: the same)."""
    return (weight.index_select(0, ids) if len(ids) else weight).t().contiguous()


def edge_softmax(g, score):
    """exp(score_ij) / Σ_j' exp(score_ij') over the edges into i, for each head: (E, K) -> (E, K), eq. (19).

    Safe for any scores: large ones are taken relative to the largest of their destination, as in the plain softmax.
    """
    return EdgeSoftmax.apply(g, score)


class EdgeSoftmax(Function):
    @staticmethod
    def forward(ctx, g, score):
        g = with_edge_ids(g)
        if not is_moderate(score):
            score = ops.e_sub_v(g, score, ops.copy_e_max(g, score))
        p = score.exp()
        p *= ops.copy_v(g, 1 / ops.copy_e_sum(g, p))
        ctx.g = g
        ctx.save_for_backward(p)
        return p

    @staticmethod
    @once_differentiable
    def backward(ctx, d_p):
        (p,) = ctx.saved_tensors
        d = p * d_p
        return None, d.addcmul_(p, ops.copy_v(ctx.g, ops.copy_e_sum(ctx.g, d)), value=-1)


def is_moderate(score):
    """Whether exp(score) is safe without subtracting a maximum (False for NaN)."""
    return len(score) == 0 or float(score.abs().max()) <= SAFE
