"""GCN and GIN of the Taxonomy of Benchmarks (appendix A.1): rows of length 1 everywhere, residual sums, a head of two layers."""

from typing import Literal

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import nn

from layers import fused, sparse_rows
from layers.bare_gin_layer import BareGINLayer
from layers.closed_gcn_layer import ClosedGCNLayer
from layers.linear import Linear
from layers.neighbourhood import Complete, CountedBatchNorm, Edges
from nets.heads import pool_nodes
from nets.skeleton import AnyNetConfig


class TaxonomyConfig(AnyNetConfig):
    L: int = Field(5, gt=0, description="number of layers")
    hidden_dim: int = Field(128, gt=0, description="width of the layers")
    batch_norm: bool = Field(True, description="batch normalisation of the nodes; off in transductive training")
    unit_rows: bool = Field(True, description="rows scaled to length 1 after every layer, as in the program")
    init: Literal["torch", "xavier"] = Field(
        "torch", description="first weights of the linear maps around the convolutions"
    )

    @property
    def needs(self):
        return {"cliques": {}}


class TaxonomyNet(nn.Module):
    r"""Input map, L convolutions with residual sums, a head of two layers. u scales each row to length 1.

        x^0 = u(ReLU(BN(W_0 x)))        x^l = x^{l-1} + u(ReLU(BN(conv_l(x^{l-1}))))        z = u(x^L)
        y   = P u(ReLU(Q g + q)) + p,   g the mean of z over the nodes of a graph, or z itself (nodes)

    Without BN the input map and GCN's convolution have a bias.

    Equal features, as of NoNodeFtrs, are 0 after BN but for rounding: what the net then learns depends on the processor.
    Deviation: the text does not mention u, and calls W_0 a linear embedding; both are as in the program (`unit_rows`). Before 2022
    the program's library began W_0, Q and P Xavier-uniformly with gain √2 and biases 0: `init` xavier, which Figure 5 fits.
    """

    def __init__(self, config, features, task):
        super().__init__()
        d, bias = config.hidden_dim, not config.batch_norm
        if task.level not in ("graph", "node"):
            raise ValueError(f"net.model={config.model}: it predicts graphs or nodes, not level {task.level}")
        self.pooled, self.unit_rows = task.level == "graph", config.unit_rows
        self.act = unit_relu if config.unit_rows else F.relu  # u(ReLU(·))
        self.input = InputMap(features.node, d, bias)
        self.layers = nn.ModuleList(self.make_layer(d, bias) for _ in range(config.L))
        self.norms = nn.ModuleList(CountedBatchNorm(d) if config.batch_norm else NoNorm() for _ in range(config.L + 1))
        self.Q, self.P = Linear(d, d), Linear(d, task.n_out)
        if config.init == "xavier":
            for linear in (self.input, self.Q, self.P):
                nn.init.xavier_uniform_(linear.weight, nn.init.calculate_gain("relu"))
                if linear.bias is not None:
                    nn.init.zeros_(linear.bias)

    def forward(self, g, of=None):
        x = self.act(self.norms[0](self.input(g.ndata.get("feat"))))
        if "clique" in g.ndata:
            # the layers add the same to all nodes of a graph, and that is what they add to the mean
            around = Complete(g)
            h = around.pool(x)
            x = x + around.spread(self.propagate(around, h) - h)
        else:
            x = self.propagate(Edges(g), x)
        z = x if of is None else x.index_select(0, of)
        z = F.normalize(z) if self.unit_rows else z
        if self.pooled:
            z = pool_nodes(g, z, "mean")
        return self.P(self.act(self.Q(z)))

    def propagate(self, around, x):
        for layer, norm in zip(self.layers, self.norms[1:], strict=True):
            x = x + self.act(norm(layer(around, x), around.counts))
        return x


def unit_relu(v):
    """u(ReLU(v)): (N, d) -> (N, d). Rows of zeros stay."""
    return fused.relu_of_unit_rows(F.relu(v))  # the outer ReLU changes nothing: what it gets is not negative


class NoNorm(nn.Module):
    def forward(self, x, counts=None):
        return x


class InputMap(nn.Linear):
    """W_0 x + b: x (N, …) -> (N, dim). A category is a one-hot vector; several stand side by side, so columns of W_0 are added."""

    def __init__(self, field, dim, bias):
        if field is None:
            raise ValueError("the dataset has no node features: add NoNodeFtrs to data.transforms")
        self.n_types = (field.n_types,) if isinstance(field.n_types, int) else field.n_types
        super().__init__(sum(self.n_types) if self.n_types else field.shape[-1], dim, bias)
        if self.n_types:
            first = torch.tensor(self.n_types).cumsum(0) - torch.tensor(self.n_types)
            self.register_buffer("first", first, persistent=False)

    def forward(self, x):
        if not self.n_types:
            return sparse_rows.linear(x, self.weight, self.bias)
        y = F.embedding_bag(x.reshape(len(x), -1) + self.first, self.weight.T, mode="sum")
        return y if self.bias is None else y + self.bias


class TaxonomyGCNNet(TaxonomyNet):
    class Config(TaxonomyConfig):
        model: Literal["TaxonomyGCN"] = Field("TaxonomyGCN", description="which net")

    @staticmethod
    def make_layer(dim, bias):
        return ClosedGCNLayer(dim, dim, bias)


class TaxonomyGINNet(TaxonomyNet):
    class Config(TaxonomyConfig):
        model: Literal["TaxonomyGIN"] = Field("TaxonomyGIN", description="which net")

    @staticmethod
    def make_layer(dim, bias):
        return BareGINLayer(dim, dim)
