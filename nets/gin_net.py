"""GIN: sums over the neighbourhood, eq. (27)-(28), and predictions from the features of all layers, B.1.3."""

from typing import Literal

from pydantic import Field
from torch import nn

from layers.gin_layer import GINLayer
from nets.heads import HEADS
from nets.skeleton import GCNConfig, MessagePassingNet

# Hidden widths of the prediction from one layer: the printed counts need a linear map for graphs and nodes, and two linear
# maps with a ReLU between for edges (TSP).
SHARES = {"graph": (), "node": (), "edge": (0.5,), "pair": (0.5,)}


class GINNet(MessagePassingNet):
    r"""y = Σ_ℓ P^ℓ(h^ℓ), ℓ = 0 … L: one head for the input embedding and one per layer; their outputs are summed.

    Deviation: the printed count of COLLAB needs what the other nets have, one MLP after the last layer
    (jumping_knowledge=False).
    """

    class Config(GCNConfig):
        model: Literal["GIN"] = Field("GIN", description="which net")
        aggregator: Literal["sum", "mean", "max"] = Field("sum", description="how neighbours are aggregated, eq. (28)")
        n_mlp: int = Field(2, gt=0, description="number of linear maps in a layer, eq. (27)")
        learn_eps: bool = Field(True, description="whether ε is learned, eq. (28); 0 otherwise")
        jumping_knowledge: bool = Field(
            True, description="predict from the features of all layers, B.1.3; otherwise from those of the last"
        )

    def make_layer(self, config, i, in_dim, out_dim):
        return GINLayer(in_dim, out_dim, config.aggregator, config.n_mlp, config.learn_eps, **config.options)

    def make_head(self, config, task):
        self.jumping_knowledge = config.jumping_knowledge
        if not config.jumping_knowledge:
            return super().make_head(config, task)
        level = task.level
        return nn.ModuleList(
            HEADS[level](config.hidden_dim, task.n_out, config.head, SHARES[level]) for _ in range(config.L + 1)
        )

    def forward(self, g, of=None):
        if not self.jumping_knowledge:
            return super().forward(g, of)
        h = self.embedding(g)
        y = self.head[0](g, h, of)
        for layer, head in zip(self.layers, self.head[1:], strict=True):
            h = layer(g, h)
            y = y + head(g, h, of)
        return y
