"""SSWL_P (BREC, Table 2): message passing on pairs of nodes in both local directions, the strongest of the subgraph nets."""

from typing import Literal

from pydantic import Field
from torch import nn

from layers.sswl_layer import SSWLLayer, SSWLPoolLayer
from nets.prepared_net import PreparedConfig
from nets.subgraph_skeleton import SubgraphNet, mlp_head


class SSWLNet(SubgraphNet):
    """Eight layers on all pairs of nodes, which start from a table of distances, one pooling layer, the mean over pairs, an MLP.

    max_distance is the largest distance that the table tells apart; longer ones and none share its last row. 223,336 parameters;
    the program has 236,649, of which 13,313 are read by no output (bond tables, an ε).

    Deviation: the program looks up a negative row for nodes that are not connected.
    """

    class Config(PreparedConfig):
        model: Literal["SSWL_P"] = Field("SSWL_P", description="which net")
        L: int = Field(8, gt=0, description="number of layers")
        hidden_dim: int = Field(64, gt=0, description="width of the layers")
        max_distance: int = Field(8, gt=0, description="largest distance that is told apart")

    def __init__(self, L=8, hidden_dim=64, max_distance=8, out_dim=16):
        super().__init__(radius=None, cap=max_distance)
        self.table = nn.Embedding(max_distance + 1, hidden_dim)
        self.layers = nn.ModuleList([*(SSWLLayer(hidden_dim) for _ in range(L)), SSWLPoolLayer(hidden_dim)])
        self.head = mlp_head(hidden_dim, 2 * hidden_dim, out_dim)

    def input(self, s):
        return self.table(s.distance)

    def pool(self, s, x):
        return s.mean_graphs(s.mean_nodes(x))
