"""GCN of the Long Range Graph Benchmark: symmetric normalisation, rows of length 1; and its retuned form."""

from typing import Literal

from pydantic import Field
from torch import nn

from layers.sym_gcn_layer import SymGCNLayer
from nets.heads import ACTIVATIONS
from nets.inputs import embed_feature
from nets.skeleton import MessagePassingNet, NetConfig


class SymGCNNet(MessagePassingNet):
    """The defaults are those of the paper's rows. The retuned ones have bias and residual, gelu, and neither norm.

    Deviation: the counts of the retuned rows hold an embedding of the edges (`unread_edges`). It is made, read by nothing, and
    never learns.
    """

    class Config(NetConfig):
        model: Literal["SymGCN"] = Field("SymGCN", description="which net")
        bias: bool = Field(False, description="a bias in each layer")
        batch_norm: bool = Field(True, description="batch normalisation in each layer")
        l2_norm: bool = Field(True, description="rows scaled to length 1 after each layer")
        residual: bool = Field(False, description="residual connection around each layer; dropout acts before it")
        activation: Literal["relu", "gelu"] = Field("relu", description="activation of the layers")
        first_weights: Literal["program", "torch"] = Field(
            "program",
            description="linear maps of input and head start uniformly (Glorot, √2 as wide) without bias, as in the paper's "
            "program, or as torch has them",
        )
        unread_edges: bool = Field(False, description="an embedding of the edges that nothing reads, for the count")

    def __init__(self, config, features, task):
        super().__init__(config, features, task)
        if config.unread_edges:
            self.unread = embed_feature(features.edge, config.hidden_dim)
        if config.first_weights == "program":
            for module in (*self.embedding.modules(), *self.head.modules()):
                if isinstance(module, nn.Linear):
                    nn.init.xavier_uniform_(module.weight, gain=2**0.5)
                    nn.init.zeros_(module.bias)

    def make_layer(self, config, i, in_dim, out_dim):
        options = {key: getattr(config, key) for key in ("bias", "batch_norm", "l2_norm", "residual", "dropout")}
        return SymGCNLayer(in_dim, out_dim, activation=ACTIVATIONS[config.activation], keep_residual=True, **options)
