"""GAT: anisotropic aggregation with attention, eq. (18)-(20), and the variants of section E.2."""

from typing import Literal

from pydantic import Field

from layers.gat_layer import EdgeFeatGATLayer, EdgeReprGATLayer, GATLayer, IsotropicGATLayer
from nets.gatedgcn_net import EdgeConfig, EdgeVariantsNet

LAYERS = {
    "dgl": GATLayer,
    "isotropic": IsotropicGATLayer,
    "edgefeat": EdgeFeatGATLayer,
    "edgereprfeat": EdgeReprGATLayer,
}


class GATNet(EdgeVariantsNet):
    """The last layer has one head of width out_dim, the others n_heads of width hidden_dim: the printed counts of edgereprfeat
    say so, and those of the other variants allow it."""

    class Config(EdgeConfig):
        model: Literal["GAT"] = Field("GAT", description="which net")
        hidden_dim: int = Field(gt=0, description="width of one head; the layers are n_heads times as wide")
        n_heads: int = Field(8, gt=0, description="number of heads of all layers but the last, which has one")
        layer_type: Literal["dgl", "isotropic", "edgefeat", "edgereprfeat"] = Field(
            "dgl",
            description="dgl: eq. (62)-(63), the default; isotropic: (61) without attention; edgefeat: as dgl with another "
            "slope and start, in a net that holds an unread edge embedding, as a printed count does; edgereprfeat: (64)-(67) with "
            "edge representations",
        )

        @property
        def version(self):
            return 1 if self.layer_type == "dgl" else 2  # 1 of the others: slope 0.2, larger first weights

    def __init__(self, config, features, task):
        self.heads_of_layers = iter([config.n_heads] * (config.L - 1) + [1])  # make_layer takes one a layer
        super().__init__(config, features, task)
        del self.heads_of_layers

    @staticmethod
    def width(config):
        return config.hidden_dim * config.n_heads

    @staticmethod
    def counts_edge_embedding(config):
        return config.layer_type != "dgl"

    def make_layer(self, config, in_dim, out_dim):
        return LAYERS[config.layer_type](
            in_dim,
            out_dim,
            next(self.heads_of_layers),
            config.dropout,
            config.batch_norm,
            config.residual,
            config.graph_norm,
        )
