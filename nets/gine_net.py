"""GINE (Long Range Graph Benchmark): sums of rectified messages that carry edge features; and its retuned form."""

from typing import Literal

from pydantic import Field

from layers.gine_layer import GINELayer
from nets.heads import ACTIVATIONS
from nets.skeleton import MessagePassingNet, NetConfig


class ReadEdgesConfig(NetConfig):
    """What nets have whose layers read the edges' features and do not change them."""

    edge_feat: bool = Field(True, description="edges start from the dataset's edge features; otherwise all alike")


class GINENet(MessagePassingNet):
    """The defaults are those of the paper's rows. The retuned ones have gelu, outer false and dropout."""

    class Config(ReadEdgesConfig):
        model: Literal["GINE"] = Field("GINE", description="which net")
        activation: Literal["relu", "gelu"] = Field("relu", description="activation of the layers")
        outer: bool = Field(True, description="an activation after the second map of each layer too")

    @staticmethod
    def has_edges(config):
        return True

    def make_layer(self, config, i, in_dim, out_dim):
        return GINELayer(in_dim, ACTIVATIONS[config.activation], config.outer, config.dropout)

    def propagate(self, g, h):
        e = self.edge_embedding(g)
        for layer in self.layers:
            h = layer(g, h, e)
        return h
