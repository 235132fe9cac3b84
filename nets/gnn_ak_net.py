"""GNN-AK (BREC, Table 2; GNN-AK+ without sampling): message passing in which each node is seen through a GNN on its ego net."""

from typing import Literal

import torch
from pydantic import Field
from torch import nn

from layers.gnn_ak_layer import GNNAKLayer
from nets.prepared_net import PreparedConfig
from nets.subgraph_skeleton import SubgraphNet


class GNNAKNet(SubgraphNet):
    """Four outer layers of two inner ones on ego nets of radius 6, the sum over nodes, an MLP with BN.

    74,744 parameters; the program has 1,214,076, nearly all in tables for features that BREC does not have.
    """

    class Config(PreparedConfig):
        model: Literal["GNN-AK"] = Field("GNN-AK", description="which net")
        L: int = Field(4, gt=0, description="number of layers")
        hidden_dim: int = Field(32, gt=0, description="width of the layers")
        hop_dim: int = Field(16, gt=0, description="width of the table of distances to the root")
        radius: int = Field(6, gt=0, description="radius of the ego nets")
        n_inner: int = Field(2, gt=0, description="layers inside a subgraph, per outer layer")

    def __init__(self, L=4, hidden_dim=32, hop_dim=16, radius=6, n_inner=2, out_dim=16):
        super().__init__(radius)
        self.start = nn.Parameter(torch.randn(hidden_dim))
        self.layers = nn.ModuleList(GNNAKLayer(hidden_dim, hop_dim, radius, n_inner) for _ in range(L))
        self.head = nn.Sequential(
            nn.Linear(hidden_dim, hidden_dim, bias=False),
            nn.BatchNorm1d(hidden_dim),
            nn.ReLU(),
            nn.Linear(hidden_dim, out_dim),
        )

    def input(self, s):
        return self.start.expand(s.N, -1)

    def pool(self, s, x):
        return s.sum_graphs(x)
