"""I2-GNN (BREC, Table 2): subgraphs with two marked nodes, a root and one of its neighbours. The best row of the table."""

from functools import partial
from typing import Literal

import numpy as np
import torch
import torch.nn.functional as F
from pydantic import Field
from torch import nn

from data.transforms.i2_labels import i2_labels
from layers.gated_graph_layer import GatedGraphLayer
from layers.subgraphs import Subgraphs
from nets.prepared_net import PreparedConfig, PreparedNet
from nets.subgraph_skeleton import mlp_head


class LabelledSubgraphs(Subgraphs):
    """The subgraphs (i, j) of I2-GNN and their labels.

    root     (S,) node i of a subgraph
    labels   (U, 4) the different labels; label (R,) which of them a row has
    """

    def __init__(self, g, roots, zs):
        super().__init__(g, [z[:, :, 0] > 0 for z in zs])
        sizes = g.batch_num_nodes().cpu().numpy()
        first = np.cumsum(sizes) - sizes
        self.root = self._tensor(np.concatenate([f + root for f, root in zip(first, roots, strict=True)]))
        rows = np.concatenate([z.transpose(1, 0, 2)[z[:, :, 0].T > 0] for z in zs])
        digits = (rows.max() + 1) ** np.arange(4)
        codes, label = np.unique(rows @ digits, return_inverse=True)  # a label as one number
        self.labels, self.label = self._tensor(codes[:, None] // digits % digits[1]), self._tensor(label)


class I2GNNNet(PreparedNet):
    """Five gated layers on a subgraph of radius 8 for each root and neighbour, each layer with a table of labels of its own; sums
    over nodes, neighbours and roots with an MLP between; ELU, BN, a linear map.

    53,984 parameters; the program has 60,544: a first Lin(64, 32) that is never called, and tables of 50 rows where 22 can be read.
    """

    class Config(PreparedConfig):
        model: Literal["I2-GNN"] = Field("I2-GNN", description="which net")
        L: int = Field(5, gt=0, description="number of layers")
        hidden_dim: int = Field(32, gt=0, description="width of the layers")
        radius: int = Field(8, gt=0, description="radius of the ego nets")

    def __init__(self, L=5, hidden_dim=32, radius=8, out_dim=16):
        super().__init__()
        self.transforms = {"i2_labels": partial(i2_labels, radius=radius)}
        n_labels = 2 * radius + 6  # the largest: a node at distance radius + 1 of the neighbour
        self.Z = nn.ModuleList(nn.Embedding(n_labels, hidden_dim) for _ in range(L))
        self.mix = nn.ModuleList(nn.Linear(2 * hidden_dim, hidden_dim) for _ in range(L - 1))
        self.layers = nn.ModuleList(GatedGraphLayer(hidden_dim) for _ in range(L))
        self.of_neighbour, self.of_root = (mlp_head(hidden_dim, hidden_dim, hidden_dim) for _ in range(2))
        self.hidden = nn.Linear(hidden_dim, out_dim)
        self.norm = nn.BatchNorm1d(out_dim, momentum=0.99, affine=False)
        self.out = nn.Linear(out_dim, out_dim)

    def collate(self, g, values):
        return LabelledSubgraphs(g, *zip(*values["i2_labels"], strict=True))

    def embed(self, s):
        x = None
        for i, (layer, Z) in enumerate(zip(self.layers, self.Z, strict=True)):
            zeta = Z(s.labels).sum(1).index_select(0, s.label)
            x = self.run(layer, s, zeta if x is None else self.mix[i - 1](torch.cat([x, zeta], 1)))
        h = self.of_neighbour(s.sum_nodes(x))
        h = self.of_root(h.new_zeros(s.N, h.shape[1]).index_add(0, s.root, h))
        return self.out(self.norm(F.elu(self.hidden(s.sum_graphs(h)))))
