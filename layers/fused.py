"""Steps of the layers as single steps of autograd: the fast way on a CPU.

Each equals, in values and gradients, the plain formula that stands beside its call. They build fewer tensors of E x d numbers,
work on any graph (layers/ops.py), leave nothing on it, and are deterministic to the bit with a fixed number of threads.

Some have two ways to the same number. In float32, and where they win, they run the compiled loops of layers/kernels.py; the
other way is by operators of torch and DGL. Which one is chosen depends on number type and sizes alone, so a run that goes on
chooses as before.
"""

import functools
import warnings
from itertools import pairwise

import dgl
import torch
import torch.nn.functional as F
from dgl import ops
from torch import nn
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from layers.per_graph import once_per_graph

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


@functools.cache
def loops():
    """layers/kernels.py, loaded when it is first needed, or None where it cannot work (another system, another OpenMP)."""
    try:
        from layers import kernels
    except (ImportError, OSError, AttributeError):
        return None
    return kernels


def compiled(*tensors):
    """Whether the compiled loops work on these."""
    return all(x.device.type == "cpu" and x.dtype == torch.float32 for x in tensors) and loops() is not None


def few_edges(g):
    """Whether the loops over single edges win: with many edges per node, products of sparse matrices do."""
    return g.num_edges() <= 16 * g.num_nodes()


@once_per_graph
def in_edges(g):
    """indptr, src: the edges into each node, as int32."""
    indptr, src, _ = g.adj_tensors("csc")
    return indptr.int(), src.int()


@once_per_graph
def out_edges(g):
    """indptr, dst, edge: the edges that leave each node and their numbers, as int32."""
    indptr, dst, edge = g.adj_tensors("csr")
    edge = edge if len(edge) else torch.arange(len(dst), dtype=torch.int32)
    return indptr.int(), dst.int(), edge.int()


@once_per_graph
def in_order(g):
    """Whether the edges are numbered as they enter the nodes, node after node, as in a batch of the store."""
    _, src, ids = g.adj_tensors("csc")
    return len(ids) == 0 or torch.equal(ids, torch.arange(len(src), dtype=ids.dtype))


def with_edge_ids(g):
    """The same graph with its edge numbers written out. The float32 sums over edges of dgl 1.1.3, and on processors with AVX-512
    its maxima and minima too, refuse a graph in CSC form whose edge numbers are given as "consecutive" (an empty tensor)."""
    indptr, src, ids = g.adj_tensors("csc")
    if len(ids) == len(src):
        return g
    ids = torch.arange(len(src), dtype=src.dtype, device=src.device)
    return dgl.graph(("csc", (indptr, src, ids)), num_nodes=g.num_nodes())


