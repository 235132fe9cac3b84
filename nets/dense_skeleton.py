"""What the Weisfeiler-Lehman GNNs share, B.2: input tensor -> L layers on n x n pairs -> read-outs of all layers.

A batch is cut into pieces of graphs of similar size, each one padded tensor; a piece that would need more memory than the budget
is made smaller, and its activations are computed again in the backward pass instead of being kept.
"""

from itertools import pairwise
from typing import ClassVar, Literal

import torch
from pydantic import Field, model_validator
from torch import nn
from torch.utils.checkpoint import checkpoint

from data.section import NO_IDENTITY
from layers.dense import dropout
from layers.padding import n_pairs, similar_sizes
from nets.dense_input import DenseInput
from nets.encodings import AnyNumbers
from nets.skeleton import EncodedConfig


class DenseConfig(EncodedConfig):
    """Hyper-parameters that both WL-GNNs have, in the paper's words."""

    L: int = Field(gt=0, description="number of layers")
    hidden_dim: int = Field(gt=0, description="width of the layers")
    dropout: float = Field(0.0, ge=0, lt=1, description="dropout after each layer")
    residual: bool = Field(False, description="residual connection around each layer, through a linear map")
    layer_norm: bool = Field(False, description="normalise each channel over the pairs of a graph, in each layer")
    edge_feat: bool = Field(False, description="input edge features, eq. (39): the -E models")
    adjacency: Literal["plain", "sym_norm"] = Field(
        "plain", description="first channel of the input: A of eq. (37), or D^-1/2 A D^-1/2 as in the original program"
    )
    encodings: list[AnyNumbers] = Field([], description="encodings that become further node features")
    memory_budget: float = Field(
        2.0,
        gt=0,
        description="GiB for the dense tensors of a batch; a larger batch is computed in pieces, with the same result",
        json_schema_extra=NO_IDENTITY,
    )

    @model_validator(mode="after")
    def _encodings_are_numbers(self):
        for encoding in self.encodings:
            if encoding.dim or getattr(encoding, "net", "linear") != "linear" or getattr(encoding, "batch_norm", False):
                raise ValueError(
                    f"encodings: {encoding.kind}: this net reads its numbers as they are: leave out dim, net and batch_norm"
                )
        return self

    @property
    def node_constant(self):
        """What stands on the diagonal for a node without features, eq. (38)."""
        return 1.0


class WLConfig(DenseConfig):
    """What RingGNN and 3WLGNN add."""

    version: ClassVar[int] = 2  # 1: form="text" alone, with other first weights

    form: Literal["program", "text"] = Field(
        "program",
        description="the layer, and the input of nodes without features, as in the program that made the tables, or as eq. (38), "
        "(41) and (44)",
    )

    @property
    def node_constant(self):
        return 0.0 if self.form == "program" else 1.0


class DenseNet(nn.Module):
    """input -> L layers -> head. A subclass says in `make_layer`, `make_head` and `count_numbers_per_pair` what it is.

    It predicts for graphs, nodes (all, or those asked `of`) and edges, not for pairs of nodes.
    """

    Config = DenseConfig

    def __init__(self, config, features, task):
        super().__init__()
        self.config, self.level = config, task.level
        if self.level == "pair":
            raise ValueError(f"net.model={config.model!r} predicts for graphs, nodes and edges, not for pairs of nodes")
        self.input = DenseInput(features, config)
        widths = [self.input.dim] + [config.hidden_dim] * config.L
        self.layers = nn.ModuleList(self.make_layer(config, i, *pair) for i, pair in enumerate(pairwise(widths)))
        self.head = self.make_head(config, task, widths)
        self.numbers_per_pair = self.count_numbers_per_pair(config, widths)

    def make_layer(self, config, i, in_dim, out_dim):
        raise TypeError(f"{type(self).__name__} does not say what its layer is: define make_layer")

    def make_head(self, config, task, widths):
        raise TypeError(f"{type(self).__name__} does not say how it predicts: define make_head")

    def count_numbers_per_pair(self, config, widths):
        """About how many numbers there are for each pair of nodes at the peak of a training step; rather more than fewer."""
        raise TypeError(f"{type(self).__name__} does not say how much memory it needs: define count_numbers_per_pair")

    def forward(self, g, of=None):
        scores = self._all_scores(g)
        return scores if of is None else scores.index_select(0, of)

    def _all_scores(self, g):
        dtype = next(self.parameters()).dtype
        graphs, seeds = self.input(g, dtype), None
        if self.training and self.config.dropout:
            seeds = torch.randint(2**62, (len(self.layers), len(graphs.sizes)), device=graphs.sizes.device)
        pieces, recompute = self._pieces(graphs.sizes.cpu().numpy(), dtype.itemsize)
        scores, numbers = [], []
        for chosen in pieces:
            chosen = torch.from_numpy(chosen).to(graphs.sizes.device)
            piece, nodes, edges = graphs.take(chosen)
            numbers.append({"graph": chosen, "node": nodes, "edge": edges}[self.level])
            arguments = piece, None if seeds is None else seeds[:, chosen]
            if recompute:
                scores.append(checkpoint(self._scores, *arguments, use_reentrant=False, preserve_rng_state=False))
            else:
                scores.append(self._scores(*arguments))
        if len(scores) == 1:
            return scores[0]
        return torch.cat(scores).index_select(0, torch.cat(numbers).argsort())

    def _scores(self, graphs, seeds):
        """Scores of the graphs of one piece, in their order."""
        h, padding = graphs.dense()
        pooled = [self.head.pool(h, padding)]
        for i, layer in enumerate(self.layers):
            h = layer(h, padding)
            if seeds is not None:
                h = dropout(h, self.config.dropout, padding, seeds[i])
            pooled.append(self.head.pool(h, padding))
        return self.head(pooled, graphs)

    def _pieces(self, sizes, itemsize):
        """(pieces, whether activations must be computed again): arrays of graph numbers, ascending in each piece."""
        max_pairs = self.config.memory_budget * 2**30 / (itemsize * self.numbers_per_pair)
        pieces = similar_sizes(sizes)
        if sum(n_pairs(sizes[piece]) for piece in pieces) <= max_pairs:
            return pieces, False
        return similar_sizes(sizes, max_pairs), torch.is_grad_enabled()
