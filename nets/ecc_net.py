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
from nets.prepared_net import edges_of_graphs
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
        """[(graph, weights of its edges)] of the batch after each Kron reduction."""
        kept = np.split(kept.cpu().numpy(), np.cumsum(g.batch_num_nodes().tolist())[:-1])
        graphs = [kron_laplacians(*edges, k) for edges, k in zip(edges_of_graphs(g), kept, strict=True)]
        return [self.graph_of(level, g.device, dtype) for level in zip(*graphs, strict=True)]

    def graph_of(self, laplacians, device, dtype):
        """The batch whose edges are the entries of these matrices that are not 0, row i the edges to node i."""
        if self.drop_below is not None:
            laplacians = [np.where(self.drop_below > L, 0, L) for L in laplacians]
        sizes, entries = np.array([len(L) for L in laplacians]), [np.nonzero(L) for L in laplacians]
        first = np.cumsum(sizes) - sizes
        dst, src = (np.concatenate([e[end] + f for e, f in zip(entries, first, strict=True)]) for end in (0, 1))
        level = dgl.graph((torch.from_numpy(src), torch.from_numpy(dst)), num_nodes=int(sizes.sum()), device=device)
        level.set_batch_num_nodes(torch.from_numpy(sizes).to(device))
        level.set_batch_num_edges(torch.tensor([len(e[0]) for e in entries], device=device))
        weights = np.concatenate([L[e] for L, e in zip(laplacians, entries, strict=True)])
        return level, torch.from_numpy(weights).to(device, dtype)
