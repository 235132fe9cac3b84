"""What turns the node representations of the last layer into predictions, B.1.3: one head for each level of task.

`n_halvings` is how often the head's MLP halves its width; 0 is a single linear layer.
"""

import torch
from torch import nn

from layers.mlp_readout import MLPReadout


def pool_nodes(g, h, readout):
    """Node representations h (N, d) of a batch -> one vector a graph (B, d), eq. (31); a graph without nodes gets zero."""
    sizes = g.batch_num_nodes()
    graph_of_node = torch.repeat_interleave(torch.arange(len(sizes), device=h.device), sizes, output_size=len(h))
    total = h.new_zeros(len(sizes), h.shape[1])
    if readout == "max":
        index = graph_of_node[:, None].expand_as(h)
        return total.scatter_reduce(0, index, h, "amax", include_self=False)
    total = total.index_add(0, graph_of_node, h)
    return total / sizes.clamp(min=1)[:, None] if readout == "mean" else total


class GraphHead(nn.Module):
    """Pool the nodes of each graph, then predict, eq. (31)-(33). h (N, d) -> (B, n_out)."""

    def __init__(self, dim, n_out, readout, n_halvings=2):
        super().__init__()
        self.readout = readout
        self.mlp = MLPReadout(dim, n_out, n_halvings)

    def forward(self, g, h):
        return self.mlp(pool_nodes(g, h, self.readout))


class NodeHead(nn.Module):
    """Predict for each node, eq. (34). h (N, d) -> (N, n_out)."""

    def __init__(self, dim, n_out, readout=None, n_halvings=2):
        super().__init__()
        self.mlp = MLPReadout(dim, n_out, n_halvings)

    def forward(self, g, h):
        return self.mlp(h)


class EdgeHead(nn.Module):
    """Predict for each edge j -> i from Concat(h_j, h_i), eq. (35). h (N, d) -> (E, n_out).

    `pairs` (src, dst) asks for these pairs of nodes instead of the edges of the graph: link prediction.
    """

    def __init__(self, dim, n_out, readout=None, n_halvings=2):
        super().__init__()
        self.mlp = MLPReadout(2 * dim, n_out, n_halvings)

    def forward(self, g, h, pairs=None):
        src, dst = g.edges() if pairs is None else pairs
        return self.mlp(torch.cat([h.index_select(0, src), h.index_select(0, dst)], dim=1))


HEADS = {"graph": GraphHead, "node": NodeHead, "edge": EdgeHead}
