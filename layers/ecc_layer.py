"""Edge-conditioned convolution (ECC; Fair Comparison, section 4): a small net of the edge's weight makes the map of its message."""

import torch
import torch.nn.functional as F
from torch import nn

from layers import ops
from layers.linear import Linear

HIDDEN = 16
MOST_PADDING = 4  # places per edge, up to which neighbours are padded to the largest degree


class ECCLayer(nn.Module):
    r"""Edge-conditioned convolution on weighted edges.

        h_i' = h_i R + Σ_{j -> i} h_j Θ(w_ij) + b        Θ(w) = C + Σ_k a_k M_k        a = ReLU(u w + v), 16 numbers

    Shapes: h (N, in_dim), w (E,) -> (N, out_dim). Without w every edge has weight 1.

    Θ is linear in a, so the messages are added first and mapped then:

        Σ_j h_j Θ(w_ij) = (Σ_j h_j) C + Σ_k (Σ_j a_k(w_ij) h_j) M_k

    which needs 17 in_dim numbers per edge instead of in_dim out_dim; and with weights of 1 it is (Σ_j h_j) Θ(1).

        >>> g = dgl.graph(([0, 1, 2], [1, 2, 0]))
        >>> h = ECCLayer(8, 4)(g, torch.ones(3, 8), torch.tensor([0.5, -1.0, 2.0]))
    """

    def __init__(self, in_dim, out_dim):
        super().__init__()
        bound = in_dim**-0.5
        self.a = Linear(1, HIDDEN)
        self.theta = Linear(HIDDEN, in_dim * out_dim)
        self.R = nn.Parameter(torch.empty(in_dim, out_dim).uniform_(-bound, bound))
        self.b = nn.Parameter(torch.empty(out_dim).uniform_(-bound, bound))

    def forward(self, g, h, w=None):
        return h @ self.R + self.b + (self.of_ones(g, h) if w is None else self.of_weights(g, h, w))

    def of_ones(self, g, h):
        theta = self.theta(F.relu(self.a(h.new_ones(1, 1)))).view_as(self.R)
        return ops.copy_u_sum(g, h @ theta)

    def of_weights(self, g, h, w):
        a = F.relu(self.a(w[:, None]))
        coefficients = torch.cat([a, a.new_ones(len(a), 1)], 1)  # (E, 17), of M_1 to M_16 and C
        sums = neighbour_sums(g, h, coefficients)  # (N, 17, in_dim)
        maps = torch.cat([self.theta.weight.t(), self.theta.bias[None]])  # of each coefficient
        return sums.flatten(1) @ maps.view(-1, self.R.shape[1])  # (N, 17 in_dim) @ (17 in_dim, out_dim)


def neighbour_sums(g, h, c):
    """Σ_{j -> i} c_ij ⊗ h_j: h (N, d), c (E, k) -> (N, k, d).

    Where degrees are alike, as in a Kron reduction, the neighbours of each node stand in a row, padded with zeros: one product
    of matrices per node, with the same sums.
    """
    indptr, src, ids = g.adj_tensors("csc")
    if len(src) == 0:
        return h.new_zeros(len(h), c.shape[1], h.shape[1])
    degrees = indptr.diff()
    most = int(degrees.max())
    if len(degrees) * most > MOST_PADDING * len(src):
        return ops.u_mul_e_sum(g, h[:, None, :], c[:, :, None])
    place = torch.arange(most, device=h.device)
    edge = (indptr[:-1, None] + place).long()  # (N, most)
    padding = place >= degrees[:, None]
    sources = src.long()[edge.masked_fill(padding, 0)].flatten()
    if len(ids):
        c = c.index_select(0, ids.long())
    rows = torch.cat([c, c.new_zeros(1, c.shape[1])]).index_select(0, edge.masked_fill(padding, len(c)).flatten())
    return rows.view(len(edge), most, -1).transpose(1, 2) @ h.index_select(0, sources).view(len(edge), most, -1)
