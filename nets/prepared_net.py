"""Nets that read more of a graph than its edges (BREC): distances, node sets, counts. Transforms compute it, once per batch."""

import numpy as np
from torch import nn


class PreparedNet(nn.Module):
    """`net(g)` or `net(g, net.prepare(g))`: embeddings (B, out_dim) of the graphs of a batch.

    transforms   name -> what to compute of each graph: a functools.partial of a function (n, src, dst, **parameters) of
                 data/transforms/
    prepare      what forward reads, from the graph; batches that are used many times are prepared once
    collate      the same, from the transforms' values: name -> list with the value of each graph
    embed        the embeddings, from what collate gives
    """

    transforms = {}  # noqa: RUF012 - set by the subclass, for the instance

    def prepare(self, g):
        graphs = edges_of_graphs(g)
        return self.collate(g, {name: [f(*graph) for graph in graphs] for name, f in self.transforms.items()})

    def forward(self, g, prepared=None):
        return self.embed(self.prepare(g) if prepared is None else prepared)

    @property
    def dtype(self):
        """Number type of the parameters, and so of the features made from nothing."""
        return next(self.parameters()).dtype


def edges_of_graphs(g):
    """[(n, src, dst)] of the graphs of a batch: int64 arrays, nodes numbered from 0 in each graph."""
    sizes, n_edges = (counts.cpu().numpy() for counts in (g.batch_num_nodes(), g.batch_num_edges()))
    first, stops = np.cumsum(sizes) - sizes, np.cumsum(n_edges)[:-1]
    ends = [np.split(end.cpu().numpy().astype(np.int64), stops) for end in g.edges()]
    return [(int(n), src - f, dst - f) for n, f, src, dst in zip(sizes, first, *ends, strict=True)]
