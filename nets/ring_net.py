"""RingGNN: products of equivariant linear maps, eq. (43)-(44), and one MLP over the read-outs of all layers."""

from typing import Literal

from pydantic import Field

from layers.ring_layer import RingLayer
from nets.dense_heads import ConcatHead
from nets.dense_skeleton import DenseNet, WLConfig


class RingGNNNet(DenseNet):
    class Config(WLConfig):
        model: Literal["RingGNN"] = Field("RingGNN", description="which net")
        radius: int = Field(2, gt=0, description="largest number of equivariant maps in a product, eq. (43)")
        w2_init: float = Field(
            0.02, description="start value of w_2, eq. (43); in the original program 0.5 / (average number of nodes)"
        )

    def make_layer(self, config, i, in_dim, out_dim):
        # the program sums over the other index at nodes and edges: of the transposed product the first factor is the last
        biased = "all" if config.form == "text" else "last" if self.level == "graph" else "first"
        return RingLayer(in_dim, out_dim, config.radius, config.w2_init, config.layer_norm, config.residual, biased)

    def make_head(self, config, task, widths):
        return ConcatHead(task.level, widths, task.n_out)

    def count_numbers_per_pair(self, config, widths):
        n_maps = config.radius * (config.radius + 1) // 2
        options = config.residual + 3 * config.layer_norm + (config.dropout > 0)
        return 4 * widths[0] + sum(widths[1:]) * (n_maps + 5 + options)
