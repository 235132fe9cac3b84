"""Many subgraphs of each graph of a batch on one copy of its edges: what the subgraph nets of BREC compute on.

A row (s, v) is node v in subgraph s, with c features. Subgraph s is its graph with some nodes left out, so that one sparse
product with the edges of the batch adds up the neighbours in all subgraphs at once: the rows are spread to (N, k, c), a place for
each node and each of at most k subgraphs of its graph. A place without a row is zero there and is not read afterwards.
"""

from functools import cached_property

import numpy as np
import torch

from layers import fused, ops
from layers.few_rows import FewRows, Kinds, all_rows


class Subgraphs:
    """The rows of all subgraphs of a batch g, in order of their nodes, and the sums over them.

    members      for each graph, (k_b, n_b) booleans: whether node v is in subgraph s
    node         (R,) node of a row, numbered through the batch
    subgraph     (R,) subgraph of a row, numbered through the batch; there are S
    graph        (N,) graph of a node

    When all graphs have k subgraphs with all their nodes, R = N k, and rows are spread without being copied.

        >>> s = Subgraphs(dgl.graph(([0, 1], [1, 0])), [np.array([[True, True], [True, False]])])  # an edge, and its first node
        >>> s.sum_neighbours(torch.ones(3, 1)).flatten().tolist()
        [1.0, 0.0, 1.0]
    """

    def __init__(self, g, members):
        sizes, counts = g.batch_num_nodes().cpu().numpy(), np.array([len(m) for m in members])
        self.g, self.B, self.N, self.k, self.S = g, g.batch_size, g.num_nodes(), int(counts.max()), int(counts.sum())
        is_row = np.zeros((self.N, self.k), dtype=bool)
        for first, m in zip(np.cumsum(sizes) - sizes, members, strict=True):
            is_row[first : first + m.shape[1], : len(m)] = m.T
        graph, place = np.repeat(np.arange(self.B), sizes), np.flatnonzero(is_row)
        first_subgraph = np.cumsum(counts) - counts
        is_subgraph = np.arange(self.k) < counts[:, None]
        self.graph = self._tensor(graph)
        self.node = self._tensor(place // self.k)
        self.subgraph = self._tensor(first_subgraph[graph[place // self.k]] + place % self.k)
        self._place = None if is_row.all() else self._tensor(place)
        self._subgraph_place = None if is_subgraph.all() else self._tensor(np.flatnonzero(is_subgraph))
        self._is_row = is_row

    def _tensor(self, array):
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.g.device)

    def __len__(self):
        return len(self.node)

    def row_numbers(self, node, place):
        """Numbers of the rows of these nodes in the subgraph that is number `place` of their graph: (…,) integers x 2 -> (…,)."""
        number = np.cumsum(self._is_row.reshape(-1)) - 1
        return self._tensor(number[np.asarray(node) * self.k + np.asarray(place)])

    # From rows to places and back

    def spread(self, x):
        """(R, c) -> (N, k, c), zero where there is no row."""
        if self._place is not None:
            x = x.new_zeros(self.N * self.k, x.shape[1]).index_copy(0, self._place, x)
        return x.view(self.N, self.k, -1)

    def collect(self, x):
        """(N, k, c) -> (R, c)."""
        x = x.reshape(self.N * self.k, -1)
        return x if self._place is None else x.index_select(0, self._place)

    # Sums

    def sum_neighbours(self, x, own=None):
        """Σ_{u ∈ N_s(v)} x_su over the neighbours that v has in subgraph s, with `own` own · x_sv more: (R, c) -> (R, c)."""
        if isinstance(x, FewRows) and own == 1 and (total := x.closed_sum(self)) is not None:
            return total
        x = all_rows(x)
        if self._is_whole():
            wide = self.spread(x).flatten(1)
            if fused.compiled(wide) and self.g.is_homogeneous:  # the same in one step
                return self.collect(fused.sum_neighbours(self.g, wide, own=own))
        elif fused.compiled(x) and self.g.is_homogeneous and fused.few_edges(self.g):
            return fused.sum_in_subgraphs(self.g, x, *self._numbers, own=own)
        total = self._sum_neighbours(x)
        return total if own is None else own * x + total

    def _sum_neighbours(self, x):
        return self.collect(ops.copy_u_sum(self.g, self.spread(x).flatten(1)))

    def _is_whole(self):
        """Whether each subgraph is the whole graph."""
        return self._place is None

    @cached_property
    def _numbers(self):
        """Where a row stands among the places, and the row of a place, -1 where it has no edges: (R,), (N, k) integers."""
        has_edges = self._is_row.copy()
        has_edges[self._is_row] = ~self._without_edges()
        number = np.where(has_edges, np.cumsum(self._is_row).reshape(self.N, self.k) - 1, -1)
        return self._tensor(np.flatnonzero(self._is_row).astype(np.int32)), self._tensor(number.astype(np.int32))

    def neighbour_rows(self):
        """The rows (s, u) of the neighbours that v has in subgraph s, -1 beyond the last one: (R, largest in-degree) integers."""
        indptr, src, _ = (x.cpu().numpy() for x in self.g.adj_tensors("csc"))
        degree = np.diff(indptr)
        is_edge = np.arange(degree.max(initial=0)) < degree[:, None]
        u = np.zeros(is_edge.shape, dtype=np.int64)
        u[is_edge] = src
        place, number = (x.cpu().numpy() for x in self._numbers)
        v, k = place // self.k, place % self.k
        return np.where(is_edge[v] & (number[v, k] >= 0)[:, None], number[u[v], k[:, None]], -1)

    def _without_edges(self):
        """(R,) booleans: the rows that have no edges although their nodes have some."""
        return np.zeros(len(self), dtype=bool)

    def weighted_sum_neighbours(self, x, w):
        """Σ_{u ∈ N_s(v)} w_s,uv x_su with a weight for each edge in each subgraph: (R, c), (E, k) -> (R, c)."""
        return self.collect(ops.u_mul_e_sum(self.g, self.spread(x), w[:, :, None]))

    def sum_nodes(self, x):
        """Σ_v x_sv over the nodes of subgraph s: (R, c) -> (S, c)."""
        total = x.new_zeros(self.B, self.k, x.shape[1]).index_add(0, self.graph, self.spread(x))
        total = total.flatten(0, 1)
        return total if self._subgraph_place is None else total.index_select(0, self._subgraph_place)

    def sum_subgraphs(self, x):
        """Σ_s x_sv over the subgraphs that node v is in: (R, c) -> (N, c)."""
        return self.spread(x).sum(1)

    def mean_nodes(self, x):
        return self.sum_nodes(x) / torch.bincount(self.subgraph, minlength=self.S).clamp(min=1)[:, None]

    def mean_subgraphs(self, x):
        return self.sum_subgraphs(x) / torch.bincount(self.node, minlength=self.N).clamp(min=1)[:, None]

    def sum_graphs(self, h):
        """Σ_v h_v over the nodes of each graph: (N, c) -> (B, c)."""
        return h.new_zeros(self.B, h.shape[1]).index_add(0, self.graph, h)

    def mean_graphs(self, h):
        return self.sum_graphs(h) / torch.bincount(self.graph, minlength=self.B).clamp(min=1)[:, None]

    # From nodes and subgraphs to rows

    def of_nodes(self, h):
        """h_v for each row (s, v): (N, c) -> (R, c)."""
        return self.collect(h[:, None].expand(-1, self.k, -1))

    def of_subgraphs(self, h):
        """h_s for each row (s, v): (S, c) -> (R, c)."""
        if self._subgraph_place is not None:
            h = h.new_zeros(self.B * self.k, h.shape[1]).index_copy(0, self._subgraph_place, h)
        return self.collect(h.view(self.B, self.k, -1).index_select(0, self.graph))


class EgoNets(Subgraphs):
    """A subgraph for each node r, its root, with the nodes within `radius` of it; without radius the whole graph.

    distances    for each graph, (n_b, n_b) integers
    distance     (R,) D(r, v) of a row
    root_row     (N,) number of the row (r, r)

    Subgraph r has the number of its root: S = N. With `keep_outside` all nodes stay in each subgraph, but those beyond the radius
    have no edges.
    """

    def __init__(self, g, distances, radius=None, keep_outside=False):
        distances = [np.asarray(D) for D in distances]
        reach = np.inf if radius is None or keep_outside else radius
        super().__init__(g, [np.less_equal(D, reach) for D in distances])
        places = np.concatenate([np.arange(len(D)) for D in distances])
        self.root_row = self.row_numbers(np.arange(self.N), places)
        of_place = np.zeros((self.N, self.k), dtype=np.int64)
        for first, D in zip(np.cumsum([0, *map(len, distances)]), distances, strict=False):
            of_place[first : first + len(D), : len(D)] = D.T
        self.distance = self._tensor(of_place[self._is_row])
        self._outside = None
        if radius is not None and bool((self.distance > radius).any()):
            self._outside = (self.distance > radius)[:, None]
        self._places = places

    def is_root(self):
        """(R,) whether v = r."""
        return self.distance == 0

    def by_distance(self, table):
        """table[D(r, v)] for each row (r, v): (largest distance + 1, c) whole numbers -> (R, c) as FewRows."""
        return FewRows(table[: self._distances.T].to(self.g.device), self._distances)

    @cached_property
    def _distances(self):
        return Kinds(self.distance, int(self.distance.max()) + 1, exact=True)

    def _sum_neighbours(self, x):
        if self._outside is None:
            return super()._sum_neighbours(x)
        return super()._sum_neighbours(x.masked_fill(self._outside, 0)).masked_fill(self._outside, 0)

    def _is_whole(self):
        return super()._is_whole() and self._outside is None

    def _without_edges(self):
        return super()._without_edges() if self._outside is None else self._outside.flatten().cpu().numpy()

    def swap(self, x):
        """x_vr for each row (r, v), where all subgraphs are whole graphs: (R, c) -> (R, c)."""
        if self._place is None:
            return x.view(self.B, self.k, self.k, -1).transpose(1, 2).reshape(len(self), -1)
        return x.index_select(0, self._swapped())

    def _swapped(self):
        return self.row_numbers(self.subgraph.cpu().numpy(), self._places[self.node.cpu().numpy()])
