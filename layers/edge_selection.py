"""The edges that OSAN leaves out: one in each copy of a graph, chosen by learned scores, with a gradient for the scores."""

import torch
from torch.autograd import Function
from torch.autograd.function import once_differentiable


class EdgePairs:
    """Which directed edges of a batch are the two directions of one.

    graph    (E,) graph of a directed edge
    number   (E,) number of its undirected edge in its graph, in lexicographic order of (smaller end, larger end)
    """

    def __init__(self, graph, number, B):
        self.graph, self.number, self.B = graph, number, B
        self.m = int(number.max()) + 1 if len(number) else 1


def keep_edges(theta, pairs):
    """1 for the edges that stay and 0 for the one that is left out in each column of each graph: (E, k) -> (E, k).

    The undirected edge with the smallest sum of the scores of both directions is left out; of equal ones the last in
    lexicographic order, as in the program.
    """
    place, k = pairs.graph * pairs.m + pairs.number, theta.shape[1]
    score = theta.new_zeros(pairs.B * pairs.m, k).index_add(0, place, theta)
    is_edge = torch.zeros(pairs.B * pairs.m, dtype=torch.bool, device=place.device).index_fill(0, place, True)
    score = score.masked_fill(~is_edge[:, None], torch.inf).view(pairs.B, pairs.m, k)
    left_out = pairs.m - 1 - score.flip(1).argmin(1)  # argmin is the first of equal ones
    return (left_out.index_select(0, pairs.graph) != pairs.number[:, None]).to(theta.dtype)


def select_edges(theta, noise, pairs, strength=10.0):
    r"""keep_edges(θ + noise) with the gradient of implicit maximum likelihood estimation (I-MLE).

        dL/dθ = keep(θ + noise) - keep(θ - strength · dL/dkeep + noise)

    Shapes: θ (E, k), noise (E, k) -> (E, k).

        >>> pairs = EdgePairs(torch.zeros(4, dtype=torch.int64), torch.tensor([0, 0, 1, 1]), B=1)  # a path of three nodes
        >>> keep = select_edges(torch.randn(4, 20), torch.zeros(4, 20), pairs)
    """
    return _SelectEdges.apply(theta, noise, pairs, strength)


class _SelectEdges(Function):
    @staticmethod
    def forward(ctx, theta, noise, pairs, strength):
        keep = keep_edges(theta + noise, pairs)
        ctx.save_for_backward(theta, noise, keep)
        ctx.pairs, ctx.strength = pairs, strength
        return keep

    @staticmethod
    @once_differentiable
    def backward(ctx, d_keep):
        theta, noise, keep = ctx.saved_tensors
        target = keep_edges(theta - ctx.strength * d_keep + noise, ctx.pairs)
        return keep - target, None, None, None


def spread_loss(keep, pairs):
    """How unevenly a batch's copies leave its edges out, one number: for each graph KL(uniform || softmax over its m directed
    edges of the number of copies that keep an edge) / m, summed over graphs."""
    copies = keep.sum(1)
    m = keep.new_zeros(pairs.B).index_add(0, pairs.graph, torch.ones_like(copies))
    total = keep.new_zeros(pairs.B).index_add(0, pairs.graph, torch.exp(copies - keep.shape[1]))
    mean = keep.new_zeros(pairs.B).index_add(0, pairs.graph, copies - keep.shape[1]) / m.clamp(min=1)
    has_edges = m > 0
    m, total, mean = m[has_edges], total[has_edges], mean[has_edges]
    return ((torch.log(total) - mean - torch.log(m)) / m).sum()
