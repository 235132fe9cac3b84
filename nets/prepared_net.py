"""Nets that read more of a graph than its edges (BREC): distances, node sets, counts. Transforms compute it, once per batch."""

from contextlib import contextmanager, nullcontext

import numpy as np
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from nets.skeleton import AnyNetConfig


class PreparedConfig(AnyNetConfig):
    """The configuration of such a net: the arguments of its constructor by their names."""


class PreparedNet(nn.Module):
    """`net(g)` or `net(g, net.prepare(g))`: embeddings (B, out_dim) of the graphs of a batch.

    transforms   name -> what to compute of each graph: a functools.partial of a function (n, src, dst, **parameters) of
                 data/transforms/
    prepare      what forward reads, from the graph; batches that are used many times are prepared once
    collate      the same, from the transforms' values: name -> list with the value of each graph
    embed        the embeddings, from what collate gives
    recompute    whether a layer's activations are computed again in the backward pass instead of being kept: the same numbers
                 with less memory, and a third more time
    """

    levels = ("graph",)
    Config = PreparedConfig
    transforms = {}  # noqa: RUF012 - set by the subclass, for the instance
    recompute = False

    @classmethod
    def from_config(cls, config, features, task):
        """The net of a configuration. Graphs have no features here (BREC)."""
        return cls(**config.model_dump(exclude={"model"}), out_dim=task.n_out)

    def prepare(self, g):
        graphs = edges_of_graphs(g)
        return self.collate(g, {name: [f(*graph) for graph in graphs] for name, f in self.transforms.items()})

    def forward(self, g, prepared=None):
        return self.embed(self.prepare(g) if prepared is None else prepared)

    def run(self, layer, *inputs):
        """layer(*inputs), which with `recompute` keeps the inputs only."""
        if not (self.recompute and torch.is_grad_enabled()):
            return layer(*inputs)
        contexts = nullcontext(), frozen_statistics(layer)
        return checkpoint(layer, *inputs, use_reentrant=False, context_fn=lambda: contexts)

    @property
    def dtype(self):
        """Number type of the parameters, and so of the features made from nothing."""
        return next(self.parameters()).dtype


@contextmanager
def frozen_statistics(module):
    """The running statistics of batch normalisations stay as they are: a second pass over the same batch must not count twice."""
    momenta = {m: m.momentum for m in module.modules() if isinstance(m, nn.BatchNorm1d)}
    for norm in momenta:
        norm.momentum = 0.0
    try:
        yield
    finally:
        for norm, momentum in momenta.items():
            norm.momentum = momentum


def edges_of_graphs(g):
    """[(n, src, dst)] of the graphs of a batch: int64 arrays, nodes numbered from 0 in each graph."""
    sizes, n_edges = (counts.cpu().numpy() for counts in (g.batch_num_nodes(), g.batch_num_edges()))
    first, stops = np.cumsum(sizes) - sizes, np.cumsum(n_edges)[:-1]
    ends = [np.split(end.cpu().numpy().astype(np.int64), stops) for end in g.edges()]
    return [(int(n), src - f, dst - f) for n, f, src, dst in zip(sizes, first, *ends, strict=True)]
