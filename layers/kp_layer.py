"""The layer of KP-GNN: messages from the nodes at each distance up to K, with an MLP per distance, combined by learned weights."""

import torch
import torch.nn.functional as F
from torch import nn

from layers import ops
from layers.linear import Linear


class KPLayer(nn.Module):
    r"""K-hop GIN with peripheral subgraphs. x^k is the k-th of K equal parts of x.

        s_v^k = x_v^k + p_v^k + Σ_{u: D(u,v) = k} (x_u^k + q^k)            q^1 and q^2 = … = q^K are learned
        h_v^k = ReLU(ReLU(s_v^k P1_k + b1_k) P2_k + b2_k)
        x_v'  = BN(W Σ_k θ_k ⊙ h_v^k + b)                                  θ = softmax_k(σ(a) ⊙ (1 - σ(a))^(k-1))

    Shapes: x (N, dim), p (N, K, dim / K) -> (N, dim). `hops` is a graph of N K nodes, number v K + k - 1 for node v and hop k, with
    an edge from (u, k) to (v, k) where D(u, v) = k: one sparse product adds up all hops. No activation follows the normalisation.

        >>> hops = dgl.graph(([0, 2], [2, 0]), num_nodes=4)  # two adjacent nodes, K = 2
        >>> x = KPLayer(8, K=2)(hops, torch.ones(2, 8), torch.ones(2, 2, 4))
    """

    def __init__(self, dim, K, norm=nn.BatchNorm1d):
        super().__init__()
        c = dim // K
        self.K, self.q = K, nn.Parameter(torch.randn(min(K, 2), c))
        # as the program draws them: as if each had c² inputs
        self.P1, self.P2 = (nn.Parameter(_uniform((K, c, c), (6 / (c * c)) ** 0.5)) for _ in range(2))
        self.b1, self.b2 = (nn.Parameter(_uniform((K, c), 1 / c)) for _ in range(2))
        self.a = nn.Parameter(torch.zeros(c))
        self.W = Linear(c, dim)
        self.norm = norm(dim)

    def forward(self, hops, x, p):
        x = x.view(len(x), self.K, -1)
        hop = torch.arange(self.K, device=x.device).clamp(max=1)
        n_at_hop = hops.in_degrees().view(-1, self.K, 1)
        around = ops.copy_u_sum(hops, x.flatten(0, 1)).view_as(x) + n_at_hop * self.q.index_select(0, hop)
        s = (x + p + around).transpose(0, 1)
        h = F.relu(torch.baddbmm(self.b1[:, None], s, self.P1))
        h = F.relu(torch.baddbmm(self.b2[:, None], h, self.P2))
        gate = torch.sigmoid(self.a)
        power = torch.arange(self.K, device=x.device)[:, None]
        theta = torch.softmax(gate * (1 - gate) ** power, 0)
        return self.norm(self.W((theta[:, None] * h).sum(0)))


def _uniform(shape, bound):
    return torch.empty(shape).uniform_(-bound, bound)
