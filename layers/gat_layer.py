"""GAT, B.1.2: K heads, each a mean over the neighbours weighted by attention. Then its variants of section E.2.

In all of them out_dim is the width of the K heads together, U holds U^1 … U^K below each other, and no map has a bias unless
it is written: the printed counts say so. Edge j -> i is stored as (src=j, dst=i).
"""

import torch
import torch.nn.functional as F
from torch import nn

from layers import fused, ops
from layers.linear import Linear
from layers.update import EdgeUpdate, Update

GAIN = nn.init.calculate_gain("relu")


class GATLayer(nn.Module):
    r"""Graph attention, eq. (18)-(20) and (62)-(63), inside (29).

        ê_ij^k = LeakyReLU(V^k Concat(U^k h_i, U^k h_j))        a_ij^k = exp(ê_ij^k) / Σ_{j' -> i} exp(ê_ij'^k)
        ĥ_i    = Concat_k(Σ_{j -> i} a_ij^k U^k h_j)            h_i' = h_i + ELU(BN(ĥ_i))

    Shapes: h (N, in_dim) -> h' (N, out_dim), a (E, K). The product with the concatenation is a sum of two numbers, one per
    node: V^k Concat(x, y) = V_i^k · x + V_j^k · y. A node that no edge enters has ĥ_i = 0. `options` are those of
    layers/update.py. The text does not print the slope of LeakyReLU below zero: 0.2, and first weights Xavier-normal, as in the
    GAT paper and the program that made the tables.

        >>> g = dgl.graph(([0, 1, 2], [1, 2, 0]))
        >>> h = GATLayer(8, 8, n_heads=2)(g, torch.randn(3, 8))
    """

    slope = 0.2

    def __init__(self, in_dim, out_dim, n_heads, **options):
        super().__init__()
        self.K, self.d = n_heads, width_of_a_head(out_dim, n_heads)
        self.U = Linear(in_dim, out_dim, bias=False)
        self.V = nn.Parameter(torch.empty(2, self.K, self.d))
        self.update_h = Update(in_dim, out_dim, activation=F.elu, **options)
        self.draw_weights()

    def draw_weights(self):
        nn.init.xavier_normal_(self.U.weight, GAIN)
        for part in self.V.data.split(1):
            nn.init.xavier_normal_(part, GAIN)

    def forward(self, g, h):
        Uh = fused.linear(h, self.U.weight).unflatten(1, (self.K, self.d))
        V_i, V_j = self.V
        if fused.suits(h):  # the same, in one step or by one sparse product per head
            h_hat = fused.attention(g, Uh, V_i, V_j, self.slope)
        else:
            e_hat = F.leaky_relu(ops.u_add_v(g, (V_j * Uh).sum(-1), (V_i * Uh).sum(-1)), self.slope)
            a = ops.edge_softmax(g, e_hat)
            h_hat = ops.u_mul_e_sum(g, Uh, a[..., None])
        return self.update_h(g, h, h_hat.flatten(1))


