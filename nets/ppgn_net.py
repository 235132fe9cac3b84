"""PPGN as the BREC paper runs it: 3WLGNN with batch normalisation in each layer and of the embedding.

The input has the channels A and I where the original program has their sum, and weights are drawn uniformly, not normally: the
same functions can be learned.
"""

from typing import Literal

import numpy as np
from pydantic import Field
from torch import nn

from layers.ppgn_layer import PPGNLayer
from nets.dense_heads import PerLayerHead
from nets.dense_skeleton import DenseConfig, DenseNet


class NormalisedHead(PerLayerHead):
    """The sum of a linear read-out of each layer, then batch normalisation: (B, n_out)."""

    def __init__(self, level, widths, n_out):
        super().__init__(level, widths, n_out)
        self.norm = nn.BatchNorm1d(n_out, momentum=1.0, affine=False)

    def forward(self, pooled, graphs):
        return self.norm(super().forward(pooled, graphs))


class PPGNNet(DenseNet):
    class Config(DenseConfig):
        model: Literal["PPGN"] = Field("PPGN", description="which net")
        residual: Literal[False] = Field(False, description="PPGN has none")
        layer_norm: Literal[False] = Field(False, description="PPGN normalises over the batch instead")
        depth_of_mlp: int = Field(1, gt=0, description="linear maps, each with a ReLU, in M_W1 and M_W2")

    def __init__(self, config, features, task):
        super().__init__(config, features, task)
        for layer in self.layers:
            layer.max_pairs = config.memory_budget * 2**30 / (4 * self.numbers_per_pair)

    def make_layer(self, config, i, in_dim, out_dim):
        return PPGNLayer(in_dim, out_dim, config.depth_of_mlp)

    def make_head(self, config, task, widths):
        return NormalisedHead(task.level, widths, task.n_out)

    def count_numbers_per_pair(self, config, widths):
        return 2 * widths[0] + sum(widths[1:]) * (4 * config.depth_of_mlp + 4.5) + 2 * config.hidden_dim

    def _pieces(self, sizes, itemsize):
        """In training the whole batch at once: it is normalised together."""
        return ([np.arange(len(sizes))], False) if self.training else super()._pieces(sizes, itemsize)
