"""The k-nearest-neighbour heuristic of TSP (A.3): an edge is on the tour if it leads to one of a city's k nearest others."""

from typing import Literal

import torch
from dgl import ops
from pydantic import Field
from torch import nn

from nets.skeleton import AnyNetConfig


class KNNHeuristic(nn.Module):
    """Edge j -> i is predicted when i is one of the k nearest neighbours of j. Nothing is learned.

    Distances are the dataset's edge feature (E, 1). Neighbours that are equally near count as one: all or none is predicted.
    """

    levels = ("edge",)

    class Config(AnyNetConfig):
        model: Literal["kNN"] = Field("kNN", description="which net")
        k: int = Field(2, gt=0, description="number of nearest neighbours")

    def __init__(self, config, features, task):
        super().__init__()
        if features is not None and features.edge is None:
            raise ValueError("net.model='kNN' reads distances as edge features, but the dataset has none")
        self.k = config.k

    def forward(self, g, of=None):
        distance = g.edata["feat"][:, :1]
        # what ended at a city now starts there, and the other way round
        out = g.reverse(copy_ndata=False, copy_edata=False)
        limit = torch.full((g.num_nodes(), 1), -torch.inf, dtype=distance.dtype, device=distance.device)
        for _ in range(self.k):  # the next larger distance of each city, k times
            longer = torch.where(distance > ops.copy_v(out, limit), distance, torch.inf)
            limit = ops.copy_e_min(out, longer)
        near = distance <= ops.copy_v(out, limit)
        return torch.cat([~near, near], dim=1).to(distance.dtype)
