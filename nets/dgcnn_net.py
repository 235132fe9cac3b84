"""DGCNN as the Fair Comparison runs it: graph convolutions, sort pooling, 1-D convolutions over the sorted nodes."""

from itertools import pairwise
from typing import Literal

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import nn

from layers.dgcnn_layer import DGCNNLayer
from layers.sortpool import sort_pool
from nets.fair_nets import n_features
from nets.skeleton import AnyNetConfig

SMALLEST_K = 10  # two nodes per pooled position, and five positions for the second convolution


class DGCNNNet(nn.Module):
    """DGCNN: L convolutions of width hidden_dim and one of width 1, their outputs side by side (D = L hidden_dim + 1 channels),
    the first k nodes in sorted order, two 1-D convolutions over these, an MLP.

        16 filters of one node each, ReLU, maximum of 2 neighbours; 32 filters of 5 positions, ReLU; Linear, ReLU, dropout, Linear
    """

    levels = ("graph",)

    class Config(AnyNetConfig):
        model: Literal["DGCNN"] = Field("DGCNN", description="which net")
        L: int = Field(gt=0, description="number of convolutions before that of width 1")
        hidden_dim: int = Field(gt=0, description="width of the convolutions")
        k: int = Field(
            ge=SMALLEST_K,
            description="nodes that are kept of a graph; layers/sortpool.py: k_of_share gives the paper's rule",
        )
        sort_by: Literal["largest", "last"] = Field(
            "largest", description="sort each node's channels, then nodes by the largest; or nodes by the last channel"
        )
        dense_dim: int = Field(128, gt=0, description="width of the MLP")
        dropout: float = Field(0.5, ge=0, lt=1, description="dropout in the MLP")

    def __init__(self, config, features, task):
        super().__init__()
        self.k, self.sort_by, self.dropout = config.k, config.sort_by, config.dropout
        widths = [n_features(features)] + [config.hidden_dim] * config.L + [1]
        self.layers = nn.ModuleList(DGCNNLayer(a, b) for a, b in pairwise(widths))
        self.nodes = nn.Conv1d(1, 16, sum(widths[1:]), stride=sum(widths[1:]))
        self.neighbours = nn.Conv1d(16, 32, 5)
        self.hidden = nn.Linear(32 * (config.k // 2 - 4), config.dense_dim)
        self.out = nn.Linear(config.dense_dim, task.n_out)

    def forward(self, g, of=None):
        h, all_h = g.ndata["feat"], []
        for layer in self.layers:
            h = layer(g, h)
            all_h.append(h)
        rows = sort_pool(g.batch_num_nodes(), torch.cat(all_h, 1), self.k, self.sort_by)
        # a filter that sees one node at a time is a linear map
        z = F.linear(rows, self.nodes.weight[:, 0], self.nodes.bias)
        z = F.max_pool1d(F.relu(z).transpose(1, 2), 2)
        z = F.relu(self.hidden(F.relu(self.neighbours(z)).flatten(1)))
        return self.out(F.dropout(z, self.dropout, self.training))
