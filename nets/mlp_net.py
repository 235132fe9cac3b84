"""MLP: the graph-agnostic baseline. It never looks at an edge."""

from typing import Literal

import torch.nn.functional as F
from pydantic import Field
from torch import nn

from layers.mlp_layer import MLPLayer
from nets.skeleton import MessagePassingNet, NetConfig


class MLPNet(MessagePassingNet):
    """With continuous node features the input layer is the first of the L layers; a lookup table is not: the printed counts
    of TSP, COLLAB, superpixels and TU have one layer less than those of the other datasets."""

    class Config(NetConfig):
        model: Literal["MLP"] = Field("MLP", description="which net")

    def __init__(self, config, features, task):
        super().__init__(config, features, task)
        self.input_is_a_layer = self.n_layers(config, features) < config.L
        self.dropout = nn.Dropout(config.dropout)

    @staticmethod
    def n_layers(config, features):
        continuous = features.node is not None and features.node.n_types is None
        return config.L - continuous

    def make_layer(self, config, i, in_dim, out_dim):
        return MLPLayer(in_dim, out_dim, config.dropout)

    def propagate(self, g, h):
        return super().propagate(g, self.dropout(F.relu(h)) if self.input_is_a_layer else h)
