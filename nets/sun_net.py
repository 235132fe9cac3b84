"""SUN (BREC, Table 2): the subgraph union network, DSS-GNN with more ways between a node, its roots and its ego nets."""

from typing import Literal

from pydantic import Field

from layers.sun_layer import SUNLayer
from nets.dss_gnn_net import DSSGNNNet
from nets.prepared_net import PreparedConfig


class SUNNet(DSSGNNNet):
    """Nine SUN layers in the place of the DSS layers. 192,016 parameters, in the program too once it is built for three columns."""

    class Config(PreparedConfig):
        model: Literal["SUN"] = Field("SUN", description="which net")
        L: int = Field(9, gt=0, description="number of layers")
        hidden_dim: int = Field(32, gt=0, description="width of the layers")
        radius: int = Field(6, gt=0, description="radius of the ego nets")

    layer = SUNLayer
