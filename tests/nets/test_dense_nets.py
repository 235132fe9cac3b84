"""The WL-GNNs as nets: input tensor and heads by the equations, batches, pieces and memory, and what they can tell apart."""

import dgl
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from data.CSL import skip_link_edges
from data.dataset import Features
from data.store import Field
from layers.padding import n_pairs, similar_sizes
from nets.dense_input import DenseInput
from nets.encodings import LapPE
from nets.gcn_net import GCNNet
from nets.ppgn_net import PPGNNet
from nets.ring_net import RingGNNNet
from nets.three_wl_net import ThreeWLGNNNet
from train.tasks import EdgeClassification, GraphClassification, NodeClassification

NETS = {"RingGNN": RingGNNNet, "3WLGNN": ThreeWLGNNNet}
TASKS = {"graph": GraphClassification(3), "node": NodeClassification(3), "edge": EdgeClassification()}
TYPES = Features(Field("node", "feat", "int64", n_types=3), Field("edge", "feat", "int64", n_types=2))
FLOATS = Features(Field("node", "feat", "float32", (3,)), Field("edge", "feat", "float32", (2,)))
NOTHING = Features(None, None)


def net_of(model, level="graph", features=TYPES, dtype=torch.float64, **options):
    """All parameters drawn at random, small enough that values stay near 1."""
    torch.manual_seed(0)
    config = NETS[model].Config(**({"L": 2, "hidden_dim": 8} | options))
    net = NETS[model](config, features, TASKS[level]).to(dtype)
    for p in net.parameters():
        torch.nn.init.normal_(p, std=0.3)
    return net


def random_graph(n, n_edges, seed=0, features=TYPES):
    """Any edges: self-loops and duplicates among them."""
    rng = torch.Generator().manual_seed(seed)
    g = dgl.graph(tuple(torch.randint(max(n, 1), (2, n_edges), generator=rng)), num_nodes=n)
    for frame, field, rows in ((g.ndata, features.node, n), (g.edata, features.edge, n_edges)):
        if field is not None and field.n_types is not None:
            frame["feat"] = torch.randint(field.n_types, (rows,), generator=rng)
        elif field is not None:
            frame["feat"] = torch.randn(rows, *field.shape, generator=rng)
    g.ndata["laplacian"] = torch.randn(n, 2, generator=rng)
    return g


def some_graphs(sizes=(4, 1, 6, 2, 5, 6), features=TYPES):
    return [random_graph(n, 0 if n == 2 else 3 * n, seed, features) for seed, n in enumerate(sizes)]


@pytest.fixture(params=NETS)
def model(request):
    return request.param


@pytest.fixture(params=TASKS)
def level(request):
    return request.param


# The input tensor


def input_by_loop(g, features, config):
    """Eq. (36)-(39) for one graph, channels last as printed."""
    n, (src, dst) = g.num_nodes(), (ends.tolist() for ends in g.edges())
    degree = [dst.count(i) for i in range(n)]
    tensor = torch.zeros(n, n, 0)

    def channel(values):
        nonlocal tensor
        tensor = torch.cat([tensor, values[..., None]], 2)

    A = torch.zeros(n, n)
    for i, j in zip(src, dst, strict=True):
        if config.adjacency == "plain":
            A[i, j] += 1
        elif degree[i] and degree[j]:
            A[i, j] += 1 / (degree[i] * degree[j]) ** 0.5
    channel(A)
    if features.node is None and not config.encodings:
        channel(torch.eye(n) * (config.form == "text"))
    elif features.node is not None:
        feat = g.ndata["feat"]
        for c in range(features.node.n_types or features.node.shape[0]):
            channel(torch.diag((feat == c).float() if features.node.n_types else feat[:, c]))
    for encoding in config.encodings:
        for c in range(encoding.k):
            p = g.ndata["laplacian"][:, c]
            channel(torch.diag(p.abs() if encoding.signs == "abs" else p))
    if config.edge_feat:
        feat = g.edata["feat"]
        for c in range(features.edge.n_types or features.edge.shape[0]):
            values = torch.zeros(n, n)
            for e, (i, j) in enumerate(zip(src, dst, strict=True)):
                values[i, j] += (feat[e] == c) if features.edge.n_types else feat[e, c]
            channel(values)
    return tensor


