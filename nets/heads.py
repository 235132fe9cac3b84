"""What turns the node representations of the last layer into predictions, B.1.3: one head for each level of task.

A head is called as `head(g, h, of)`. `of` says what is asked: None (all graphs, nodes or edges), nodes, or pairs of nodes.
"""

from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import nn

from data.section import Section
from layers import fused
from layers.fused import blocks
from layers.mlp_readout import MLPReadout

ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu}


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
    activation: Literal["relu", "gelu"] = Field("relu", description="activation of the prediction MLP")
    l2_norm: bool = Field(False, description="hidden rows of the prediction MLP are scaled to length 1 (LRGB)")
    dropout: float = Field(0.0, ge=0, lt=1, description="dropout before each map of the prediction MLP")
    pair: Literal["mlp", "dot"] = Field(
        "mlp", description="score of two nodes: the MLP of both, or the product of the MLP of each (LRGB)"
    )

    def readout(self, in_dim, n_out, own):
        """The prediction MLP, of these hidden widths where the configuration has none."""
        shares = own if self.mlp is None else self.mlp
        return MLPReadout(in_dim, n_out, shares, ACTIVATIONS[self.activation], self.l2_norm, self.dropout)


def pool_nodes(g, h, pool):
    """Node representations h (N, d) of a batch -> one vector per graph (B, d), eq. (31); a graph without nodes gets zero."""
    sizes = g.batch_num_nodes()
    if fused.compiled(h):  # the same, in one step
        if pool == "max":
            return fused.max_pieces(h, sizes)
        total = fused.sum_pieces(h, sizes)
        return total / sizes.clamp(min=1)[:, None] if pool == "mean" else total
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
        self.mlp = head.readout(dim, n_out, own)

    def forward(self, g, h, of=None):
        return self.mlp(pool_nodes(g, h, self.pool))


class NodeHead(nn.Module):
    """Predict for each node, or the nodes `of` (M,), eq. (34). h (N, d) -> (N, n_out) or (M, n_out)."""

    def __init__(self, dim, n_out, head, own=(0.5, 0.25)):
        super().__init__()
        self.mlp = head.readout(dim, n_out, own)

    def forward(self, g, h, of=None):
        return self.mlp(h if of is None else h.index_select(0, of))


class EdgeHead(nn.Module):
    """Predict for each edge j -> i from Concat(h_j, h_i), eq. (35). h (N, d) -> (E, n_out).

    With `of` (2, M), sources and destinations, for these pairs of nodes instead of the edges of the graph: link prediction.
    """

    def __init__(self, dim, n_out, head, own=(0.5, 0.25)):
        super().__init__()
        self.mlp = head.readout(2 * dim, n_out, own)

    def forward(self, g, h, of=None):
        src, dst = g.edges() if of is None else of
        return self.mlp(torch.cat([h.index_select(0, src), h.index_select(0, dst)], dim=1))


class DotHead(nn.Module):
    """Score of a pair (i, j): the product z_i · z_j with z = MLP(h) (PCQM-Contact). h (N, d) -> (E, 1) or (M, 1), as EdgeHead."""

    def __init__(self, dim, n_out, head, own=()):
        super().__init__()
        if n_out != 1:
            raise ValueError(
                f"net.head.pair=dot gives one score for a pair, but the dataset asks for {n_out}: set it to mlp"
            )
        self.mlp = head.readout(dim, dim, own)

    def forward(self, g, h, of=None):
        src, dst = g.edges() if of is None else of
        z = self.mlp(h)
        parts = [(z.index_select(0, src[i]) * z.index_select(0, dst[i])).sum(1) for i in blocks(len(src), z.shape[1])]
        return torch.cat(parts)[:, None] if parts else z.new_zeros(0, 1)


def make_head(level, dim, n_out, head, own=(0.5, 0.25)):
    """The head of a level; of pairs that which `head.pair` names."""
    if head.pair == "dot":
        if level not in ("edge", "pair"):
            raise ValueError(f"net.head.pair=dot, but the dataset asks for one score per {level}: set it to mlp")
        return DotHead(dim, n_out, head)
    return HEADS[level](dim, n_out, head, own)


HEADS = {"graph": GraphHead, "node": NodeHead, "edge": EdgeHead, "pair": EdgeHead}
