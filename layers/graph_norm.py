"""Normalisation by graph: by its size (section F of Benchmarking GNNs), or over all its numbers."""

import torch
from torch import nn


def graph_size_norm(g, h):
    r"""Divide the representation of each node by the root of the number of nodes of its graph, eq. (73).

        h̄_i = h_i / √V

    Shapes: h (N, dim) -> (N, dim). In a batch, V is the size of the graph that node i belongs to. Layers call it before
    batch normalisation.

        >>> graph_size_norm(dgl.graph(([], []), num_nodes=4), torch.ones(4, 1)).tolist()
        [[0.5], [0.5], [0.5], [0.5]]
    """
    sizes = g.batch_num_nodes()
    scale = torch.repeat_interleave(sizes.to(h.dtype).rsqrt(), sizes, output_size=len(h))
    return h * scale[:, None]


class GraphLayerNorm(nn.Module):
    r"""Normalise over all nodes and channels of a graph together, then scale and shift each channel (GPS).

        h_ic' = γ_c (h_ic - μ) / √(σ² + ε) + β_c,   μ and σ² the mean and variance of the numbers of the graph of i

    Shapes: h (N, dim) -> (N, dim).

        >>> h = GraphLayerNorm(8)(dgl.graph(([0], [1])), torch.randn(2, 8))
    """

    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.weight, self.bias, self.eps = nn.Parameter(torch.ones(dim)), nn.Parameter(torch.zeros(dim)), eps

    def forward(self, g, h):
        sizes = g.batch_num_nodes()
        graph = torch.repeat_interleave(torch.arange(len(sizes), device=h.device), sizes, output_size=len(h))
        n = sizes.clamp(min=1).to(h.dtype) * h.shape[1]
        centred = h - self._means(h, graph, n)
        variance = self._means(centred.square(), graph, n)
        return centred * (variance + self.eps).rsqrt() * self.weight + self.bias

    @staticmethod
    def _means(h, graph, n):
        """Mean over the graph of each node, (N, 1)."""
        return (h.new_zeros(len(n)).index_add(0, graph, h.sum(1)) / n)[graph, None]
