"""The layers of KC-SetGNN: start values of node sets, and message passing between sets and the sets with one node more."""

from itertools import pairwise

import dgl
import torch
import torch.nn.functional as F
from torch import nn

from layers import ops
from layers.linear import Linear
from layers.two_maps import LastBatchNorm, two_maps


class Inclusions:
    """M sets of 1 to k nodes, and which contain which.

    size           (M,) nodes of a set
    small, large   (I,) numbers of the two sets of an inclusion, the second with one node more
    up, down       graphs of M nodes with an edge small -> large, and the other way
    has_r, has_l   numbers of the sets below the largest size, and of those above one node
    """

    def __init__(self, size, small, large, k):
        self.up = dgl.graph((small, large), num_nodes=len(size))
        self.down = dgl.graph((large, small), num_nodes=len(size))
        self.has_r, self.has_l = (size < k).nonzero().flatten(), (size > 1).nonzero().flatten()


class ConstantGINELayer(nn.Module):
    r"""GINE on the induced subgraphs of the connected sets, where all edges have the same vector a.

        x_v' = x_v + ReLU(BN(W2 ReLU(BN(W1 x̂_v))))        x̂_v = (1 + ε) x_v + Σ_{u ∈ N(v)} ReLU(x_u + W_e a + b)

    Shapes: x (r, dim), a (dim,) -> (r, dim).

        >>> g = dgl.graph(([0, 1], [1, 0]))
        >>> x = ConstantGINELayer(8)(g, torch.ones(2, 8), torch.ones(8))
    """

    def __init__(self, dim):
        super().__init__()
        self.eps = nn.Parameter(torch.zeros(1))
        self.W_e = Linear(dim, dim)
        self.mlp = two_maps(dim, dim, dim, LastBatchNorm, bias=False)
        self.norm = LastBatchNorm(dim)

    def forward(self, g, x, a):
        x_hat = (1 + self.eps) * x + ops.copy_u_sum(g, F.relu(x + self.W_e(a)))
        return x + F.relu(self.norm(self.mlp(x_hat)))


class KCSetLayer(nn.Module):
    r"""A step in both directions between sets S and the sets T ⊃ S with one node more, for all sizes at once.

        r_S = Σ_{T ⊃ S} h_T        l_T = Σ_{S ⊂ T} φ1(h_S)        k_T = Σ_{S ⊂ T} φ2(r_S)
        h' = h + φ_out([ψ1(h) ; ψ2(r) ; ψ3(l) ; ψ4(k)])

    φ is ReLU(BN(W x)) twice, ψ once. Sets of the largest size have no r, single nodes no l and k: ψ1(h) takes their place, and BN
    does not see them. Shapes: h (M, dim) -> (M, dim).

        >>> path = Inclusions(torch.tensor([1, 1, 1, 2, 2]), torch.tensor([0, 1, 1, 2]), torch.tensor([3, 3, 4, 4]), k=2)
        >>> h = KCSetLayer(8)(path, torch.ones(5, 8))
    """

    def __init__(self, dim):
        super().__init__()
        self.phi1, self.phi2 = normed(dim, dim, dim), normed(dim, dim, dim)
        self.psi = nn.ModuleList(normed(dim, dim // 2, bias=True) for _ in range(4))
        self.phi_out = normed(2 * dim, 2 * dim, dim)

    def forward(self, sets, h):
        r = ops.copy_u_sum(sets.down, h).index_select(0, sets.has_r)
        l_ = ops.copy_u_sum(sets.up, self.phi1(h)).index_select(0, sets.has_l)
        phi2 = torch.zeros_like(h).index_copy(0, sets.has_r, self.phi2(r))
        k = ops.copy_u_sum(sets.up, phi2).index_select(0, sets.has_l)
        own = self.psi[0](h)
        parts = [(sets.has_r, self.psi[1](r)), (sets.has_l, self.psi[2](l_)), (sets.has_l, self.psi[3](k))]
        w = torch.cat([own, *(own.index_copy(0, rows, x) for rows, x in parts)], 1)
        return h + self.phi_out(w)


def normed(*widths, bias=False):
    """ReLU(BN(W x)) from each width to the next."""
    steps = [(Linear(a, b, bias), LastBatchNorm(b), nn.ReLU()) for a, b in pairwise(widths)]
    return nn.Sequential(*(module for step in steps for module in step))
