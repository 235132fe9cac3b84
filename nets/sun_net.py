"""SUN (BREC, Table 2): the subgraph union network, DSS-GNN with more ways between a node, its roots and its ego nets."""

from layers.sun_layer import SUNLayer
from nets.dss_gnn_net import DSSGNNNet


class SUNNet(DSSGNNNet):
    """Nine SUN layers in the place of the DSS layers. 192,016 parameters, in the program too once it is built for three columns."""

    layer = SUNLayer
