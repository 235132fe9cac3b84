"""What turns the node representations of the last layer into predictions, B.1.3: one head for each level of task.

A head is called as `head(g, h, of)`. `of` says what is asked: None (all graphs, nodes or edges), nodes, or pairs of nodes.
"""

from typing import Literal, NamedTuple

import torch
from pydantic import Field
from torch import nn

from data.section import Section
from layers.mlp_readout import MLPReadout


class Scores(NamedTuple):
    """What a net returns that adds terms of its own to the loss (DiffPool, OSAN): the scores, and these terms as one number."""

    scores: torch.Tensor
    penalty: torch.Tensor | float


def as_scores(output):
    """What a net returned as Scores: most nets return the scores alone."""
    return output if isinstance(output, Scores) else Scores(output, 0.0)


class Head(Section):
    """The head of a net: pooling and an MLP."""

    pool: Literal["mean", "sum", "max"] = Field("mean", description="how the nodes of a graph are pooled, eq. (31)")
    mlp: list[float] | None = Field(
        None,
        description="widths of the hidden layers of the prediction MLP as shares of its input, as [0.5,0.25]; null: the net's own",
    )

    def shares(self, own=(0.5, 0.25)):
        return own if self.mlp is None else self.mlp


def pool_nodes(g, h, pool):
    """Node representations h (N, d) of a batch -> one vector per graph (B, d), eq. (31); a graph without nodes gets zero."""
    sizes = g.batch_num_nodes()
    graph_of_node = torch.repeat_interleave(torch.arange(len(sizes), device=h.device), sizes, output_size=len(h))
    total = h.new_zeros(len(sizes), h.shape[1])
    if pool == "max":
        index = graph_of_node[:, None].expand_as(h)
        return total.scatter_reduce(0, index, h, "amax", include_self=False)
    total = total.index_add(0, graph_of_node, h)
    return total / sizes.clamp(min=1)[:, None] if pool == "mean" else total


class GraphHead(nn.Module):
    """Pool the nodes of each graph, then predict, eq. (31)-(33). h (N, d) -> (B, n_out)."""

    def __init__(self, dim, n_out, head, own=(0.5, 0.25)):
        super().__init__()
        self.pool = head.pool
        self.mlp = MLPReadout(dim, n_out, head.shares(own))

    def forward(self, g, h, of=None):
        return self.mlp(pool_nodes(g, h, self.pool))


class NodeHead(nn.Module):
    """Predict for each node, or the nodes `of` (M,), eq. (34). h (N, d) -> (N, n_out) or (M, n_out)."""

    def __init__(self, dim, n_out, head, own=(0.5, 0.25)):
        super().__init__()
        self.mlp = MLPReadout(dim, n_out, head.shares(own))

    def forward(self, g, h, of=None):
        return self.mlp(h if of is None else h.index_select(0, of))


class EdgeHead(nn.Module):
    """Predict for each edge j -> i from Concat(h_j, h_i), eq. (35). h (N, d) -> (E, n_out).

    With `of` (2, M), sources and destinations, for these pairs of nodes instead of the edges of the graph: link prediction.
    """

    def __init__(self, dim, n_out, head, own=(0.5, 0.25)):
        super().__init__()
        self.mlp = MLPReadout(2 * dim, n_out, head.shares(own))

    def forward(self, g, h, of=None):
        src, dst = g.edges() if of is None else of
        return self.mlp(torch.cat([h.index_select(0, src), h.index_select(0, dst)], dim=1))


HEADS = {"graph": GraphHead, "node": NodeHead, "edge": EdgeHead, "pair": EdgeHead}
