"""What the nets on ego nets share (BREC): rows (r, v) of node v in the ego net of root r -> L layers -> pooling -> head."""

from functools import partial

import torch
from torch import nn

from data.transforms.distances import distances
from layers.few_rows import all_rows
from layers.subgraphs import EgoNets
from nets.prepared_net import PreparedNet


class SubgraphNet(PreparedNet):
    """A subclass sets `layers` and `head`, and says in `input` what a row starts from and in `pool` how graphs are read from rows.

    radius         of the ego nets; None for whole graphs
    keep_outside   nodes beyond the radius stay, without edges
    cap            the distance that stands for all longer ones and for none
    """

    def __init__(self, radius, keep_outside=False, cap=None):
        super().__init__()
        self.radius, self.keep_outside = radius, keep_outside
        self.transforms = {"distances": partial(distances, cap=radius + 1 if cap is None else cap)}

    def collate(self, g, values):
        return EgoNets(g, values["distances"], self.radius, self.keep_outside)

    def embed(self, s):
        x = self.input(s)
        for layer in self.layers:
            x = self.run(layer, s, x)
        return self.head(self.pool(s, all_rows(x)))


def root_marks(s, dtype):
    """[1, 0, 1] for the root of an ego net, [0, 1, 1] for the other nodes: (R, 3)."""
    root = s.is_root()
    return torch.stack([root, ~root, torch.ones_like(root)], 1).to(dtype)


def mlp_head(in_dim, hidden_dim, out_dim):
    return nn.Sequential(nn.Linear(in_dim, hidden_dim), nn.ReLU(), nn.Linear(hidden_dim, out_dim))
