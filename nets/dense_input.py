"""The input tensor of the Weisfeiler-Lehman GNNs, B.2.1, eq. (36)-(39), for any choice of the graphs of a batch."""

from dataclasses import dataclass

import torch
from torch import nn

from layers.padding import Padding
from nets.inputs import as_numbers, n_numbers


@dataclass
class FlatGraphs:
    """The numbers of (37)-(39) of several graphs, not yet in their places.

    sizes, n_edges  (B,) nodes and edges of each graph
    node            (N, d) node features
    src, dst        (E,) place of an edge's ends in its graph
    edge            (E, 1 + d_e) what an edge adds to the adjacency matrix, and its features
    """

    sizes: torch.Tensor
    n_edges: torch.Tensor
    node: torch.Tensor
    src: torch.Tensor
    dst: torch.Tensor
    edge: torch.Tensor

    def take(self, graphs):
        """Only these graphs: (FlatGraphs, numbers of their nodes, numbers of their edges)."""
        nodes, edges = _rows_of(self.sizes, graphs), _rows_of(self.n_edges, graphs)
        chosen = FlatGraphs(
            self.sizes[graphs],
            self.n_edges[graphs],
            self.node[nodes],
            self.src[edges],
            self.dst[edges],
            self.edge[edges],
        )
        return chosen, nodes, edges

    def edge_ends(self):
        """Numbers of the two nodes of each edge, among the N nodes."""
        first = torch.repeat_interleave(self.sizes.cumsum(0) - self.sizes, self.n_edges, output_size=len(self.src))
        return first + self.src, first + self.dst

    def dense(self):
        """(h, padding): h (1 + d + d_e, B, n, n) of eq. (36), zero at the padding."""
        padding = Padding(self.sizes, self.node.dtype)
        B, n, d = len(self.sizes), padding.n, self.node.shape[1]
        h = self.node.new_zeros(1 + d + self.edge.shape[1] - 1, B * n * n)
        graph = torch.repeat_interleave(torch.arange(B, device=h.device), self.n_edges, output_size=len(self.src))
        ij = graph * (n * n) + self.src * n + self.dst
        ii = torch.arange(B * n, device=h.device).view(B, n) * n + torch.arange(n, device=h.device)
        h[0].index_add_(0, ij, self.edge[:, 0])
        h[1 : 1 + d].index_copy_(1, ii[padding.real], self.node.t())
        h[1 + d :].index_add_(1, ij, self.edge[:, 1:].t())
        return h.view(-1, B, n, n), padding


def _rows_of(counts, graphs):
    """Numbers of the rows of these graphs in an array that holds counts[b] rows of graph b after another."""
    counts, first = counts[graphs], (counts.cumsum(0) - counts)[graphs]
    total = int(counts.sum())
    shift = torch.repeat_interleave(first - (counts.cumsum(0) - counts), counts, output_size=total)
    return shift + torch.arange(total, device=shift.device)


class DenseInput(nn.Module):
    r"""A batch of graphs -> the numbers of its input tensor h^0 (1 + d + d_e channels), eq. (36)-(39).

        h^0_{ij,1}              = A_ij                              i -> j is an edge (src=i, dst=j)
        h^0_{ii,2:d+1}          = node features of i, 0 for i ≠ j
        h^0_{ij,d+2:d+d_e+1}    = edge features of i -> j            (edge_feat: the -E models)

    Categorical features are one-hot, continuous ones stand as they are. A_ij is the number of edges from i to j, and a pair with
    several edges has the sum of their features; a self-loop stands on the diagonal of A. Encodings are further node
    features. A dataset without node features (CSL) gives every node the same number, config.node_constant, and the
    eigenvectors take its place: its printed counts have d = 1 without and d = 20 with 20 of them.

    With `adjacency` = sym_norm the first channel is D^-1/2 A D^-1/2 (D: in-degrees) instead of A, as in the original program.
    """

    def __init__(self, features, config):
        super().__init__()
        if config.edge_feat and features.edge is None:
            raise ValueError("net.edge_feat=True, but the dataset has no edge features: set it to false")
        self.node, self.edge = features.node, features.edge if config.edge_feat else None
        self.encodings, self.adjacency = config.encodings, config.adjacency
        self.constant = self.node is None and not self.encodings
        self.node_constant = config.node_constant
        d = (
            self.constant
            + sum(encoding.width for encoding in self.encodings)
            + (n_numbers(self.node) if self.node else 0)
        )
        self.dim = 1 + d + (n_numbers(self.edge) if self.edge else 0)

    def forward(self, g, dtype):
        src, dst = (ends.long() for ends in g.edges())
        sizes, n_edges = g.batch_num_nodes().long(), g.batch_num_edges().long()
        first = torch.repeat_interleave(sizes.cumsum(0) - sizes, n_edges, output_size=len(src))
        edge = [self._adjacency(g, src, dst, dtype)[:, None]]
        if self.edge is not None:
            edge.append(as_numbers(self.edge, g.edata["feat"], dtype))
        return FlatGraphs(sizes, n_edges, self._node_features(g, dtype), src - first, dst - first, torch.cat(edge, 1))

    def _adjacency(self, g, src, dst, dtype):
        if self.adjacency == "plain":
            return torch.ones(len(src), dtype=dtype, device=src.device)
        degree = g.in_degrees().to(dtype)
        factor = torch.where(degree > 0, degree.clamp(min=1).rsqrt(), 0.0)
        return factor[src] * factor[dst]

    def _node_features(self, g, dtype):
        parts = []
        if self.node is not None:
            parts.append(as_numbers(self.node, g.ndata["feat"], dtype))
        if self.constant:
            parts.append(torch.full((g.num_nodes(), 1), self.node_constant, dtype=dtype, device=g.device))
        parts += [encoding.read(g, self.training).to(dtype) for encoding in self.encodings]
        return torch.cat(parts, 1)
