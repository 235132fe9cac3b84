"""PPGN as the BREC paper runs it: the 3-WL layers of 3WLGNN with batch normalisation after each layer and of the embedding.

What differs from 3WLGNN: a ReLU after every linear map of M_W1 and M_W2, batch normalisation (appendix J: "for all models"), and
the read-out normalised too. The input has the channels A and I where the original program has their sum.
"""

from typing import Literal

import numpy as np
from pydantic import Field
from torch import nn
from torch.utils.checkpoint import checkpoint

from layers.three_wl_layer import ThreeWLLayer
from nets.dense_heads import PerLayerHead
from nets.dense_skeleton import DenseConfig, DenseNet


class NormalisedHead(PerLayerHead):
    """The sum of a linear read-out of each layer, then batch normalisation: (B, n_out)."""

    def __init__(self, level, widths, n_out):
        super().__init__(level, widths, n_out)
        self.norm = nn.BatchNorm1d(n_out, momentum=1.0, affine=False)

    def forward(self, pooled, graphs):
        return self.norm(super().forward(pooled, graphs))


class PPGNLayer(ThreeWLLayer):
    """Of a batch with more than `max_pairs` pairs the activations are computed again in the backward pass instead of being kept. The
    normalisation then sees the same batch twice, which with momentum 1 leaves the same mean and variance."""

    max_pairs = np.inf

    def forward(self, h, padding):
        if self.training and h[0].numel() > self.max_pairs:
            return checkpoint(super().forward, h, padding, use_reentrant=False, preserve_rng_state=False)
        return super().forward(h, padding)


class PPGNNet(DenseNet):
    class Config(DenseConfig):
        model: Literal["PPGN"] = Field("PPGN", description="which net")
        depth_of_mlp: int = Field(1, gt=0, description="linear maps, each with a ReLU, in M_W1 and M_W2")

    def __init__(self, config, features, task):
        super().__init__(config, features, task)
        for layer in self.layers:
            layer.max_pairs = config.memory_budget * 2**30 / (4 * self.numbers_per_pair)

    def make_layer(self, config, in_dim, out_dim):
        return PPGNLayer(
            in_dim, out_dim, config.depth_of_mlp, config.layer_norm, config.residual, last_relu=True, batch_norm=True
        )

    def make_head(self, config, task, widths):
        return NormalisedHead(task.level, widths, task.n_out)

    def count_numbers_per_pair(self, config, widths):
        return 2 * widths[0] + sum(widths[1:]) * (4 * config.depth_of_mlp + 4.5) + 2 * config.hidden_dim

    def _pieces(self, sizes, itemsize):
        """In training the whole batch at once: it is normalised together."""
        return ([np.arange(len(sizes))], False) if self.training else super()._pieces(sizes, itemsize)
