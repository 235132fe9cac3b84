"""The nets of the Fair Comparison: two baselines that see no edges, its GIN and its GraphSAGE."""

from itertools import pairwise
from typing import Literal

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import nn

from layers import ops
from layers.chain import Chain
from layers.closed_sage_layer import ClosedSAGELayer
from layers.linear import Linear
from layers.two_maps import two_maps
from nets.heads import pool_nodes
from nets.skeleton import AnyNetConfig


def n_features(features):
    """Numbers per node; this paper's nets read them as they are."""
    if features.node is None or features.node.n_types is not None:
        raise ValueError("this net reads numbers as node features: choose --data.features")
    return features.node.shape[-1]


class FingerprintNet(nn.Module):
    r"""Molecular fingerprint: the sum of the features of a graph through an MLP. The baseline of NCI1, DD and PROTEINS.

        y = W_2 ReLU(W_1 Σ_v x_v + b_1) + b_2

    Deviation: the program has a ReLU on the scores too (`relu_scores`, on by default: the printed table was made with it). They are
    never negative then, and where all are 0 nothing is learned.
    """

    levels = ("graph",)

    class Config(AnyNetConfig):
        model: Literal["Fingerprint"] = Field("Fingerprint", description="which net")
        hidden_dim: int = Field(gt=0, description="width of the hidden layer")
        relu_scores: bool = Field(True, description="a ReLU on the scores, as in the program")

    def __init__(self, config, features, task):
        super().__init__()
        self.relu_scores = config.relu_scores
        self.hidden = Linear(n_features(features), config.hidden_dim)
        self.out = Linear(config.hidden_dim, task.n_out)

    def forward(self, g, of=None):
        y = self.out(F.relu(self.hidden(pool_nodes(g, g.ndata["feat"], "sum"))))
        return F.relu(y) if self.relu_scores else y


class DeepMultisetsNet(nn.Module):
    r"""Deep multisets: y = W_3 ReLU(W_2 Σ_v ReLU(W_1 x_v + b_1) + b_2) + b_3. The baseline of ENZYMES and the social datasets."""

    levels = ("graph",)

    class Config(AnyNetConfig):
        model: Literal["DeepMultisets"] = Field("DeepMultisets", description="which net")
        hidden_dim: int = Field(gt=0, description="width of the hidden layers")

    def __init__(self, config, features, task):
        super().__init__()
        self.node = Linear(n_features(features), config.hidden_dim)
        self.graph = Linear(config.hidden_dim, config.hidden_dim)
        self.out = Linear(config.hidden_dim, task.n_out)

    def forward(self, g, of=None):
        h = pool_nodes(g, F.relu(self.node(g.ndata["feat"])), "sum")
        return self.out(F.relu(self.graph(h)))


def mlp(in_dim, dim):
    """Two linear maps, each with BN and ReLU: (N, in_dim) -> (N, dim)."""
    return Chain(*two_maps(in_dim, dim, dim, nn.BatchNorm1d), nn.BatchNorm1d(dim), nn.ReLU())


class FairGINNet(nn.Module):
    r"""The GIN of the Fair Comparison: predictions from all layers, added.

        h^0 = MLP_0(x)            h^l = MLP_l((1 + ε_l) h^{l-1} + Σ_{j -> i} h_j^{l-1})
        y   = Drop(Pool(W_0 h^0 + b_0)) + Σ_{l ≥ 1} Drop(W_l Pool(h^l) + b_l)

    Each MLP has two linear maps with BN and ReLU. Of the first term the map stands inside the pooling.

    Equal features, as of the social datasets without degrees, are 0 after BN but for rounding, and ReLU has no gradient there: what
    the net learns of them are the rounding errors of PyTorch's BN, and the printed numbers must come from such errors too.

    Deviation: the program drops the first term at evaluation too (`noisy`, off by default here: scores would be random).
    """

    levels = ("graph",)

    class Config(AnyNetConfig):
        model: Literal["FairGIN"] = Field("FairGIN", description="which net")
        widths: list[int] = Field(
            min_length=1, description="widths of the layers; the first layer of features has the first one"
        )
        train_eps: bool = Field(True, description="whether ε is learned; 0 otherwise")
        dropout: float = Field(0.0, ge=0, lt=1, description="dropout of the predictions")
        pool: Literal["sum", "mean"] = Field("sum", description="how the nodes of a graph are pooled")
        noisy: bool = Field(False, description="dropout of the first prediction at evaluation too, as in the program")

    def __init__(self, config, features, task):
        super().__init__()
        self.pool, self.dropout, self.noisy = config.pool, config.dropout, config.noisy
        widths = [config.widths[0], *config.widths]
        self.first = nn.Sequential(*mlp(n_features(features), widths[0]))  # not Chain: with PyTorch's BN
        self.layers = nn.ModuleList(mlp(a, b) for a, b in pairwise(widths))
        eps = torch.zeros(len(self.layers))
        self.eps = nn.Parameter(eps) if config.train_eps else eps
        self.out = nn.ModuleList(Linear(width, task.n_out) for width in widths)

    def forward(self, g, of=None):
        h = self.first(g.ndata["feat"])
        y = F.dropout(pool_nodes(g, self.out[0](h), self.pool), self.dropout, self.training or self.noisy)
        for eps, layer, out in zip(self.eps, self.layers, self.out[1:], strict=True):
            h = layer(ops.closed_sum(g, h, own=1 + eps))
            y = y + F.dropout(out(pool_nodes(g, h, self.pool)), self.dropout, self.training)
        return y


class FairGraphSAGENet(nn.Module):
    r"""The GraphSAGE of the Fair Comparison: L closed layers, their outputs side by side, the maximum over nodes, an MLP.

    With `max` each layer is followed by ReLU(M h + m) with one map M for all layers; with mean and add nothing stands between the
    layers, which are then linear together.
    """

    levels = ("graph",)

    class Config(AnyNetConfig):
        model: Literal["FairGraphSAGE"] = Field("FairGraphSAGE", description="which net")
        L: int = Field(gt=0, description="number of layers")
        hidden_dim: int = Field(gt=0, description="width of the layers")
        aggregation: Literal["add", "max", "mean"] = Field("mean", description="how a neighbourhood is aggregated")

    def __init__(self, config, features, task):
        super().__init__()
        dim = config.hidden_dim
        widths = [n_features(features)] + [dim] * config.L
        self.layers = nn.ModuleList(ClosedSAGELayer(a, dim, config.aggregation) for a in widths[:-1])
        self.M = Linear(dim, dim) if config.aggregation == "max" else None
        self.hidden, self.out = Linear(config.L * dim, dim), Linear(dim, task.n_out)

    def forward(self, g, of=None):
        h, all_h = g.ndata["feat"], []
        for layer in self.layers:
            h = layer(g, h)
            if self.M is not None:
                h = F.relu(self.M(h))
            all_h.append(h)
        return self.out(F.relu(self.hidden(pool_nodes(g, torch.cat(all_h, 1), "max"))))