def blocks(n_rows, width):
    """Slices of so many rows at a time that a block of this width stays in the cache."""
    step = max(1, BLOCK // max(1, width))
    return [slice(start, start + step) for start in range(0, n_rows, step)]


# --------------------------------------------------------------------------------------------------------------------
# Dense products

MANY = 2**21  # multiplications from which one of our own products is worth its call


@functools.cache
def matrices():
    """layers/matmul.py, or None where the products of the library are as fast."""
    from layers import matmul

    return matmul if matmul.is_faster() else None


def own_product(a, b):
    """Whether layers/matmul.py works on these and is faster here than the library."""
    return a.numel() * b.shape[-1] >= MANY and compiled(a, b) and matrices() is not None


def product(a, b, start=None, relu=False, out=None):
    """a b, with `start` a b + start, with `relu` its ReLU: (M, K), (K, N) -> (M, N), or a batch of them: (B, M, K), (B, K, N).

    `out` is where it is written, which may be `start`; both have no gradient then.
    """
    if own_product(a, b):
        return matrices().matmul(a, b, start, relu, out)
    add = torch.addmm if a.dim() == 2 else torch.baddbmm
    out = torch.matmul(a, b, out=out) if start is None else add(start, a, b, out=out)
    return out.relu_() if relu else out


def matmul(a, b, start=None):
    """`product` with gradients."""
    return Product.apply(a, b, start) if own_product(a, b) else product(a, b, start)


class Product(Function):
    @staticmethod
    def forward(ctx, a, b, start):
        ctx.save_for_backward(a, b)
        ctx.shape = None if start is None else start.shape
        return product(a, b, start)

    @staticmethod
    @once_differentiable
    def backward(ctx, d):
        a, b = ctx.saved_tensors
        d_a, d_b, d_start = ctx.needs_input_grad
        return (
            product(d, b.mT) if d_a else None,
            product(a.mT, d) if d_b else None,
            d.sum_to_size(ctx.shape) if d_start else None,
        )


def relu_linear(h, weight, bias=None):
    """ReLU(W h + b): (N, in_dim) -> (N, out_dim)."""
    if h.dim() == 2 and not is_lookup(h) and h.numel() * len(weight) >= MANY and compiled(h, weight):
        return ReluLinear.apply(h, weight, bias)
    return F.relu(linear(h, weight, bias))


class ReluLinear(Function):
    """Many columns of the result are 0 in all rows of a net with wide layers. In the gradients they are left out."""

    @staticmethod
    def forward(ctx, h, weight, bias):
        out = product(h, weight.t(), bias, relu=True)
        ctx.save_for_backward(h, weight, out)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx, d_out):
        h, weight, out = ctx.saved_tensors
        k, (n, d), d_out = loops(), out.shape, d_out.contiguous()
        used = torch.empty(d, dtype=torch.int32)
        k.used_columns(n, d, out, used, threads=1)
        columns = used.nonzero().flatten() if used.any() else torch.zeros(1, dtype=torch.int64)
        d_z, sums = out.new_empty(n, len(columns)), out.new_empty(-(-n // (k.TILE * k.TILES)), len(columns))
        k.relu_back(n, d, len(columns), columns.int(), out, d_out, d_z, sums)
        d_h, d_weight, d_bias = ctx.needs_input_grad
        return (
            product(d_z, weight[columns]) if d_h else None,
            torch.zeros_like(weight).index_copy_(0, columns, product(d_z.t(), h)) if d_weight else None,
            out.new_zeros(d).index_copy_(0, columns, sums.sum(0)) if d_bias else None,
        )


# --------------------------------------------------------------------------------------------------------------------
# The first layer: representations that are rows of a small table


def lookup(table, index):
    """table[index]: (T, d), (N,) -> (N, d). The result remembers where it is from, for `linear`."""
    if not compiled(table):
        return F.embedding(index, table)
    rows = TakeRows.apply(table, index)
    if 4 * len(table) <= len(index):
        rows.rows_of = table, index
    return rows


def is_lookup(h):
    return hasattr(h, "rows_of")


def linear(h, weight, bias=None):
    """F.linear; of rows of a table the products of the table alone, which is smaller."""
    if is_lookup(h):
        table, index = h.rows_of
        return TakeRows.apply(F.linear(table, weight, bias), index)
    if h.dim() < 2 or not own_product(h, weight.t()):
        return F.linear(h, weight, bias)
    return matmul(h.flatten(0, -2), weight.t(), bias).unflatten(0, h.shape[:-1])


class TakeRows(Function):
    @staticmethod
    def forward(ctx, table, index):
        ctx.save_for_backward(index)
        ctx.n_rows = len(table)
        return table.index_select(0, index)

    @staticmethod
    @once_differentiable
    def backward(ctx, d_out):
        (index,) = ctx.saved_tensors
        d_out = d_out.contiguous()
        n, d = d_out.shape
        d_table = d_out.new_empty(ctx.n_rows, d)
        loops().take_rows_back(n, ctx.n_rows, d, index, d_out, d_table)
        return d_table, None


# --------------------------------------------------------------------------------------------------------------------
# Sums, means and maxima over the neighbours


def sum_suits(g, x):
    """Whether `sum_neighbours` and `max_neighbours` work on these and win."""
    return x.dim() == 2 and compiled(x) and few_edges(g) and g.is_homogeneous


def sum_neighbours(g, x, mean=False, own=None):
    """Σ_j x_j, or with `mean` their mean, and with `own` (a number) own · x_i more: (N, d) -> (N, d)."""
    return SumNeighbours.apply(g, x, mean, own)


class SumNeighbours(Function):
    @staticmethod
    def forward(ctx, g, x, mean, own):
        x = x.contiguous()
        n, d = x.shape
        out = torch.empty_like(x)
        loops().sum_neighbours(n, d, int(mean), 0.0 if own is None else float(own), *in_edges(g), x, out)
        ctx.g, ctx.mean, ctx.own = g, mean, own
        ctx.save_for_backward(x if own is not None and ctx.needs_input_grad[3] else None)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx, d_out):
        g, (x,) = ctx.g, ctx.saved_tensors
        d_out = d_out.contiguous()
        n, d = d_out.shape
        d_x, share = torch.empty_like(d_out), d_out
        if ctx.mean:
            share = torch.empty_like(d_out)
            loops().divide_rows(n, d, in_edges(g)[0], d_out, share)
        indptr, dst, _ = out_edges(g)
        loops().sum_neighbours(n, d, 0, 0.0 if ctx.own is None else float(ctx.own), indptr, dst, share, d_x)
        d_own = None if x is None else torch.dot(d_out.flatten(), x.flatten()).reshape(ctx.own.shape)
        return None, d_x, None, d_own


def sum_in_subgraphs(g, x, place, number, own=None):
    """Σ_u x_su over the neighbours that v has in subgraph s, with `own` (a number) own · x_sv more: (R, d) -> (R, d).

    place (R,) is where row (s, v) stands among (N, k) places, number (N, k) the row of a place, -1 where it has no edges.
    """
    return SumInSubgraphs.apply(g, x, place, number, own)


class SumInSubgraphs(Function):
    @staticmethod
    def forward(ctx, g, x, place, number, own):
        ctx.g, ctx.own = g, own
        ctx.save_for_backward(place, number, x if own is not None and ctx.needs_input_grad[4] else None)
        return SumInSubgraphs.sums(*in_edges(g), x, place, number, own)

    @staticmethod
    def sums(indptr, index, x, place, number, own):
        x = x.contiguous()
        out, weight = torch.empty_like(x), 0.0 if own is None else float(own)
        loops().sum_in_subgraphs(*x.shape, number.shape[1], weight, indptr, index, place, number, x, out)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx, d_out):
        place, number, x = ctx.saved_tensors
        indptr, dst, _ = out_edges(ctx.g)
        d_x = SumInSubgraphs.sums(indptr, dst, d_out, place, number, ctx.own)
        d_own = None if x is None else torch.dot(d_out.flatten(), x.flatten()).reshape(ctx.own.shape)
        return None, d_x, None, None, d_own


