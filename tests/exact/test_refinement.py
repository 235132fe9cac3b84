"""1-WL, k-WL and k-FWL: known pairs, the definitions in plain Python, networkx, and (k+1)-WL = k-FWL."""

import itertools
from collections import defaultdict

import networkx as nx
import numpy as np
import pytest

from exact import METHODS, refinement
from exact.colours import differ, number_rows, number_tuples, numbering
from exact.refinement import k_fwl, k_wl, wl
from tests.exact import reference
from tests.exact.graphs import PAIRS, arrays, random_graph, renumbered

ATLAS = [g for g in nx.graph_atlas_g() if len(g)]  # all graphs of 1 to 7 nodes

# What theory says. 1-WL = 2-WL; 3-WL = 2-FWL fails on strongly regular graphs and on CFI graphs over backbones of treewidth 3,
# 4-WL = 3-FWL does not; SPD-WL and M_1 are weaker than 3-WL, S_3 is weaker than N_1 and S_4 than N_2.
KNOWN = {
    "C6, 2 C3": "3-WL 2-FWL 3-WL-on-tuples 3-FWL 4-WL-on-tuples SPD-WL S_3 S_4 N_1 N_2 M_1",
    "decalin, bicyclopentyl": "3-WL 2-FWL 3-WL-on-tuples 3-FWL 4-WL-on-tuples SPD-WL N_2 M_1",
    "CSL": "3-WL 2-FWL 3-WL-on-tuples SPD-WL S_3 S_4 N_1 N_2 M_1",
    "Shrikhande, rook": "3-FWL 4-WL-on-tuples S_4 N_1 N_2",
    "CFI over K3": "3-WL 2-FWL 3-WL-on-tuples 3-FWL SPD-WL M_1",
    "CFI over K4": "3-FWL",
}
TOO_LARGE = {"CSL": {"3-FWL", "4-WL-on-tuples"}, "CFI over K3": {"4-WL-on-tuples"}, "CFI over K4": {"4-WL-on-tuples"}}
TESTED = ["1-WL", "2-WL-on-tuples", *KNOWN["C6, 2 C3"].split()]


def partition(values):
    """The classes of equal values, as sets of places."""
    classes = defaultdict(set)
    for place, value in enumerate(values):
        classes[value].add(place)
    return set(map(frozenset, classes.values()))


def same_partition(colours, expected):
    """colours (2, n, ..., n) and the dictionaries {tuple: colour} of the reference divide the tuples of both graphs alike."""
    slow = [colour for one in expected for _, colour in sorted(one.items())]
    return partition(colours.ravel().tolist()) == partition(slow)


@pytest.mark.parametrize("name", KNOWN)
def test_known_pairs(name):
    names = [method for method in TESTED if method not in TOO_LARGE.get(name, ())]
    told_apart = {method for method in names if METHODS[method](*PAIRS[name])}
    assert told_apart == set(KNOWN[name].split())


@pytest.mark.filterwarnings("ignore:The hashes produced")
def test_1_wl_divides_the_nodes_as_networkx_hashes():
    random = np.random.default_rng(0)
    for n in (1, 2, 5, 12, 30):
        for p in (0.1, 0.2, 0.5):
            graph = random_graph(random, n, p)
            hashes = nx.weisfeiler_lehman_subgraph_hashes(graph, iterations=n)
            assert partition(wl(arrays(graph), arrays(graph))[0].tolist()) == partition(hashes[v][-1] for v in graph)


@pytest.mark.filterwarnings("ignore:The hashes produced")
def test_1_wl_tells_graphs_apart_as_networkx_hashes():
    """All pairs of graphs of 6 nodes with the same degrees."""
    graphs = [g for g in ATLAS if len(g) == 6]
    hashes = [nx.weisfeiler_lehman_graph_hash(g, iterations=6) for g in graphs]
    outcomes = set()
    for (g, hash_g), (h, hash_h) in itertools.combinations(zip(graphs, hashes, strict=True), 2):
        if sorted(d for _, d in g.degree) == sorted(d for _, d in h.degree):
            apart = METHODS["1-WL"](arrays(g), arrays(h))
            assert apart == (hash_g != hash_h)
            outcomes.add(apart)
    assert outcomes == {True, False}


