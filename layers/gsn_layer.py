"""The layer of GSN: message passing that is told how often an edge occurs in each small subgraph, and in which role."""

import torch
import torch.nn.functional as F
from torch import nn

from layers import ops
from layers.two_maps import two_maps


class GSNLayer(nn.Module):
    r"""Messages and update by MLPs, without ε and residual connection.

        m_v  = Σ_{u ∈ N(v)} M([x_v ; x_u ; id_uv])        x_v' = ReLU(BN(U([x_v ; m_v])))

    M and U are W2 ReLU(BN(W1 x + b1)) + b2. Shapes: x (N, in_dim) -> (N, out_dim). id_uv is one-hot in several groups, id_dim
    numbers in all. It is given as `ids` (E, groups), the places of its ones; place id_dim stands for none. Layers with id_dim = 0
    take no ids.

        >>> g = dgl.graph(([0, 1], [1, 0]))
        >>> x = GSNLayer(3, 8, id_dim=4)(g, torch.ones(2, 3), torch.tensor([[0, 3], [1, 3]]))
    """

    def __init__(self, in_dim, out_dim, id_dim=0):
        super().__init__()
        self.widths = [in_dim, in_dim, id_dim]
        self.M = two_maps(2 * in_dim + id_dim, out_dim, out_dim, nn.BatchNorm1d)
        self.U = two_maps(in_dim + out_dim, out_dim, out_dim, nn.BatchNorm1d)
        self.norm = nn.BatchNorm1d(out_dim)

    def forward(self, g, x, ids=None):
        first, *rest = self.M
        W_v, W_u, W_id = first.weight.split(self.widths, 1)
        message = ops.u_add_v(g, x @ W_u.t(), x @ W_v.t()) + first.bias  # W1 of the concatenation, part by part
        if ids is not None:
            message = message + F.embedding_bag(ids, F.pad(W_id, (0, 1)).t(), mode="sum")
        for module in rest:
            message = module(message)
        m = ops.copy_e_sum(g, message)
        return F.relu(self.norm(self.U(torch.cat([x, m], 1))))
