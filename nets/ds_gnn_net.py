"""DS-GNN (BREC, Table 2): the ego nets of a graph as a set, each seen by a GIN that knows the root."""

from typing import Literal

from pydantic import Field
from torch import nn

from layers.closed_gin_layer import ClosedGINLayer
from layers.deep_sets_layer import DeepSetsLayer
from nets.prepared_net import PreparedConfig
from nets.subgraph_skeleton import SubgraphNet, mlp_head, root_marks


class DSGNNNet(SubgraphNet):
    """Ten layers of GIN with ε = 0 and BN on ego nets of radius 6 with marked root, their sums through two set layers, the mean.

    Nodes beyond the radius stay in each ego net without edges. 44,400 parameters, in the program too with three input columns.

    Deviation: the published program builds the net for one input column and stops with an error on the three it is given.
    """

    class Config(PreparedConfig):
        model: Literal["DS-GNN"] = Field("DS-GNN", description="which net")
        L: int = Field(10, gt=0, description="number of layers")
        hidden_dim: int = Field(32, gt=0, description="width of the layers")
        radius: int = Field(6, gt=0, description="radius of the ego nets")
        set_dim: int = Field(64, gt=0, description="width of the layers over the set of ego nets")

    def __init__(self, L=10, hidden_dim=32, radius=6, set_dim=64, out_dim=16):
        super().__init__(radius, keep_outside=True)
        widths = [3] + [hidden_dim] * L
        self.layers = nn.ModuleList(ClosedGINLayer(a, hidden_dim) for a in widths[:-1])
        self.set_layers = nn.ModuleList([DeepSetsLayer(hidden_dim, set_dim), DeepSetsLayer(set_dim, set_dim)])
        self.head = mlp_head(set_dim, 2 * set_dim, out_dim)

    def input(self, s):
        return root_marks(s, self.dtype)

    def pool(self, s, x):
        h = s.sum_nodes(x)
        for layer in self.set_layers:
            h = layer(s, h)
        return s.mean_graphs(h)