@pytest.mark.parametrize("features", [TYPES, FLOATS, NOTHING], ids=["types", "floats", "nothing"])
@pytest.mark.parametrize(("adjacency", "form"), [("plain", "text"), ("sym_norm", "program")])
@pytest.mark.parametrize(
    "options",
    [{}, {"edge_feat": True}, {"encodings": [LapPE(k=2)]}, {"encodings": [LapPE(k=2, signs="abs")]}],
    ids=str,
)
def test_the_input_tensor_is_that_of_the_equations(features, adjacency, form, options):
    if features.edge is None:
        options = options | {"edge_feat": False}
    config = RingGNNNet.Config(L=1, hidden_dim=1, adjacency=adjacency, form=form, **options)
    graphs = some_graphs(features=features)
    make = DenseInput(features, config)
    h, padding = make(dgl.batch(graphs), torch.float64).dense()
    assert padding.sizes.tolist() == [g.num_nodes() for g in graphs] and len(h) == make.dim
    for b, g in enumerate(graphs):
        n = g.num_nodes()
        expected = input_by_loop(g, features, config).permute(2, 0, 1).double()
        torch.testing.assert_close(h[:, b, :n, :n], expected, rtol=0, atol=1e-6)
        assert not h[:, b, n:].any() and not h[:, b, :, n:].any()


def test_duplicate_edges_are_counted_and_self_loops_stand_on_the_diagonal():
    g = dgl.graph(([0, 0, 1], [1, 1, 1]), num_nodes=2)
    for config, diagonal in (
        (RingGNNNet.Config(L=1, hidden_dim=1), 0),
        (ThreeWLGNNNet.Config(L=1, hidden_dim=1, form="text"), 1),
        (PPGNNet.Config(L=1, hidden_dim=1), 1),
    ):
        h, _ = DenseInput(NOTHING, config)(g, torch.float64).dense()
        assert h[0, 0].tolist() == [[0, 2], [0, 1]]
        assert h[1, 0].tolist() == [[diagonal, 0], [0, diagonal]]


def test_signs_flip_in_training_only_and_together_for_the_whole_batch():
    config = RingGNNNet.Config(L=1, hidden_dim=1, encodings=[LapPE(k=2, signs="flip")])
    make, seen = DenseInput(NOTHING, config), set()
    g = dgl.batch(some_graphs())
    for _ in range(30):
        signs = make(g, torch.float64).node / g.ndata["laplacian"]
        assert (signs == signs[0]).all() and (signs.abs() == 1).all()
        seen.add(tuple(signs[0].tolist()))
    assert len(seen) == 4
    make.eval()
    assert torch.equal(make(g, torch.float32).node, g.ndata["laplacian"])


def test_missing_inputs_are_errors(model):
    with pytest.raises(ValueError, match="no edge features"):
        net_of(model, features=NOTHING, edge_feat=True)
    with pytest.raises(ValueError, match="NodeIndex"):
        NETS[model].Config(L=1, hidden_dim=2, encodings=[{"kind": "NodeIndex", "n": 3}])


# Heads, for one graph, from the tensors of the layers


def scores_by_equation(net, g):
    """Eq. (45)-(54), from layers that are tested by themselves."""
    h, padding = net.input(g, torch.float64).dense()
    tensors = [h]
    for layer in net.layers:
        tensors.append(layer(tensors[-1], padding))
    tensors = [h[:, 0] for h in tensors]
    n, ends = g.num_nodes(), list(zip(*(e.tolist() for e in g.edges()), strict=True))
    per_layer = hasattr(net.head, "P")
    if net.level == "graph" and per_layer:
        rest = [torch.stack([h[:, i, j] for i in range(n) for j in range(n) if i != j]).amax(0) for h in tensors[1:]]
        ys = [torch.cat([h.diagonal(dim1=1, dim2=2).amax(1), r]) for h, r in zip(tensors[1:], rest, strict=True)]
        return sum(P.weight @ y + P.bias for P, y in zip(net.head.P, ys, strict=True))[None]
    if net.level == "graph":
        return net.head.mlp(torch.cat([h.sum((1, 2)) for h in tensors]))[None]
    nodes = [[h[:, i].sum(1) for i in range(n)] for h in tensors]  # Σ_j h_ij
    items = [(i,) for i in range(n)] if net.level == "node" else ends
    rows = []
    for item in items:
        if per_layer:
            ys = [torch.cat([y[i] for i in item]) for y in nodes[1:]]
            rows.append(sum(P.weight @ y + P.bias for P, y in zip(net.head.P, ys, strict=True)))
        else:
            rows.append(net.head.mlp(torch.cat([torch.cat([y[i] for y in nodes]) for i in item])))
    return torch.stack(rows)


@pytest.mark.parametrize(
    ("model", "level", "options"),
    [
        ("RingGNN", "graph", {}),
        ("RingGNN", "node", {"residual": True}),
        ("RingGNN", "edge", {"edge_feat": True}),
        ("3WLGNN", "graph", {}),
        ("3WLGNN", "node", {"residual": True}),
        ("3WLGNN", "edge", {"edge_feat": True}),
        ("3WLGNN", "edge", {"edge_readout": "per_layer"}),
    ],
)
def test_the_heads_are_those_of_the_equations(model, level, options):
    net, g = net_of(model, level, **options), random_graph(4, 9)
    torch.testing.assert_close(net(g), scores_by_equation(net, g), rtol=0, atol=1e-10)


