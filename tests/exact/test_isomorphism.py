"""Canonical forms and isomorphism types: networkx, all small graphs, igraph on BREC, and hashes that collide."""

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exact import isomorphism
from exact.graphs import arrays
from exact.isomorphism import canonical_form, canonical_forms, histogram_types, isomorphism_types, smallest_cells
from exact.neighbourhoods import neighbourhoods
from tests.exact import reference
from tests.exact.graphs import PAIRS, random_graph, renumbered
from tests.exact.test_refinement import ATLAS, partition

SMALL = [g for g in ATLAS if len(g) <= 6]
# graphs with many symmetries, with none, and of cells that are no orbits
SYMMETRIC = {
    "no edges": nx.empty_graph(30),
    "complete": nx.complete_graph(20),
    "star": nx.star_graph(30),
    "cycle": nx.cycle_graph(40),
    "cycles": nx.disjoint_union_all([nx.cycle_graph(5), nx.cycle_graph(3), nx.cycle_graph(5), nx.cycle_graph(4)]),
    "tree": nx.balanced_tree(2, 4),
    "hypercube": nx.hypercube_graph(4),
    "regular": nx.random_regular_graph(3, 40, seed=0),
    "Petersen, prism": nx.disjoint_union(nx.petersen_graph(), nx.circular_ladder_graph(5)),
}


def test_each_small_graph_has_a_form_of_its_own():
    forms = [canonical_form(arrays(g)) for g in SMALL]  # the atlas has each graph once
    assert len(set(forms)) == len(forms) == 208
    random = np.random.default_rng(0)
    assert [canonical_form(renumbered(arrays(g), random)) for g in SMALL] == forms


@pytest.mark.parametrize("name", [*SYMMETRIC, *PAIRS])
def test_forms_do_not_depend_on_the_numbering(name):
    graphs = [arrays(SYMMETRIC[name])] if name in SYMMETRIC else PAIRS[name]
    random = np.random.default_rng(0)
    forms = [canonical_form(g) for g in graphs]
    assert [canonical_form(renumbered(g, random)) for g in graphs] == forms
    assert len(set(forms)) == len(graphs)


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 12), st.sampled_from([2, 3, 4]), st.integers(0, 2**32 - 1))
def test_types_of_subgraphs_are_those_of_networkx(n, size, seed):
    """Random subgraphs of two random graphs of different size: many of them are isomorphic."""
    random = np.random.default_rng(seed)
    graphs = [random_graph(random, n), random_graph(random, n + 1)]
    subsets = [random.random((12, len(graph))) < size / n for graph in graphs]
    types = isomorphism_types([arrays(graph) for graph in graphs], subsets)
    subgraphs = [
        graph.subgraph(np.flatnonzero(inside)) for graph, rows in zip(graphs, subsets, strict=True) for inside in rows
    ]
    found = list(zip(np.concatenate(types).tolist(), subgraphs, strict=True))
    for (type_a, a), (type_b, b) in itertools.combinations(found, 2):
        assert (type_a == type_b) == nx.is_isomorphic(a, b)


def test_forms_of_subgraphs_are_those_of_graphs():
    """What lies outside does not matter: the prism alone, and as a part of two larger graphs."""
    prism = nx.circular_ladder_graph(3)
    larger = [nx.disjoint_union(nx.empty_graph(2), prism), nx.disjoint_union(prism, nx.complete_graph(4))]
    larger[1].add_edge(0, 7)
    first, second = np.arange(8) >= 2, np.arange(10) < 6
    assert canonical_forms(arrays(larger[0]), first[None]) == [canonical_form(arrays(prism))]
    assert canonical_forms(arrays(larger[1]), second[None]) == [canonical_form(arrays(prism))]


def test_no_answer_rests_on_the_hash(monkeypatch):
    """With 17 colours, which collide, forms and types are still those of isomorphism."""
    graphs = [arrays(g) for g in SMALL]
    subsets = [np.ones((1, g[0]), dtype=bool) for g in graphs]
    n_histograms = len(set(np.concatenate(histogram_types(graphs, subsets)).tolist()))
    refined = isomorphism.refined
    monkeypatch.setattr(isomorphism, "refined", lambda A, c: (refined(A, c) % np.uint64(17) + np.uint64(1)) * (c > 0))
    assert len(set(np.concatenate(histogram_types(graphs, subsets)).tolist())) < n_histograms < len(graphs)
    assert sorted(np.concatenate(isomorphism_types(graphs, subsets)).tolist()) == [*range(len(graphs))]
    test_each_small_graph_has_a_form_of_its_own()


def test_forms_are_smallest_drawings(monkeypatch):
    """Without 1-WL between the marks all numberings are tried, but for those that an automorphism maps to each other."""
    monkeypatch.setattr(isomorphism, "ROUNDS", 0)
    graphs, random = [arrays(g) for g in ATLAS if len(g) <= 5], np.random.default_rng(0)
    forms = [canonical_form(g) for g in graphs]
    assert len(set(forms)) == len(forms) == 52
    assert [canonical_form(renumbered(g, random)) for g in graphs] == forms


def test_smallest_cells():
    """Of three rows: a cell of two nodes and one of three; two cells of two; none, besides two nodes outside."""
    rows = [[7, 5, 5, 7, 5, 9], [3, 8, 8, 3, 1, 2], [0, 0, 4, 3, 2, 1]]
    colour, size = smallest_cells(np.array(rows, dtype=np.uint64))
    assert colour[:2].tolist() == [7, 3] and size.tolist() == [2, 2, 0]


def test_types_are_those_of_igraph_on_brec(brec):
    """Neighbourhoods of pairs of all parts, each node of both graphs; igraph is an independent program (bliss)."""
    pytest.importorskip("igraph")
    for _, _, *pair in brec[3::23]:
        for k in (1, 2, 4):
            balls = [neighbourhoods(g, k) for g in pair]
            ours, theirs = (
                np.concatenate(types(pair, balls)).tolist() for types in (isomorphism_types, reference.igraph_types)
            )
            assert partition(ours) == partition(theirs)