class EdgeReprGATLayer(nn.Module):
    r"""Graph attention with edge representations, eq. (64)-(67).

        x_ij^k = Concat(A^k e_ij, U^k h_i, U^k h_j)
        â_ij^k = LeakyReLU(V^k x_ij^k)                          a_ij^k = exp(â_ij^k) / Σ_{j' -> i} exp(â_ij'^k)
        ĥ_i    = Concat_k(Σ_{j -> i} a_ij^k U^k h_j)            h_i'  = h_i + ELU(BN(ĥ_i))
        ê_ij   = Concat_k(B^k x_ij^k + b^k)                     e_ij' = e_ij + ELU(BN(ê_ij))

    Shapes: h (N, in_dim), e (E, in_dim) -> h' (N, out_dim), e' (E, out_dim). With edges=False e' is not computed: None. Products
    with x are sums of three, one for the edge and one for each end. Slope and first weights are those of EdgeFeatGATLayer.

        >>> g = dgl.graph(([0, 1, 2], [1, 2, 0]))
        >>> h, e = EdgeReprGATLayer(8, 8, n_heads=2)(g, torch.randn(3, 8), torch.randn(3, 8))
    """

    slope = 0.01

    def __init__(self, in_dim, out_dim, n_heads, **options):
        super().__init__()
        self.K, self.d = n_heads, width_of_a_head(out_dim, n_heads)
        self.U = Linear(in_dim, out_dim, bias=False)
        self.A = Linear(in_dim, out_dim, bias=False)
        bound = (3 * self.d) ** -0.5
        self.V = nn.Parameter(torch.empty(3, self.K, self.d).uniform_(-bound, bound))
        self.B = nn.Parameter(torch.empty(3, self.K, self.d, self.d).uniform_(-bound, bound))
        self.b = nn.Parameter(torch.empty(out_dim).uniform_(-bound, bound))
        self.update_h = Update(in_dim, out_dim, activation=F.elu, **options)
        self.update_e = EdgeUpdate(in_dim, out_dim, activation=F.elu, **options)

    def forward(self, g, h, e, edges=True):
        Uh, Ae = (x.unflatten(1, (self.K, self.d)) for x in (self.U(h), self.A(e)))
        V_e, V_i, V_j = self.V
        if fused.suits(h):
            h_hat = fused.attention(g, Uh, V_i, V_j, self.slope, (V_e * Ae).sum(-1))
        else:
            a_hat = (V_e * Ae).sum(-1) + ops.u_add_v(g, (V_j * Uh).sum(-1), (V_i * Uh).sum(-1))
            a = ops.edge_softmax(g, F.leaky_relu(a_hat, self.slope))
            h_hat = ops.u_mul_e_sum(g, Uh, a[..., None])
        h_new = self.update_h(g, h, h_hat.flatten(1))
        if not edges:
            return h_new, None
        Be, Bi, Bj = (torch.einsum("kcd,nkd->nkc", B, x).flatten(1) for B, x in zip(self.B, (Ae, Uh, Uh), strict=True))
        return h_new, self.update_e(g, e, Be + ops.u_add_v(g, Bj, Bi + self.b))


class EdgeFeatGATLayer(GATLayer):
    """The equations of GATLayer in the study of edge features (E.2), where the program that made the tables has slope 0.01 and
    first weights as of nn.Linear.

    >>> g = dgl.graph(([0, 1, 2], [1, 2, 0]))
    >>> h = EdgeFeatGATLayer(8, 8, n_heads=2)(g, torch.randn(3, 8))
    """

    slope = 0.01

    def draw_weights(self):
        bound = (2 * self.d) ** -0.5  # U is drawn by nn.Linear itself
        nn.init.uniform_(self.V, -bound, bound)


class IsotropicGATLayer(nn.Module):
    r"""No attention, eq. (61): the heads make no difference.

        ĥ_i = Concat_k(Σ_{j -> i} U^k h_j)                      h_i' = h_i + ELU(BN(ĥ_i))

    Shapes: h (N, in_dim) -> h' (N, out_dim). First weights are those of nn.Linear.

        >>> g = dgl.graph(([0, 1, 2], [1, 2, 0]))
        >>> h = IsotropicGATLayer(8, 8, n_heads=2)(g, torch.randn(3, 8))
    """

    def __init__(self, in_dim, out_dim, n_heads, **options):
        super().__init__()
        width_of_a_head(out_dim, n_heads)
        self.U = Linear(in_dim, out_dim, bias=False)
        self.update_h = Update(in_dim, out_dim, activation=F.elu, **options)

    def forward(self, g, h):
        return self.update_h(g, h, ops.copy_u_sum(g, self.U(h)))


def width_of_a_head(out_dim, n_heads):
    if out_dim % n_heads:
        raise ValueError(f"out_dim={out_dim}: expected a multiple of n_heads={n_heads}")
    return out_dim // n_heads
