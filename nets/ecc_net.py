"""ECC as the Fair Comparison runs it: edge-conditioned convolutions on a graph and on its Kron reductions."""

from typing import Literal

import dgl
import numpy as np
import torch
import torch.nn.functional as F
from pydantic import Field
from torch import nn

from data.transforms.kron import kron_laplacians
from layers.ecc_layer import ECCLayer
from nets.fair_nets import n_features
from nets.heads import pool_nodes
from nets.skeleton import AnyNetConfig

N_CONVOLUTIONS = 3  # per layer
N_REDUCTIONS = 10  # that a dataset computes: the same for all configurations of a grid


class ECCStep(nn.Module):
    """Dropout(BN(ReLU(ECC(h))))."""

    def __init__(self, in_dim, out_dim, dropout):
        super().__init__()
        self.layer, self.norm, self.dropout = ECCLayer(in_dim, out_dim), nn.BatchNorm1d(out_dim), dropout

    def forward(self, g, h, w=None):
        return F.dropout(self.norm(F.relu(self.layer(g, h, w))), self.dropout, self.training)


class ECCNet(nn.Module):
    """ECC: L layers of three convolutions, after each of which a Kron reduction leaves about half of the nodes; one convolution on
    the last reduction; the mean over its nodes; an MLP.

    The first layer runs on the edges of the graph, all of weight 1; the others on the entries of the reduced Laplacian, its
    diagonal included, with the entry as weight.

    Deviation: on DD the program drops entries below 1e-4, and with them all negative ones; only self-loops remain (`drop_below`).
    """

    levels = ("graph",)

    class Config(AnyNetConfig):
        model: Literal["ECC"] = Field("ECC", description="which net")
        L: int = Field(gt=0, le=N_REDUCTIONS, description="number of layers")
        hidden_dim: int = Field(gt=0, description="width of the layers")
        dropout: float = Field(0.0, ge=0, lt=1, description="dropout after each convolution")
        dropout_final: float = Field(0.1, ge=0, lt=1, description="dropout in the MLP")
        drop_below: float | None = Field(
            None,
            description="entries of a reduced Laplacian below this are no edges; the program has 1e-4 on DD, which drops all "
            "negative ones and leaves self-loops",
        )

        @property
        def needs(self):
            return {"kron": {"k": N_REDUCTIONS}}

    def __init__(self, config, features, task):
        super().__init__()
        dim = config.hidden_dim
        self.L, self.drop_below, self.dropout_final = config.L, config.drop_below, config.dropout_final
        in_dims = [n_features(features)] + [dim] * (N_CONVOLUTIONS * config.L)
        self.layers = nn.ModuleList(ECCStep(in_dim, dim, config.dropout) for in_dim in in_dims)
        self.hidden, self.out = nn.Linear(dim, dim), nn.Linear(dim, task.n_out)

    def forward(self, g, of=None):
        h, w, level = g.ndata["feat"], None, g
        kept = g.ndata["kron"][:, : self.L] > 0
        before, reductions = torch.ones_like(kept[:, 0]), iter(self.reductions(g, kept, h.dtype))
        for i, layer in enumerate(self.layers):
            if i and i % N_CONVOLUTIONS == 0:
                after = kept[:, i // N_CONVOLUTIONS - 1]
                h, before = h[after[before]], after
                level, w = next(reductions)
            h = layer(level, h, w)
        z = F.relu(self.hidden(pool_nodes(level, h, "mean")))
        return self.out(F.dropout(z, self.dropout_final, self.training))

    def reductions(self, g, kept, dtype):
        """[(graph, weights of its edges)] of the batch after each Kron reduction: an edge j -> i for each entry (i, j)."""
        sizes, (src, dst) = g.batch_num_nodes(), g.edges()
        arrays = (x.cpu().numpy() for x in (sizes, src, dst, kept))
        graph_of_node = torch.repeat_interleave(torch.arange(len(sizes), device=g.device), sizes)
        made = []
        for L, after in zip(kron_laplacians(*arrays), kept.t(), strict=True):
            L = L.tocoo()
            real = L.data >= self.drop_below if self.drop_below is not None else L.data != 0
            i, j = (torch.from_numpy(end[real].astype(np.int64)).to(g.device) for end in (L.row, L.col))
            level = dgl.graph((j, i), num_nodes=L.shape[0])
            graph = graph_of_node[after]
            level.set_batch_num_nodes(graph.bincount(minlength=len(sizes)))
            level.set_batch_num_edges(graph[i].bincount(minlength=len(sizes)))
            made.append((level, torch.from_numpy(L.data[real]).to(g.device, dtype)))
        return made