def test_the_form_reaches_the_layers():
    """RingGNN: at nodes and edges we sum over the other index than the program, so of a product the other factor has the bias."""
    biased = {
        (level, form): net_of("RingGNN", level, form=form).layers[1].L.biased
        for level in TASKS
        for form in ("program", "text")
    }
    assert biased["graph", "program"] == [0, 2] and biased["node", "program"] == biased["edge", "program"] == [0, 1]
    assert all(biased[level, "text"] == [0, 1, 2] for level in TASKS)
    assert not net_of("3WLGNN", form="text").layers[1].M1.last_relu


def test_the_head_of_3wlgnn_starts_as_in_the_program():
    """Xavier-uniform with bias 0 where each layer is read by itself; where one MLP reads all layers as nn.Linear has it."""
    config = ThreeWLGNNNet.Config(L=1, hidden_dim=200)
    torch.manual_seed(0)
    P = ThreeWLGNNNet(config, TYPES, TASKS["graph"]).head.P[0]
    assert P.weight.abs().max().item() == pytest.approx((6 / (400 + 3)) ** 0.5, rel=0.01) and not P.bias.any()
    mlp = ThreeWLGNNNet(config, TYPES, TASKS["edge"]).head.mlp
    assert mlp.hidden[0].weight.abs().max().item() == pytest.approx((2 * (200 + 4)) ** -0.5, rel=0.01)


# Batches


@settings(max_examples=10, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 7), st.integers(0, 12)), min_size=1, max_size=6),
    st.sampled_from(sorted(NETS)),
    st.sampled_from(sorted(TASKS)),
)
def test_a_batch_equals_its_graphs_one_by_one(shapes, model, level):
    net = net_of(model, level, edge_feat=True, layer_norm=True, residual=True)
    graphs = [random_graph(n, n_edges, seed) for seed, (n, n_edges) in enumerate(shapes)]
    alone = torch.cat([net(g) for g in graphs])
    torch.testing.assert_close(net(dgl.batch(graphs)), alone, rtol=1e-10, atol=1e-10)
    single = net.float()
    torch.testing.assert_close(single(dgl.batch(graphs)), alone.float(), rtol=1e-5, atol=1e-5)


def test_graphs_without_nodes_or_edges(model):
    net = net_of(model)
    graphs = [random_graph(n, 0) for n in (0, 3, 1, 0)]
    scores = net(dgl.batch(graphs))
    assert torch.isfinite(scores).all() and torch.equal(scores[0], scores[3])
    torch.testing.assert_close(scores, torch.cat([net(g) for g in graphs]), rtol=0, atol=1e-10)
    scores.sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in net.parameters())


def test_scores_do_not_depend_on_the_numbering(model, level):
    net, g, number = net_of(model, level, edge_feat=True), random_graph(6, 14), torch.randperm(6)
    src, dst = g.edges()
    renumbered = dgl.graph((number[src], number[dst]), num_nodes=6)
    renumbered.edata["feat"] = g.edata["feat"]
    renumbered.ndata["feat"] = torch.empty_like(g.ndata["feat"])
    renumbered.ndata["feat"][number] = g.ndata["feat"]
    scores = net(renumbered)
    torch.testing.assert_close(scores[number] if level == "node" else scores, net(g), rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    "options", [{}, {"residual": True, "layer_norm": True, "dropout": 0.3}], ids=["printed", "all"]
)
def test_every_parameter_receives_a_finite_gradient(model, level, options):
    net = net_of(model, level, edge_feat=True, **options)
    net(dgl.batch(some_graphs())).square().sum().backward()
    for name, p in net.named_parameters():
        assert p.grad is not None and torch.isfinite(p.grad).all() and p.grad.any(), name


def test_nothing_is_left_on_the_graph(model):
    g = dgl.batch(some_graphs())
    before = set(g.ndata) | set(g.edata)
    net_of(model)(g)
    assert set(g.ndata) | set(g.edata) == before


def test_equal_to_the_bit_with_deterministic_algorithms(model, level):
    g = dgl.batch(some_graphs())
    torch.use_deterministic_algorithms(True)
    try:
        runs = []
        for _ in range(2):
            net = net_of(model, level, dtype=torch.float32, dropout=0.2, memory_budget=1e-5)
            torch.manual_seed(1)
            scores = net(g)
            scores.square().sum().backward()
            runs.append([scores, *(p.grad for p in net.parameters())])
        assert all(torch.equal(a, b) for a, b in zip(*runs, strict=True))
    finally:
        torch.use_deterministic_algorithms(False)


# Pieces and memory


