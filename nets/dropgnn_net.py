"""DropGNN (BREC, Tables 2 and 6): many runs of a GIN, each with the input of a few nodes, drawn at random, set to 0."""

from typing import Literal

import numpy as np
import torch
from pydantic import Field
from torch import nn

from layers.closed_gin_layer import ClosedGINLayer
from layers.subgraphs import Subgraphs
from nets.prepared_net import PreparedConfig, PreparedNet


class DropGNNNet(PreparedNet):
    r"""Ten layers of GIN with ε = 0 and BN on `n_runs` runs at once, x^0 = 0 for a dropped node and 1 for the others.

        y = Σ_l W_l Σ_v (1/n_runs) Σ_r x^l_rv + b_l        l = 0 … L

    A node of a graph of n nodes is dropped with probability 2 / (1 + n), drawn anew in each forward pass, in evaluation too: the
    embedding is random. A dropped node keeps its edges. BN normalises over runs and nodes. 8,592 parameters, in the program too.

    Deviation: the program confuses the runs of a batch whose last node has no edge.
    """

    class Config(PreparedConfig):
        model: Literal["DropGNN"] = Field("DropGNN", description="which net")
        L: int = Field(10, gt=0, description="number of layers")
        hidden_dim: int = Field(16, gt=0, description="width of the layers")
        n_runs: int = Field(100, gt=0, description="runs with nodes dropped at random")

    def __init__(self, L=10, hidden_dim=16, n_runs=100, out_dim=16):
        super().__init__()
        self.n_runs = n_runs
        widths = [1] + [hidden_dim] * L
        self.layers = nn.ModuleList(ClosedGINLayer(a, hidden_dim) for a in widths[:-1])
        self.out = nn.ModuleList(nn.Linear(a, out_dim) for a in widths)

    def collate(self, g, values):
        """A run is a subgraph with all nodes."""
        return Subgraphs(g, [np.ones((self.n_runs, n), dtype=bool) for n in g.batch_num_nodes().tolist()])

    def drop(self, s):
        """(N, n_runs) booleans: the nodes that are dropped in each run."""
        n = torch.bincount(s.graph, minlength=s.B).index_select(0, s.graph)[:, None]
        return torch.rand(s.N, self.n_runs, device=s.graph.device) < 2 / (1 + n)

    def embed(self, s, dropped=None):
        dropped = self.drop(s) if dropped is None else dropped
        x = (~dropped).to(self.dtype).view(-1, 1)
        y = self.out[0](s.sum_graphs(s.mean_subgraphs(x)))
        for layer, out in zip(self.layers, self.out[1:], strict=True):
            x = self.run(layer, s, x)
            y = y + out(s.sum_graphs(s.mean_subgraphs(x)))
        return y
