"""GAT, B.1.2, and its variants of section E.2: K heads, each a mean over the neighbours weighted by attention."""

import torch
import torch.nn.functional as F
from dgl import ops as dgl_ops
from torch import nn

from layers import ops
from layers.graph_norm import graph_size_norm

GAIN = nn.init.calculate_gain("relu")


class IsotropicGATLayer(nn.Module):
    r"""Without attention, eq. (61), and what all variants share: batch normalisation and residual connection, eq. (29).

        ĥ_i = Concat_k(Σ_{j -> i} U^k h_j)        h_i' = h_i + ELU(BN(ĥ_i))

    Shapes: h (N, in_dim) -> (N, out_dim), where out_dim is the width of all K heads together. Edge j -> i is stored as
    (src=j, dst=i). There is no bias (the printed counts). The residual connection, which (61) does not print and (29) gives to
    every layer, needs in_dim == out_dim and is left out otherwise. With graph_norm the argument of BN is divided by the
    root of the graph's size, eq. (73). First weights are those of nn.Linear.
    """

    def __init__(self, in_dim, out_dim, n_heads, dropout=0.0, batch_norm=True, residual=True, graph_norm=False):
        super().__init__()
        if out_dim % n_heads:
            raise ValueError(f"out_dim={out_dim}: expected a multiple of n_heads={n_heads}")
        self.K, self.d = n_heads, out_dim // n_heads
        self.U = nn.Linear(in_dim, out_dim, bias=False)
        self.norm_h = nn.BatchNorm1d(out_dim) if batch_norm else nn.Identity()
        self.residual = residual and in_dim == out_dim
        self.graph_norm = graph_norm
        self.dropout = nn.Dropout(dropout)

    def forward(self, g, h):
        return self.update(g, h, dgl_ops.copy_u_sum(g, self.U(h)))

    def heads(self, x):
        """x (…, K d) -> (…, K, d)."""
        return x.view(len(x), self.K, self.d)

    def update(self, g, h, h_new):
        if self.graph_norm:
            h_new = graph_size_norm(g, h_new)
        h_new = F.elu(self.norm_h(h_new))
        if self.residual:
            h_new = h + h_new
        return self.dropout(h_new)


def linear_bound(in_dim):
    """First weights of nn.Linear lie between minus and plus this."""
    return in_dim**-0.5


class GATLayer(IsotropicGATLayer):
    r"""Graph attention, eq. (18)-(20) and (62)-(63).

        ê_ij^k = LeakyReLU(V^k Concat(U^k h_i, U^k h_j))        a_ij^k = exp(ê_ij^k) / Σ_{j' -> i} exp(ê_ij'^k)
        ĥ_i    = Concat_k(Σ_{j -> i} a_ij^k U^k h_j)            h_i' = h_i + ELU(BN(ĥ_i))

    Shapes and options as in the isotropic layer; a (E, K). The product with the concatenation is the sum of two, one a node:
    V^k Concat(x, y) = V_i^k · x + V_j^k · y. A node that no edge enters has ĥ_i = 0. The text does not say what the slope of
    LeakyReLU below zero is: 0.2, and first weights Xavier-normal, as in the GAT paper and the program that made the tables.
    """

    slope = 0.2

    def __init__(self, in_dim, out_dim, n_heads, *args, **options):
        super().__init__(in_dim, out_dim, n_heads, *args, **options)
        self.V = nn.Parameter(torch.empty(2, self.K, self.d))
        self.draw_weights()

    def draw_weights(self):
        nn.init.xavier_normal_(self.U.weight, GAIN)
        for part in self.V.data.split(1):
            nn.init.xavier_normal_(part, GAIN)

    def forward(self, g, h):
        Uh = self.heads(self.U(h))
        V_i, V_j = self.V
        e_hat = F.leaky_relu(ops.u_add_v(g, (V_j * Uh).sum(-1), (V_i * Uh).sum(-1)), self.slope)
        a = ops.edge_softmax(g, e_hat)
        return self.update(g, h, ops.weighted_sum(g, Uh, a).flatten(1))


class EdgeFeatGATLayer(GATLayer):
    """The same equations in the study of edge features (E.2), where the program that made the tables has slope 0.01 and first
    weights as of nn.Linear."""

    slope = 0.01

    def draw_weights(self):
        bound = linear_bound(2 * self.d)  # U is drawn by nn.Linear itself
        nn.init.uniform_(self.V, -bound, bound)


class EdgeReprGATLayer(IsotropicGATLayer):
    r"""Graph attention with edge representations, eq. (64)-(67).

        x_ij^k = Concat(A^k e_ij, U^k h_i, U^k h_j)
        â_ij^k = LeakyReLU(V^k x_ij^k)                     a_ij^k = exp(â_ij^k) / Σ_{j' -> i} exp(â_ij'^k)
        ĥ_i    = Concat_k(Σ_{j -> i} a_ij^k U^k h_j)       h_i'  = h_i + ELU(BN(ĥ_i))
        ê_ij   = Concat_k(B^k x_ij^k + b^k)                e_ij' = e_ij + ELU(BN(ê_ij))

    Shapes: h (N, in_dim), e (E, in_dim) -> h' (N, out_dim), e' (E, out_dim); the rest as in the isotropic layer. B has a bias b
    (the printed counts), A has none. Products with x are sums of three, one for the edge and one for each end. Where nothing
    reads e' (the last layer of a net), `update_edges = False` leaves it out: None is returned in its place. Slope and first
    weights are those of EdgeFeatGATLayer.
    """

    slope = 0.01

    def __init__(self, in_dim, out_dim, n_heads, dropout=0.0, batch_norm=True, residual=True, graph_norm=False):
        super().__init__(in_dim, out_dim, n_heads, dropout, batch_norm, residual, graph_norm)
        self.A = nn.Linear(in_dim, out_dim, bias=False)
        bound = linear_bound(3 * self.d)
        self.V = nn.Parameter(torch.empty(3, self.K, self.d).uniform_(-bound, bound))
        self.B = nn.Parameter(torch.empty(3, self.K, self.d, self.d).uniform_(-bound, bound))
        self.b = nn.Parameter(torch.empty(out_dim).uniform_(-bound, bound))
        self.norm_e = nn.BatchNorm1d(out_dim) if batch_norm else nn.Identity()
        self.update_edges = True

    def forward(self, g, h, e):
        Uh, Ae = self.heads(self.U(h)), self.heads(self.A(e))
        V_e, V_i, V_j = self.V
        a_hat = (V_e * Ae).sum(-1) + ops.u_add_v(g, (V_j * Uh).sum(-1), (V_i * Uh).sum(-1))
        a = ops.edge_softmax(g, F.leaky_relu(a_hat, self.slope))
        h = self.update(g, h, ops.weighted_sum(g, Uh, a).flatten(1))
        if not self.update_edges:
            return ops.without_influence(h, [self.B, self.b, *self.norm_e.parameters()]), None
        Be, Bi, Bj = (self.each_head(B, x) for B, x in zip(self.B, (Ae, Uh, Uh), strict=True))
        e_new = F.elu(self.norm_e(Be + ops.u_add_v(g, Bj, Bi + self.b)))
        if self.residual:
            e_new = e + e_new
        return h, self.dropout(e_new)

    @staticmethod
    def each_head(B, x):
        """B^k x^k of each head, side by side: (K, d, d), (n, K, d) -> (n, K d)."""
        return torch.einsum("kcd,nkd->nkc", B, x).flatten(1)
