"""OSAN (BREC, Table 2): a net that learns which edge to leave out in each of twenty copies of a graph, and a GIN on the copies."""

from functools import partial
from typing import Literal, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from pydantic import Field
from torch import nn

from data.transforms.edge_numbers import edge_numbers
from layers.edge_selection import EdgePairs, select_edges, spread_loss
from layers.open_gcn_layer import OpenGCNLayer
from layers.ops import u_add_v
from layers.subgraphs import Subgraphs
from layers.weighted_gin_layer import WeightedGINLayer
from nets.heads import Scores
from nets.prepared_net import PreparedConfig, PreparedNet


def row_of_a_table(dim):
    """Drawn as in the program, where it is a row of a Xavier-uniform table of 119 rows."""
    bound = (6 / (119 + dim)) ** 0.5
    return torch.empty(dim).uniform_(-bound, bound)


class EdgeScorer(nn.Module):
    r"""k scores for each directed edge: x <- BN(ReLU(y)) between three convolutions y, and of the last y

    θ_uv = W' BN(ReLU(W (y_u + y_v) + b)) + b'
    """

    def __init__(self, dim, k, n_layers=3):
        super().__init__()
        self.start = nn.Parameter(row_of_a_table(dim))
        self.layers = nn.ModuleList(OpenGCNLayer(dim, dim) for _ in range(n_layers))
        self.norms = nn.ModuleList(nn.BatchNorm1d(dim) for _ in range(n_layers - 1))
        self.edge, self.edge_norm, self.out = nn.Linear(dim, dim), nn.BatchNorm1d(dim), nn.Linear(dim, k)

    def forward(self, g):
        y = self.layers[0](g, self.start.expand(g.num_nodes(), -1))
        for norm, layer in zip(self.norms, self.layers[1:], strict=True):
            y = layer(g, norm(F.relu(y)))
        return self.out(self.edge_norm(F.relu(self.edge(u_add_v(g, y, y)))))


class CopiesGIN(nn.Module):
    """The downstream net: L layers of GIN on copies with weighted edges, ReLU between; the mean over nodes and copies, mapped."""

    def __init__(self, L, dim, out_dim):
        super().__init__()
        self.start = nn.Parameter(row_of_a_table(dim))
        self.layers = nn.ModuleList(WeightedGINLayer(dim) for _ in range(L))
        self.out = nn.Linear(dim, out_dim)

    def forward(self, s, w, run):
        x = self.start.expand(len(s), -1)
        for i, layer in enumerate(self.layers):
            x = run(layer, s, F.relu(x) if i else x, w)
        return self.out(s.mean_graphs(s.mean_subgraphs(x)))


class EdgeCopies(NamedTuple):
    """The copies of the graphs of a batch, each with all nodes, and the pairs of their directed edges."""

    s: Subgraphs
    pairs: EdgePairs


class OSANNet(PreparedNet):
    """`k` copies of each graph, in each of which the scorer leaves out one edge, and the graph as it is.

    In training the scores get Gumbel noise before the selection, and copies that are alike add a penalty to the loss. Ties are
    broken by the numbering of the nodes, so that the embedding of a graph with edges that look alike may depend on it.

    155,180 parameters, 136,792 of them downstream; the program has 147,864 + 44,200, the rest in tables and in modules that are
    never called.
    """

    class Config(PreparedConfig):
        model: Literal["OSAN"] = Field("OSAN", description="which net")
        L: int = Field(8, gt=0, description="number of layers")
        hidden_dim: int = Field(64, gt=0, description="width of the layers")
        k: int = Field(20, gt=0, description="copies of a graph, each without one edge")
        strength: float = Field(10.0, gt=0, description="strength of the gradient through the selection")

    def __init__(self, L=8, hidden_dim=64, k=20, strength=10.0, out_dim=16):
        super().__init__()
        self.k, self.strength = k, strength
        self.transforms = {"edge_numbers": partial(edge_numbers)}
        self.scorer = EdgeScorer(hidden_dim, k)
        self.downstream = CopiesGIN(L, hidden_dim, out_dim)

    def parameter_groups(self, weight_decay):
        """For the optimiser: only the downstream net has weight decay."""
        return [
            {"params": list(self.downstream.parameters()), "weight_decay": weight_decay},
            {"params": list(self.scorer.parameters()), "weight_decay": 0.0},
        ]

    def collate(self, g, values):
        graph = torch.repeat_interleave(torch.arange(g.batch_size, device=g.device), g.batch_num_edges())
        number = torch.from_numpy(np.concatenate(values["edge_numbers"])).to(g.device)
        copies = Subgraphs(g, [np.ones((self.k + 1, n), dtype=bool) for n in g.batch_num_nodes().tolist()])
        return EdgeCopies(copies, EdgePairs(graph, number, g.batch_size))

    def embed(self, batch):
        s, pairs = batch
        theta = self.scorer(s.g)
        noise = -torch.empty_like(theta).exponential_().log() if self.training else torch.zeros_like(theta)
        keep = select_edges(theta, noise, pairs, self.strength)
        x = self.downstream(s, torch.cat([keep, torch.ones_like(keep[:, :1])], 1), self.run)
        return Scores(x, spread_loss(keep, pairs)) if self.training else x
