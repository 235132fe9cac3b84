"""Who the neighbours of a node are: the edges of a graph, or in a complete graph everybody, without any edge.

Both have the same words. What is equal for all nodes of a graph, as any sum over a complete graph is, is computed once per graph
and spread over its nodes at the end.
"""

import torch

from layers import ops


class Edges:
    """The closed neighbourhoods N(i) ∪ {i} along the edges j -> i of g. Self-loops are counted once, as the node itself.

    >>> around = Edges(dgl.graph(([0, 1, 2], [1, 2, 0])))
    >>> h = around.mean(torch.ones(3, 8))
    """

    def __init__(self, g):
        self.g = g
        indptr, src, _ = g.adj_tensors("csc")
        degree = indptr.diff()
        loops = src == torch.repeat_interleave(
            torch.arange(len(degree), device=src.device), degree, output_size=len(src)
        )
        self.loops = None
        if loops.any():
            self.loops = torch.zeros_like(degree).index_add_(0, src[loops].long(), torch.ones_like(src[loops]))
            degree = degree - self.loops
        self.degree, self.scale = degree + 1, None

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

    def spread(self, h):
        return h


class Cliques:
    """The same if all pairs of different nodes of each graph of the batch were edges: (N, k) -> (B, k), a row per graph.

    Then d_i is the number n of nodes, mean(h) the mean of all nodes and sum(h) their sum.

        >>> around = Cliques(dgl.batch([dgl.graph(([], []), num_nodes=n) for n in (2, 3)]))
        >>> h = around.spread(around.mean(torch.ones(5, 8)))
    """

    def __init__(self, g):
        self.sizes = g.batch_num_nodes().to(torch.int64)
        graphs = torch.arange(len(self.sizes), device=self.sizes.device)
        self.graph = torch.repeat_interleave(graphs, self.sizes, output_size=g.num_nodes())

    def mean(self, h):
        return self.sum(h) / self.sizes.clamp(min=1)[:, None]

    def sum(self, h):
        return h.new_zeros(len(self.sizes), h.shape[1]).index_add(0, self.graph, h)

    def spread(self, h):
        """(B, k) -> (N, k): each node gets the row of its graph."""
        return h.index_select(0, self.graph)
