"""GatedGCN: anisotropic aggregation with edge gates, eq. (24)-(26), and the variants of section E.1."""

from typing import Literal

from pydantic import Field, model_validator

from layers.gatedgcn_layer import EdgeFeatGatedGCNLayer, GatedGCNLayer, IsotropicGatedGCNLayer
from nets.inputs import EdgeEmbedding
from nets.skeleton import GCNConfig, MessagePassingNet

LAYERS = {
    "edge_representations": GatedGCNLayer,
    "edge_features": EdgeFeatGatedGCNLayer,
    "isotropic": IsotropicGatedGCNLayer,
}


class EdgeConfig(GCNConfig):
    """What the nets of section E add."""

    layer_type: str
    edge_feat: bool = Field(False, description="edge representations start from the dataset's edge features (-E)")

    @model_validator(mode="after")
    def _edge_features_are_read(self):
        if self.edge_feat and self.layer_type != "edge_representations":
            raise ValueError(
                f"edge_feat=True with layer_type={self.layer_type!r}: only the layers of edge_representations read edge features"
            )
        return self


class EdgeVariantsNet(MessagePassingNet):
    """What GatedGCN and GAT share: with layer_type edge_representations the layers keep edge representations.

    Deviation: the printed counts of the other variants hold an input embedding of the edges too (`counts_edge_embedding`),
    though their equations have none. It is made, read by nothing, and never learns.
    """

    def __init__(self, config, features, task):
        super().__init__(config, features, task)
        if not self.has_edges(config) and self.counts_edge_embedding(config):
            self.unread = EdgeEmbedding(features, config, self.width(config))

    @staticmethod
    def has_edges(config):
        return config.layer_type == "edge_representations"

    @staticmethod
    def counts_edge_embedding(config):
        return True


class GatedGCNNet(EdgeVariantsNet):
    class Config(EdgeConfig):
        model: Literal["GatedGCN"] = Field("GatedGCN", description="which net")
        layer_type: Literal["isotropic", "edge_features", "edge_representations"] = Field(
            "edge_representations",
            description="eq. (55) without gates, (56)-(57) gates from the nodes, (58)-(60) gates from edge representations",
        )

    def make_layer(self, config, i, in_dim, out_dim):
        return LAYERS[config.layer_type](in_dim, out_dim, **config.options)