@given(st.lists(st.integers(0, 40), min_size=1, max_size=30), st.sampled_from([1, 500, 3000, np.inf]))
def test_pieces_hold_every_graph_once_and_keep_the_limit(sizes, max_pairs):
    sizes = np.array(sizes)
    pieces = similar_sizes(sizes, max_pairs)
    assert sorted(np.concatenate(pieces)) == list(range(len(sizes)))
    assert all(len(piece) == 1 or n_pairs(sizes[piece]) <= max_pairs for piece in pieces)
    assert all((np.diff(piece) > 0).all() for piece in pieces)


def test_graphs_of_very_different_size_are_not_padded_together():
    sizes = np.array([100, 10, 11, 100, 12])
    assert sorted(sorted(piece.tolist()) for piece in similar_sizes(sizes)) == [[0, 3], [1, 2, 4]]


@pytest.mark.parametrize("dropout", [0.0, 0.4])
def test_a_small_budget_changes_neither_scores_nor_gradients(model, level, dropout):
    g, results = dgl.batch(some_graphs((4, 1, 6, 2, 5, 6, 3, 6))), []
    for budget in (1000.0, 3e-4, 1e-9):
        net = net_of(model, level, edge_feat=True, dropout=dropout, memory_budget=budget)
        sizes = g.batch_num_nodes().numpy()
        pieces, recompute = net._pieces(sizes, 8)
        n_pieces = {1000.0: 1, 1e-9: len(sizes)}.get(budget)
        assert len(pieces) == n_pieces or (n_pieces is None and 1 < len(pieces) < len(sizes))
        assert recompute == (budget < 1)
        torch.manual_seed(1)  # of the dropout
        scores = net(g)
        # a loss that mixes all scores
        (scores.softmax(0)[:, 0].square().sum() + scores.std()).backward()
        results.append([scores.detach(), *(p.grad for p in net.parameters())])
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)


def peak_bytes(run):
    """Most memory that torch holds at once during `run`, above what it held before."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        run()
    events = [e for e in profile.profiler.kineto_results.events() if e.name() == "[memory]"]
    start = "start_ns" if hasattr(events[0], "start_ns") else "start_us"  # torch 2.2 counts microseconds
    held = np.cumsum([e.nbytes() for e in sorted(events, key=lambda e: getattr(e, start)())])
    return int(held.max())


@pytest.mark.parametrize(
    "options", [{}, {"residual": True, "layer_norm": True, "dropout": 0.1}], ids=["printed", "all"]
)
def test_the_budget_bounds_the_memory(model, options):
    g = dgl.batch([random_graph(40, 200, seed) for seed in range(12)])
    peaks = {}
    for budget in (1000.0, 0.006):
        net = net_of(model, dtype=torch.float32, hidden_dim=32, memory_budget=budget, **options)
        net(g).sum().backward()  # the gradients are there already when it is measured
        peaks[budget] = peak_bytes(lambda net=net: net(g).sum().backward())
        pieces, _ = net._pieces(g.batch_num_nodes().numpy(), 4)
    assert len(pieces) > 2
    assert peaks[0.006] < 1.1 * 0.006 * 2**30
    assert peaks[0.006] < 0.5 * peaks[1000.0]


def test_the_budget_is_no_part_of_a_runs_identity(model):
    field = NETS[model].Config.model_fields["memory_budget"]
    assert field.json_schema_extra == {"identity": False}


# What they can tell apart


def cycles(*lengths):
    graphs = [dgl.graph((np.r_[:n, :n], np.r_[np.roll(np.arange(n), 1), np.roll(np.arange(n), -1)])) for n in lengths]
    return dgl.batch(graphs)


def joined(g):
    """The same nodes and edges as one graph."""
    src, dst = g.edges()
    return dgl.graph((src, dst), num_nodes=g.num_nodes())


def skip_links(skip):
    src, dst = skip_link_edges(41, skip)
    return dgl.graph((torch.as_tensor(src), torch.as_tensor(dst)), num_nodes=41)


PAIRS = {"one hexagon or two triangles": (cycles(6), joined(cycles(3, 3))), "skips": (skip_links(2), skip_links(3))}


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("adjacency", ["plain", "sym_norm"])
def test_both_separate_what_message_passing_cannot(pair, adjacency, model):
    a, b = PAIRS[pair]
    torch.manual_seed(0)
    gcn = GCNNet(GCNNet.Config(L=4, hidden_dim=16), NOTHING, TASKS["graph"]).double().eval()
    torch.testing.assert_close(gcn(a), gcn(b), rtol=0, atol=1e-12)
    net = (
        NETS[model](NETS[model].Config(L=3, hidden_dim=16, adjacency=adjacency), NOTHING, TASKS["graph"])
        .double()
        .eval()
    )
    assert (net(a) - net(b)).abs().max() > 1e-6