class RowLists:
    """n lists of rows of a matrix with n_rows: list i is index from indptr_i to indptr_i+1."""

    def __init__(self, indptr, index, n_rows):
        self.indptr, self.index, self.n_rows = indptr.int(), index.int(), n_rows

    def __len__(self):
        return len(self.indptr) - 1

    @functools.cached_property
    def list_of(self):
        """For each entry of index the number of its list."""
        return torch.repeat_interleave(torch.arange(len(self), device=self.index.device), self.indptr.diff().long())

    @functools.cached_property
    def reversed(self):
        """For each row the lists that it is in."""
        indptr = F.pad(torch.bincount(self.index, minlength=self.n_rows).cumsum(0), (1, 0))
        return RowLists(indptr, self.list_of[self.index.sort(stable=True).indices], len(self))


def add_rows(x, lists):
    """The sum of the rows of x in each list: (n_rows, d) -> (len(lists), d)."""
    if compiled(x):
        return AddRows.apply(x, lists)
    return x.new_zeros(len(lists), x.shape[1]).index_add(0, lists.list_of, x.index_select(0, lists.index))


class AddRows(Function):
    @staticmethod
    def forward(ctx, x, lists):
        ctx.lists = lists
        return AddRows.sums(x, lists)

    @staticmethod
    def sums(x, lists):
        n, d = len(lists), x.shape[1]
        out = x.new_empty(n, d)
        loops().sum_neighbours(n, d, 0, 0.0, lists.indptr, lists.index, x.contiguous(), out)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx, d_out):
        return AddRows.sums(d_out, ctx.lists.reversed), None


