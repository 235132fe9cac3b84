"""What turns the tensors of all layers into predictions, B.2.3, eq. (45)-(54)."""

import torch
from torch import nn

from layers.dense import max_diagonal_and_rest
from layers.mlp_readout import MLPReadout


def sum_pairs(h, padding):
    """Σ_ij h_ij, eq. (45): (d, B, n, n) -> (B, d)."""
    return h.sum((2, 3)).t()


def sum_columns(h, padding):
    """Σ_j h_ij, eq. (49), (51), (53): (d, B, n, n) -> (N, d)."""
    return padding.nodes(h.sum(3))


def at_edges(y, graphs):
    """Concat(y_i, y_j) for each edge i -> j, eq. (54): (N, d) -> (E, 2d)."""
    src, dst = graphs.edge_ends()
    return torch.cat([y.index_select(0, src), y.index_select(0, dst)], 1)


class ConcatHead(nn.Module):
    r"""One MLP for the concatenated read-outs of all layers, eq. (45)-(46), (49)-(50), (53)-(54).

    Deviation: the text concatenates the layers ℓ = 1 … L and prints two linear layers; the printed counts need the input tensor
    (ℓ = 0) too, and the three linear layers of MLPReadout.
    """

    def __init__(self, level, widths, n_out):
        super().__init__()
        self.level = level
        self.pool = sum_pairs if level == "graph" else sum_columns
        self.mlp = MLPReadout(sum(widths) * (2 if level == "edge" else 1), n_out)

    def forward(self, pooled, graphs):
        y = torch.cat(pooled, 1)
        return self.mlp(at_edges(y, graphs) if self.level == "edge" else y)


class PerLayerHead(nn.Module):
    r"""The sum of a linear read-out of each layer, Σ_ℓ P^ℓ y^ℓ, eq. (47)-(48) for graphs, (51)-(52) for nodes.

    For edges, P^ℓ Concat(y_i^ℓ, y_j^ℓ): the text does not have it, but the printed count of 3WLGNN on TSP with L = 8 needs it.
    """

    def __init__(self, level, widths, n_out):
        super().__init__()
        self.level = level
        self.pool = max_diagonal_and_rest if level == "graph" else sum_columns
        self.P = nn.ModuleList(nn.Linear(d if level == "node" else 2 * d, n_out) for d in widths[1:])

    def forward(self, pooled, graphs):
        ys = [at_edges(y, graphs) for y in pooled[1:]] if self.level == "edge" else pooled[1:]
        return sum(P(y) for P, y in zip(self.P, ys, strict=True))
