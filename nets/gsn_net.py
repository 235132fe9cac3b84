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
BREC_NODE_VOCABULARY = (  # the same of node orbits
    "0 2-18 60 72 98 144",
    "0-20 25 30 35-36 49 54 72 77 104 135",
    "0-21 24-25 27 29-30 36 42 81",
    "0-21 36 48 216 222 228 234 240 246 252 264 270 276 282 288 344 350 356 362 368 374 380 576 600 612 618 624 630 636 642 "
    "648 654 660 666 672 684",
    "0-20 24 36 48 216 222 228 234 240 246 252 264 270 276 282 288 344 350 356 362 368 374 380 576 600 612 618 624 630 636 "
    "642 648 654 660 666 672 684",
    "0-15 17-18 20-21 24 28 45 66 72 75 78 81 84 87 90-91 123 126 129 132 135 138 141 144 156 162 165 168 171 174 177 180 "
    "183 186 189 192 198",
    "0-13 15-17 24-30 41-48 50 52 54-64 66 112 210 352 546",
    "0-20 22-24 27 30 60 63 66 69 90 93 96 99 102 105 108 153 156 159 162 165 168 171 234 240 243 246 249 252 255 258 261 "
    "264 267 270 276 288",
    "0-19 60 63 66 69 90 93 96 99 102 105 108 120 153 156 159 162 165 168 171 306 312 315 318 321 324 327 330 333 336 339 "
    "342 348 360",
    "0-25 27-28 30 32-34 36 40 46 48 60-61 63-64 66 69-70 72 90 93 96 99 102 105 108 120 140 153 156 159 162 165 168 171 "
    "192 252 306 312 315 318 321 324 327 330 333 336 339 342 348 360",
    "0-20 22 24 28 36 120 126 132 138 180 186 192 198 204 210 216 240 306 312 318 324 330 336 342 612 624 630 636 642 648 "
    "654 660 666 672 678 684 696 720",
    "0-22 24 26-28 30 32 34 60 72 75 78 81 84 87 90 123 126 129 132 135 138 141 288 300 306 309 312 315 318 321 324 327 330 "
    "333 336 342",
    "0-21 23-27 29-30 32-41 44 48 60 72 75 78 81 84 87 90 123 126 129 132 135 138 141 288 300 306 309 312 315 318 321 324 "
    "327 330 333 336 342",
    "0-30 32-36 40 43 45 102 104-114 116 120",
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

    scope   "edge": the counts of the edge's orbits (GSN-e); "node": those of both its ends (GSN-v), with columns of their own
    k       nodes of the largest subgraphs that are counted, 3 or 4
    """

    class Config(PreparedConfig):
        model: Literal["GSN"] = Field("GSN", description="which net")
        L: int = Field(4, gt=0, description="number of layers")
        hidden_dim: int = Field(64, gt=0, description="width of the layers")
        k: int = Field(4, ge=3, le=4, description="nodes of the largest subgraphs that are counted")
        scope: Literal["edge", "node"] = Field("edge", description="whose counts are read: GSN-e or GSN-v")

    def __init__(self, L=4, hidden_dim=64, k=4, scope="edge", vocabulary=None, out_dim=16):
        super().__init__()
        if vocabulary is None:
            texts, small = (BREC_VOCABULARY, 2) if scope == "edge" else (BREC_NODE_VOCABULARY, 3)
            vocabulary = [values_of(text) for text in (texts[:small] if k == 3 else texts)]
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