def test_initial_colours_and_edge_colours():
    """A path a - b - c: marked at its end, and with two kinds of edges."""
    path = arrays(nx.path_graph(3))
    initial = np.array([[2, 0, 0], [0, 0, 2]])  # there need not be a colour 1
    assert not differ(wl(path, path, initial=initial))
    assert differ(wl(path, path, initial=np.array([[1, 0, 0], [0, 1, 0]])))
    assert partition(wl(path, path, initial=initial)[0].tolist()) == {frozenset({0}), frozenset({1}), frozenset({2})}
    edge_colours = np.array([0, 1, 0, 1])  # a - b of kind 0, b - c of kind 1
    assert len(partition(wl(path, path)[0].tolist())) == 2
    assert len(partition(wl(path, path, edge_colours=[edge_colours] * 2)[0].tolist())) == 3


@pytest.mark.parametrize("fast, slow", [(k_wl, reference.k_wl), (k_fwl, reference.k_fwl)])
@pytest.mark.parametrize("k, n", [(2, 6), (3, 5), (4, 4)])
def test_tuples_have_the_colours_of_the_definition(fast, slow, k, n):
    """After each iteration, on graphs that are not told apart before the last one: a graph and itself renumbered."""
    random = np.random.default_rng(k)
    for _ in range(3):
        g = arrays(random_graph(random, n))
        pair = g, renumbered(g, random)
        for iterations in (0, 1, 2, None):
            assert same_partition(fast(*pair, k, iterations), slow(pair, k, iterations))


def test_chunks_do_not_change_the_colours(monkeypatch):
    pair = PAIRS["CFI over K3"]
    whole = k_fwl(*pair, 2, 2)
    monkeypatch.setattr(refinement, "CHUNK", 1000)
    assert np.array_equal(k_fwl(*pair, 2, 2), whole)


@pytest.mark.parametrize("base", [3, 46340, 46341, 2**21])  # on both sides of 32 bits
def test_tuples_of_colours_are_one_number_each(base):
    colours = np.random.default_rng(0).integers(base - 3, base, (3, 3))
    found = refinement.tuples_of_colours(colours, slice(1, 3), base)
    for u, v, w in itertools.product(range(1, 3), range(3), range(3)):
        assert int(found[u - 1, v, w]) == int(colours[w, v]) * base + int(colours[u, w])


def wl_equivalent_pairs(n):
    """Pairs of different graphs of n nodes that 1-WL cannot tell apart."""
    graphs = [arrays(g) for g in ATLAS if len(g) == n]
    by_degrees = defaultdict(list)
    for g in graphs:
        by_degrees[tuple(sorted(np.bincount(g[2], minlength=n).tolist()))].append(g)
    pairs = itertools.chain(*(itertools.combinations(group, 2) for group in by_degrees.values()))
    return [pair for pair in pairs if not METHODS["1-WL"](*pair)]


@pytest.mark.parametrize("n", [6, 7])
def test_k_fwl_is_k_plus_1_wl_on_small_graphs(n):
    """1-WL = 2-WL; 2-FWL = 3-WL, which tells all graphs of up to 7 nodes apart (and 3-FWL = 4-WL with it)."""
    pairs = wl_equivalent_pairs(n)
    assert len(pairs) > 3
    for pair in pairs:
        assert not METHODS["2-WL-on-tuples"](*pair)
        assert METHODS["2-FWL"](*pair) and METHODS["3-WL-on-tuples"](*pair)
    assert METHODS["3-FWL"](*pairs[0]) and METHODS["4-WL-on-tuples"](*pairs[0])


def test_1_wl_is_2_wl_on_random_graphs():
    random = np.random.default_rng(1)
    for _ in range(30):
        g, h = (arrays(random_graph(random, 5)) for _ in range(2))
        assert METHODS["1-WL"](g, h) == METHODS["2-WL-on-tuples"](g, h)


