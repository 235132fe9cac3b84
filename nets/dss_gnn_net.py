"""DSS-GNN (BREC, Table 2): ego nets of a graph that share what they know of a node after each layer."""

from typing import Literal

from pydantic import Field
from torch import nn

from layers.dss_layer import DSSLayer
from nets.prepared_net import PreparedConfig
from nets.subgraph_skeleton import SubgraphNet, mlp_head, root_marks


class DSSGNNNet(SubgraphNet):
    """Nine DSS layers on ego nets of radius 6 with marked root, the mean of all rows, an MLP.

    Ego nets as in DS-GNN. 41,616 parameters, in the program too once it is built for three input columns.
    """

    class Config(PreparedConfig):
        model: Literal["DSS-GNN"] = Field("DSS-GNN", description="which net")
        L: int = Field(9, gt=0, description="number of layers")
        hidden_dim: int = Field(32, gt=0, description="width of the layers")
        radius: int = Field(6, gt=0, description="radius of the ego nets")

    layer = DSSLayer

    def __init__(self, L=9, hidden_dim=32, radius=6, out_dim=16):
        super().__init__(radius, keep_outside=True)
        widths = [3] + [hidden_dim] * L
        self.layers = nn.ModuleList(self.layer(a, hidden_dim) for a in widths[:-1])
        self.head = mlp_head(hidden_dim, 2 * hidden_dim, out_dim)

    def input(self, s):
        return root_marks(s, self.dtype)

    def pool(self, s, x):
        return s.mean_graphs(s.mean_nodes(x))
