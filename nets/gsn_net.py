"""GSN (BREC, Tables 2 and 5): message passing with counts of small subgraphs, of edges (GSN-e) or of nodes (GSN-v)."""

from functools import partial
from typing import Literal, NamedTuple

import dgl
import numpy as np
import torch
from pydantic import Field
from torch import nn

from data.transforms.orbits import edge_orbits, node_orbits
from layers.gsn_layer import GSNLayer
from nets.heads import pool_nodes
from nets.prepared_net import PreparedConfig, PreparedNet

# The counts that occur in the 260 pairs of which the program was run (all but CFI, 4-vertex condition, distance regular); one
# line for each edge orbit
BREC_VOCABULARY = (
    "0-16",
    "0-9",
    "0-12 16 36 40 44 46 48 50 54 58 64 68 72 76 80",
    "0-12 18 20 22-25 27 29 32 34 36 38 40",
    "0-12 14-16 18 20 22 24 28 45 66 91",
    "0-12 14 16 18 20 22 24 26 28 30 32",
    "0-10 12-14 16 18 20 22 24 26 32 34 36 38 40",
    "0-14 16 20 24 28 32 36 40 44 48 52 64 68 72 76 80",
    "0-12 14 16 18 20 22 24 26 32 34 36 38 40",
    "0-16 20 24 28 32 36 40 44 64 68 72 76 80",
    "0-11 16-20",
    "0-13 16-21",
)


def values_of(text):
    """ "0-2 5" -> [0, 1, 2, 5]."""
    ends = [list(map(int, part.split("-"))) for part in text.split()]
    return [value for end in ends for value in range(end[0], end[-1] + 1)]


class CountedBatch(NamedTuple):
    """A batch g and the places of the ones of each edge's id, (E, groups)."""

    g: dgl.DGLGraph
    ids: torch.Tensor


class GSNNet(PreparedNet):
    """Four layers, of which the first reads the ids; the sum over the levels of a linear map of the sum over nodes.

    A count is one-hot over the values that have a column, `vocabulary`: for each orbit a list. By default these are the 273 of
    BREC_VOCABULARY, and there are 110,432 parameters, in the program too.

    Deviation: a count without column is zero; the program knows no other pairs than those its columns are made of.

    scope   "edge": the counts of the edge's orbits (GSN-e); "node": those of both its ends (GSN-v), for which a vocabulary is given
    k       nodes of the largest subgraphs that are counted, 3 or 4
    """

    class Config(PreparedConfig):
        model: Literal["GSN"] = Field("GSN", description="which net")
        L: int = Field(4, gt=0, description="number of layers")
        hidden_dim: int = Field(64, gt=0, description="width of the layers")
        k: int = Field(4, ge=3, le=4, description="nodes of the largest subgraphs that are counted")

    def __init__(self, L=4, hidden_dim=64, k=4, scope="edge", vocabulary=None, out_dim=16):
        super().__init__()
        if vocabulary is None:
            if scope != "edge":
                raise ValueError(
                    f"scope={scope!r} without vocabulary: give the counts of each orbit that have a column"
                )
            vocabulary = [values_of(text) for text in BREC_VOCABULARY[: {3: 2, 4: 12}[k]]]
        self.scope, self.vocabulary = scope, [np.asarray(values) for values in vocabulary]
        self.transforms = {"orbits": partial(edge_orbits if scope == "edge" else node_orbits, k=k)}
        self.id_dim = (1 if scope == "edge" else 2) * sum(map(len, self.vocabulary))
        widths = [1] + [hidden_dim] * L
        self.layers = nn.ModuleList(GSNLayer(a, hidden_dim, 0 if i else self.id_dim) for i, a in enumerate(widths[:-1]))
        self.out = nn.ModuleList(nn.Linear(a, out_dim) for a in widths)

    def collate(self, g, values):
        places = self.places(np.concatenate(values["orbits"]))
        if self.scope == "node":
            src, dst = (end.cpu().numpy() for end in g.edges())
            known = self.id_dim // 2
            second = np.where(places < known, places + known, self.id_dim)
            places = np.concatenate([np.where(places < known, places, self.id_dim)[dst], second[src]], 1)
        return CountedBatch(g, torch.from_numpy(places).to(g.device))

    def places(self, counts):
        """Counts (rows, orbits) -> places of their ones among the columns of all orbits; one behind the last for none."""
        columns, first, end = [], 0, sum(map(len, self.vocabulary))
        for column, values in zip(counts.T, self.vocabulary, strict=True):
            place = np.minimum(np.searchsorted(values, column), len(values) - 1)
            columns.append(np.where(values[place] == column, first + place, end))
            first += len(values)
        return np.stack(columns, 1)

    def embed(self, batch):
        g, ids = batch
        x = torch.ones(g.num_nodes(), 1, dtype=self.dtype, device=g.device)
        y = self.out[0](pool_nodes(g, x, "sum"))
        for i, (layer, out) in enumerate(zip(self.layers, self.out[1:], strict=True)):
            x = self.run(layer, g, x, None if i else ids)
            y = y + out(pool_nodes(g, x, "sum"))
        return y
