"""delta-2-LGNN (BREC, Table 2): the local 2-dimensional Weisfeiler-Lehman net, read with Set2Set."""

from typing import Literal

import torch.nn.functional as F
from pydantic import Field
from torch import nn

from layers.delta_lgnn_layer import DeltaLGNNLayer
from layers.set2set import Set2Set
from nets.prepared_net import PreparedConfig
from nets.subgraph_skeleton import SubgraphNet, mlp_head


class DeltaLGNNNet(SubgraphNet):
    """Six layers on all ordered pairs, which start as diagonal, edge or neither; Set2Set with six steps over the pairs; an MLP.

    16,076 parameters, in the program too.
    """

    class Config(PreparedConfig):
        model: Literal["delta-2-LGNN"] = Field("delta-2-LGNN", description="which net")
        L: int = Field(6, gt=0, description="number of layers")
        hidden_dim: int = Field(16, gt=0, description="width of the layers")
        n_steps: int = Field(6, gt=0, description="rounds of the read-out Set2Set")

    def __init__(self, L=6, hidden_dim=16, n_steps=6, out_dim=16):
        super().__init__(radius=None, cap=2)  # distance 0, 1, 2: diagonal, edge, neither
        widths = [3] + [hidden_dim] * L
        self.layers = nn.ModuleList(DeltaLGNNLayer(a, hidden_dim) for a in widths[:-1])
        self.readout = Set2Set(hidden_dim, n_steps)
        self.head = mlp_head(2 * hidden_dim, hidden_dim, out_dim)

    def input(self, s):
        return F.one_hot(s.distance, 3).to(self.dtype)

    def pool(self, s, x):
        return self.readout(x, s.graph.index_select(0, s.node), s.B)