def sum_pieces(x, sizes):
    """Sums of the first sizes[0] rows, of the next sizes[1], …: (N, d) -> (len(sizes), d)."""
    return SumPieces.apply(x, sizes)


class SumPieces(Function):
    @staticmethod
    def forward(ctx, x, sizes):
        x, d = x.contiguous(), x.shape[1]
        indptr = F.pad(sizes.cumsum(0), (1, 0)).int()
        out = x.new_empty(len(sizes), d)
        loops().sum_neighbours(len(sizes), d, 0, 0.0, indptr, torch.arange(len(x), dtype=torch.int32), x, out)
        ctx.save_for_backward(sizes)
        ctx.n_rows = len(x)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx, d_out):
        (sizes,) = ctx.saved_tensors
        return torch.repeat_interleave(d_out, sizes, dim=0, output_size=ctx.n_rows), None


def max_pieces(x, sizes):
    """Maxima of the first sizes[0] rows, of the next sizes[1], …: (N, d) -> (len(sizes), d); 0 of no rows."""
    return MaxPieces.apply(x, sizes)


class MaxPieces(Function):
    @staticmethod
    def forward(ctx, x, sizes):
        x, (n, d) = x.contiguous(), x.shape
        indptr, index = F.pad(sizes.cumsum(0), (1, 0)).int(), torch.arange(n, dtype=torch.int32)
        out, which = x.new_empty(len(sizes), d), torch.empty(len(sizes), d, dtype=torch.int32)
        loops().max_neighbours(len(sizes), d, -torch.inf, 0, indptr, index, x, out, which)
        ctx.save_for_backward(which)
        ctx.n_rows = n
        return out.masked_fill_((sizes == 0)[:, None], 0)

    @staticmethod
    @once_differentiable
    def backward(ctx, d_out):
        (which,) = ctx.saved_tensors
        d_x = d_out.new_zeros(ctx.n_rows + 1, d_out.shape[1])  # the last row, -1, is of pieces without rows
        return d_x.scatter_(0, which.long() % len(d_x), d_out)[:-1], None


def max_neighbours(g, x, least=None, own=False):
    """Max_j x_j, -inf without neighbours (0 in a graph without any edge), or `least` where that is larger; if `own` with x_i too:
    (N, d) -> (N, d)."""
    return MaxNeighbours.apply(g, x, least, own)


class MaxNeighbours(Function):
    @staticmethod
    def forward(ctx, g, x, least, own):
        x = x.contiguous()
        n, d = x.shape
        out, which = torch.empty_like(x), torch.empty(n, d, dtype=torch.int32)
        least = least if least is not None else -torch.inf if g.num_edges() else 0.0
        loops().max_neighbours(n, d, least, int(own), *in_edges(g), x, out, which)
        ctx.g, ctx.own = g, own
        ctx.save_for_backward(which)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx, d_out):
        (which,) = ctx.saved_tensors
        d_out = d_out.contiguous()
        d_x = torch.empty_like(d_out)
        loops().max_neighbours_back(*d_out.shape, int(ctx.own), *out_edges(ctx.g), which, d_out, d_x)
        return None, d_x, None, None


# --------------------------------------------------------------------------------------------------------------------
# Batch normalisation, activation, residual connection (layers/update.py)

ACTIVATIONS = {F.relu: 1, F.elu: 2}  # as in layers/kernels.py


