"""What all message-passing nets share, Figure 3: input embedding -> L layers -> prediction head.

A net is this skeleton plus one line that makes its layers; nets with another shape override `propagate` or `forward`.
"""

from itertools import pairwise
from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator
from torch import nn

from nets.embedding import EIGENVECTOR_ENCODINGS, EdgeEmbedding, InputEmbedding
from nets.heads import HEADS

STRICT = ConfigDict(extra="forbid", strict=True, frozen=True, validate_default=True)


class EncodedConfig(BaseModel):
    """What any net with a positional encoding has: the two keys agree, and the dataset can ask for the eigenvectors."""

    model_config = STRICT

    # what a net of this configuration computes: raised when that changes, so that results made before do not count any more
    version: ClassVar[int] = 1

    model: str = Field(description="which net")
    pos_enc: str
    pos_enc_dim: int

    @model_validator(mode="after")
    def _encoding_has_a_size(self):
        if (self.pos_enc == "none") != (self.pos_enc_dim == 0):
            raise ValueError(
                f"pos_enc={self.pos_enc!r} with pos_enc_dim={self.pos_enc_dim}: "
                "pos_enc_dim must be 0 without positional encoding and positive with one"
            )
        return self

    @property
    def n_eigenvectors(self):
        """How many eigenvectors a node the dataset must carry."""
        return self.pos_enc_dim if self.pos_enc in EIGENVECTOR_ENCODINGS else 0


class NetConfig(EncodedConfig):
    """Hyper-parameters that every message-passing net has, in the paper's words."""

    L: int = Field(gt=0, description="number of layers")
    hidden_dim: int = Field(gt=0, description="width of the layers")
    out_dim: int = Field(gt=0, description="width of the last layer's output")
    readout: Literal["mean", "sum", "max"] = Field("mean", description="how the nodes of a graph are pooled, eq. (31)")
    in_feat_dropout: float = Field(0.0, ge=0, lt=1, description="dropout after the input embedding")
    dropout: float = Field(0.0, ge=0, lt=1, description="dropout after each layer")
    pos_enc: Literal["none", "eigvecs", "rand_sign", "abs", "node_index", "rand_node_index", "rand_walk"] = Field(
        "none",
        description="positional encoding, section D: none; Laplacian eigenvectors as they are, with signs flipped at random in "
        "training, or as absolute values; the node's number in its graph, as it is or drawn anew for each batch in training; "
        "return probabilities of random walks (BREC only)",
    )
    pos_enc_dim: int = Field(
        0, ge=0, description="number of eigenvectors, of node numbers, or of steps; 0 without positional encoding"
    )


class GCNConfig(NetConfig):
    """What the graph convolutions add to it."""

    batch_norm: bool = Field(True, description="batch normalisation in each layer, eq. (29)")
    residual: bool = Field(True, description="residual connection around each layer, eq. (29)")
    graph_norm: bool = Field(False, description="graph size normalisation before batch normalisation, eq. (73)")


class MessagePassingNet(nn.Module):
    """embedding -> L layers -> head. A subclass says in `make_layer` what one layer is.

    Layers are called as `h = layer(g, h)`, or, in nets that keep edge representations (`has_edges`), as
    `h, e = layer(g, h, e)`.
    """

    Config = NetConfig

    def __init__(self, config, features, task):
        super().__init__()
        width = self.width(config)
        self.embedding = InputEmbedding(features, config, width)
        self.edge_embedding = EdgeEmbedding(features, config, width) if self.has_edges(config) else None
        widths = [width] * config.L + [config.out_dim]
        self.layers = nn.ModuleList(self.make_layer(config, a, b) for a, b in pairwise(widths))
        if self.edge_embedding is not None:
            self.layers[-1].update_edges = False  # no head reads the edges
        self.head = self.make_head(config, task)

    @staticmethod
    def width(config):
        """Width of the node representations between the layers."""
        return config.hidden_dim

    @staticmethod
    def has_edges(config):
        """Whether the layers update a representation of each edge."""
        return False

    def make_layer(self, config, in_dim, out_dim):
        raise TypeError(f"{type(self).__name__} does not say what its layer is: define make_layer")

    def make_head(self, config, task):
        return HEADS[task.level](config.out_dim, task.n_out, config.readout)

    def propagate(self, g, h):
        if self.edge_embedding is None:
            for layer in self.layers:
                h = layer(g, h)
            return h
        e = self.edge_embedding(g)
        for layer in self.layers:
            h, e = layer(g, h, e)
        return h

    def forward(self, g, *pairs):
        """Scores of the graphs, nodes or edges of g; with `pairs`, of these pairs of nodes (EdgeHead)."""
        return self.head(g, self.propagate(g, self.embedding(g)), *pairs)
