"""What all message-passing nets share, Figure 3: input embedding -> L layers -> prediction head.

A net is this skeleton plus one line that makes its layers; nets with another shape override `propagate` or `forward`.
"""

from typing import ClassVar

from pydantic import Field, model_validator
from torch import nn

from data.section import Section
from nets.encodings import AnyEncoding, needs_of
from nets.heads import Head, make_head
from nets.inputs import EdgeEmbedding, InputEmbedding, Standardise


class AnyNetConfig(Section):
    """What the configuration of any net says: which net it is, and what it needs of the data."""

    version: ClassVar[int] = 1  # raised when what the net computes changes: results of before then no longer count

    model: str = Field(description="which net")

    @property
    def needs(self):
        """{transform: its parameters}: what the dataset must compute for this net."""
        return {}


class EncodedConfig(AnyNetConfig):
    """A net with positional or structural encodings."""

    encodings: list[AnyEncoding] = Field([], description="positional and structural encodings of the nodes")

    @model_validator(mode="after")
    def _needs_agree(self):
        needs_of(self.encodings)
        return self

    @property
    def needs(self):
        return needs_of(self.encodings)


class NetConfig(EncodedConfig):
    """Hyper-parameters that every message-passing net has, in the paper's words."""

    L: int = Field(gt=0, description="number of layers")
    hidden_dim: int = Field(gt=0, description="width of the layers")
    in_feat_dropout: float = Field(0.0, ge=0, lt=1, description="dropout after the input embedding")
    dropout: float = Field(0.0, ge=0, lt=1, description="dropout after each layer")
    head: Head = Head()
    standardise: Standardise = Standardise()


class GCNConfig(NetConfig):
    """What the graph convolutions add to it."""

    batch_norm: bool = Field(True, description="batch normalisation in each layer, eq. (29)")
    residual: bool = Field(True, description="residual connection around each layer, eq. (29)")
    graph_norm: bool = Field(False, description="graph size normalisation before batch normalisation, eq. (73)")
    keep_residual: bool = Field(False, description="dropout before the residual connection is added, not after it")

    @property
    def options(self):
        """What layers/update.py is told."""
        keys = ("dropout", "batch_norm", "residual", "graph_norm", "keep_residual")
        return {key: getattr(self, key) for key in keys}


class MessagePassingNet(nn.Module):
    """embedding -> L layers -> head. A subclass says in `make_layer` what one layer is.

    Layers are called as `h = layer(g, h)`, or, in nets that keep edge representations (`has_edges`), as
    `h, e = layer(g, h, e)`. No head reads the edges: the last layer does not compute them, and what it has for them never learns.
    """

    Config = NetConfig

    def __init__(self, config, features, task):
        super().__init__()
        width = self.width(config)
        self.embedding = InputEmbedding(features, config, width)
        self.edge_embedding = EdgeEmbedding(features, config, width) if self.has_edges(config) else None
        self.layers = nn.ModuleList(
            self.make_layer(config, i, width, width) for i in range(self.n_layers(config, features))
        )
        self.head = self.make_head(config, task)

    @staticmethod
    def width(config):
        """Width of the node representations between the layers."""
        return config.hidden_dim

    @staticmethod
    def n_layers(config, features):
        return config.L

    @staticmethod
    def has_edges(config):
        """Whether the layers update a representation of each edge."""
        return False

    def make_layer(self, config, i, in_dim, out_dim):
        """Layer i."""
        raise TypeError(f"{type(self).__name__} does not say what its layer is: define make_layer")

    def make_head(self, config, task):
        return make_head(task.level, self.width(config), task.n_out, config.head)

    def propagate(self, g, h):
        if self.edge_embedding is None:
            for layer in self.layers:
                h = layer(g, h)
            return h
        e = self.edge_embedding.compact(g)
        *inner, last = self.layers
        for layer in inner:
            h, e = layer(g, h, e)
        h, _ = last(g, h, e, edges=False)
        return h

    def forward(self, g, of=None):
        """Scores of the graphs, nodes or edges of g; with `of`, of these nodes or pairs of nodes (nets/heads.py)."""
        return self.head(g, self.propagate(g, self.embedding(g)), of)
