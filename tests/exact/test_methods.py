"""SPD-WL, S_k, N_k and M_1 against slow loops and networkx; what holds for all methods; the counts of the paper on BREC."""

import itertools
import pickle
from collections import Counter

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exact import METHODS
from exact.graphs import adjacency, distances
from exact.isomorphism import isomorphism_types
from exact.marking import m_1
from exact.neighbourhoods import neighbourhoods
from exact.spd_wl import spd_wl
from exact.substructures import s_k, subgraph_counts, type_of
from tests.exact import reference
from tests.exact.graphs import PAIRS, arrays, random_graph, renumbered
from tests.exact.test_refinement import partition, wl_equivalent_pairs

RANDOM = np.random.default_rng(3)
# of all densities, connected or not
GRAPHS = [random_graph(RANDOM, n, p) for n in (1, 2, 5, 8) for p in (0.15, 0.3, 0.6)]
QUICK = [
    "1-WL",
    "2-WL-on-tuples",
    "3-WL",
    "3-WL-iterations-1",
    "3-WL-on-tuples",
    "SPD-WL",
    "S_3",
    "S_4",
    "N_1",
    "N_2",
    "M_1",
]


def test_distances():
    for graph in GRAPHS:
        expected = np.full((len(graph), len(graph)), len(graph))
        for u, lengths in nx.all_pairs_shortest_path_length(graph):
            for v, length in lengths.items():
                expected[u, v] = length
        assert np.array_equal(distances(arrays(graph)), expected)


# SPD-WL


def slow_spd_wl(pair):
    """The definition in plain Python: c'(v) = (c(v), {{(distance to u, c(u))}})."""
    distance = [dict(nx.all_pairs_shortest_path_length(graph)) for graph in pair]

    def step(g, colours):
        d = distance[g]
        return {v: (c, tuple(sorted((d[v].get(u, -1), colours[u]) for u in colours))) for v, c in colours.items()}

    return reference.refined(step, (0, 1), [dict.fromkeys(range(len(graph)), 0) for graph in pair])


def test_spd_wl_is_that_of_a_slow_loop():
    for graph in GRAPHS:
        slow = [c for colours in slow_spd_wl((graph, graph)) for _, c in sorted(colours.items())]
        assert partition(spd_wl(arrays(graph), arrays(graph)).ravel().tolist()) == partition(slow)
    outcomes = set()
    for g, h in wl_equivalent_pairs(7):
        graphs = [nx.from_numpy_array(adjacency(x)) for x in (g, h)]
        assert METHODS["SPD-WL"](g, h) == reference.differ(slow_spd_wl(graphs))
        outcomes.add(METHODS["SPD-WL"](g, h))
    assert outcomes == {True, False}


# S_k


def test_types_of_subgraphs_are_isomorphism_types():
    """All connected graphs of 2 to 4 nodes: 1, 2 and 6 types, and any numbering of the nodes has the same."""
    for n, n_types in ((2, 1), (3, 2), (4, 6)):
        graphs = [g for g in nx.graph_atlas_g() if len(g) == n and nx.is_connected(g)]
        types = [
            {
                int(type_of(np.array([order]), nx.to_numpy_array(g, dtype=bool))[0])
                for order in itertools.permutations(range(n))
            }
            for g in graphs
        ]
        assert len(types) == n_types and all(len(same) == 1 for same in types) and len(set.union(*types)) == n_types


@pytest.mark.parametrize("k", [3, 4])
def test_subgraph_counts_are_those_of_enumeration(k):
    for graph in GRAPHS:
        expected = [Counter() for _ in graph]
        for size in range(2, k + 1):
            for nodes in itertools.combinations(graph, size):
                inside = graph.subgraph(nodes)
                if nx.is_connected(inside):
                    kind = size, tuple(sorted(d for _, d in inside.degree))
                    for v in nodes:
                        expected[v][kind] += 1
        counts = subgraph_counts(arrays(graph), k)
        assert [sorted(row[row > 0].tolist()) for row in counts] == [sorted(c.values()) for c in expected]
        # the same kinds stand in the same columns: equal rows, and only these, have equal counters
        assert partition(map(tuple, counts.tolist())) == partition(frozenset(c.items()) for c in expected)


def test_s_k_goes_on_with_1_wl():
    """A triangle with a long tail: all nodes far from it have the same counts, yet not the same colours."""
    tail = nx.Graph([(0, 1), (1, 2), (2, 0), *nx.path_graph(range(2, 9)).edges])
    g = arrays(tail)
    counts = subgraph_counts(g, 3)
    assert np.array_equal(counts[4], counts[5])
    colours = s_k(g, g, 3)[0]
    assert colours[4] != colours[5]


def test_s_k_of_5_nodes_is_an_error():
    with pytest.raises(ValueError, match=r"k=5: expected 2 to 4"):
        s_k(*PAIRS["C6, 2 C3"], k=5)


# N_k


@pytest.mark.parametrize("k", [1, 2, 3, 10])
def test_neighbourhood_types_are_those_of_networkx(k):
    """Also of graphs that are not connected, and for k larger than their number of nodes."""
    graphs = [arrays(graph) for graph in GRAPHS]
    types = np.concatenate(isomorphism_types(graphs, [neighbourhoods(g, k) for g in graphs])).tolist()
    balls = [nx.ego_graph(graph, v, radius=k) for graph in GRAPHS for v in graph]
    for (type_a, a), (type_b, b) in itertools.combinations(zip(types, balls, strict=True), 2):
        assert (type_a == type_b) == nx.is_isomorphic(a, b)


