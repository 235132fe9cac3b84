"""Graphs of different size in one dense tensor: which of its places are real, and which graphs to put together."""

import numpy as np
import torch

# What one more piece costs, in pairs of nodes (measured): fewer pieces mean more padding.
PAIRS_PER_PIECE = 500


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
