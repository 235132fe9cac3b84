"""The layers of BREC against loops over (subgraph, node), written from their equations; and the sums that they are made of."""

from itertools import combinations

import dgl
import numpy as np
import pytest
import torch
from torch import nn

from layers.closed_gin_layer import ClosedGINLayer
from layers.deep_sets_layer import DeepSetsLayer
from layers.delta_lgnn_layer import DeltaLGNNLayer
from layers.dss_layer import DSSLayer
from layers.edge_selection import EdgePairs, keep_edges, select_edges, spread_loss
from layers.gated_graph_layer import GatedGraphLayer
from layers.gnn_ak_layer import GNNAKLayer, InnerGINELayer
from layers.graphormer_layer import GraphormerLayer
from layers.gsn_layer import GSNLayer
from layers.kc_set_layer import ConstantGINELayer, Inclusions, KCSetLayer
from layers.kp_layer import KPLayer
from layers.open_gcn_layer import OpenGCNLayer
from layers.set2set import Set2Set
from layers.sswl_layer import SSWLLayer, SSWLPoolLayer
from layers.subgraphs import EgoNets, Subgraphs
from layers.sun_layer import SUNLayer
from layers.two_maps import LastBatchNorm
from layers.weighted_gin_layer import WeightedGINLayer
from nets.kp_gnn_net import hop_graph
from tests.layers.reference import randomised

DIM = 5
# a path of five nodes with a triangle at its end; an edge and a node alone; a square
SIZES, EDGES = (5, 3, 4), ("01 12 23 34 24", "56", "89 9A AB B8")
NEIGHBOURS = {v: [] for v in range(12)}
for a, b in (word for edges in EDGES for word in edges.split()):
    NEIGHBOURS[int(a, 16)].append(int(b, 16))
    NEIGHBOURS[int(b, 16)].append(int(a, 16))
GRAPH = [b for b, n in enumerate(SIZES) for _ in range(n)]
NODES = range(12)
ROWS_OF_GRAPH = {b: [v for v in NODES if GRAPH[v] == b] for b in range(3)}


def distance_by_search(r, v):
    seen, steps = {r}, 0
    while v not in seen:
        larger = seen | {u for w in seen for u in NEIGHBOURS[w]}
        if larger == seen:
            return 9
        seen, steps = larger, steps + 1
    return steps


D = {(r, v): distance_by_search(r, v) for r in NODES for v in NODES if GRAPH[r] == GRAPH[v]}


def batch(idtype=torch.int64):
    src, dst = zip(*((u, v) for v in NODES for u in NEIGHBOURS[v]), strict=True)
    g = dgl.graph((torch.tensor(src), torch.tensor(dst)), num_nodes=12, idtype=idtype)
    g.set_batch_num_nodes(torch.tensor(SIZES, dtype=idtype))
    g.set_batch_num_edges(torch.tensor([10, 2, 8], dtype=idtype))
    return g


def distance_matrices():
    return [np.array([[D[r, v] for v in nodes] for r in nodes]) for nodes in ROWS_OF_GRAPH.values()]


class Case:
    """Ego nets, their rows as a list of (r, v), and N_r(v)."""

    def __init__(self, radius=None, keep_outside=False):
        self.s = EgoNets(batch(), distance_matrices(), radius, keep_outside)
        self.radius = 9 if radius is None else radius
        self.rows = [(r, v) for v in NODES for r in ROWS_OF_GRAPH[GRAPH[v]] if keep_outside or D[r, v] <= self.radius]

    def inside(self, r, v):
        return [u for u in NEIGHBOURS[v] if max(D[r, u], D[r, v]) <= self.radius]

    def table(self, f):
        return torch.stack([f(r, v) for r, v in self.rows])

    def as_dict(self, x):
        return dict(zip(self.rows, x, strict=True))


CASES = {"whole graphs": (None, False), "radius 1": (1, False), "radius 2": (2, False), "1, outside": (1, True)}


@pytest.fixture(params=CASES)
def case(request):
    return Case(*CASES[request.param])


