"""GraphSage: own features beside an aggregate of the neighbours, eq. (14)-(17), and its variants with edges, E.3."""

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from layers.graphsage_layer import GraphSageEdgeFeatLayer, GraphSageEdgeReprLayer, GraphSageLayer
from nets.skeleton import GCNConfig, MessagePassingNet


class GraphSageNet(MessagePassingNet):
    class Config(GCNConfig):
        model: Literal["GraphSage"] = Field("GraphSage", description="which net")
        aggregator: Literal["mean", "maxpool", "lstm"] = Field(
            "maxpool", description="how neighbours are aggregated, eq. (14), (16), (17)"
        )
        layer_type: Literal["isotropic", "edge_features", "edge_representations"] = Field(
            "isotropic",
            description="no edge features, gates from the ends of an edge, edge representations, eq. (68)-(72)",
        )
        edge_feat: bool = Field(
            False, description="edge representations start from the dataset's edge features (the -E models)"
        )
        form: Literal["program", "text_15", "text_68"] = Field(
            "program",
            description="the layer as in the program that made the tables, as eq. (14)-(15) inside (29), or as eq. (68)",
        )
        version: ClassVar[int] = 2  # 1: l2_norm chose between the two forms of the text

        @model_validator(mode="after")
        def _edges_need_their_layer(self):
            if self.layer_type != "isotropic" and self.aggregator != "maxpool":
                raise ValueError(
                    f"layer_type={self.layer_type!r} with aggregator={self.aggregator!r}: "
                    "the layers with edge features, eq. (69)-(72), exist with maxpool only"
                )
            if self.edge_feat and self.layer_type != "edge_representations":
                raise ValueError(
                    f"edge_feat=True with layer_type={self.layer_type!r}: edge features are read with edge_representations only"
                )
            return self

    @staticmethod
    def has_edges(config):
        return config.layer_type == "edge_representations"

    def make_layer(self, config, i, in_dim, out_dim):
        options = {"form": config.form, **config.options}
        if config.layer_type == "isotropic":
            return GraphSageLayer(in_dim, out_dim, config.aggregator, **options)
        layer = GraphSageEdgeFeatLayer if config.layer_type == "edge_features" else GraphSageEdgeReprLayer
        return layer(in_dim, out_dim, **options)
