"""DiffPool (Fair Comparison, section 4): a GNN assigns nodes to clusters, and the clusters are the nodes of a smaller graph.

Graphs stand in dense tensors: A (B, n, n) and x (B, n, d). `real` (B, n) is 1 where a place is a node, else 0; None: all are.
"""

from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import nn

from layers.linear import Linear

EPS = 1e-15


class DenseSAGELayer(nn.Module):
    r"""GraphSAGE without the node itself, on dense graphs.

        x_i' = W (Σ_j A_ij x_j / max(Σ_j A_ij, 1)) + b          0 where there is no node

    Shapes: A (B, n, n), x (B, n, in_dim) -> (B, n, out_dim).

        >>> x = DenseSAGELayer(3, 8)(torch.ones(2, 5, 5), torch.randn(2, 5, 3))
    """

    def __init__(self, in_dim, out_dim):
        super().__init__()
        bound = in_dim**-0.5
        self.W = nn.Parameter(torch.empty(in_dim, out_dim).uniform_(-bound, bound))
        self.b = nn.Parameter(torch.empty(out_dim).uniform_(-bound, bound))

    def forward(self, A, x, real=None, degree=None):
        degree = degree_of(A) if degree is None else degree
        return masked((A @ x / degree) @ self.W + self.b, real)


def degree_of(A):
    """max(Σ_j A_ij, 1): (B, n, n) -> (B, n, 1)."""
    return A.sum(2, keepdim=True).clamp(min=1)


def masked(x, real):
    """x (B, n, d) with 0 where there is no node."""
    return x if real is None else x * real[:, :, None]


class SAGEBlock(nn.Module):
    r"""Three layers, side by side: Concat(x1, x2, x3) (B, n, 2 hidden_dim + out_dim), with `linear` mapped to out_dim.

        x1 = BN(ReLU(c1(x)))        x2 = BN(ReLU(c2(x1)))        x3 = c3(x2)

    Deviation: batch normalisation looks at nodes only. With `padded` it counts all places of the batch, as the program does.

        >>> x = SAGEBlock(3, 4, 8)(torch.ones(2, 5, 5), torch.randn(2, 5, 3))
    """

    def __init__(self, in_dim, hidden_dim, out_dim, padded=False, linear=False):
        super().__init__()
        widths = [in_dim, hidden_dim, hidden_dim, out_dim]
        self.padded = padded
        self.layers = nn.ModuleList(DenseSAGELayer(a, b) for a, b in pairwise(widths))
        self.norms = nn.ModuleList(nn.BatchNorm1d(hidden_dim) for _ in range(2))
        self.linear = Linear(2 * hidden_dim + out_dim, out_dim) if linear else None

    def normalised(self, norm, x, real):
        if real is None or self.padded:
            return norm(x.flatten(0, 1)).view_as(x)
        rows, places = x.flatten(0, 1), real.flatten().nonzero().flatten()
        return torch.zeros_like(rows).index_copy(0, places, norm(rows.index_select(0, places))).view_as(x)

    def forward(self, A, x, real=None):
        degree, (first, second, third) = degree_of(A), self.layers
        x1 = self.normalised(self.norms[0], F.relu(first(A, x, real, degree)), real)
        x2 = self.normalised(self.norms[1], F.relu(second(A, x1, real, degree)), real)
        x = torch.cat([x1, x2, third(A, x2, real, degree)], 2)
        return x if self.linear is None else self.linear(x)


def pool_clusters(A, x, logits, real=None, padded=False):
    r"""The graph of the clusters and the two losses of the assignment S = softmax(logits): (A', x', link, entropy).

        x' = S^T x        A' = S^T A S
        link = mean over graphs of ‖A - S S^T‖_F / n²        entropy = mean over graphs of (1/n) Σ_i Σ_c -S_ic log S_ic

    Shapes: A (B, n, n), x (B, n, d), logits (B, n, c) -> A' (B, c, c), x' (B, c, d).

    Deviation: the program takes one norm over the whole batch and divides by all places, padding included (`padded`); the losses of
    a graph then depend on which graphs share its batch. Of one graph alone both are the same.
    """
    S = masked(logits.softmax(2), real)
    x, difference = masked(x, real), A - S @ S.transpose(1, 2)
    entropies = -(S * torch.log(S + EPS)).sum(2)
    if padded:
        link, entropy = torch.linalg.vector_norm(difference) / A.numel(), entropies.mean()
    else:
        n = (A.new_full((len(A),), A.shape[1]) if real is None else real.sum(1).to(A.dtype)).clamp(min=1)
        link = (torch.linalg.vector_norm(difference, dim=(1, 2)) / n.square()).mean()
        entropy = (entropies.sum(1) / n).mean()
    St = S.transpose(1, 2)
    return St @ A @ S, St @ x, link, entropy


class DiffPoolLayer(nn.Module):
    """A SAGE block for the assignment to `n_clusters`, another for the embedding, then the graph of the clusters.

    Shapes: A (B, n, n), x (B, n, in_dim) -> A (B, n_clusters, n_clusters), x (B, n_clusters, 2 hidden_dim + embedding_dim), and the
    losses `link` and `entropy` of the assignment.

        >>> layer = DiffPoolLayer(8, 4, 5, n_clusters=2)
        >>> A, x, link, entropy = layer(torch.ones(1, 6, 6), torch.ones(1, 6, 8))
    """

    def __init__(self, in_dim, hidden_dim, embedding_dim, n_clusters, padded=False):
        super().__init__()
        self.padded = padded
        self.assign = SAGEBlock(in_dim, hidden_dim, n_clusters, padded, linear=True)
        self.embed = SAGEBlock(in_dim, hidden_dim, embedding_dim, padded)

    def forward(self, A, x, real=None):
        return pool_clusters(A, self.embed(A, x, real), self.assign(A, x, real), real, self.padded)
