"""GCN with the symmetric normalisation of its first paper, as the Long Range Graph Benchmark runs it (its Tables 3-5)."""

import torch.nn.functional as F
from torch import nn

from layers import ops
from layers.linear import Linear
from layers.update import Update


class SymGCNLayer(nn.Module):
    r"""Graph convolution over a node and its neighbours, with the norm of each row of the result made 1.

        ĥ_i = W Σ_{j -> i or j = i} h_j / √(deg_j deg_i)            h_i' = l2(ReLU(BN(ĥ_i)))

    Shapes: h (N, in_dim) -> h' (N, out_dim). Edge j -> i is stored as (src=j, dst=i); deg is the in-degree with the self-loop, at
    both ends. l2(x) = x / ‖x‖, or 0. The retuned one of LRGB is h_i' = h_i + Drop(GELU(ĥ_i + b)): bias, residual,
    keep_residual, no batch_norm, no l2_norm. `options` are those of layers/update.py.

    Deviation: LRGB writes that all its baselines have residual connections; GCN and GCNII of its program have none.

        >>> g = dgl.graph(([0, 1, 2], [1, 2, 0]))
        >>> h = SymGCNLayer(8, 8)(g, torch.randn(3, 8))
    """

    def __init__(self, in_dim, out_dim, bias=False, l2_norm=True, residual=False, **options):
        super().__init__()
        self.W = Linear(in_dim, out_dim, bias=False)
        nn.init.xavier_uniform_(self.W.weight)
        self.b = nn.Parameter(self.W.weight.new_zeros(out_dim)) if bias else None
        self.l2_norm = l2_norm
        self.update_h = Update(in_dim, out_dim, residual=residual, **options)

    def forward(self, g, h):
        h_hat = ops.sym_norm_sum(g, self.W(h))
        if self.b is not None:
            h_hat = h_hat + self.b
        h = self.update_h(g, h, h_hat)
        return F.normalize(h, dim=1) if self.l2_norm else h
