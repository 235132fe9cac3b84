"""The Ring-GNN layer of B.2.2: products of linear maps between n x n matrices that commute with renumbering the nodes.

`plain` is eq. (43)-(44) as printed; `forward` gives the same without ever building the 15 basis tensors.
"""

from functools import reduce

import torch
import torch.nn.functional as F
from torch import nn

from layers.dense import ChannelMap, PairNorm, add_matrix_product, drawn_as_linear, matrix_product

BIASED = ("first", "last", "all")


class RingLayer(nn.Module):
    r"""Ring-GNN, eq. (43)-(44).

        h' = σ(w_1 L_1(h) + w_2 L_2(h) · L_3(h) + b)        with residual: h' + R h

    Shapes: h (in_dim, B, n, n) -> h' (out_dim, B, n, n), zero at the padding. `radius` is the largest number of factors: with 1
    there is no product, with 3 a product of three further maps is added. A bias along the diagonal exists for each map, one of
    all pairs (b) for the sum; R is linear, with bias, and starts as nn.Linear does: the printed counts say so.

    Deviation: the program that made the tables adds the diagonal bias to one factor of a product and never reads those of the
    others: biased="last" or, of the transposed matrices, "first". biased="all" is (44), a bias of each map.

        >>> from layers.padding import Padding
        >>> h = RingLayer(3, 8)(torch.randn(3, 2, 5, 5), Padding(torch.tensor([5, 5]), torch.float32))
    """

    def __init__(self, in_dim, out_dim, radius=2, w2_init=0.02, layer_norm=False, residual=False, biased="last"):
        super().__init__()
        if biased not in BIASED:
            raise ValueError(f"biased={biased!r}: expected one of {', '.join(BIASED)}")
        # the maps of each term: (0), (1, 2), (3, 4, 5) …
        self.terms = [range(k * (k - 1) // 2, k * (k + 1) // 2) for k in range(1, radius + 1)]
        chosen = {"first": slice(0, 1), "last": slice(-1, None), "all": slice(None)}[biased]
        self.L = EquivariantMaps(
            in_dim, out_dim, n_maps=self.terms[-1].stop, biased=[m for maps in self.terms for m in maps[chosen]]
        )
        self.w = nn.Parameter(torch.tensor([1.0] + [w2_init] * (radius - 1)))
        self.b = nn.Parameter(torch.zeros(out_dim, 1, 1, 1))
        self.norm = PairNorm(out_dim) if layer_norm else None
        self.R = drawn_as_linear(ChannelMap(in_dim, out_dim)) if residual else None

    def plain(self, h, padding):
        """The layer as (43) prints it."""
        h_new = self.b
        for w, maps in zip(self.w, self.terms, strict=True):
            h_new = h_new + w * reduce(matrix_product, [self.L.plain(m, h, padding) for m in maps])
        return self.finish(h, padding.zero_(h_new), padding)

    def forward(self, h, padding):
        # w and b are put into the first map of each term: fewer passes over all pairs
        factors = self.w.new_ones(self.L.n_maps)
        factors[[maps[0] for maps in self.terms]] = self.w
        L = self.L(h, padding, factors, self.b.flatten())
        h_new = L[0]
        for maps in self.terms[1:]:
            *others, last = (L[m] for m in maps)
            h_new = add_matrix_product(h_new, reduce(matrix_product, others), last)
        return self.finish(h, h_new, padding)

    def finish(self, h, h_new, padding):
        """σ, and what the options add."""
        if self.norm is not None:
            h_new = self.norm(h_new, padding)
        h_new = F.relu(h_new)
        if self.R is not None:
            h_new = h_new + padding.zero_(self.R(h))
        return h_new


class EquivariantMaps(nn.Module):
    r"""Several equivariant linear maps L_m of the same h, eq. (44): h (in_dim, B, n, n) -> one (out_dim, B, n, n) for each.

    The 15 basis functions take entries, vectors or scalars of h to places of the result:

        entries  h_ij, h_ji                                    to (i, j)                                 W_entry     2
        vectors  h_ii, Σ_j h_ij / n, Σ_j h_ji / n              to (i, i), to row i, to column i          W_vector  3 x 3
        scalars  Σ_i h_ii / n, Σ_ij h_ij / n²                  to the diagonal, to all pairs             W_scalar  2 x 2

    and the two of the bias are the identity matrix (`diagonal_bias`, one per map; only the maps in `biased` add theirs) and the
    matrix of ones, which RingLayer adds.

    Deviation: sums are divided by the number of terms, as in the original program; with (44) alone values grow with n.

        >>> from layers.padding import Padding
        >>> padding = Padding(torch.tensor([5, 5]), torch.float32)
        >>> L = EquivariantMaps(3, 8, n_maps=1, biased=[0]).plain(0, torch.randn(3, 2, 5, 5), padding)
    """

    def __init__(self, in_dim, out_dim, n_maps, biased):
        super().__init__()
        self.n_maps, self.out_dim, self.biased = n_maps, out_dim, biased
        scale = (2 / (in_dim + out_dim)) ** 0.5
        self.W_entry = nn.Parameter(scale * torch.randn(n_maps, out_dim, 2, in_dim))
        self.W_vector = nn.Parameter(scale * torch.randn(n_maps, 3, out_dim, 3, in_dim))
        self.W_scalar = nn.Parameter(scale * torch.randn(n_maps, 2, out_dim, 2, in_dim))
        self.diagonal_bias = nn.Parameter(torch.zeros(n_maps, out_dim))

    def plain(self, m, h, padding):
        """L_m(h) as (44) prints it: all 15 basis tensors, each with its weights."""
        eye = torch.eye(padding.n, dtype=h.dtype, device=h.device)
        vectors, scalars = vectors_and_scalars(h, padding)
        basis, W = [h, h.transpose(2, 3)], [*self.W_entry[m].unbind(1)]
        for v, x in enumerate(vectors):
            basis += [torch.diag_embed(x), x[..., :, None].expand_as(h), x[..., None, :].expand_as(h)]
            W += [*self.W_vector[m, :, :, v]]
        for s, x in enumerate(scalars):
            basis += [x[..., None, None] * eye, x[..., None, None].expand_as(h)]
            W += [*self.W_scalar[m, :, :, s]]
        L = (torch.cat(W, 1) @ torch.cat(basis).flatten(1)).view(-1, *h.shape[1:])
        if m in self.biased:
            L = L + self.diagonal_bias[m, :, None, None, None] * eye
        return padding.zero_(L)

    def forward(self, h, padding, factors, b):
        """[factors[m] L_m(h) of all maps m]; b (out_dim) is added to all pairs of the first.

        Channels are mapped first, and only then the few vectors and scalars are put in their places.
        """
        B, n = h.shape[1:3]
        vectors, scalars = vectors_and_scalars(h, padding)
        entries = torch.cat([h, h.transpose(2, 3)]).flatten(1)
        vectors = self.W_vector.flatten(3).flatten(0, 2) @ torch.cat(vectors).flatten(1)
        scalars = self.W_scalar.flatten(3).flatten(0, 2) @ torch.cat(scalars)
        vectors = vectors.view(self.n_maps, 3, self.out_dim, B, n)
        scalars = scalars.view(self.n_maps, 2, self.out_dim, B, 1)
        entries = (factors[:, None, None] * self.W_entry.flatten(2)).flatten(0, 1) @ entries
        entries = entries.view(self.n_maps, self.out_dim * B, n, n).unbind()
        maps = []
        for m, factor in enumerate(factors):
            to_diagonal, to_row, to_column = factor * vectors[m]
            all_diagonal, all_pairs = factor * scalars[m]
            if m in self.biased:
                all_diagonal = all_diagonal + factor * self.diagonal_bias[m, :, None, None]
            if m == 0:
                all_pairs = all_pairs + b[:, None, None]
            L = add_rows_and_columns(entries[m], to_row, to_column, all_pairs, padding)
            L.diagonal(dim1=2, dim2=3).add_(to_diagonal + all_diagonal * padding.real)
            maps.append(L)
        return maps


def vectors_and_scalars(h, padding):
    """(h_ii, Σ_j h_ij / n, Σ_j h_ji / n), each (d, B, n), and (Σ_i h_ii / n, Σ_ij h_ij / n²), each (d, B)."""
    n_nodes = padding.n_nodes[..., 0]
    diagonal, row, column = h.diagonal(dim1=2, dim2=3), h.sum(3) / n_nodes, h.sum(2) / n_nodes
    return (diagonal, row, column), (diagonal.sum(2) / n_nodes[:, 0], row.sum(2) / n_nodes[:, 0])


def add_rows_and_columns(h, row, column, scalar, padding):
    """h_ij + row_i + column_j + scalar at the nodes: (d B, n, n), (d, B, n) x 2, (d, B, 1) -> (d, B, n, n).

    In one product: (row_i + scalar, 1) (1, column_j)ᵀ, with 0 for 1 at the padding.
    """
    real = padding.real.to(h.dtype).expand_as(row)
    left = torch.stack([row + scalar * real, real], dim=-1)
    right = torch.stack([real, column], dim=-2)
    return torch.baddbmm(h, left.flatten(0, 1), right.flatten(0, 1)).view(*row.shape, -1)
