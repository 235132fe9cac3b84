"""The layers of SSWL_P: pairs (u, v) of nodes that see the neighbours of both ends and the pair (v, v)."""

import torch
import torch.nn.functional as F
from torch import nn

from layers.two_maps import two_maps


class SSWLLayer(nn.Module):
    r"""Message passing on pairs in the two local directions, and from the diagonal.

        x_uv' = ReLU(BN( f_uL((1 + ε1) x_uv + Σ_{w ∈ N(v)} ReLU(x_uw))
                       + f_vL((1 + ε2) x_uv + Σ_{w ∈ N(u)} ReLU(x_wv))
                       + f_vv((1 + ε3) x_uv + x_vv) ))

    f = W2 ReLU(BN(W1 x + b1)) + b2. Shapes: x (R, dim) -> (R, dim), a row for each pair of nodes of a graph; ε starts at 0.

        >>> from layers.subgraphs import EgoNets
        >>> s = EgoNets(dgl.graph(([0, 1], [1, 0])), [[[0, 1], [1, 0]]])
        >>> x = SSWLLayer(8)(s, torch.ones(4, 8))
    """

    def __init__(self, dim):
        super().__init__()
        self.f_uL, self.f_vL, self.f_vv = (two_maps(dim, dim, dim, nn.BatchNorm1d) for _ in range(3))
        self.eps = nn.ParameterList(torch.zeros(1) for _ in range(3))
        self.norm = nn.BatchNorm1d(dim)

    def forward(self, s, x):
        message = F.relu(x)
        around_v = s.sum_neighbours(message)
        around_u = s.swap(s.sum_neighbours(s.swap(message)))
        at_v = s.of_nodes(x.index_select(0, s.root_row))
        e1, e2, e3 = (1 + eps for eps in self.eps)
        out = self.f_uL(e1 * x + around_v) + self.f_vL(e2 * x + around_u) + self.f_vv(e3 * x + at_v)
        return F.relu(self.norm(out))


class SSWLPoolLayer(nn.Module):
    r"""The last layer of SSWL_P: every pair gets the sum over its first node's row.

        x_uv' = ReLU(BN(f(Σ_w x_uw)))

    Shapes as in SSWLLayer. Computed for all pairs, although those of one u are equal: so BN sees the rows of the original.

        >>> from layers.subgraphs import EgoNets
        >>> s = EgoNets(dgl.graph(([0, 1], [1, 0])), [[[0, 1], [1, 0]]])
        >>> x = SSWLPoolLayer(8)(s, torch.ones(4, 8))
    """

    def __init__(self, dim):
        super().__init__()
        self.f = two_maps(dim, dim, dim, nn.BatchNorm1d)
        self.norm = nn.BatchNorm1d(dim)

    def forward(self, s, x):
        return F.relu(self.norm(self.f(s.of_subgraphs(s.sum_nodes(x)))))