def test_the_centre_of_a_neighbourhood_is_not_marked():
    """Within 2 steps of any node of a path of 3 lies the whole path: its ends and its middle have the same colour."""
    path, triangle = arrays(nx.path_graph(3)), arrays(nx.complete_graph(3))
    for k, expected in ((2, [0, 0, 0]), (1, [0, 1, 0])):
        balls = [neighbourhoods(g, k) for g in (path, triangle)]
        assert isomorphism_types((path, triangle), balls)[0].tolist() == expected


def test_n_0_is_an_error():
    with pytest.raises(ValueError, match="k=0"):
        METHODS["N_1"](*PAIRS["C6, 2 C3"], k=0)


# M_1


def slow_m_1(pair):
    """Each graph with each node marked in turn, by 1-WL in plain Python on all these graphs at once."""
    copies = [(g, v) for g in pair for v in range(g[0])]
    marks = [{u: int(u == v) for u in range(g[0])} for g, v in copies]
    histograms = [tuple(sorted(c.values())) for c in reference.wl([g for g, _ in copies], marks)]
    return histograms[: pair[0][0]], histograms[pair[0][0] :]


def test_m_1_is_that_of_a_slow_loop():
    for name in ("C6, 2 C3", "decalin, bicyclopentyl", "CFI over K3", "Shrikhande, rook"):
        first, second = slow_m_1(PAIRS[name])
        assert METHODS["M_1"](*PAIRS[name]) == (sorted(first) != sorted(second))
    for graph in GRAPHS:
        g = arrays(graph)
        assert partition(m_1(g, g)[0].tolist()) == partition(slow_m_1((g, g))[0])


# All methods


@st.composite
def graph(draw, n):
    edges = draw(st.sets(st.sampled_from(list(itertools.combinations(range(n), 2)))))
    empty = nx.empty_graph(n)
    empty.add_edges_from(edges)
    return arrays(empty)


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 7).flatmap(lambda n: st.tuples(graph(n), graph(n))), st.integers(0, 2**32 - 1))
def test_answers_do_not_depend_on_the_numbering(pair, seed):
    g, h = pair
    random = np.random.default_rng(seed)
    for name in QUICK:
        assert not METHODS[name](g, renumbered(g, random)), name
        answer = METHODS[name](g, h)
        assert METHODS[name](renumbered(g, random), renumbered(h, random)) == METHODS[name](h, g) == answer, name


@pytest.mark.parametrize("name", PAIRS)
def test_known_graphs_renumbered_are_not_told_apart(name):
    random = np.random.default_rng(0)
    for g in PAIRS[name]:
        for method in QUICK:
            assert not METHODS[method](g, renumbered(g, random)), method


def test_methods_go_to_other_processes():
    for method in pickle.loads(pickle.dumps(METHODS)).values():
        assert method(*PAIRS["C6, 2 C3"]) in (True, False)


# BREC


def counts(name, pairs):
    return Counter(category for category, _, g, h in pairs if METHODS[name](g, h))


@pytest.mark.parametrize(
    "name, basic, regular, extension, cfi", [("1-WL", 0, 0, 0, 0), ("SPD-WL", 16, 14, 41, 12), ("S_3", 52, 48, 5, 0)]
)
def test_table_2_on_all_pairs(brec, name, basic, regular, extension, cfi):
    expected = Counter(Basic=basic, Regular=regular, Extension=extension, CFI=cfi)
    assert counts(name, brec) == +expected


@pytest.mark.parametrize(
    "name, basic, simple_regular, extension",
    [
        ("3-WL", 60, 50, 100),
        ("3-WL-iterations-1", 60, 49, 84),
        ("3-WL-iterations-2", 60, 50, 99),
        ("3-WL-iterations-3", 60, 50, 100),
        ("S_4", 60, 49, 84),
        ("N_1", 59, 49, 67),  # Deviation: the paper prints 60 and 93, see docs/brec.md
        ("N_2", 60, 50, 100),
        ("M_1", 60, 50, 100),
    ],
)
def test_table_2_on_small_graphs(brec, name, basic, simple_regular, extension):
    """The graphs of 7 to 19 nodes; the paper prints the numbers of Basic and Extension, and of simple regular in its text."""
    small = [pair for pair in brec if pair[1] in ("basic", "simple regular", "extension")]
    assert counts(name, small) == Counter(Basic=basic, Regular=simple_regular, Extension=extension)


def test_cfi_pairs_by_the_order_of_wl(brec):
    """Section 3.1: 60 pairs that 3-WL tells apart, then 20 that 4-WL does but not 3-WL; here the smallest of each."""
    cfi = [(g, h) for category, _, g, h in brec if category == "CFI"]
    for part, three, four in ((cfi[:60], True, True), (cfi[60:80], False, True)):
        pair = min(part, key=lambda pair: pair[0][0])
        assert (METHODS["3-WL"](*pair), METHODS["3-FWL"](*pair)) == (three, four)