def test_iterations():
    """1-WL starts with one colour for all nodes. The distances that 2-FWL knows double with each iteration: after t of them it sees
    that opposite nodes of a cycle of 2^(t+1) nodes are joined by two paths of 2^t edges."""
    path, star = arrays(nx.path_graph(4)), arrays(nx.star_graph(3))
    assert differ(wl(path, star)) and not differ(wl(path, star, iterations=0))
    needed = []
    for length in (4, 8, 16):
        pair = arrays(nx.cycle_graph(2 * length)), arrays(nx.disjoint_union(*[nx.cycle_graph(length)] * 2))
        needed.append(next(t for t in range(9) if differ(k_fwl(*pair, 2, t))))
    assert needed == [1, 2, 3]
    names = [f"3-WL-iterations-{t}" for t in range(1, 7)]
    assert [METHODS[name](*pair) for name in names] == [False, False, True, True, True, True]


def test_graphs_of_different_size_are_told_apart():
    for name, method in METHODS.items():
        assert method(arrays(nx.cycle_graph(3)), arrays(nx.cycle_graph(4))), name


def test_graphs_of_one_node():
    g = arrays(nx.empty_graph(1))
    for name, method in METHODS.items():
        assert not method(g, g), name


def test_too_many_tuples_are_an_error():
    g = arrays(nx.cycle_graph(67))
    with pytest.raises(ValueError, match=r"67 nodes has 20,151,121 4-tuples, more than MAX_TUPLES = 20,000,000"):
        METHODS["4-FWL"](g, g)
    with pytest.raises(ValueError, match="k=1"):
        k_fwl(g, g, 1)


def test_too_many_colours_are_an_error(monkeypatch):
    pair = PAIRS["CFI over K3"]
    monkeypatch.setattr(refinement, "MAX_ROW_BYTES", 100)
    with pytest.raises(MemoryError, match=r"2-FWL on 18 nodes: more than .* MAX_ROW_BYTES = 100"):
        k_fwl(*pair, 2)
    with pytest.raises(ValueError, match="3-FWL: 3,000,000 colours"):
        refinement.tuples_of_colours(np.zeros((2, 2, 2), dtype=np.int64), slice(0, 2), 3_000_000)


@pytest.mark.parametrize(
    "src, dst, message",
    [
        ([0, 1, 1], [1, 0, 2], "in one direction only"),
        ([0, 1, 0, 1], [1, 0, 1, 0], "given twice"),
        ([0, 1, 2], [1, 0, 2], "from a node to itself"),
        ([0, 3], [3, 0], "the nodes 0 to 3"),
        ([0, -1], [-1, 0], "the nodes -1 to 0"),
    ],
)
def test_wrong_graphs_are_an_error(src, dst, message):
    good, bad = arrays(nx.path_graph(3)), (3, np.array(src), np.array(dst))
    for pair in ((good, bad), (bad, good)):
        with pytest.raises(ValueError, match=message):
            METHODS["1-WL"](*pair)


def test_a_graph_without_nodes_is_an_error():
    empty = arrays(nx.empty_graph(0))
    with pytest.raises(ValueError, match="n=0 nodes with nothing in it"):
        METHODS["1-WL"](empty, empty)


# Colours


def test_rows_are_numbered_by_equality():
    random = np.random.default_rng(0)
    rows = random.integers(-2, 2, (200, 3)) * 256  # bytes of zero everywhere
    _, expected = np.unique(rows, axis=0, return_inverse=True)
    assert partition(number_rows(rows).tolist()) == partition(expected.ravel().tolist())
    assert number_rows(rows[:0]).shape == (0,)
    known = numbering()
    assert (
        number_rows(rows[:100], known).tolist() + number_rows(rows[100:], known).tolist() == number_rows(rows).tolist()
    )


def test_tuples_are_numbered_exactly_beyond_64_bits():
    """Four columns of 40 bits each cannot become one number of 64 bits."""
    random = np.random.default_rng(0)
    columns = random.integers(0, 2, (4, 100)) * (2**40 - 1)
    _, expected = np.unique(columns, axis=1, return_inverse=True)
    assert partition(number_tuples(*columns).tolist()) == partition(expected.ravel().tolist())
