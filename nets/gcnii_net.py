"""GCNII (Long Range Graph Benchmark): every layer sees the embedded input again."""

from typing import Literal

from pydantic import Field

from layers.gcnii_layer import GCNIILayer
from nets.skeleton import MessagePassingNet, NetConfig


class GCNIINet(MessagePassingNet):
    class Config(NetConfig):
        model: Literal["GCNII"] = Field("GCNII", description="which net")
        alpha: float = Field(0.2, ge=0, le=1, description="share of the input of the net in each layer")
        beta: float = Field(1.0, ge=0, le=1, description="share of the linear map; the rest is the identity mapping")

    def make_layer(self, config, i, in_dim, out_dim):
        return GCNIILayer(in_dim, config.alpha, config.beta)

    def propagate(self, g, h):
        h0 = h
        for layer in self.layers:
            h = layer(g, h, h0)
        return h
