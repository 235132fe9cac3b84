"""The perturbations of the Taxonomy: numbers of its program on three small graphs, and what must hold on any graph."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.check import check_store
from data.dataset import DataConfig, GraphDataset
from data.errors import DataError
from data.store import Field, Packed, PackedWriter, StoreError
from data.transforms.perturb import (
    FiedlerFrag,
    Frag,
    FullyConn,
    Graph,
    HighPass,
    LowPass,
    MidPass,
    NodeDeg,
    NoEdges,
    NoNodeFtrs,
    RandomEdgeRewire,
    RandomNodeFeatures,
    perturbed,
    simple_edges,
)

PATH = [(3, 6), (6, 7), (7, 8)]
G1 = (9, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5), (0, 2), *PATH])
G2 = (13, [*G1[1], (9, 10), (10, 11)])
G3 = (24, [*((i, i + 1) for i in range(23)), (0, 5), (5, 11), (11, 17), (2, 20)])
PASSES = {"low": LowPass, "mid": MidPass, "high": HighPass}
EVERY = [
    NoNodeFtrs(), NodeDeg(), NodeDeg(columns="distinct"), LowPass(), MidPass(), HighPass(), LowPass(filter="wavelets"),
    MidPass(filter="wavelets"), HighPass(filter="wavelets"), RandomNodeFeatures(), NoEdges(), FullyConn(), Frag(k=1), Frag(k=2),
    Frag(k=3, draws="own"), Frag(k=1, directions="descending"), FiedlerFrag(max_size=4),
    FiedlerFrag(matrix="laplacian", max_size=4), RandomEdgeRewire(),
]  # fmt: skip


def graph(n, edges):
    i, j = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    x = np.cos(0.5 * (2 * np.arange(n)[:, None] + np.arange(2)))
    return Graph(n, np.r_[i, j], np.r_[j, i], x)


def edges_of(g):
    return sorted(zip(*(end.tolist() for end in simple_edges(g)), strict=True))


# What the program gives. Rows 0 and 8 of G1, row 9 of G2
FILTERED = {
    ("bands", "low"): ([0.32211653, 0.06723409], [0.4597623, 0.04454026], [-0.52333273, -0.29659454]),
    ("bands", "mid"): ([0.61463545, 0.74986181], [-0.54742817, -0.59467654], [-0.45777798, -0.74023846]),
    ("bands", "high"): ([0.06324802, 0.06048666], [-0.05783416, -0.05187562], [0.06998044, 0.03966084]),
    ("wavelets", "low"): ([0.40013046, 0.27473239], [0.29685005, -0.01688141], [-0.63777722, -0.48165416]),
    ("wavelets", "mid"): ([0.19870279, 0.18963074], [-0.10305537, -0.16157045], [-0.11444449, -0.18505961]),
    ("wavelets", "high"): ([0.40116676, 0.41321943], [-0.33929472, -0.42356004], [-0.15890855, -0.33045838]),
}


@pytest.mark.parametrize(("filter", "band"), FILTERED)
def test_filters(filter, band):
    perturbation = PASSES[band](filter=filter)
    x1, x2 = (perturbation.apply(graph(*g)).x for g in (G1, G2))
    first, last, second = FILTERED[filter, band]
    np.testing.assert_allclose([x1[0], x1[8], x2[9]], [first, last, second], atol=1e-6)


def test_degrees_as_categories():
    """One category per degree; in one graph the degrees that occur, and a row of zeros for a last node without out-edges."""
    degrees = [3, 2, 3, 3, 2, 2, 2, 2, 1]
    assert NodeDeg().apply(graph(*G1)).x.tolist() == degrees
    x = NodeDeg(columns="distinct").apply(graph(*G1), facts=[1, 2, 3]).x
    assert x.argmax(1).tolist() == [d - 1 for d in degrees] and (x.sum(1) == 1).all()
    x = NodeDeg(columns="distinct").apply(graph(*G2), facts=[1, 2, 3]).x
    assert x[:12].argmax(1).tolist() == [2, 1, 2, 2, 1, 1, 1, 1, 0, 0, 1, 0] and not x[12].any()


# {(graph, k, seed): edges} of the program
FRAGMENTS = {
    ("G1", 1, 0): [(0, 5), (1, 2), (3, 6), (4, 5), (7, 8)],
    ("G1", 2, 0): [(0, 1), (0, 2), (0, 5), (1, 2), (2, 3), (3, 4), (4, 5), (6, 7), (7, 8)],
    ("G1", 3, 0): [(0, 1), (0, 2), (0, 5), (1, 2), (2, 3), (3, 4), (3, 6), (4, 5), (7, 8)],
    ("G1", 1, 1): [(0, 5), (1, 2), (3, 6), (4, 5), (6, 7)],
    ("G2", 1, 0): [(0, 5), (1, 2), (3, 6), (4, 5), (7, 8), (9, 10), (10, 11)],
    ("G2", 1, 1): [(0, 5), (1, 2), (2, 3), (4, 5), (6, 7), (7, 8), (10, 11)],
    ("G2", 3, 1): [(0, 1), (0, 2), (0, 5), (1, 2), (2, 3), (3, 4), (3, 6), (4, 5), (7, 8), (9, 10), (10, 11)],
}


@pytest.mark.parametrize(("name", "k", "seed"), FRAGMENTS)
def test_fragments(name, k, seed):
    perturbation = Frag(k=k)
    fragmented = perturbation.apply(graph(*{"G1": G1, "G2": G2}[name]), perturbation.generator(seed, 7))
    assert edges_of(fragmented) == FRAGMENTS[name, k, seed]


def test_fragments_of_a_directed_graph():
    """All edges, or those from a node to one with a smaller number, in both directions. Self-loops are dropped."""
    src, dst = np.array([(0, 1), (2, 1), (2, 3), (4, 3), (4, 0), (2, 2)]).T
    directed = Graph(5, src, dst)  # the first fragment is that of node 4
    made = {d: Frag(k=2, directions=d).apply(directed, np.random.RandomState(0)) for d in ("both", "descending")}
    assert edges_of(made["both"]) == [(0, 1), (0, 4), (1, 2), (2, 3), (3, 4)]
    assert edges_of(made["descending"]) == [(0, 4), (1, 2), (3, 4)]
    for fragmented in made.values():
        pairs = set(zip(fragmented.src.tolist(), fragmented.dst.tolist(), strict=True))
        assert pairs == {(v, u) for u, v in pairs} and len(pairs) == len(fragmented.src)
    ascending = Graph(3, np.array([0, 1]), np.array([1, 2]))
    assert edges_of(Frag(k=1, directions="descending").apply(ascending, np.random.RandomState(0))) == []


def test_fragments_are_followed_along_the_edges_that_are_taken():
    """2 -> 4 ascends. From node 2 the descending edges lead to 3 alone, all of them to 3 and 4."""
    src, dst = np.array([(2, 4), (4, 3), (3, 2), (1, 0)]).T
    made = {
        d: edges_of(Frag(k=1, directions=d).apply(Graph(5, src, dst), np.random.RandomState(0)))
        for d in ("both", "descending")
    }
    assert made == {"both": [(0, 1), (2, 3), (2, 4), (3, 4)], "descending": [(0, 1), (3, 4)]}


@pytest.mark.parametrize("k", (1, 2))
def test_fragments_of_an_undirected_graph_need_no_choice_of_directions(k):
    whole = graph(*G2)
    made = [Frag(k=k, directions=d).apply(whole, np.random.RandomState(0)) for d in ("both", "descending")]
    assert edges_of(made[0]) == edges_of(made[1]) and len(made[0].src) == len(made[1].src)


# {(graph, matrix, max_size): edges} of the program, 10 iterations. (With size 5 the Laplacian cuts a cycle of seven nodes of G3,
# whose eigenvalue is double: the vector is the solver's choice.)
CUT = {
    ("G1", "adjacency", 5): [(1, 2), (3, 4)],
    ("G1", "laplacian", 5): [(0, 1), (0, 2), (1, 2), (3, 4), (4, 5), (6, 7), (7, 8)],
    ("G2", "adjacency", 5): [(1, 2), (3, 4), (9, 10), (10, 11)],
    ("G2", "laplacian", 5): [(0, 1), (0, 2), (1, 2), (3, 4), (4, 5), (6, 7), (7, 8), (9, 10), (10, 11)],
    ("G3", "adjacency", 20): [(5, 11), (13, 14)],
    ("G3", "adjacency", 5): [(5, 11), (13, 14)],
    ("G3", "laplacian", 20): sorted({tuple(sorted(e)) for e in G3[1]} - {(0, 1), (3, 4), (17, 18)}),
}  # fmt: skip


@pytest.mark.parametrize(("name", "matrix", "max_size"), CUT)
def test_cuts_by_an_eigenvector(name, matrix, max_size):
    perturbation = FiedlerFrag(matrix=matrix, max_size=max_size)
    cut = perturbation.apply(graph(*{"G1": G1, "G2": G2, "G3": G3}[name]))
    assert edges_of(cut) == CUT[name, matrix, max_size]


@pytest.mark.parametrize("matrix", ["adjacency", "laplacian"])
def test_small_components_are_not_cut(matrix):
    for g in (G1, G2):
        assert edges_of(FiedlerFrag(matrix=matrix).apply(graph(*g))) == sorted(g[1])


@pytest.mark.parametrize("matrix", ["adjacency", "laplacian"])
def test_large_graphs_are_cut_as_small_ones(monkeypatch, matrix):
    """One eigenvector by Lanczos iterations is that of the dense solver."""
    g = nx.random_regular_graph(3, 60, seed=1)
    dense = FiedlerFrag(matrix=matrix, iterations=1).apply(graph(60, list(g.edges)))
    monkeypatch.setattr("data.transforms.perturb.DENSE_UP_TO", 10)
    assert edges_of(FiedlerFrag(matrix=matrix, iterations=1).apply(graph(60, list(g.edges)))) == edges_of(dense)


# --------------------------------------------------------------------------------------------------------------------
# What must hold on any graph


@st.composite
def any_graph(draw):
    """Directed edges, self-loops and duplicates among 1 to 12 nodes."""
    n = draw(st.integers(1, 12))
    edges = np.array(draw(st.lists(st.tuples(*[st.integers(0, n - 1)] * 2), max_size=30)), dtype=np.int64).reshape(
        -1, 2
    )
    return Graph(n, edges[:, 0], edges[:, 1], np.random.default_rng(n).normal(size=(n, 3)))


@settings(max_examples=60, deadline=None)
@given(any_graph(), st.sampled_from(["bands", "wavelets"]))
def test_the_parts_of_a_filter_add_up(g, filter):
    """Wavelets always; bands where no third is empty. A band is a projection: applied twice it is the same."""
    low, mid, high = [p(filter=filter).apply(g).x for p in PASSES.values()]
    if filter == "wavelets" or (g.n >= 3 and len(simple_edges(g)[0])):
        np.testing.assert_allclose(low + mid + high, g.x, atol=1e-5)
    if filter == "bands" and g.n >= 3:
        np.testing.assert_allclose(LowPass().apply(g._replace(x=low)).x, low, atol=1e-5)


@settings(max_examples=60, deadline=None)
@given(any_graph(), st.integers(1, 3), st.integers(0, 5))
def test_a_fragment_lies_around_its_seed(g, k, seed):
    """Every component of the result has a node within k steps of all others, and its edges are edges of the graph."""
    perturbation = Frag(k=k, draws="own")
    edges = edges_of(perturbation.apply(g, perturbation.generator(seed, 3)))
    made = nx.Graph(edges)
    assert all(nx.radius(made.subgraph(c)) <= k for c in nx.connected_components(made))
    assert set(edges) <= set(edges_of(g))


@settings(max_examples=40, deadline=None)
@given(any_graph(), st.sampled_from(["adjacency", "laplacian"]))
def test_cut_until_small(g, matrix):
    edges = edges_of(FiedlerFrag(matrix=matrix, iterations=100, max_size=3).apply(g))
    assert all(len(c) < 3 for c in nx.connected_components(nx.Graph(edges))) and set(edges) <= set(edges_of(g))


@settings(max_examples=40, deadline=None)
@given(any_graph(), st.integers(0, 5))
def test_rewiring_keeps_the_degrees(g, seed):
    made = RandomEdgeRewire().apply(g, np.random.default_rng(seed))
    before = np.bincount(np.concatenate(simple_edges(g)), minlength=g.n)
    assert np.array_equal(np.bincount(made.src, minlength=g.n), before)
    assert np.array_equal(np.bincount(made.dst, minlength=g.n), before)


def test_filters_of_a_constant_feature_tell_the_degrees():
    """So on datasets without features the three filters add structure."""
    star = graph(5, [(0, i) for i in range(1, 5)])._replace(x=np.ones((5, 1)))
    x = LowPass().apply(star).x
    assert abs(x[0] - x[1]) > 0.1


# --------------------------------------------------------------------------------------------------------------------
# Stores


def write_store(path, graphs=(G1, G2, G3), edge_label=False):
    fields = [
        Field("node", "feat", "float32", (2,)),
        Field("edge", "feat", "int64", n_types=1000),
        Field("graph", "label", "int64", n_types=3),
    ]
    if edge_label:
        fields[2] = Field("edge", "label", "int64", n_types=2)
    with PackedWriter(path, "THREE", fields) as writer:
        for i, g in enumerate(graph(*g) for g in graphs):
            edge = {"feat": np.arange(len(g.src))} | ({"label": g.src % 2} if edge_label else {})
            writer.add(g.n, g.src, g.dst, node={"feat": g.x}, edge=edge, graph={} if edge_label else {"label": i})
        writer.add_split("split", train=[0], val=[1], test=[2])
    return Packed(path)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return write_store(tmp_path_factory.mktemp("stores") / "three")


@pytest.mark.parametrize("perturbation", EVERY, ids=lambda p: f"{p.label}-{len(p.model_dump_json())}")
def test_only_features_or_only_edges_change(store, perturbation):
    made = perturbed(store, [perturbation], seed=4)
    assert made.hash != store.hash and made.name == f"THREE+{perturbation.label}" and made.splits == store.splits
    for i in range(3):
        same_edges = np.array_equal(np.stack(made.edges(i)), np.stack(store.edges(i)))
        same_features = np.array_equal(made.rows("node.feat", i), store.rows("node.feat", i))
        assert same_edges == (perturbation.changes == "features") and same_features == (perturbation.changes == "edges")
    assert ("edge.feat" in made.fields) == (perturbation.changes == "features")
    assert made.batch([0, 2]).y.tolist() == [0, 2] and made.batch([0, 2]).g.num_nodes() == 33
    assert not [text for kind, text in check_store(made) if kind == "error" and "class" not in text]
    made.verify()


def test_a_perturbed_store_is_computed_once(store, monkeypatch):
    first = perturbed(store, [Frag(k=1), NodeDeg()], seed=1)
    monkeypatch.setattr(Frag, "apply", None)
    monkeypatch.setattr(NodeDeg, "survey", None)
    again = perturbed(store, [Frag(k=1), NodeDeg()], seed=1)
    assert again.hash == first.hash and again.name == "THREE+Frag-k1+NodeDeg"
    assert again.fields["node.feat"].n_types == 1 + max(np.bincount(again.edges(i)[0]).max() for i in range(3))
    with pytest.raises(TypeError):
        perturbed(store, [Frag(k=1)], seed=2)  # another seed: computed anew


def test_it_reaches_other_processes(store):
    import pickle

    for perturbation in EVERY:
        made = perturbed(store, [perturbation], seed=4)
        copy = pickle.loads(pickle.dumps(made))
        assert copy.hash == made.hash and copy.fields == made.fields and copy.cliques == made.cliques
        assert np.array_equal(np.stack(copy.edges(1)), np.stack(made.edges(1)))


def test_cliques(store):
    """n (n - 1) edges in a batch, and none on the disk."""
    made = perturbed(store, [FullyConn()])
    g = made.batch([2, 0]).g
    assert g.batch_num_edges().tolist() == [24 * 23, 9 * 8] and made.n_edges == 24 * 23 + 13 * 12 + 9 * 8
    src, dst = (end.numpy() for end in g.edges())
    assert (src != dst).all() and len(set(zip(src.tolist(), dst.tolist(), strict=True))) == len(src)
    assert ((src < 24) == (dst < 24)).all() and len(made.column("edge.src")) == 0
    marked = made.with_cliques("marked").batch([2, 0]).g
    assert marked.num_edges() == 0 and marked.ndata["clique"].all()
    assert "clique" not in store.with_cliques("marked").batch([0]).g.ndata


def test_a_rebuilt_source_is_noticed(tmp_path):
    made = perturbed(write_store(tmp_path / "a"), [NoEdges()])
    name = next(iter(made._derived))
    other = write_store(tmp_path / "b", (G1, G2, G2))
    (tmp_path / "b/derived").mkdir()
    (tmp_path / f"a/derived/{name}").rename(tmp_path / f"b/derived/{name}")
    with pytest.raises(StoreError, match="another store"):
        other.with_derived(name)


def test_labels_of_edges_need_the_edges(tmp_path):
    store = write_store(tmp_path / "edges", edge_label=True)
    with pytest.raises(DataError, match="these are what is predicted"):
        perturbed(store, [Frag(k=1)])
    assert perturbed(store, [NoNodeFtrs()]).batch([0]).y is not None


class Three(GraphDataset):
    name, version, parameters = "THREE", 1, {}

    def build(self, path):
        write_store(path)


def test_a_dataset_takes_them_from_its_configuration(tmp_path):
    config = DataConfig(store_dir=str(tmp_path), transforms=[{"kind": "Frag", "k": 2}])
    by_seed = [Three(config.of_run(seed)).store for seed in (0, 1)]
    assert by_seed[0].hash != by_seed[1].hash and by_seed[0].hash == Three(config).store.hash
    assert config.model_copy(update={"seed": 5}).of_run(0).seed == 5
    wanted = perturbed(Three(DataConfig(store_dir=str(tmp_path))).store, [Frag(k=2)], seed=1)
    assert by_seed[1].hash == wanted.hash
