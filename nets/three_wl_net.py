"""3WLGNN: matrix products of learned features, eq. (40)-(42), and a linear read-out of each layer."""

from typing import Literal

from pydantic import Field
from torch import nn

from layers.three_wl_layer import ThreeWLLayer
from nets.dense_heads import ConcatHead, PerLayerHead
from nets.dense_skeleton import DenseNet, WLConfig


class ThreeWLGNNNet(DenseNet):
    class Config(WLConfig):
        model: Literal["3WLGNN"] = Field("3WLGNN", description="which net")
        depth_of_mlp: int = Field(2, gt=0, description="linear maps in each M_W, eq. (41)")
        edge_readout: Literal["concat", "per_layer"] = Field(
            "concat",
            description="how an edge is predicted: one MLP over all layers, eq. (53)-(54), or a linear map of each layer, summed",
        )

    def make_layer(self, config, i, in_dim, out_dim):
        return ThreeWLLayer(in_dim, out_dim, config.depth_of_mlp, config.layer_norm, config.residual, config.form)

    def make_head(self, config, task, widths):
        if task.level == "edge" and config.edge_readout == "concat":
            return ConcatHead(task.level, widths, task.n_out)
        head = PerLayerHead(task.level, widths, task.n_out)
        for P in head.P:  # first weights as those of the layers
            nn.init.xavier_uniform_(P.weight)
            nn.init.zeros_(P.bias)
        return head

    def count_numbers_per_pair(self, config, widths):
        options = config.residual + 3 * config.layer_norm + (config.dropout > 0)
        return 2 * widths[0] + sum(widths[1:]) * (2 * config.depth_of_mlp + 3.5 + options) + 2 * config.hidden_dim
