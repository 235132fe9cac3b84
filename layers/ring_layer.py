"""The Ring-GNN layer of B.2.2: products of linear maps between n x n matrices that commute with renumbering the nodes."""

import torch
import torch.nn.functional as F
from torch import nn

from layers.dense import ChannelMap, PairNorm, add_matrix_product, drawn_as_linear, matrix_product

BIASED = ("first", "last", "all")


class EquivariantMaps(nn.Module):
    r"""Several equivariant linear maps L_W of the same h, eq. (44): h (in_dim, B, n, n) -> one (out_dim, B, n, n) for each.

    The 15 basis functions take entries, vectors or scalars of h to places of the result:

        entries  h_ij, h_ji                                    to (i, j)                                 W_entry     2
        vectors  h_ii, Σ_j h_ij / n, Σ_j h_ji / n              to (i, i), to row i, to column i          W_vector  3 x 3
        scalars  Σ_i h_ii / n, Σ_ij h_ij / n²                  to the diagonal, to all pairs             W_scalar  2 x 2

    and the two of the bias are the identity matrix (`diagonal_bias`, one per map; the maps in `unread` do not add theirs) and the
    matrix of ones, which RingLayer adds. None of the 15 tensors is ever built: channels are mapped first, and only the sums are put
    in their places.

    Deviation: sums are divided by the number of terms, as in the original program; with (44) alone values grow with n.
    """

    def __init__(self, in_dim, out_dim, n_maps, unread=()):
        super().__init__()
        self.n_maps, self.out_dim, self.unread = n_maps, out_dim, unread
        scale = (2 / (in_dim + out_dim)) ** 0.5
        self.W_entry = nn.Parameter(scale * torch.randn(n_maps, out_dim, 2, in_dim))
        self.W_vector = nn.Parameter(scale * torch.randn(n_maps, 3, out_dim, 3, in_dim))
        self.W_scalar = nn.Parameter(scale * torch.randn(n_maps, 2, out_dim, 2, in_dim))
        self.diagonal_bias = nn.Parameter(torch.zeros(n_maps, out_dim))

    def forward(self, h, padding, factors, b):
        """factors[m] L_Wm(h) for each map m, zero at the padding; b (out_dim) is added to all pairs of the first."""
        _, B, n, _ = h.shape
        diagonal = h.diagonal(dim1=2, dim2=3)
        row, column = h.sum(3) / padding.n_nodes[..., 0], h.sum(2) / padding.n_nodes[..., 0]
        trace, total = diagonal.sum(2) / padding.n_nodes[:, 0, 0], row.sum(2) / padding.n_nodes[:, 0, 0]

        entries = torch.cat([h, h.transpose(2, 3)]).flatten(1)
        vectors = self.W_vector.flatten(3).flatten(0, 2) @ torch.cat([diagonal, row, column]).flatten(1)
        scalars = self.W_scalar.flatten(3).flatten(0, 2) @ torch.cat([trace, total])
        vectors = vectors.view(self.n_maps, 3, self.out_dim, B, n)
        scalars = scalars.view(self.n_maps, 2, self.out_dim, B, 1)
        real = padding.real.to(h.dtype)
        mapped = (factors[:, None, None] * self.W_entry.flatten(2)).flatten(0, 1) @ entries
        mapped = mapped.view(self.n_maps, -1, n, n).unbind()
        for m, factor in enumerate(factors):
            vector, scalar = factor * vectors[m], factor * scalars[m]
            to_all = scalar[1] if m else scalar[1] + b[:, None, None]
            to_diagonal = scalar[0] if m in self.unread else scalar[0] + factor * self.diagonal_bias[m, :, None, None]
            # what goes to row i and to column j in one product: (row_i, 1) (1, column_j)ᵀ, with 0 for 1 at the padding
            left = torch.stack([vector[1] + to_all * real, real.expand_as(vector[1])], dim=-1)
            right = torch.stack([real.expand_as(vector[2]), vector[2]], dim=-2)
            L = torch.baddbmm(mapped[m], left.flatten(0, 1), right.flatten(0, 1)).view(self.out_dim, B, n, n)
            L.diagonal(dim1=2, dim2=3).add_(vector[0] + to_diagonal * real)
            yield L


def unread_maps(radius, biased):
    """Numbers of the maps whose diagonal bias is not added: in each product all but the `biased` factor, or none."""
    if biased not in BIASED:
        raise ValueError(f"biased={biased!r}: expected one of {', '.join(BIASED)}")
    if biased == "all":
        return ()
    first = [n * (n - 1) // 2 for n in range(1, radius + 1)]  # map of the product of n factors
    read = first if biased == "first" else [m + n for n, m in enumerate(first)]
    return tuple(m for m in range(radius * (radius + 1) // 2) if m not in read)


class RingLayer(nn.Module):
    r"""Ring-GNN, eq. (43)-(44).

        h' = σ(w_1 L_W1(h) + w_2 L_W2(h) · L_W3(h) + b)        with residual: h' + R h

    Shapes: h (in_dim, B, n, n) -> (out_dim, B, n, n), zero at the padding. `radius` is the largest number of factors: with 1
    there is no product, with 3 a product of three further maps is added. A bias along the diagonal exists for each map, one of
    all pairs (b) for the sum; R is linear, with bias, and starts as nn.Linear does: the printed counts say so.

    Deviation: the program that made the tables adds the diagonal bias to one factor of a product and never reads those of the
    others: biased="last" or, of the transposed matrices, "first". biased="all" is (44), a bias of each map.
    """

    def __init__(self, in_dim, out_dim, radius=2, w2_init=0.02, layer_norm=False, residual=False, biased="last"):
        super().__init__()
        self.radius = radius
        self.L = EquivariantMaps(in_dim, out_dim, radius * (radius + 1) // 2, unread_maps(radius, biased))
        self.w = nn.Parameter(torch.tensor([1.0] + [w2_init] * (radius - 1)))
        self.b = nn.Parameter(torch.zeros(out_dim, 1, 1, 1))
        self.norm = PairNorm(out_dim) if layer_norm else None
        self.R = drawn_as_linear(ChannelMap(in_dim, out_dim)) if residual else None

    def forward(self, h, padding):
        # w_k stands once in the k-th sum: it multiplies the weights of its first map, not all pairs of the product
        one = self.w.new_ones(1)
        factors = torch.cat([part for k, w in enumerate(self.w) for part in (w[None], one.expand(k))])
        maps = self.L(h, padding, factors, self.b.flatten())
        h_new = next(maps)
        for n_factors in range(2, self.radius + 1):
            product = next(maps)
            for _ in range(n_factors - 2):
                product = matrix_product(product, next(maps))
            h_new = add_matrix_product(h_new, product, next(maps))
        if self.norm is not None:
            h_new = self.norm(h_new, padding)
        h_new = F.relu(h_new)
        if self.R is not None:
            h_new = h_new + padding.zero_(self.R(h))
        return h_new
