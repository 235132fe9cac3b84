"""KC-SetGNN (BREC, Table 2): message passing between sets of at most k = 3 nodes that fall into at most c = 2 components."""

from functools import partial
from typing import Literal, NamedTuple

import dgl
import numpy as np
import torch
from pydantic import Field
from torch import nn

from data.transforms.node_sets import node_sets
from layers.kc_set_layer import ConstantGINELayer, Inclusions, KCSetLayer, normed
from nets.prepared_net import PreparedConfig, PreparedNet


class SetBatch(NamedTuple):
    """The node sets of a batch of B graphs, M of them.

    graph, size, components   (M,) of each set
    inclusions                which sets contain which
    induced                   graph of the subgraphs that the connected sets induce; row_set (r,) is the set of each of its nodes
    """

    B: int
    graph: torch.Tensor
    size: torch.Tensor
    components: torch.Tensor
    inclusions: Inclusions
    induced: dgl.DGLGraph
    row_set: torch.Tensor


class SetStart(nn.Module):
    r"""The start value of each set: that of its induced subgraph if it is connected, else 0; its size and components; one map.

    h_S = ReLU(BN(W (x_S + a_|S| + b_components)))        x_S = (1/|S|) Σ_{v ∈ S} ReLU(BN(W_x x_v))
    """

    def __init__(self, dim, n_inner, k, c):
        super().__init__()
        self.node, self.edge = nn.Parameter(torch.randn(dim)), nn.Parameter(torch.randn(dim))
        self.layers = nn.ModuleList(ConstantGINELayer(dim) for _ in range(n_inner))
        self.of_node, self.out = normed(dim, dim), normed(dim, dim)
        self.of_size, self.of_components = nn.Embedding(k, dim), nn.Embedding(c, dim)

    def forward(self, sets):
        x = self.node.expand(len(sets.row_set), -1)
        for layer in self.layers:
            x = layer(sets.induced, x, self.edge)
        x = self.of_node(x)
        total = x.new_zeros(len(sets.size), x.shape[1]).index_add(0, sets.row_set, x)
        return self.out(
            total / sets.size[:, None] + self.of_size(sets.size - 1) + self.of_components(sets.components - 1)
        )


class SetReadout(nn.Module):
    r"""The sets of each size in one vector, the sizes side by side: (M, dim) -> (B, k dim).

        y_s = ReLU(BN(W [max_S h_S ; Σ_S h_S ⊙ σ(V [t1_s ; t2_components])]))        over the sets S of size s

    W and BN are one for all sizes; BN normalises over graphs and sizes.
    """

    def __init__(self, dim, gate_dim, k, c):
        super().__init__()
        self.t1, self.t2 = nn.Parameter(torch.zeros(k, gate_dim)), nn.Parameter(torch.zeros(c, gate_dim))
        self.V = nn.Linear(2 * gate_dim, dim, bias=False)
        self.k, self.W = k, normed(2 * dim, dim)

    def forward(self, sets, h):
        gate = self.V(torch.cat([self.t1[sets.size - 1], self.t2[sets.components - 1]], 1))
        group = sets.graph * self.k + sets.size - 1
        empty = h.new_zeros(sets.B * self.k, h.shape[1])
        largest = empty.scatter_reduce(0, group[:, None].expand_as(h), h, "amax", include_self=False)
        total = empty.index_add(0, group, h * torch.sigmoid(gate))
        return self.W(torch.cat([largest, total], 1)).view(sets.B, -1)


class KCSetGNNNet(PreparedNet):
    """Four layers between sets of one, two and three nodes of at most two components, a read-out for each size, an MLP with BN.

    254,114 parameters; the program has 362,578, the rest in tables for features that BREC does not have.
    """

    class Config(PreparedConfig):
        model: Literal["KC-SetGNN"] = Field("KC-SetGNN", description="which net")
        L: int = Field(4, gt=0, description="number of layers")
        hidden_dim: int = Field(64, gt=0, description="width of the layers")
        n_inner: int = Field(2, gt=0, description="layers inside a subgraph, per outer layer")
        k: int = Field(3, gt=1, description="nodes of the largest sets")
        c: int = Field(2, gt=0, description="largest number of components of a node set")
        gate_dim: int = Field(16, gt=0, description="width of the gates of the read-out")

    def __init__(self, L=4, hidden_dim=64, n_inner=2, k=3, c=2, gate_dim=16, out_dim=16):
        super().__init__()
        self.k, self.transforms = k, {"node_sets": partial(node_sets, k=k, c=c)}
        self.start = SetStart(hidden_dim, n_inner, k, c)
        self.layers = nn.ModuleList(KCSetLayer(hidden_dim) for _ in range(L))
        self.readout = SetReadout(hidden_dim, gate_dim, k, c)
        self.head = nn.Sequential(normed(k * hidden_dim, hidden_dim), nn.Linear(hidden_dim, out_dim))

    def collate(self, g, values):
        sets = values["node_sets"]
        n_sets, n_rows = [len(x.size) for x in sets], [len(x.row_set) for x in sets]

        def together(name, counts=None):
            first = np.zeros(len(sets), np.int64) if counts is None else np.cumsum([0, *counts[:-1]])
            joined = np.concatenate([getattr(x, name) + f for x, f in zip(sets, first, strict=True)])
            return torch.from_numpy(joined).to(g.device)

        size = together("size")
        graph = torch.repeat_interleave(torch.arange(len(sets), device=g.device), torch.tensor(n_sets, device=g.device))
        inclusions = Inclusions(size, together("small", n_sets), together("large", n_sets), self.k)
        induced = dgl.graph((together("row_src", n_rows), together("row_dst", n_rows)), num_nodes=sum(n_rows))
        row_set = together("row_set", n_sets)
        return SetBatch(g.batch_size, graph, size, together("components"), inclusions, induced, row_set)

    def embed(self, sets):
        h = self.start(sets)
        for layer in self.layers:
            h = self.run(layer, sets.inclusions, h)
        return self.head(self.readout(sets, h))
