"""GraphSage: own features beside an aggregate of the neighbours, eq. (14)-(17), and its variants with edges, E.3."""

from typing import Literal

from pydantic import Field, model_validator

from layers.graphsage_layer import GraphSageEdgeFeatLayer, GraphSageEdgeReprLayer, GraphSageLayer
from nets.skeleton import GCNConfig, MessagePassingNet


class GraphSageNet(MessagePassingNet):
    class Config(GCNConfig):
        model: Literal["GraphSage"] = Field("GraphSage", description="which net")
        sage_aggregator: Literal["mean", "maxpool", "lstm"] = Field(
            "maxpool", description="how neighbours are aggregated, eq. (14), (16), (17)"
        )
        layer_type: Literal["isotropic", "edgefeat", "edgereprfeat"] = Field(
            "isotropic",
            description="no edge features, gates from the ends of an edge, edge representations, eq. (68)-(72)",
        )
        edge_feat: bool = Field(
            False, description="edge representations start from the dataset's edge features (the -E models)"
        )
        l2_norm: bool = Field(
            False,
            description="project the new features onto the unit ball, eq. (15), as in the rows of Tables 2, 3 and 6",
        )

        @model_validator(mode="after")
        def _edges_need_their_layer(self):
            if self.layer_type != "isotropic" and self.sage_aggregator != "maxpool":
                raise ValueError(
                    f"layer_type={self.layer_type!r} with sage_aggregator={self.sage_aggregator!r}: "
                    "the layers with edge features, eq. (69)-(72), exist with maxpool only"
                )
            if self.edge_feat and self.layer_type != "edgereprfeat":
                raise ValueError(
                    f"edge_feat=True with layer_type={self.layer_type!r}: edge features are read with edgereprfeat only"
                )
            return self

    @staticmethod
    def has_edges(config):
        return config.layer_type == "edgereprfeat"

    def make_layer(self, config, in_dim, out_dim):
        options = {
            "dropout": config.dropout,
            "batch_norm": config.batch_norm,
            "residual": config.residual,
            "graph_norm": config.graph_norm,
            "l2_norm": config.l2_norm,
        }
        if config.layer_type == "isotropic":
            return GraphSageLayer(in_dim, out_dim, config.sage_aggregator, **options)
        layer = GraphSageEdgeFeatLayer if config.layer_type == "edgefeat" else GraphSageEdgeReprLayer
        return layer(in_dim, out_dim, **options)
