"""Graphormer (BREC, Table 2): a transformer over the nodes and a token for the graph, with biases for distances and edges."""

from functools import partial
from typing import Literal, NamedTuple

import numpy as np
import torch
from pydantic import Field
from torch import nn

from data.transforms.distances import distances
from layers.graphormer_layer import GraphormerLayer
from nets.prepared_net import PreparedConfig, PreparedNet

STD = 0.02  # of the tables; linear maps have STD / √L


class DistanceBatch(NamedTuple):
    """distance (B, n, n) of the graphs of a batch, padded; degree (B, n); real (B, n + 1): the graph token and the nodes."""

    distance: torch.Tensor
    degree: torch.Tensor
    real: torch.Tensor


class GraphormerNet(PreparedNet):
    r"""Twelve layers of eight heads on the nodes and a graph token; LN and a linear map of the token.

        token of node v  a + d_in[deg v] + d_out[deg v]              bias of heads for u, v  sp[D(u, v)] + (e of an edge, else f)
        graph token      g                                           bias to and from it     t

    f is drawn once and never learned. Distances above max_distance and none share a row of sp, degrees above max_degree one of d:
    there are none in BREC. 477,176 parameters; the program has 938,976, the rest in rows of tables that are never read.
    """

    class Config(PreparedConfig):
        model: Literal["Graphormer"] = Field("Graphormer", description="which net")
        L: int = Field(12, gt=0, description="number of layers")
        hidden_dim: int = Field(80, gt=0, description="width of the layers")
        n_heads: int = Field(8, gt=0, description="number of attention heads")
        attention_dropout: float = Field(0.1, ge=0, lt=1, description="dropout of the attention weights")
        max_distance: int = Field(21, gt=0, description="largest distance that is told apart")
        max_degree: int = Field(30, gt=0, description="largest degree that is told apart")

    def __init__(
        self, L=12, hidden_dim=80, n_heads=8, attention_dropout=0.1, max_distance=21, max_degree=30, out_dim=16
    ):
        super().__init__()
        self.max_degree, self.transforms = max_degree, {"distances": partial(distances, cap=max_distance + 1)}
        self.a, self.g = nn.Parameter(torch.empty(hidden_dim)), nn.Parameter(torch.empty(hidden_dim))
        self.d_in, self.d_out = nn.Embedding(max_degree + 1, hidden_dim), nn.Embedding(max_degree + 1, hidden_dim)
        self.sp = nn.Embedding(max_distance + 2, n_heads)
        self.e, self.t = nn.Parameter(torch.empty(n_heads)), nn.Parameter(torch.empty(n_heads))
        self.register_buffer("f", torch.empty(n_heads))
        self.layers = nn.ModuleList(GraphormerLayer(hidden_dim, n_heads, attention_dropout) for _ in range(L))
        self.norm, self.out = nn.LayerNorm(hidden_dim), nn.Linear(hidden_dim, out_dim)
        self.reset_parameters()

    def reset_parameters(self):
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=STD / len(self.layers) ** 0.5)
                nn.init.zeros_(module.bias)
        for table in (self.a, self.g, self.d_in.weight, self.d_out.weight, self.sp.weight, self.e, self.f, self.t):
            nn.init.normal_(table, std=STD)

    def collate(self, g, values):
        n = max(map(len, values["distances"]))
        D, real = np.zeros((g.batch_size, n, n), dtype=np.int64), np.ones((g.batch_size, n + 1), dtype=bool)
        for b, distance in enumerate(values["distances"]):
            D[b, : len(distance), : len(distance)] = distance
            real[b, len(distance) + 1 :] = False
        degree = np.minimum((D == 1).sum(2), self.max_degree)
        return DistanceBatch(*(torch.from_numpy(x).to(g.device) for x in (D, degree, real)))

    def embed(self, batch):
        D, degree, real = batch
        x = self.a + self.d_in(degree) + self.d_out(degree)
        x = torch.cat([self.g.expand(len(x), 1, -1), x], 1)
        bias = self.bias(D, real)
        for layer in self.layers:
            x = self.run(layer, x, bias)
        return self.out(self.norm(x[:, 0]))

    def bias(self, D, real):
        """(B, heads, n + 1, n + 1); -∞ towards padded places."""
        of_nodes = self.sp(D) + torch.where((D == 1)[..., None], self.e, self.f)
        B, n, _, heads = of_nodes.shape
        from_nodes = torch.cat([self.t.expand(B, n, 1, heads), of_nodes], 2)
        bias = torch.cat([self.t.expand(B, 1, n + 1, heads), from_nodes], 1)
        return bias.masked_fill(~real[:, None, :, None], -torch.inf).permute(0, 3, 1, 2)
