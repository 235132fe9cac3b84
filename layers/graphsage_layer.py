"""GraphSage, B.1.2: a node's own features beside an aggregate of its neighbours. Then its variants with edge gates, E.3."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import PackedSequence

from layers import fused, ops
from layers.linear import Linear
from layers.update import EdgeUpdate, Update

AGGREGATORS = ("mean", "maxpool", "lstm")
FORMS = ("program", "text_15", "text_68")


class GraphSageLayer(nn.Module):
    r"""GraphSage, eq. (14)-(17), with batch normalisation and residual connection.

        c_i = Mean_{j -> i} h_j                 mean, eq. (14)
        c_i = Max_{j -> i} ReLU(V h_j + v)      maxpool, eq. (16)
        c_i = LSTM_{j -> i}(h_j)                lstm, eq. (17)

        ĥ_i = U Concat(h_i, c_i) + b            h_i' = h_i + BN(ReLU(ĥ_i / ‖ĥ_i‖))

    Shapes: h (N, in_dim) -> h' (N, out_dim). Edge j -> i is stored as (src=j, dst=i); an aggregate of no neighbours is zero.
    The LSTM reads the neighbours in the order in which the graph stores the edges and hands on its last state: alone of
    the three it depends on that order. `options` are those of layers/update.py.

    Deviation: this is the program that made the tables (form="program"). The text contradicts itself; both its forms are there:

        form="text_15"    h_i' = h_i + ReLU(BN(ReLU(ĥ_i) / ‖ReLU(ĥ_i)‖))    (14)-(15) inside (29); a vector of zeros stays zero
        form="text_68"    h_i' = h_i + ReLU(BN(ĥ_i))                        (68)

        >>> g = dgl.graph(([0, 1, 2], [1, 2, 0]))
        >>> h = GraphSageLayer(8, 8)(g, torch.randn(3, 8))
    """

    def __init__(self, in_dim, out_dim, aggregator="maxpool", form="program", **options):
        super().__init__()
        if aggregator not in AGGREGATORS:
            raise ValueError(f"aggregator={aggregator!r}: expected one of {', '.join(AGGREGATORS)}")
        if form not in FORMS:
            raise ValueError(f"form={form!r}: expected one of {', '.join(FORMS)}")
        self.aggregator, self.form = aggregator, form
        if aggregator == "maxpool":
            self.V = Linear(in_dim, in_dim)
        elif aggregator == "lstm":
            self.lstm = nn.LSTM(in_dim, in_dim)
        self.U = Linear(2 * in_dim, out_dim)
        activation = nn.Identity() if form == "program" else F.relu  # the program's ReLU stands before BN
        self.update_h = Update(in_dim, out_dim, activation=activation, **options)

    def forward(self, g, h):
        return self.update_h(g, h, self.combine(h, self.aggregate(g, h)))

    def aggregate(self, g, h):
        """c (N, in_dim)."""
        if self.aggregator == "mean":
            return ops.copy_u_mean(g, h)
        if self.aggregator == "maxpool":
            Vh = fused.linear(h, self.V.weight, self.V.bias)
            if fused.sum_suits(g, h) and fused.in_order(g):  # the same, in one step
                return fused.max_neighbours(g, Vh, least=0.0)
            return F.relu(ops.copy_u_max(g, Vh))  # the maximum of the ReLUs, and 0 of no neighbours
        return lstm_of_neighbours(self.lstm, g, h)

    def combine(self, h, c):
        """What the form has inside BN: (N, out_dim)."""
        if fused.is_lookup(h):  # the same: rows of a small table, in the first layer, are mapped as such
            U_h, U_c = self.U.weight.split(h.shape[1], dim=1)
            h_hat = fused.linear(c, U_c, self.U.bias) + fused.linear(h, U_h)
        else:
            h_hat = self.U(torch.cat([h, c], dim=1))
        if self.form == "program":
            return fused.relu_of_unit_rows(h_hat) if fused.suits(h_hat) else F.relu(F.normalize(h_hat))
        return F.normalize(F.relu(h_hat)) if self.form == "text_15" else h_hat


class GraphSageEdgeFeatLayer(GraphSageLayer):
    r"""GraphSage with max-pooling and gates made of the two ends of an edge, eq. (69)-(70).

        e_ij = A (h_i + h_j) + a
        ĥ_i  = U Concat(h_i, Max_{j -> i} ReLU(σ(e_ij) ⊙ (V h_j + v))) + b        h_i' = h_i + BN(ReLU(ĥ_i / ‖ĥ_i‖))

    Shapes, edge direction and forms as in `GraphSageLayer`, and e (E, in_dim). As text_68 it is (69).

    Deviation: the text computes e_ij from the representations of the layer before; the first layer has none, so every layer
    takes its own input.

        >>> g = dgl.graph(([0, 1, 2], [1, 2, 0]))
        >>> h = GraphSageEdgeFeatLayer(8, 8)(g, torch.randn(3, 8))
    """

    def __init__(self, in_dim, out_dim, **options):
        super().__init__(in_dim, out_dim, "maxpool", **options)
        self.A = Linear(in_dim, in_dim)

    def forward(self, g, h):
        c = self.gated_max(g, h, self.sum_of_ends(g, h))
        return self.update_h(g, h, self.combine(h, c))

    def sum_of_ends(self, g, h):
        """A (h_i + h_j) + a of each edge, as the sum of what A makes of each node and half of a: N products, not E."""
        Ah = fused.linear(h, self.A.weight, self.A.bias / 2)
        return ops.u_add_v(g, Ah, Ah)

    def gated_max(self, g, h, e):
        """Max_{j -> i} ReLU(σ(e_ij) ⊙ V h_j), the ReLU after the maximum as in `aggregate`."""
        return F.relu(ops.u_mul_e_max(g, self.V(h), torch.sigmoid(e)))


class GraphSageEdgeReprLayer(GraphSageEdgeFeatLayer):
    r"""GraphSage with max-pooling, gates and a representation of each edge, eq. (71)-(72).

        ê_ij = A (h_i + h_j) + a + B e_ij + b'                                    e_ij' = e_ij + BN(ReLU(ê_ij))
        ĥ_i  = U Concat(h_i, Max_{j -> i} ReLU(σ(ê_ij) ⊙ (V h_j + v))) + b        h_i'  = h_i + BN(ReLU(ĥ_i / ‖ĥ_i‖))

    Shapes: h (N, in_dim), e (E, in_dim) -> h' (N, out_dim), e' (E, in_dim). With edges=False e' is not computed: None.

    Deviation: as in `GraphSageEdgeFeatLayer`, ê_ij is computed from the layer's own input; e' is that of the program that made
    the tables. As text_15 and text_68 it is that of (72), e_ij + ReLU(BN(ê_ij)).

        >>> g = dgl.graph(([0, 1, 2], [1, 2, 0]))
        >>> h, e = GraphSageEdgeReprLayer(8, 8)(g, torch.randn(3, 8), torch.randn(3, 8))
    """

    def __init__(self, in_dim, out_dim, form="program", **options):
        super().__init__(in_dim, out_dim, form=form, **options)
        self.B = Linear(in_dim, in_dim)
        self.update_e = EdgeUpdate(in_dim, in_dim, activation=self.update_h.activation, **options)

    def forward(self, g, h, e, edges=True):
        e_hat = self.sum_of_ends(g, h) + self.B(e)
        h_new = self.update_h(g, h, self.combine(h, self.gated_max(g, h, e_hat)))
        if not edges:
            return h_new, None
        return h_new, self.update_e(g, e, F.relu(e_hat) if self.form == "program" else e_hat)


def lstm_of_neighbours(lstm, g, h):
    """c (N, in_dim), the last state of the LSTM at each node, 0 without edges:

        for i in range(N):
            state = None  # zeros
            for j in sources_of_the_edges_into(i):  # in stored order
                c[i], state = lstm(h[j], state)

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
