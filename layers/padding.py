"""Graphs of different size in one dense tensor: which of its places are real, and which graphs to put together."""

from typing import NamedTuple

import numpy as np
import torch
from torch.autograd import Function

# What one more piece costs, in pairs of nodes (measured): fewer pieces mean more padding.
PAIRS_PER_PIECE = 500
# Pairs of a piece of attention: what is computed for them stays in the cache
MAX_PAIRS = 2**16


class Padding:
    """Which part of a tensor (d, B, n, n) belongs to its graphs: graph b has sizes[b] nodes, the first of its n places.

    real      (B, n) whether a place is a node
    mask      (B, n, n) 1 where both places are nodes, else 0; None when no graph is padded
    n_nodes   (B, 1, 1) of each graph, at least 1, to divide by

        >>> Padding(torch.tensor([2, 1]), torch.float32).mask.tolist()
        [[[1.0, 1.0], [1.0, 1.0]], [[1.0, 0.0], [0.0, 0.0]]]
    """

    def __init__(self, sizes, dtype):
        self.sizes = sizes
        self.n = max(1, int(sizes.max()))
        self.real = torch.arange(self.n, device=sizes.device) < sizes[:, None]
        self.n_nodes = sizes.clamp(min=1).to(dtype)[:, None, None]
        self.mask = None
        if int(sizes.min()) < self.n:
            self.mask = (self.real[:, :, None] & self.real[:, None, :]).to(dtype)

    def zero_(self, h):
        """h with zeros at the padding, in place."""
        return h if self.mask is None else h.mul_(self.mask)

    def nodes(self, x):
        """x (d, B, n), one vector per place -> (N, d), one per node, graph after graph."""
        x = x.flatten(1)
        if self.mask is not None:
            x = x.index_select(1, self.real.flatten().nonzero().flatten())
        return x.t()


class Piece(NamedTuple):
    """Some graphs of a batch, padded to n nodes each: `rows` of the nodes in the order of the pieces stand at `places` of B n."""

    rows: slice
    places: torch.Tensor | None  # None: no graph is padded
    padding: Padding
    hidden: torch.Tensor  # (B, 1, 1, n) 0 for a node, -inf for padding: added to scores

    @property
    def shape(self):
        return len(self.padding.sizes), self.padding.n


class Pieces:
    """The nodes of a batch of graphs as padded pieces of similar size: attention inside a graph is dense there.

    order     (N,) the nodes piece after piece; inverse (N,) where each node stands in it
    pieces    what `split` gives tensors for; graphs without nodes are in none

        >>> pieces = Pieces(dgl.batch([dgl.graph(([], []), num_nodes=n) for n in (2, 60, 1)]))
        >>> [tuple(x.shape) for x in pieces.pad(torch.randn(63, 8))]
        [(2, 2, 8), (1, 60, 8)]
    """

    def __init__(self, g, max_pairs=MAX_PAIRS, dtype=torch.float32):
        sizes = g.batch_num_nodes()
        device, numbers = sizes.device, sizes.cpu().numpy()
        graphs = np.flatnonzero(numbers)
        first = np.cumsum(numbers) - numbers
        self.pieces, order = [], []
        for chosen in similar_sizes(numbers[graphs], max_pairs) if len(graphs) else []:
            chosen = graphs[chosen]
            n, start = numbers[chosen], sum(map(len, order))
            inside = np.arange(n.sum()) - np.repeat(np.cumsum(n) - n, n)  # number of a node in its graph
            order.append(np.repeat(first[chosen], n) + inside)
            places = None
            if n.min() < n.max():
                places = torch.from_numpy(np.repeat(np.arange(len(n)) * n.max(), n) + inside).to(device)
            rows = slice(start, start + len(inside))
            padding = Padding(sizes[torch.from_numpy(chosen).to(device)], dtype)
            hidden = torch.zeros(padding.real.shape, dtype=dtype, device=device).masked_fill_(~padding.real, -torch.inf)
            self.pieces.append(Piece(rows, places, padding, hidden[:, None, None]))
        self.order = torch.from_numpy(np.concatenate(order or [first[:0]])).to(device)
        self.inverse = torch.empty_like(self.order)
        self.inverse[self.order] = torch.arange(len(self.order), device=device)

    def __iter__(self):
        return iter(self.pieces)

    def pad(self, h):
        """h (N, …) -> [(B, n, …) of each piece], zero at the padding."""
        h = Permuted.apply(h, self.order, self.inverse)
        return [padded(h[piece.rows], piece) for piece in self]

    def unpad(self, tensors, like):
        """[(B, n, …) of each piece] -> (N, …); `like` gives the shape of none."""
        if not tensors:
            return torch.zeros_like(like)
        h = torch.cat([without_padding(x, piece) for x, piece in zip(tensors, self, strict=True)])
        return Permuted.apply(h, self.inverse, self.order)


class Permuted(Function):
    """h[order]; its gradient is a lookup too."""

    @staticmethod
    def forward(ctx, h, order, inverse):
        ctx.save_for_backward(order, inverse)
        return h.index_select(0, order)

    @staticmethod
    def backward(ctx, d):
        order, inverse = ctx.saved_tensors
        return Permuted.apply(d, inverse, order), None, None


def padded(rows, piece):
    """(M, …) -> (B, n, …), zero at the padding."""
    if piece.places is None:
        return rows.unflatten(0, piece.shape)
    B, n = piece.shape
    return rows.new_zeros(B * n, *rows.shape[1:]).index_copy(0, piece.places, rows).unflatten(0, (B, n))


def without_padding(x, piece):
    """(B, n, …) -> (M, …)."""
    x = x.flatten(0, 1)
    return x if piece.places is None else x.index_select(0, piece.places)


def n_pairs(sizes):
    """Pairs of a padded tensor of graphs of these sizes."""
    return len(sizes) * int(sizes.max()) ** 2


def similar_sizes(sizes, max_pairs=np.inf):
    """Divide graphs so that padding and the number of pieces cost least together: lists of graph numbers.

    No piece has more than max_pairs pairs, unless it is a single graph. By dynamic programming over the graphs in order of
    size: cost[j] is the least cost of the j smallest.

        >>> [piece.tolist() for piece in similar_sizes(np.array([100, 10, 11, 100, 12]))]
        [[1, 2, 4], [0, 3]]
    """
    order = np.argsort(sizes, kind="stable")
    cost, start = np.zeros(len(sizes) + 1), np.zeros(len(sizes) + 1, int)
    for j, size in enumerate(sizes[order], 1):
        pairs = np.arange(j, 0, -1) * float(size) ** 2  # of the piece that begins at graph 0, 1, … j - 1
        total = cost[:j] + pairs + PAIRS_PER_PIECE
        total[:-1][pairs[:-1] > max_pairs] = np.inf
        start[j] = np.argmin(total)
        cost[j] = total[start[j]]
    pieces, j = [], len(sizes)
    while j:
        pieces.append(np.sort(order[start[j] : j]))
        j = start[j]
    return pieces[::-1]
