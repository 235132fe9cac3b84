"""DiffPool as the Fair Comparison runs it: graphs are pooled into clusters once or twice, and the assignment adds two losses."""

import math
from typing import Literal

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import nn

from layers.diffpool_layer import DiffPoolLayer, SAGEBlock
from nets.fair_nets import n_features
from nets.heads import Scores
from nets.skeleton import AnyNetConfig

SHARES = {1: 0.1, 2: 0.25}  # clusters per node, by the number of layers


class DiffPoolNet(nn.Module):
    """DiffPool: L pooling layers and a SAGE block on the last graph; the maximum over nodes after each of them; an MLP of these.

    Returns the scores and, as penalty, the sum over layers of the link loss and the entropy of the assignment. A net with one
    layer has 0.1 max_num_nodes clusters, one with two has 0.25 max_num_nodes and a quarter of these.
    """

    levels = ("graph",)

    class Config(AnyNetConfig):
        model: Literal["DiffPool"] = Field("DiffPool", description="which net")
        L: Literal[1, 2] = Field(description="number of pooling layers")
        hidden_dim: int = Field(gt=0, description="width of the first two layers of a block")
        embedding_dim: int = Field(gt=0, description="width of the third layer of a block")
        max_num_nodes: int = Field(
            gt=0, description="nodes of the largest graph of the dataset; gives the number of clusters"
        )
        mlp_dim: int = Field(50, gt=0, description="width of the MLP")
        padded: bool = Field(
            False, description="batch norms and losses count the padding of the batch, as in the program"
        )

        @property
        def clusters(self):
            """Number of clusters of each pooling layer."""
            numbers = [self.max_num_nodes]
            for _ in range(self.L):
                numbers.append(math.ceil(SHARES[self.L] * numbers[-1]))
            return numbers[1:]

    def __init__(self, config, features, task):
        super().__init__()
        width = 2 * config.hidden_dim + config.embedding_dim
        widths = [n_features(features)] + [width] * (config.L - 1)
        self.layers = nn.ModuleList(
            DiffPoolLayer(in_dim, config.hidden_dim, config.embedding_dim, n_clusters, config.padded)
            for in_dim, n_clusters in zip(widths, config.clusters, strict=True)
        )
        self.last = SAGEBlock(width, config.hidden_dim, config.embedding_dim)
        self.hidden = nn.Linear((config.L + 1) * width, config.mlp_dim)
        self.out = nn.Linear(config.mlp_dim, task.n_out)

    def forward(self, g, of=None):
        A, x, real = dense_batch(g, g.ndata["feat"])
        largest, penalty = [], 0
        for layer in self.layers:
            A, x, link, entropy = layer(A, x, real)
            real = None  # every cluster is a node
            largest.append(x.amax(1))
            penalty = penalty + link + entropy
        largest.append(self.last(A, x).amax(1))
        return Scores(self.out(F.relu(self.hidden(torch.cat(largest, 1)))), penalty)


def dense_batch(g, x):
    """The graphs of a batch as A (B, n, n) of 0 and 1, x (B, n, d) and `real` (B, n), 1 for a node and 0 for padding up to the
    largest of them; real is None where all have n nodes."""
    sizes = g.batch_num_nodes()
    n_graphs, n = len(sizes), max(1, int(sizes.max()))
    real = torch.arange(n, device=x.device) < sizes[:, None]
    places = real.flatten().nonzero().flatten()
    dense = x.new_zeros(n_graphs * n, x.shape[1]).index_copy(0, places, x)
    A = x.new_zeros(n_graphs * n * n)
    src, dst = (places[end.long()] for end in g.edges())
    A[dst * n + src % n] = 1
    real = None if int(sizes.min()) == n else real.to(x.dtype)
    return A.view(n_graphs, n, n), dense.view(n_graphs, n, -1), real
