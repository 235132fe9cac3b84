"""Matrix factorisation, the baseline of COLLAB (A.4): a learned vector for each node of the one graph, no messages."""

from typing import Literal

from pydantic import Field
from torch import nn

from nets.errors import NetError
from nets.heads import HEADS, Head
from nets.skeleton import AnyNetConfig


class MatrixFactorisationNet(nn.Module):
    """Score of edge j -> i from Concat(x_j, x_i), where x_i is node i's own parameter vector."""

    class Config(AnyNetConfig):
        model: Literal["MF"] = Field("MF", description="which net")
        hidden_dim: int = Field(256, gt=0, description="length of a node's vector")
        num_embs: int = Field(gt=0, description="number of vectors: at least the nodes of the graph")

    def __init__(self, config, features, task):
        super().__init__()
        self.x = nn.Embedding(config.num_embs, config.hidden_dim)
        self.head = HEADS[task.level](config.hidden_dim, task.n_out, Head())

    def forward(self, g, of=None):
        n = g.num_nodes()
        if n > self.x.num_embeddings:
            raise NetError(f"net.num_embs={self.x.num_embeddings}, but the graph has {n} nodes: give their number")
        return self.head(g, self.x.weight[:n], of)  # a smaller graph leaves some vectors unused
