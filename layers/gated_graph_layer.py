"""The layer of I2-GNN: a gated recurrent unit that reads the neighbours of a node in each subgraph."""

import torch
from torch import nn


class GatedGraphLayer(nn.Module):
    r"""Gated graph convolution of one step inside each subgraph, then batch normalisation, without activation.

        x_sv' = BN(GRU(Σ_{u ∈ N_s(v)} x_su W, x_sv))

    Shapes: x (R, dim) -> (R, dim). The sum is the input of the GRU cell and x its state.

        >>> from layers.subgraphs import EgoNets
        >>> s = EgoNets(dgl.graph(([0, 1], [1, 0])), [[[0, 1], [1, 0]]])
        >>> x = GatedGraphLayer(8)(s, torch.ones(4, 8))
    """

    def __init__(self, dim):
        super().__init__()
        self.W = nn.Parameter(torch.empty(dim, dim).uniform_(-(dim**-0.5), dim**-0.5))
        self.gru = nn.GRUCell(dim, dim)
        self.norm = nn.BatchNorm1d(dim)

    def forward(self, s, x):
        return self.norm(self.gru(s.sum_neighbours(x @ self.W), x))
