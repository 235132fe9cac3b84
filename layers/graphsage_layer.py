"""GraphSage, B.1.2 and E.3: a node's own features beside an aggregate of its neighbours, with or without edge gates."""

import torch
import torch.nn.functional as F
from dgl import ops
from torch import nn
from torch.nn.utils.rnn import PackedSequence

from layers.graph_norm import graph_size_norm
from layers.ops import u_add_v, u_mul_e_max, without_influence

AGGREGATORS = ("mean", "maxpool", "lstm")
FORMS = ("program", "text_15", "text_68")


class GraphSageLayer(nn.Module):
    r"""GraphSage, eq. (14)-(17), with batch normalisation and residual connection, eq. (29) and (68).

        c_i = Mean_{j -> i} h_j                 mean, eq. (14)
        c_i = Max_{j -> i} ReLU(V h_j + v)      maxpool, eq. (16)
        c_i = LSTM_{j -> i}(h_j)                lstm, eq. (17)

        ĥ_i = U Concat(h_i, c_i) + b            h_i' = h_i + BN(ReLU(ĥ_i / ‖ĥ_i‖))

    Shapes: h (N, in_dim) -> (N, out_dim). Edge j -> i is stored as (src=j, dst=i); an aggregate of no neighbours is zero.
    The LSTM reads the neighbours in the order in which the graph stores the edges and hands on its last state: alone of
    the three it depends on that order. The residual connection needs in_dim == out_dim and is left out otherwise. With
    graph_norm the argument of BN is divided by the root of the graph's size, eq. (73).

    Deviation: this is the program that made the tables (form="program"). The text contradicts itself; both its forms are there:

        form="text_15"    h_i' = h_i + ReLU(BN(ReLU(ĥ_i) / ‖ReLU(ĥ_i)‖))    (14)-(15) inside (29); a vector of zeros stays zero
        form="text_68"    h_i' = h_i + ReLU(BN(ĥ_i))                        (68)
    """

    def __init__(
        self,
        in_dim,
        out_dim,
        aggregator="maxpool",
        dropout=0.0,
        batch_norm=True,
        residual=True,
        graph_norm=False,
        form="program",
    ):
        super().__init__()
        if aggregator not in AGGREGATORS:
            raise ValueError(f"sage_aggregator={aggregator!r}: expected one of {', '.join(AGGREGATORS)}")
        if form not in FORMS:
            raise ValueError(f"form={form!r}: expected one of {', '.join(FORMS)}")
        self.aggregator = aggregator
        if aggregator == "maxpool":
            self.V = nn.Linear(in_dim, in_dim)
        elif aggregator == "lstm":
            self.lstm = nn.LSTM(in_dim, in_dim)
        self.U = nn.Linear(2 * in_dim, out_dim)
        self.norm = nn.BatchNorm1d(out_dim) if batch_norm else nn.Identity()
        self.residual = residual and in_dim == out_dim
        self.graph_norm, self.form = graph_norm, form
        self.dropout = nn.Dropout(dropout)

    def forward(self, g, h):
        return self.update(g, h, self.aggregate(g, h))

    def aggregate(self, g, h):
        """c (N, in_dim)."""
        if self.aggregator == "mean":
            return ops.copy_u_mean(g, h)
        if self.aggregator == "maxpool":
            return F.relu(ops.copy_u_max(g, F.relu(self.V(h))))  # the outer: of no neighbours DGL's max is -inf
        return lstm_of_neighbours(self.lstm, g, h)

    def update(self, g, h, c):
        """h' from h and c."""
        h_new = self.U(torch.cat([h, c], dim=1))
        if self.form == "program":
            h_new = F.relu(F.normalize(h_new))
        elif self.form == "text_15":
            h_new = F.normalize(F.relu(h_new))
        if self.graph_norm:
            h_new = graph_size_norm(g, h_new)
        h_new = self.norm(h_new)
        if self.form != "program":
            h_new = F.relu(h_new)
        if self.residual:
            h_new = h + h_new
        return self.dropout(h_new)


