"""KP-GNN (BREC, Table 2): K-hop message passing with shortest paths, and the subgraphs on the nodes at each distance."""

from functools import partial
from typing import Literal, NamedTuple

import dgl
import numpy as np
import torch
import torch.nn.functional as F
from pydantic import Field
from torch import nn

from data.transforms.distances import distances
from data.transforms.peripheral import peripheral_counts
from layers.kp_layer import KPLayer
from layers.two_maps import LastBatchNorm
from nets.heads import pool_nodes
from nets.prepared_net import PreparedConfig, PreparedNet

CAP = 1000  # of the counts of a peripheral subgraph


class Hops(NamedTuple):
    """A batch g, its graph of hops (KPLayer) and the counts of the peripheral subgraphs, (N, K, 6)."""

    g: dgl.DGLGraph
    hops: dgl.DGLGraph
    counts: torch.Tensor


class PeripheralEncoding(nn.Module):
    r"""p_v^k = σ(w1) W1 [t ; E[e]] + σ(w2) W2 [F0[c0] ; … ; F4[c4]] of the counts e, c0 … c4: (N, K, 6) -> (N, K, dim)."""

    def __init__(self, dim):
        super().__init__()
        self.w1, self.w2 = nn.Parameter(torch.randn(())), nn.Parameter(torch.randn(()))
        self.t = nn.Parameter(torch.randn(dim))
        self.tables = nn.ModuleList(nn.Embedding(CAP + 1, dim) for _ in range(6))  # E, F0 … F4
        self.W1, self.W2 = nn.Linear(2 * dim, dim), nn.Linear(5 * dim, dim)

    def forward(self, counts):
        E, *F_ = (table(counts[:, :, i]) for i, table in enumerate(self.tables))
        edges = self.W1(torch.cat([self.t.expand_as(E), E], 2))
        return torch.sigmoid(self.w1) * edges + torch.sigmoid(self.w2) * self.W2(torch.cat(F_, 2))


class KPGNNNet(PreparedNet):
    """Eight layers over eight hops of width 4, a linear map with ReLU, the sum over nodes, a linear map, BN.

    29,702 parameters; the program has 93,838, the rest in tables of path counts, which are switched off.
    """

    class Config(PreparedConfig):
        model: Literal["KP-GNN"] = Field("KP-GNN", description="which net")
        L: int = Field(8, gt=0, description="number of layers")
        hidden_dim: int = Field(32, gt=0, description="width of the layers")
        K: int = Field(8, gt=0, description="number of hops")

    def __init__(self, L=8, hidden_dim=32, K=8, out_dim=16):
        super().__init__()
        if hidden_dim % K:
            raise ValueError(f"hidden_dim={hidden_dim} with K={K}: expected a multiple of K, a part for each hop")
        self.K = K
        self.transforms = {
            "distances": partial(distances, cap=K + 1),
            "peripheral_counts": partial(peripheral_counts, K=K, cap=CAP),
        }
        self.start = nn.Parameter(torch.randn(hidden_dim))
        self.peripheral = PeripheralEncoding(hidden_dim // K)
        self.layers = nn.ModuleList(KPLayer(hidden_dim, K, LastBatchNorm) for _ in range(L))
        self.hidden = nn.Linear(hidden_dim, hidden_dim)
        self.head = nn.Sequential(nn.Linear(hidden_dim, out_dim), LastBatchNorm(out_dim))

    def collate(self, g, values):
        counts = torch.from_numpy(np.concatenate(values["peripheral_counts"])).to(g.device)
        return Hops(g, hop_graph(values["distances"], self.K).to(g.device), counts)

    def embed(self, batch):
        g, hops, counts = batch
        x, p = self.start.expand(g.num_nodes(), -1), self.peripheral(counts)
        for layer in self.layers:
            x = self.run(layer, hops, x, p)
        return self.head(pool_nodes(g, F.relu(self.hidden(x)), "sum"))


def hop_graph(distances, K):
    """The graph of KPLayer, of the (n, n) distances of each graph of a batch."""
    src, dst, first = [], [], 0
    for D in distances:
        u, v = np.nonzero((D > 0) & (D <= K))
        hop = D[u, v] - 1
        src.append((first + u) * K + hop)
        dst.append((first + v) * K + hop)
        first += len(D)
    ends = (torch.from_numpy(np.concatenate(x)) for x in (src, dst))
    return dgl.graph(tuple(ends), num_nodes=first * K)
