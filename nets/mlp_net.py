"""MLP: the graph-agnostic baseline. It never looks at an edge."""

from typing import Literal

from pydantic import Field

from layers.mlp_layer import MLPLayer
from nets.skeleton import MessagePassingNet, NetConfig


class MLPNet(MessagePassingNet):
    class Config(NetConfig):
        model: Literal["MLP"] = Field("MLP", description="which net")

    def make_layer(self, config, in_dim, out_dim):
        return MLPLayer(in_dim, out_dim, config.dropout)