def norm_suits(norm, x, activation=F.relu):
    """Whether `normalise` works on these: a batch normalisation in training, with a known activation."""
    return (
        type(norm) is nn.BatchNorm1d
        and norm.training
        and norm.affine
        and norm.track_running_stats
        and norm.momentum is not None
        and x.dim() == 2
        and len(x) > 1
        and (activation in ACTIVATIONS or isinstance(activation, nn.Identity))
        and compiled(x, norm.weight)
    )


def normalise(norm, x, activation=F.relu, h=None):
    """h + activation(norm(x)), without h: activation(norm(x)). x (N, d), h (N, d) or one row for all, (1, d)."""
    norm.num_batches_tracked.add_(1)
    return Normalise.apply(x, norm.weight, norm.bias, h, norm, ACTIVATIONS.get(activation, 0))


class Normalise(Function):
    @staticmethod
    def forward(ctx, x, weight, bias, h, norm, activation):
        k, (n, d), x = loops(), x.shape, x.contiguous()
        n_pieces, width = -(-n // (k.TILE * k.TILES)), k.TILE * d
        moments, tiled = x.new_empty(n_pieces, 3, width), x.new_empty(4, width)
        running, total = (norm.running_mean, norm.running_var), x.new_empty(2, d, dtype=torch.float64)
        k.batch_moments(n, d, x, moments)
        k.batch_statistics(n, d, norm.eps, norm.momentum, moments, weight, bias, tiled, *running, total, threads=1)
        out, h_rows = torch.empty_like(x), 0 if h is None else len(h)
        added = out if h is None else h.expand(k.TILE, d).contiguous() if h_rows == 1 else h.contiguous()
        k.normalise(n, d, activation, h_rows, x, tiled, added, out)
        ctx.activation, ctx.h_rows = activation, h_rows
        ctx.save_for_backward(x, tiled)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx, d_out):
        x, tiled = ctx.saved_tensors
        k, (n, d), d_out = loops(), x.shape, d_out.contiguous()
        n_pieces, width = -(-n // (k.TILE * k.TILES)), k.TILE * d
        d_x, sums, back = torch.empty_like(x), x.new_empty(n_pieces, 2, width), x.new_empty(4, width)
        k.normalise_back_sums(n, d, ctx.activation, x, tiled, d_out, d_x, sums)
        k.normalise_back_statistics(n, d, sums, tiled, back, x.new_empty(2, d, dtype=torch.float64), threads=1)
        k.normalise_back(n, d, x, tiled, back, d_x)
        d_h = None if ctx.h_rows == 0 else d_out.sum(0, keepdim=True) if ctx.h_rows == 1 else d_out
        return d_x, back[0, :d], back[1, :d], d_h, None, None


# --------------------------------------------------------------------------------------------------------------------
# Gated mean (GatedGCN)


def gated(g, h, layer, e=None):
    r"""ĥ (N, d) and ê (E, d) of eq. (24)-(25), with the maps U, V, A, B of `layer` and, where there is an e, C.

        ê_ij = A h_i + B h_j + C e_ij        ĥ_i = U h_i + Σ_j η_ij ⊙ V h_j        η_ij = σ(ê_ij) / (Σ_j' σ(ê_ij') + ε)

    e is (E, d), or (1, d) where it is the same for all edges. C e of one row and the bias of C are added at the nodes, which are
    fewer. The four products of the nodes are one.
    """
    at_nodes = 0 if e is None else layer.C(e)[0] if len(e) == 1 else layer.C.bias
    e, C = (None, None) if e is None or len(e) == 1 else (e, layer.C.weight)
    if compiled(h) and g.is_homogeneous and in_order(g):
        maps = (layer.U, layer.V, layer.A, layer.B)
        bias = torch.cat([layer.U.bias, layer.V.bias, layer.A.bias + at_nodes, layer.B.bias])
        return Gated.apply(g, linear(h, torch.cat([W.weight for W in maps]), bias), e, C)
    mean, e_hat = gated_mean(g, layer.A(h) + at_nodes, layer.B(h), layer.V(h), e, C)
    return layer.U(h) + mean, e_hat


class Gated(Function):
    """Of P (N, 4d): Uh, Vh, Ah, Bh side by side. The edges are worked on in blocks, so that their products stay in the cache."""

    @staticmethod
    def forward(ctx, g, P, e, C):
        indptr, src = in_edges(g)
        n, d = len(P), P.shape[1] // 4
        e_hat = P.new_empty(len(src), d)
        gate, total, mean, out = torch.empty_like(e_hat), P.new_empty(n, d), P.new_empty(n, d), P.new_empty(n, d)
        for nodes, edges in blocks_of_nodes(indptr, d):
            if e is not None:
                product(e[edges], C.t(), out=e_hat[edges])
            sizes = (nodes.start, nodes.stop, d, int(e is not None), EPS)
            loops().gated_mean(*sizes, indptr, src, P, e_hat, gate, total, mean, out)
        ctx.g = g
        ctx.save_for_backward(P, e, C, gate, total, mean)
        ctx.set_materialize_grads(False)  # the last layer has no use for ê: no gradient of E x d zeros
        return out, e_hat

    @staticmethod
    @once_differentiable
    def backward(ctx, d_out, d_e_hat):
        P, e, C, gate, total, mean = ctx.saved_tensors
        indptr, src = in_edges(ctx.g)
        n, d = mean.shape
        d_out = torch.zeros_like(mean) if d_out is None else d_out.contiguous()
        d_e_hat = None if d_e_hat is None else d_e_hat.contiguous()
        d_sum, d_P = d_out / total, torch.empty_like(P)
        grad = torch.empty_like(gate)  # of ê
        d_e = None if e is None else torch.empty_like(e)
        d_C = None if e is None else torch.zeros_like(C)
        for nodes, edges in blocks_of_nodes(indptr, d):
            sizes = (nodes.start, nodes.stop, d, int(d_e_hat is not None))
            added = grad if d_e_hat is None else d_e_hat
            loops().gated_mean_back(*sizes, indptr, src, P, gate, mean, d_sum, added, grad, d_P)
            if e is not None:
                product(grad[edges], C, out=d_e[edges])
                product(grad[edges].t(), e[edges], d_C, out=d_C)
        loops().gated_mean_back_sources(n, d, *out_edges(ctx.g), gate, grad, d_sum, d_out, d_P)
        return None, d_P, d_e, d_C


def blocks_of_nodes(indptr, width):
    """[(nodes, their in-edges)] as slices: about BLOCK numbers of this width at a time; all of a small batch at once."""
    n, n_edges = len(indptr) - 1, int(indptr[-1])
    if n_edges * width <= 4 * BLOCK:
        return [(slice(0, n), slice(0, n_edges))]
    starts = torch.arange(0, n_edges, max(1, BLOCK // width), dtype=indptr.dtype)
    cuts = sorted({0, n, *torch.searchsorted(indptr, starts).tolist()})
    ends = indptr[cuts].tolist()
    return [(slice(*pair), slice(*edges)) for pair, edges in zip(pairwise(cuts), pairwise(ends), strict=True)]


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


def attention(g, z, V_i, V_j, slope, extra=None):
    r"""Σ_j a_ij^k z_j^k with a = softmax_j(LeakyReLU(V_i^k · z_i^k + V_j^k · z_j^k + extra_ij^k)), eq. (18)-(19).

    z (N, K, d), V_i and V_j (K, d), extra (E, K), (1, K) or none -> (N, K, d).
    """
    if compiled(z) and few_edges(g) and g.is_homogeneous and in_order(g):
        extra = extra if extra is None else extra.expand(g.num_edges(), -1)
        return Attention.apply(g, z, torch.stack([V_i, V_j]), slope, extra)
    score = ops.u_add_v(with_edge_ids(g), (V_j * z).sum(-1), (V_i * z).sum(-1))
    score = score if extra is None else score + extra
    return weighted_sum(g, z, edge_softmax(g, F.leaky_relu(score, slope)))


class Attention(Function):
    @staticmethod
    def forward(ctx, g, z, V, slope, extra):
        n, K, d = z.shape
        z, V = z.contiguous(), V.contiguous()
        extra = None if extra is None else extra.contiguous()
        score, weight, out = z.new_empty(n, 2 * K), z.new_empty(g.num_edges(), K), torch.empty_like(z)
        loops().attention_scores(n, K, d, z, V, score)
        loops().attention(n, K, d, slope, 0 if extra is None else extra, *in_edges(g), z, score, weight, out)
        ctx.g, ctx.slope = g, slope
        ctx.save_for_backward(z, V, score, weight, extra)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx, d_out):
        z, V, score, weight, extra = ctx.saved_tensors
        n, K, d = z.shape
        g, d_out = ctx.g, d_out.contiguous()
        d_score, d_s, d_z = torch.empty_like(weight), torch.empty_like(score), torch.empty_like(z)
        has_extra = 0 if extra is None else extra
        loops().attention_back(n, K, d, ctx.slope, has_extra, *in_edges(g), z, score, weight, d_out, d_score, d_s)
        loops().attention_back_sources(n, K, d, *out_edges(g), weight, d_out, d_score, V, d_s, d_z)
        d_V = torch.bmm(d_s.view(n, 2, K).permute(2, 1, 0), z.transpose(0, 1)).transpose(0, 1)  # (K, 2, N) x (K, N, d)
        return None, d_z, d_V, None, None if extra is None else d_score


def weighted_sum(g, z, weight):
    """Σ_j weight_ij^k z_j^k: z (N, K, d), one weight per edge and head (E, K) -> (N, K, d). One sparse product per head."""
    return WeightedSum.apply(g, z, weight)


def kernel_sums(g, x, weight):
    """Σ_j weight_ij^k x_j: the same x (N, d) for all K kernels, weight (E, K) -> (N, K, d)."""
    if compiled(x, weight) and few_edges(g) and g.is_homogeneous and in_order(g):
        return KernelSums.apply(g, x, weight)
    return weighted_sum(g, x[:, None].expand(-1, weight.shape[1], -1), weight)


class KernelSums(Function):
    @staticmethod
    def forward(ctx, g, x, weight):
        x, weight, (n, d), K = x.contiguous(), weight.contiguous(), x.shape, weight.shape[1]
        out = x.new_empty(n, K, d)
        loops().weighted_sums(n, K, d, *in_edges(g), x, weight, out)
        ctx.g = g
        ctx.save_for_backward(x, weight)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx, d_out):
        x, weight = ctx.saved_tensors
        (n, d), K, d_out = x.shape, weight.shape[1], d_out.contiguous()
        d_x, d_weight = torch.empty_like(x), torch.empty_like(weight)
        loops().weighted_sums_back_weights(n, K, d, *in_edges(ctx.g), x, d_out, d_weight)
        loops().weighted_sums_back(n, K, d, *out_edges(ctx.g), weight, d_out, d_x)
        return None, d_x, d_weight


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


# --------------------------------------------------------------------------------------------------------------------
# Rows of length 1 (GraphSage)

LEAST_NORM = 1e-12  # that of F.normalize


def relu_of_unit_rows(x):
    """ReLU(x_i / ‖x_i‖): (N, d) -> (N, d)."""
    return ReluOfUnitRows.apply(x) if compiled(x) and x.dim() == 2 else F.relu(F.normalize(x))


class ReluOfUnitRows(Function):
    @staticmethod
    def forward(ctx, x):
        x = x.contiguous()
        norm, out = x.new_empty(len(x)), torch.empty_like(x)
        loops().unit_rows(*x.shape, LEAST_NORM, x, norm, out)
        ctx.save_for_backward(x, norm)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx, d_out):
        x, norm = ctx.saved_tensors
        d_x = torch.empty_like(x)
        loops().unit_rows_back(*x.shape, LEAST_NORM, x, norm, d_out.contiguous(), d_x)
        return d_x
