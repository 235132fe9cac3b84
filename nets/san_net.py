"""SAN (Long Range Graph Benchmark): attention along the edges, and weaker attention to all other nodes of the graph."""

from typing import Literal

import torch
from pydantic import Field
from torch import nn

from layers.san_layer import FakePairs, SANLayer
from nets.gine_net import ReadEdgesConfig
from nets.skeleton import MessagePassingNet


class SANNet(MessagePassingNet):
    """All layers share f, the vector of the pairs without an edge."""

    class Config(ReadEdgesConfig):
        model: Literal["SAN"] = Field("SAN", description="which net")
        n_heads: int = Field(gt=0, description="number of attention heads; they share hidden_dim")
        gamma: float = Field(gt=0, description="weight of the pairs without an edge; edges weigh 1")

    def __init__(self, config, features, task):
        super().__init__(config, features, task)
        self.f = nn.Parameter(torch.randn(config.hidden_dim))

    @staticmethod
    def has_edges(config):
        return True

    def make_layer(self, config, i, in_dim, out_dim):
        return SANLayer(in_dim, config.n_heads, config.gamma, config.dropout)

    def propagate(self, g, h):
        e, fake = self.edge_embedding(g), FakePairs(g, h.dtype)
        for layer in self.layers:
            h = layer(g, h, e, self.f, fake)
        return h
