"""GPS (the retuned rows of the Long Range Graph Benchmark): GatedGCN and attention side by side in each layer."""

from typing import Literal

from pydantic import Field

from layers.gps_layer import GPSLayer
from layers.padding import Pieces
from nets.skeleton import MessagePassingNet
from nets.transformer_net import AttentionConfig


class GPSNet(MessagePassingNet):
    class Config(AttentionConfig):
        model: Literal["GPS"] = Field("GPS", description="which net")
        edge_feat: bool = Field(True, description="edges start from the dataset's edge features; otherwise all alike")
        norm: Literal["batch", "layer"] = Field(
            "batch", description="normalisation over the nodes of the batch, or over all numbers of a graph"
        )

    @staticmethod
    def has_edges(config):
        return True

    def make_layer(self, config, i, in_dim, out_dim):
        return GPSLayer(in_dim, config.n_heads, config.dropout, config.attention_dropout, config.norm)

    def propagate(self, g, h):
        e, pieces = self.edge_embedding(g), Pieces(g, dtype=h.dtype)
        for layer in self.layers:
            h, e = layer(g, h, e, edges=layer is not self.layers[-1], pieces=pieces)
        return h
