"""GatedGCN, B.1.2: a mean over the neighbours, gated per edge and channel. Then its two simpler variants of section E.1."""

import torch
from torch import nn

from layers import fused, ops
from layers.fused import EPS
from layers.linear import Linear
from layers.update import EdgeUpdate, Update


class GatedGCNLayer(nn.Module):
    r"""Gated graph convolution with edge representations, eq. (24)-(26) and (58)-(60), inside (29).

        ê_ij = A h_i + B h_j + C e_ij                     η_ij = σ(ê_ij) / (Σ_{j' -> i} σ(ê_ij') + ε)
        ĥ_i  = U h_i + Σ_{j -> i} η_ij ⊙ V h_j            h_i' = h_i + ReLU(BN(ĥ_i)),  e_ij' = e_ij + ReLU(BN(ê_ij))

    Shapes: h (N, in_dim), e (E, in_dim) -> h' (N, out_dim), e' (E, out_dim); e may be one row for all edges, (1, in_dim). Edge
    j -> i is stored as (src=j, dst=i). All maps have a bias. `options` are those of layers/update.py. With edges=False e' is not
    computed: None.

    Deviation: the text takes the gates from e', after normalisation and residual connection; here they are those of ê, as
    in the original program.

        >>> g = dgl.graph(([0, 1, 2], [1, 2, 0]))
        >>> h, e = GatedGCNLayer(8, 8)(g, torch.randn(3, 8), torch.randn(3, 8))
    """

    def __init__(self, in_dim, out_dim, **options):
        super().__init__()
        self.U, self.V, self.A, self.B, self.C = (Linear(in_dim, out_dim) for _ in "UVABC")
        self.update_h = Update(in_dim, out_dim, **options)
        self.update_e = EdgeUpdate(in_dim, out_dim, **options)

    def forward(self, g, h, e, edges=True):
        if fused.suits(h):  # the same, block by block of edges
            h_hat, e_hat = fused.gated(g, h, self, e)
        else:
            e_hat = ops.u_add_v(g, self.B(h), self.A(h)) + self.C(e)
            gate = torch.sigmoid(e_hat)
            h_hat = self.U(h) + ops.u_mul_e_sum(g, self.V(h), gate) / (ops.copy_e_sum(g, gate) + EPS)
        return self.update_h(g, h, h_hat), self.update_e(g, e, e_hat) if edges else None


class EdgeFeatGatedGCNLayer(nn.Module):
    r"""Gates from the two ends of an edge, eq. (56)-(57): GatedGCN without e.

        ê_ij = A h_i + B h_j                              η_ij = σ(ê_ij) / (Σ_{j' -> i} σ(ê_ij') + ε)
        ĥ_i  = U h_i + Σ_{j -> i} η_ij ⊙ V h_j            h_i' = h_i + ReLU(BN(ĥ_i))

    Shapes: h (N, in_dim) -> h' (N, out_dim).

        >>> g = dgl.graph(([0, 1, 2], [1, 2, 0]))
        >>> h = EdgeFeatGatedGCNLayer(8, 8)(g, torch.randn(3, 8))
    """

    def __init__(self, in_dim, out_dim, **options):
        super().__init__()
        self.U, self.V, self.A, self.B = (Linear(in_dim, out_dim) for _ in "UVAB")
        self.update_h = Update(in_dim, out_dim, **options)

    def forward(self, g, h):
        if fused.suits(h):
            h_hat, _ = fused.gated(g, h, self)
        else:
            gate = torch.sigmoid(ops.u_add_v(g, self.B(h), self.A(h)))
            h_hat = self.U(h) + ops.u_mul_e_sum(g, self.V(h), gate) / (ops.copy_e_sum(g, gate) + EPS)
        return self.update_h(g, h, h_hat)


class IsotropicGatedGCNLayer(nn.Module):
    r"""No gates, eq. (55).

        ĥ_i = U h_i + Σ_{j -> i} V h_j                    h_i' = h_i + ReLU(BN(ĥ_i))

    Shapes: h (N, in_dim) -> h' (N, out_dim).

        >>> g = dgl.graph(([0, 1, 2], [1, 2, 0]))
        >>> h = IsotropicGatedGCNLayer(8, 8)(g, torch.randn(3, 8))
    """

    def __init__(self, in_dim, out_dim, **options):
        super().__init__()
        self.U, self.V = Linear(in_dim, out_dim), Linear(in_dim, out_dim)
        self.update_h = Update(in_dim, out_dim, **options)

    def forward(self, g, h):
        return self.update_h(g, h, self.U(h) + ops.copy_u_sum(g, self.V(h)))
