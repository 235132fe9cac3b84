"""GAT: anisotropic aggregation with attention, eq. (18)-(20), and the variants of section E.2."""

from typing import Literal

from pydantic import Field

from layers.gat_layer import EdgeFeatGATLayer, EdgeReprGATLayer, GATLayer, IsotropicGATLayer
from nets.gatedgcn_net import EdgeConfig, EdgeVariantsNet

LAYERS = {
    "attention": GATLayer,
    "edge_representations": EdgeReprGATLayer,
    "edge_features": EdgeFeatGATLayer,
    "isotropic": IsotropicGATLayer,
}


class GATNet(EdgeVariantsNet):
    """The last layer has one head as wide as the n_heads of width hidden_dim of the others together: the printed counts of
    edge_representations say so, and those of the other variants allow it."""

    class Config(EdgeConfig):
        model: Literal["GAT"] = Field("GAT", description="which net")
        hidden_dim: int = Field(gt=0, description="width of one head; the layers are n_heads times as wide")
        n_heads: int = Field(8, gt=0, description="number of heads of all layers but the last, which has one")
        layer_type: Literal["attention", "isotropic", "edge_features", "edge_representations"] = Field(
            "attention",
            description="attention: eq. (62)-(63), the default; isotropic: (61) without attention; edge_features: as attention "
            "with another slope and start, in a net that holds an unread edge embedding, as a printed count does; "
            "edge_representations: (64)-(67) with edge representations",
        )

    @staticmethod
    def width(config):
        return config.hidden_dim * config.n_heads

    @staticmethod
    def counts_edge_embedding(config):
        return config.layer_type != "attention"

    def make_layer(self, config, i, in_dim, out_dim):
        n_heads = config.n_heads if i < config.L - 1 else 1
        return LAYERS[config.layer_type](in_dim, out_dim, n_heads, **config.options)
