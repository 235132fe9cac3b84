"""Nested GNNs (BREC, Table 2): a GIN inside the ego net of each node, ego nets summed to a vector per graph."""

from typing import Literal

import torch
from pydantic import Field
from torch import nn

from layers.closed_gin_layer import ClosedGINLayer
from layers.two_maps import LastBatchNorm
from nets.prepared_net import PreparedConfig
from nets.subgraph_skeleton import SubgraphNet, mlp_head


class NGNNNet(SubgraphNet):
    """NGNN: ego nets of radius 1 without marks, six layers of GIN with ε = 0 and no BN, the sum of all rows, an MLP, BN.

    3,568 parameters, in the program too.
    """

    class Config(PreparedConfig):
        model: Literal["NGNN"] = Field("NGNN", description="which net")
        L: int = Field(6, gt=0, description="number of layers")
        hidden_dim: int = Field(16, gt=0, description="width of the layers")
        radius: int = Field(1, gt=0, description="radius of the ego nets")

    def __init__(self, L=6, hidden_dim=16, radius=1, out_dim=16, in_dim=1):
        super().__init__(radius)
        widths = [in_dim] + [hidden_dim] * L
        self.layers = nn.ModuleList(ClosedGINLayer(a, hidden_dim, norm=None) for a in widths[:-1])
        self.head = nn.Sequential(mlp_head(hidden_dim, hidden_dim, out_dim), LastBatchNorm(out_dim))

    def input(self, s):
        return s.by_distance(torch.ones(self.radius + 1, 1, dtype=self.dtype))

    def pool(self, s, x):
        return s.sum_graphs(s.sum_nodes(x))


class DENGNNNet(NGNNNet):
    """DE+NGNN: NGNN with radius 8 and width 128, where a row starts from its distance to the root, one-hot.

    201,488 parameters, in the program too.
    """

    class Config(PreparedConfig):
        model: Literal["DE+NGNN"] = Field("DE+NGNN", description="which net")
        L: int = Field(6, gt=0, description="number of layers")
        hidden_dim: int = Field(128, gt=0, description="width of the layers")
        radius: int = Field(8, gt=0, description="radius of the ego nets")

    def __init__(self, L=6, hidden_dim=128, radius=8, out_dim=16):
        super().__init__(L, hidden_dim, radius, out_dim, in_dim=radius + 1)

    def input(self, s):
        return s.by_distance(torch.eye(self.radius + 1, dtype=self.dtype))
