"""The layer of SUN: a node of an ego net also sees its root, its own ego net and all others; roots have weights of their own."""

import torch.nn.functional as F
from torch import nn

from layers import ops
from layers.two_maps import two_maps


class SUNLayer(nn.Module):
    r"""Subgraph union layer. d_v = x_vv are the root rows, h_r = Σ_v x_rv, x̄_v = (1/n) Σ_r x_rv.

        v ≠ r:  o_rv = u_vv(d)_v + u_kk(d)_r + u_kv(x)_rv + BN1(g1(x))_rv + BN2(g2(x̄))_v + u_ro(h)_r
        v = r:  o_rr = u'_vv(d)_r + BN3(g3(x))_rr + BN4(g4(x̄))_r + u'_ro(h)_r                        x_rv' = ReLU(o_rv)

    u is W2 ReLU(BN(W1 x + b1)) + b2, and g the same of the closed sum, in subgraph r for x and on the whole graph for x̄. g1 and
    g3 run on all rows, but BN1 normalises over the rows v ≠ r and BN3 over the N root rows. Shapes: x (R, in_dim) -> (R, out_dim).

        >>> from layers.subgraphs import EgoNets
        >>> s = EgoNets(dgl.graph(([0, 1], [1, 0])), [[[0, 1], [1, 0]]])
        >>> x = SUNLayer(3, 8)(s, torch.ones(4, 3))
    """

    def __init__(self, in_dim, out_dim):
        super().__init__()
        self.u = nn.ModuleDict({name: _mlp(in_dim, out_dim) for name in ("vv", "kk", "kv", "ro", "root_vv", "root_ro")})
        self.g = nn.ModuleList(_mlp(in_dim, out_dim) for _ in range(4))
        self.norm = nn.ModuleList(nn.BatchNorm1d(out_dim) for _ in range(4))

    def forward(self, s, x):
        d, h, mean = x.index_select(0, s.root_row), s.sum_nodes(x), s.mean_subgraphs(x)
        closed, closed_mean = s.sum_neighbours(x, own=1.0), mean + ops.copy_u_sum(s.g, mean)
        g1, g3 = self.g[0](closed), self.g[2](closed)
        g2, g4 = (self.norm[i](self.g[i](closed_mean)) for i in (1, 3))
        not_root = (~s.is_root()).nonzero().flatten()
        of_v, of_r = self.u["vv"](d) + g2, self.u["kk"](d) + self.u["ro"](h)
        o = s.of_nodes(of_v) + s.of_subgraphs(of_r) + self.u["kv"](x)
        o = o.index_add(0, not_root, self.norm[0](g1.index_select(0, not_root)))
        o_root = self.u["root_vv"](d) + self.norm[2](g3.index_select(0, s.root_row)) + g4 + self.u["root_ro"](h)
        return F.relu(o.index_copy(0, s.root_row, o_root))


def _mlp(in_dim, out_dim):
    return two_maps(in_dim, out_dim, out_dim, nn.BatchNorm1d)
