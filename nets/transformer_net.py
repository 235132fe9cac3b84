"""Transformer (Long Range Graph Benchmark): all nodes of a graph attend to each other; the graph is seen by encodings alone."""

from typing import Literal

from pydantic import Field
from torch import nn

from layers.padding import Pieces
from layers.transformer_layer import TransformerLayer
from nets.inputs import embed_feature
from nets.skeleton import MessagePassingNet, NetConfig


class AttentionConfig(NetConfig):
    """What nets with attention to all nodes of a graph have."""

    n_heads: int = Field(gt=0, description="number of attention heads; they share hidden_dim")
    attention_dropout: float = Field(0.0, ge=0, lt=1, description="dropout of the attention weights")


class TransformerNet(MessagePassingNet):
    """Deviation: the printed counts hold an embedding of the edges and a third batch normalisation per layer, of the message
    passing that this net does without. They are made, read by nothing, and never learn (`unread`).
    """

    class Config(AttentionConfig):
        model: Literal["Transformer"] = Field("Transformer", description="which net")

    def __init__(self, config, features, task):
        super().__init__(config, features, task)
        of_edges = [embed_feature(features.edge, config.hidden_dim)] if features.edge is not None else []
        self.unread = nn.ModuleList([*of_edges, *(nn.BatchNorm1d(config.hidden_dim) for _ in self.layers)])

    def make_layer(self, config, i, in_dim, out_dim):
        return TransformerLayer(in_dim, config.n_heads, config.dropout, config.attention_dropout)

    def propagate(self, g, h):
        pieces = Pieces(g, dtype=h.dtype)
        for layer in self.layers:
            h = layer(g, h, pieces)
        return h

    def attention_weights(self, g):
        """[[(H, n, n) of each graph] of each layer]: how much each node attends to each other one (LRGB, appendix E)."""
        h, found = self.embedding(g), []
        for layer in self.layers:
            found.append(layer.attention.weights(g, h))
            h = layer(g, h)
        return found
