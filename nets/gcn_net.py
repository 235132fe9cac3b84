"""GCN: isotropic mean aggregation, eq. (12)-(13)."""

from typing import Literal

from pydantic import Field

from layers.gcn_layer import GCNLayer
from nets.skeleton import GCNConfig, MessagePassingNet


class GCNNet(MessagePassingNet):
    class Config(GCNConfig):
        model: Literal["GCN"] = Field("GCN", description="which net")

    def make_layer(self, config, i, in_dim, out_dim):
        return GCNLayer(in_dim, out_dim, **config.options)