class GraphSageEdgeFeatLayer(GraphSageLayer):
    r"""GraphSage with max-pooling and gates made of the two ends of an edge, eq. (69)-(70).

        e_ij = A (h_i + h_j) + a
        ĥ_i  = U Concat(h_i, Max_{j -> i} ReLU(σ(e_ij) ⊙ (V h_j + v))) + b        h_i' = h_i + BN(ReLU(ĥ_i / ‖ĥ_i‖))

    Shapes, edge direction and forms as in `GraphSageLayer`, and e (E, in_dim). As text_68 it is (69).

    Deviation: the text computes e_ij from the representations of the layer before; the first layer has none, so every layer
    takes its own input.
    """

    def __init__(self, in_dim, out_dim, **options):
        super().__init__(in_dim, out_dim, "maxpool", **options)
        self.A = nn.Linear(in_dim, in_dim)

    def forward(self, g, h):
        return self.update(g, h, self.gated_max(g, h, self.sum_of_ends(g, h)))

    def sum_of_ends(self, g, h):
        """A (h_i + h_j) + a of each edge, as the sum of what A makes of each node and half of a: N products, not E."""
        Ah = F.linear(h, self.A.weight, self.A.bias / 2)
        return u_add_v(g, Ah, Ah)

    def gated_max(self, g, h, e):
        """Max_{j -> i} ReLU(σ(e_ij) ⊙ V h_j), the ReLU after the maximum as in `aggregate`."""
        return F.relu(u_mul_e_max(g, self.V(h), torch.sigmoid(e)))


class GraphSageEdgeReprLayer(GraphSageEdgeFeatLayer):
    r"""GraphSage with max-pooling, gates and a representation of each edge, eq. (71)-(72).

        ê_ij = A (h_i + h_j) + a + B e_ij + b'                                    e_ij' = e_ij + BN(ReLU(ê_ij))
        ĥ_i  = U Concat(h_i, Max_{j -> i} ReLU(σ(ê_ij) ⊙ (V h_j + v))) + b        h_i'  = h_i + BN(ReLU(ĥ_i / ‖ĥ_i‖))

    Shapes: h (N, in_dim) -> (N, out_dim), e (E, in_dim) -> (E, in_dim). Called as `h, e = layer(g, h, e)`. The residual
    connection of the edges is left out with that of the nodes. Where nothing reads e' (the last layer of a net),
    `update_edges = False` leaves it out: None is returned in its place.

    Deviation: as in `GraphSageEdgeFeatLayer`, ê_ij is computed from the layer's own input; e' is that of the program that made
    the tables. As text_15 and text_68 it is that of (72), e_ij + ReLU(BN(ê_ij)).
    """

    def __init__(self, in_dim, out_dim, batch_norm=True, residual=True, **options):
        super().__init__(in_dim, out_dim, batch_norm=batch_norm, residual=residual, **options)
        self.B = nn.Linear(in_dim, in_dim)
        self.norm_e = nn.BatchNorm1d(in_dim) if batch_norm else nn.Identity()
        self.update_edges = True

    def forward(self, g, h, e):
        e_hat = self.sum_of_ends(g, h) + self.B(e)
        h = self.update(g, h, self.gated_max(g, h, e_hat))
        if not self.update_edges:
            return without_influence(h, self.norm_e.parameters()), None
        e_new = self.norm_e(F.relu(e_hat)) if self.form == "program" else F.relu(self.norm_e(e_hat))
        if self.residual:
            e_new = e + e_new
        return h, self.dropout(e_new)


def lstm_of_neighbours(lstm, g, h):
    """The last state of the LSTM after it has read h_j of the edges j -> i in stored order: (N, in_dim), 0 without edges.

    All nodes are read at once: step t takes the t-th in-edge of each node that has one, longest sequences first, which is
    the order of torch's packed sequences. Nothing is padded.
    """
    c = h.new_zeros(g.num_nodes(), lstm.hidden_size)
    if g.num_edges() == 0:
        return c
    src, dst = g.edges()
    degree = g.in_degrees()
    by_length = degree.argsort(descending=True, stable=True)
    place = torch.empty_like(by_length)
    place[by_length] = torch.arange(len(place), device=place.device)

    by_node = dst.argsort(stable=True)
    src, dst = src[by_node], dst[by_node]
    step = torch.arange(len(dst), device=dst.device) - (degree.cumsum(0) - degree)[dst]
    packed = (step * len(place) + place[dst]).argsort()
    _, (last, _) = lstm(PackedSequence(h.index_select(0, src[packed]), step.bincount().cpu()))
    return c.index_copy(0, by_length[: last.shape[1]], last[0])
