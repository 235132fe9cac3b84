"""Who the neighbours of a node are: those along the edges, or in a complete graph everybody, without any edge.

Both have the same words, `mean` and `sum` over the closed neighbourhood, and `counts`, how many nodes a row stands for.
"""

import torch
from torch import nn

from layers import ops
from layers.per_graph import once_per_graph


class Edges:
    """The closed neighbourhoods N(i) ∪ {i} along the edges j -> i of g. Self-loops are counted once, as the node itself.

    >>> around = Edges(dgl.graph(([0, 1, 2], [1, 2, 0])))
    >>> h = around.mean(torch.ones(3, 8))
    """

    counts = None  # each row is one node

    def __init__(self, g):
        self.g, self.scale = g, None
        self.degree, self.loops = closed_degrees(g)

    def mean(self, h):
        """Σ_{j ∈ N(i) ∪ {i}} h_j / √(d_i d_j), where d counts the node itself: (N, k) -> (N, k)."""
        if self.scale is None:
            self.scale = self.degree.to(h.dtype).rsqrt()[:, None]
        return self.scale * self.closed(self.scale * h)

    def sum(self, h):
        """h_i + Σ_{j -> i} h_j, self-loops among the edges: (N, k) -> (N, k)."""
        return h + ops.copy_u_sum(self.g, h)

    def closed(self, h):
        own = h if self.loops is None else h * (1 - self.loops)[:, None]
        return own + ops.copy_u_sum(self.g, h)


@once_per_graph
def closed_degrees(g):
    """(degree, loops): how many nodes are in each closed neighbourhood, and its self-loops, None where no node has one."""
    indptr, src, _ = g.adj_tensors("csc")
    degree = indptr.diff()
    loops = src == torch.repeat_interleave(torch.arange(len(degree), device=src.device), degree, output_size=len(src))
    if not loops.any():
        return degree + 1, None
    loops = torch.zeros_like(degree).index_add_(0, src[loops].long(), torch.ones_like(src[loops]))
    return degree - loops + 1, loops


class Complete:
    """Complete graphs, each as one row h_b, the mean of its nodes: there every closed neighbourhood is the whole graph.

    d_i is the number n of nodes, so mean(h) is h itself and sum(h) is n h, the same for all nodes. What a layer adds to the nodes
    it adds to their mean: rows of graphs are all that the layers need. `pool` makes them and `spread` hands them to the nodes.

        >>> around = Complete(dgl.batch([dgl.graph(([], []), num_nodes=n) for n in (2, 3)]))
        >>> h = around.spread(around.mean(around.pool(torch.ones(5, 8))))
    """

    def __init__(self, g):
        self.counts = g.batch_num_nodes().to(torch.int64)  # of nodes that a row stands for
        graphs = torch.arange(len(self.counts), device=self.counts.device)
        self.graph = torch.repeat_interleave(graphs, self.counts, output_size=g.num_nodes())

    def mean(self, h):
        return h

    def sum(self, h):
        return h * self.counts[:, None]

    def pool(self, x):
        """(N, k) -> (B, k)."""
        total = x.new_zeros(len(self.counts), x.shape[1]).index_add(0, self.graph, x)
        return total / self.counts.clamp(min=1)[:, None]

    def spread(self, h):
        """(B, k) -> (N, k): each node gets the row of its graph."""
        return h.index_select(0, self.graph)


class CountedBatchNorm(nn.BatchNorm1d):
    """Batch normalisation of rows (B, k) of which row b stands for counts[b] equal ones; without counts each stands for itself.

    >>> y = CountedBatchNorm(8)(torch.randn(3, 8), torch.tensor([1, 5, 2]))
    """

    def forward(self, x, counts=None):
        if counts is None or not self.training:
            return super().forward(x)
        n = int(counts.sum())
        if n < 2:
            raise ValueError(f"batch normalisation of {n} nodes: expected more than one")
        share = counts.to(x.dtype) / n
        mean = share @ x
        var = share @ (x - mean).square()
        with torch.no_grad():
            self.num_batches_tracked += 1
            self.running_mean.lerp_(mean, self.momentum)
            self.running_var.lerp_(var * (n / (n - 1)), self.momentum)
        return (x - mean) * ((var + self.eps).rsqrt() * self.weight) + self.bias