def features(n, dim=DIM):
    return torch.randn(n, dim, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def close(seen, expected):
    torch.testing.assert_close(seen, expected, rtol=0, atol=1e-10)


# What the equations are made of


def batch_norm(norm, x):
    x = (x - x.mean(0)) / torch.sqrt(x.var(0, unbiased=False) + norm.eps)
    return x if norm.weight is None else x * norm.weight + norm.bias


def apply(modules, x):
    """A sequence of linear maps, normalisations and ReLUs, row by row."""
    for module in modules:
        if isinstance(module, nn.Linear):
            x = torch.stack([module.weight @ row + (0 if module.bias is None else module.bias) for row in x])
        else:
            x = batch_norm(module, x) if isinstance(module, nn.BatchNorm1d) else x.clamp(min=0)
    return x


def total(values, like):
    return sum(values, torch.zeros_like(like))


def closed(case, x, eps=0.0, message=lambda x: x):
    """(1 + ε) x_rv + Σ_{u ∈ N_r(v)} message(x_ru)."""
    return case.table(lambda r, v: (1 + eps) * x[r, v] + total((message(x[r, u]) for u in case.inside(r, v)), x[r, v]))


def closed_on_graph(h):
    return torch.stack([h[v] + total((h[u] for u in NEIGHBOURS[v]), h[v]) for v in NODES])


def over_roots(x, mean):
    """Sum or mean of x_rv over the roots r of the rows of v."""
    columns = [[value for (_, w), value in x.items() if w == v] for v in NODES]
    return torch.stack([sum(c) / (len(c) if mean else 1) for c in columns])


def over_nodes(x):
    return torch.stack([sum(value for (q, _), value in x.items() if q == r) for r in NODES])


# The loops


def closed_gin_by_loop(layer, case, x):
    out = apply(layer.mlp, closed(case, case.as_dict(x)))
    return (out if isinstance(layer.norm, nn.Identity) else batch_norm(layer.norm, out)).clamp(min=0)


def dss_by_loop(layer, case, x):
    x = case.as_dict(x)
    inside = case.as_dict(batch_norm(layer.norm1, apply(layer.mlp1, closed(case, x))))
    shared = batch_norm(layer.norm2, apply(layer.mlp2, closed_on_graph(over_roots(x, mean=True))))
    return case.table(lambda r, v: (inside[r, v] + shared[v]).clamp(min=0))


def sun_by_loop(layer, case, rows):
    x = case.as_dict(rows)
    d, h, mean = torch.stack([x[v, v] for v in NODES]), over_nodes(x), over_roots(x, mean=True)
    u = {name: apply(layer.u[name], value) for name, value in
         {"vv": d, "kk": d, "ro": h, "root_vv": d, "root_ro": h}.items()}  # fmt: skip
    u_kv = case.as_dict(apply(layer.u["kv"], rows))
    g1, g3 = (case.as_dict(apply(layer.g[i], closed(case, x))) for i in (0, 2))
    g2, g4 = (batch_norm(layer.norm[i], apply(layer.g[i], closed_on_graph(mean))) for i in (1, 3))
    others = [(r, v) for r, v in case.rows if r != v]
    g1 = dict(zip(others, batch_norm(layer.norm[0], torch.stack([g1[row] for row in others])), strict=True))
    g3 = batch_norm(layer.norm[2], torch.stack([g3[v, v] for v in NODES]))

    def out(r, v):
        if r == v:
            return (u["root_vv"][r] + g3[r] + g4[r] + u["root_ro"][r]).clamp(min=0)
        return (u["vv"][v] + u["kk"][r] + u_kv[r, v] + g1[r, v] + g2[v] + u["ro"][r]).clamp(min=0)

    return case.table(out)


def gine_by_loop(layer, case, y, e):
    y_hat = closed(case, case.as_dict(y), layer.eps, lambda x: (x + e).clamp(min=0))
    return y + batch_norm(layer.norm, apply(layer.mlp, y_hat)).clamp(min=0)


def gnn_ak_by_loop(layer, case, x):
    t = layer.t.weight
    y = case.table(lambda r, v: torch.cat([x[v], t[D[r, v]]]))
    for inner in layer.inner:
        y = gine_by_loop(inner, case, y, layer.e)
    z = apply([layer.W], y)
    part = {name: case.as_dict(apply(layer.part[name], z)) for name in "SC"}
    z = case.as_dict(z)

    def gate(name, r, v):
        return torch.sigmoid(layer.G[name].weight @ t[D[r, v]] + layer.G[name].bias)

    c = torch.stack([z[v, v] * gate("c", v, v) for v in NODES])
    S, C = ({(r, v): value * gate(name, r, v) for (r, v), value in part[name].items()} for name in "SC")
    return x + apply(layer.out, torch.cat([c, over_nodes(S), over_roots(C, mean=False)], 1))


@pytest.mark.parametrize(
    "layer",
    [ClosedGINLayer(DIM, 4), ClosedGINLayer(DIM, 4, norm=None), ClosedGINLayer(DIM, 4, norm=LastBatchNorm)],
    ids=["BN", "no BN", "BN of the last batch"],
)
def test_closed_gin(case, layer):
    x = features(len(case.rows))
    close(randomised(layer)(case.s, x), closed_gin_by_loop(layer, case, x))


@pytest.mark.parametrize("layer, loop", [(DSSLayer, dss_by_loop), (SUNLayer, sun_by_loop)], ids=["DSS", "SUN"])
def test_dss_and_sun(case, layer, loop):
    layer, x = randomised(layer(DIM, 4)), features(len(case.rows))
    close(layer(case.s, x), loop(layer, case, x))


@pytest.mark.parametrize("radius", [1, 2])
def test_gnn_ak(radius):
    case, x = Case(radius), features(12)
    layer = randomised(GNNAKLayer(DIM, 3, radius))
    close(layer(case.s, x), gnn_ak_by_loop(layer, case, x))


def test_the_inner_layer_of_gnn_ak(case):
    layer, y, e = randomised(InnerGINELayer(DIM)), features(len(case.rows)), features(1)[0]
    close(layer(case.s, y, e), gine_by_loop(layer, case, y, e))


def test_sswl():
    case, x = Case(), features(len(Case().rows))
    layer, pool = randomised(SSWLLayer(DIM)), randomised(SSWLPoolLayer(DIM))
    at, (e1, e2, e3) = case.as_dict(x), layer.eps
    f_uL = apply(layer.f_uL, closed(case, at, e1, lambda x: x.clamp(min=0)))
    f_vL = case.table(
        lambda u, v: (1 + e2) * at[u, v] + total((at[w, v].clamp(min=0) for w in NEIGHBOURS[u]), at[u, v])
    )
    f_vv = apply(layer.f_vv, case.table(lambda u, v: (1 + e3) * at[u, v] + at[v, v]))
    close(layer(case.s, x), batch_norm(layer.norm, f_uL + apply(layer.f_vL, f_vL) + f_vv).clamp(min=0))
    rows = over_nodes(at)
    close(pool(case.s, x), batch_norm(pool.norm, apply(pool.f, case.table(lambda u, v: rows[u]))).clamp(min=0))


def test_deep_sets():
    layer, h = randomised(DeepSetsLayer(DIM, 4)), features(12)
    mean = [h[ROWS_OF_GRAPH[b]].mean(0) for b in GRAPH]
    maps = [layer.W1.weight @ h[r] + layer.W1.bias + layer.W2.weight @ mean[r] + layer.W2.bias for r in NODES]
    close(layer(Case().s, h), torch.stack([torch.where(x > 0, x, torch.exp(x) - 1) for x in maps]))


# The rows and their sums


def test_rows_and_sums(case):
    s, x = case.s, features(len(case.rows))
    at = case.as_dict(x)
    assert list(zip(s.subgraph.tolist(), s.node.tolist(), strict=True)) == case.rows
    assert s.distance.tolist() == [D[row] for row in case.rows] and s.is_root().tolist() == [
        r == v for r, v in case.rows
    ]
    assert [case.rows[i] for i in s.root_row] == [(v, v) for v in NODES]
    close(s.sum_nodes(x), over_nodes(at))
    close(s.sum_subgraphs(x), over_roots(at, mean=False))
    close(s.mean_subgraphs(x), over_roots(at, mean=True))
    close(s.mean_nodes(x), over_nodes({row: value / sum(r == row[0] for r, _ in at) for row, value in at.items()}))
    h = features(12)
    close(s.of_nodes(h), case.table(lambda r, v: h[v]))
    close(s.of_subgraphs(h), case.table(lambda r, v: h[r]))
    close(s.sum_graphs(h), torch.stack([h[nodes].sum(0) for nodes in ROWS_OF_GRAPH.values()]))
    assert torch.equal(s.collect(s.spread(x)), x)


@pytest.mark.parametrize("sizes", [(4, 4), (4, 3)], ids=["one size", "two sizes"])
def test_swapping_the_ends_of_pairs(sizes):
    g = dgl.batch([dgl.graph(([0, 1], [1, 0]), num_nodes=n) for n in sizes])
    s = EgoNets(g, [np.zeros((n, n), dtype=np.int64) for n in sizes])
    pairs = torch.stack([s.subgraph, s.node], 1)
    assert torch.equal(s.swap(pairs), pairs.flip(1))


def test_different_numbers_of_subgraphs_per_graph():
    """Two subgraphs of a graph of three nodes, three of one of two nodes."""
    members = [np.array([[1, 1, 0], [0, 1, 1]], bool), np.array([[1, 0], [1, 1], [0, 1]], bool)]
    g = dgl.batch([dgl.graph(([0, 1, 1, 2], [1, 0, 2, 1])), dgl.graph(([0, 1], [1, 0]))])
    s = Subgraphs(g, members)
    assert s.S == 5 and s.k == 3
    assert s.node.tolist() == [0, 1, 1, 2, 3, 3, 4, 4] and s.subgraph.tolist() == [0, 0, 1, 1, 2, 3, 3, 4]
    x = torch.arange(1.0, 9.0)[:, None]
    assert s.sum_neighbours(x).flatten().tolist() == [2, 1, 4, 3, 0, 7, 6, 0]
    assert s.sum_nodes(x).flatten().tolist() == [3, 7, 5, 13, 8]
    assert s.sum_subgraphs(x).flatten().tolist() == [1, 5, 4, 11, 15]
    h = torch.arange(5.0)[:, None]
    assert s.of_subgraphs(h).flatten().tolist() == s.subgraph.tolist()


def test_evaluation_takes_mean_and_variance_of_the_last_batch():
    norm, (first, last, other) = LastBatchNorm(3).double(), features(12, 3).view(3, 4, 3)
    norm(first)
    norm(last)
    assert not list(norm.parameters())
    close(norm.eval()(other), (other - last.mean(0)) / (last.var(0) + 1e-5).sqrt())


# Pairs, gates and sets


def test_delta_lgnn():
    case, x = Case(), features(len(Case().rows))
    layer = randomised(DeltaLGNNLayer(DIM, 4))
    at = case.as_dict(x)  # at[w, v] is x_vw
    a = closed(case, at, layer.eps1)
    b = case.table(lambda w, v: (1 + layer.eps2) * at[w, v] + total((at[u, v] for u in NEIGHBOURS[w]), at[w, v]))
    close(layer(case.s, x), apply(layer.g3, torch.cat([apply(layer.g1, a), apply(layer.g2, b)], 1)))


def test_gated_graph_layer(case):
    layer, x = randomised(GatedGraphLayer(DIM)), features(len(case.rows))
    at, cell = case.as_dict(x), layer.gru

    def gru(m, h):
        from_m = (cell.weight_ih @ m + cell.bias_ih).view(3, DIM)
        from_h = (cell.weight_hh @ h + cell.bias_hh).view(3, DIM)
        r, z = torch.sigmoid(from_m[0] + from_h[0]), torch.sigmoid(from_m[1] + from_h[1])
        return (1 - z) * torch.tanh(from_m[2] + r * from_h[2]) + z * h

    rows = case.table(lambda r, v: gru(total((at[r, u] @ layer.W for u in case.inside(r, v)), at[r, v]), at[r, v]))
    close(layer(case.s, x), batch_norm(layer.norm, rows))


def test_set2set():
    layer, x = randomised(Set2Set(DIM, n_steps=3)), features(12)
    lstm, seen = layer.lstm, layer(x, torch.tensor(GRAPH), 3)
    for b, rows in ROWS_OF_GRAPH.items():
        q_star, h, c = (torch.zeros(d, dtype=torch.float64) for d in (2 * DIM, DIM, DIM))
        for _ in range(3):
            gates = lstm.weight_ih @ q_star + lstm.bias_ih + lstm.weight_hh @ h + lstm.bias_hh
            i, f, g, o = gates.view(4, DIM)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            weights = torch.exp(x[rows] @ h) / torch.exp(x[rows] @ h).sum()
            q_star = torch.cat([h, sum(w * x[t] for w, t in zip(weights, rows, strict=True))])
        close(seen[b], q_star)


def test_kp():
    K, c = 3, 2
    layer, x = randomised(KPLayer(K * c, K)), features(12, K * c)
    p = features(12, K * c).flip(0).view(12, K, c)
    theta = torch.stack([torch.sigmoid(layer.a) * (1 - torch.sigmoid(layer.a)) ** k for k in range(K)]).exp()
    theta = theta / theta.sum(0)
    rows = []
    for v in NODES:
        combined = 0
        for k in range(1, K + 1):
            part, q = slice(c * (k - 1), c * k), layer.q[min(k, 2) - 1]
            s = x[v, part] + p[v, k - 1]
            s = s + total((x[u, part] + q for u in ROWS_OF_GRAPH[GRAPH[v]] if D[u, v] == k), s)
            h = (s @ layer.P1[k - 1] + layer.b1[k - 1]).clamp(min=0)
            h = (h @ layer.P2[k - 1] + layer.b2[k - 1]).clamp(min=0)
            combined = combined + theta[k - 1] * h
        rows.append(combined)
    expected = batch_norm(layer.norm, apply([layer.W], torch.stack(rows)))
    close(layer(hop_graph(distance_matrices(), K), x, p), expected)


def test_kc_sets():
    """All sets of one to three of the nodes 0 to 3."""
    sets = [set(c) for size in (1, 2, 3) for c in combinations(range(4), size)]
    pairs = [(i, j) for i, S in enumerate(sets) for j, T in enumerate(sets) if S < T and len(T) == len(S) + 1]
    small, large = torch.tensor(pairs).T
    inclusions = Inclusions(torch.tensor([len(S) for S in sets]), small, large, k=3)
    layer, h = randomised(KCSetLayer(6)), features(len(sets), 6)
    above, below = ({i: [ends[1 - d] for ends in pairs if ends[d] == i] for i in range(len(sets))} for d in (0, 1))
    has_r, has_l = [i for i in above if above[i]], [i for i in below if below[i]]
    r = torch.stack([sum(h[j] for j in above[i]) for i in has_r])
    phi1, phi2 = apply(layer.phi1, h), dict(zip(has_r, apply(layer.phi2, r), strict=True))
    l_ = torch.stack([sum(phi1[j] for j in below[i]) for i in has_l])
    k = torch.stack([sum(phi2[j] for j in below[i]) for i in has_l])
    own = apply(layer.psi[0], h)
    w = [own]
    for psi, rows, values in ((1, has_r, r), (2, has_l, l_), (3, has_l, k)):
        of_row = dict(zip(rows, apply(layer.psi[psi], values), strict=True))
        w.append(torch.stack([of_row.get(i, own[i]) for i in range(len(sets))]))
    close(layer(inclusions, h), h + apply(layer.phi_out, torch.cat(w, 1)))


def test_the_start_layer_of_sets():
    layer, x, a = randomised(ConstantGINELayer(DIM)), features(12), features(1)[0]
    message = [(x[u] + layer.W_e.weight @ a + layer.W_e.bias).clamp(min=0) for u in NODES]
    x_hat = torch.stack([(1 + layer.eps) * x[v] + total((message[u] for u in NEIGHBOURS[v]), x[v]) for v in NODES])
    close(layer(batch(), x, a), x + batch_norm(layer.norm, apply(layer.mlp, x_hat)).clamp(min=0))


# Counts, weights and attention


def edges_in_order(g):
    return list(zip(*(end.tolist() for end in g.edges()), strict=True))


@pytest.mark.parametrize("with_ids", [True, False])
def test_gsn(with_ids):
    """Two groups, of three and two columns; place 5 is none."""
    g, x = batch(), features(12)
    layer = randomised(GSNLayer(DIM, 4, id_dim=5 if with_ids else 0))
    ids = torch.tensor([[e % 3, 3 + e % 3] for e in range(g.num_edges())])
    one_hot = torch.zeros(g.num_edges(), 6, dtype=torch.float64).scatter_(1, ids, 1.0)[:, : 5 if with_ids else 0]
    rows = torch.stack([torch.cat([x[v], x[u], one_hot[e]]) for e, (u, v) in enumerate(edges_in_order(g))])
    message = apply(layer.M, rows)
    ends = [v for _, v in edges_in_order(g)]
    m = torch.stack([total((message[e] for e, end in enumerate(ends) if end == v), message[0]) for v in NODES])
    expected = batch_norm(layer.norm, apply(layer.U, torch.cat([x, m], 1))).clamp(min=0)
    close(layer(g, x, ids) if with_ids else layer(g, x), expected)


def test_gsn_without_any_id_is_message_passing():
    g, x = batch(), features(12)
    layer, plain = randomised(GSNLayer(DIM, 4, id_dim=3)), randomised(GSNLayer(DIM, 4))
    state = layer.state_dict()
    plain.load_state_dict({**state, "M.0.weight": state["M.0.weight"][:, : 2 * DIM]})
    close(layer(g, x, torch.full((g.num_edges(), 2), 3)), plain(g, x))


def test_kp_of_one_hop_is_gin():
    """K = 1, without peripheral terms and edge vectors: W ReLU(GIN) with both maps of the same width."""
    g, x, layer = batch(), features(12), randomised(KPLayer(DIM, K=1))
    torch.nn.init.zeros_(layer.q)
    x_hat = torch.stack([x[v] + total((x[u] for u in NEIGHBOURS[v]), x[v]) for v in NODES])
    h = ((x_hat @ layer.P1[0] + layer.b1[0]).clamp(min=0) @ layer.P2[0] + layer.b2[0]).clamp(min=0)
    expected = batch_norm(layer.norm, apply([layer.W], h))
    close(layer(g, x, torch.zeros(12, 1, DIM, dtype=torch.float64)), expected)


def weighted_copies():
    """Three copies of all graphs, and a weight for each edge in each."""
    return Subgraphs(batch(), [np.ones((3, n), dtype=bool) for n in SIZES]), features(20, 3)


def test_weighted_gin():
    s, w = weighted_copies()
    layer, x = randomised(WeightedGINLayer(DIM)), features(36)
    rows = x.view(12, 3, DIM)
    x_hat = (1 + layer.eps) * rows
    for e, (u, v) in enumerate(edges_in_order(s.g)):
        for copy in range(3):
            x_hat = x_hat.index_put((torch.tensor(v), torch.tensor(copy)), w[e, copy] * rows[u, copy], accumulate=True)
    close(layer(s, x, w), batch_norm(layer.norm, apply(layer.mlp, x_hat.flatten(0, 1))))


def test_gradients_of_weighted_sums():
    s, w = weighted_copies()
    inputs = features(36).requires_grad_(), w.requires_grad_()
    assert torch.autograd.gradcheck(s.weighted_sum_neighbours, inputs, fast_mode=True)


def test_open_gcn():
    layer, x = randomised(OpenGCNLayer(DIM, 4)), features(12)
    y = apply([layer.W], x)
    degree = {v: len(NEIGHBOURS[v]) for v in NODES}
    rows = [[y[u] / ((degree[u] + 1) * (degree[v] + 1)) ** 0.5 for u in NEIGHBOURS[v]] for v in NODES]
    close(layer(batch(), x), torch.stack([total(row, y[0]) for row in rows]))


def layer_norm(norm, x):
    return (x - x.mean()) / torch.sqrt(x.var(unbiased=False) + norm.eps) * norm.weight + norm.bias


def linear(W, x):
    return W.weight @ x + W.bias


@pytest.mark.parametrize("n_real", [4, 3], ids=["all places", "one padded"])
def test_graphormer(n_real):
    """Two heads of three numbers. A padded place has no influence on the others."""
    layer, x, bias = randomised(GraphormerLayer(6, 2)).eval(), features(4, 6), features(8, 4).view(2, 4, 4)
    rows = []
    for i in range(n_real):
        heads = []
        for h in range(2):
            part = slice(3 * h, 3 * h + 3)
            q, k, v = (
                [linear(W, layer_norm(layer.norm1, row))[part] for row in x] for W in (layer.q, layer.k, layer.v)
            )
            weight = [torch.exp(q[i] @ k[j] / 3**0.5 + bias[h, i, j]) for j in range(n_real)]
            heads.append(sum(w * v[j] for j, w in enumerate(weight)) / sum(weight))
        x_hat = x[i] + linear(layer.o, torch.cat(heads))
        z = linear(layer.mlp[0], layer_norm(layer.norm2, x_hat))
        gelu = z * (1 + torch.erf(z / 2**0.5)) / 2
        rows.append(x_hat + linear(layer.mlp[2], gelu))
    bias = bias.clone()
    bias[:, :, n_real:] = -torch.inf
    close(layer(x[None], bias[None])[0, :n_real], torch.stack(rows))


def test_dropout_of_attention_acts_in_training_only():
    with pytest.raises(ValueError, match="n_heads=4: 6 numbers cannot be divided among so many heads"):
        GraphormerLayer(6, 4)
    layer, x, bias = GraphormerLayer(6, 2, attention_dropout=0.5), torch.randn(1, 4, 6), torch.zeros(1, 2, 4, 4)
    assert not torch.equal(layer(x, bias), layer(x, bias))
    assert torch.equal(layer.eval()(x, bias), layer(x, bias))


# The selection of OSAN


def numbered_edges():
    """The directed edges of the batch and their pairs."""
    g = batch()
    edges = edges_in_order(g)
    of_graph = [sorted({(min(e), max(e)) for e in edges if GRAPH[e[0]] == b}) for b in range(3)]
    number = [of_graph[GRAPH[u]].index((min(u, v), max(u, v))) for u, v in edges]
    return edges, EdgePairs(torch.tensor([GRAPH[u] for u, _ in edges]), torch.tensor(number), 3)


def left_out_by_loop(edges, theta):
    """For each graph and column the undirected edge with the smallest sum; of equal ones the last."""
    best = {}
    for column in range(theta.shape[1]):
        sums = {}
        for (u, v), value in zip(edges, theta[:, column].tolist(), strict=True):
            edge = min(u, v), max(u, v)
            sums[edge] = sums.get(edge, 0) + value
        for b in range(3):
            mine = {edge: value for edge, value in sums.items() if GRAPH[edge[0]] == b}
            best[b, column] = max(edge for edge, value in mine.items() if value == min(mine.values()))
    return best


@pytest.mark.parametrize("theta", [features(20, 4), features(20, 4).round()], ids=["all different", "with ties"])
def test_which_edges_are_left_out(theta):
    edges, pairs = numbered_edges()
    keep, left_out = keep_edges(theta, pairs), left_out_by_loop(edges, theta)
    for e, (u, v) in enumerate(edges):
        for column in range(4):
            assert keep[e, column] == (left_out[GRAPH[u], column] != (min(u, v), max(u, v)))


def test_the_gradient_of_a_selection():
    """I-MLE: what is kept, minus what would be kept after a step against the gradient."""
    _, pairs = numbered_edges()
    theta, noise, d_keep = features(20, 4).requires_grad_(), features(20, 4).flip(0), features(20, 4).flip(1)
    select_edges(theta, noise, pairs, strength=10.0).backward(d_keep)
    expected = keep_edges(theta + noise, pairs) - keep_edges(theta - 10 * d_keep + noise, pairs)
    assert torch.equal(theta.grad, expected) and expected.any()


def test_a_graph_without_edges_has_nothing_to_leave_out():
    none = EdgePairs(torch.zeros(0, dtype=torch.int64), torch.zeros(0, dtype=torch.int64), 2)
    assert keep_edges(torch.zeros(0, 3), none).shape == (0, 3) and spread_loss(torch.zeros(0, 3), none) == 0


def test_the_loss_of_uneven_selections():
    edges, pairs = numbered_edges()
    keep = keep_edges(features(20, 4), pairs)
    expected = 0
    for b in range(3):
        copies = torch.stack([keep[e].sum() for e, (u, _) in enumerate(edges) if GRAPH[u] == b])
        uniform = torch.full_like(copies, 1 / len(copies))
        expected += (uniform * (uniform / torch.softmax(copies, 0)).log()).sum() / len(copies)
    close(spread_loss(keep, pairs), expected)
    assert spread_loss(torch.ones(20, 4), pairs).abs() < 1e-6
