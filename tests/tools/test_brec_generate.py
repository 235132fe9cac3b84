"""The generators of appendix K make pairs that are not isomorphic and that 1-WL, and for CFI graphs k-FWL, cannot tell apart."""

import itertools
import signal
import subprocess
import sys
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from exact import METHODS
from exact.graphs import arrays
from exact.isomorphism import canonical_form
from tools import brec_generate
from tools.brec_generate import (
    backbones,
    basic_pairs,
    cfi,
    cycles,
    is_pair,
    regular_pairs,
    with_virtual_node,
)

ROOT = Path(__file__).resolve().parents[2]
ATLAS = nx.graph_atlas_g()  # all graphs of up to 7 nodes


def form(g):
    return canonical_form(arrays(g))


def degrees(g):
    return sorted(d for _, d in g.degree)


def told_apart_by_2_fwl(g, h):
    """2-FWL, which is 3-WL, straight from its definition: the colour of (u, v) and those of (u, w) and (w, v) for all w."""
    graphs = [nx.to_numpy_array(x, dtype=np.int64) + 2 * np.eye(len(x), dtype=np.int64) for x in (g, h)]
    colours, n_colours = np.stack(graphs), 0
    while True:
        left, right = colours[:, :, None, :], colours.swapaxes(1, 2)[:, None, :, :]
        seen = np.sort(left * (colours.max() + 1) + right, axis=-1)
        signature = np.concatenate([colours[..., None], seen], axis=-1)
        flat = np.ascontiguousarray(signature.reshape(-1, signature.shape[-1]))
        _, colours = np.unique(flat.view([("", flat.dtype)] * flat.shape[1]), return_inverse=True)
        colours = colours.reshape(2, len(g), len(g))
        if not np.array_equal(*(np.bincount(c.ravel(), minlength=colours.max() + 1) for c in colours)):
            return True
        if colours.max() + 1 == n_colours:
            return False
        n_colours = colours.max() + 1


# What a pair must be


def test_what_a_pair_is():
    six, triangles = nx.cycle_graph(6), nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))
    assert is_pair(six, triangles) and not is_pair(six, six) and not is_pair(six, nx.path_graph(6))


# Basic and regular graphs


def test_the_search_finds_all_pairs_of_6_nodes():
    graphs = [g for g in ATLAS if len(g) == 6 and not nx.is_regular(g)]
    by_degrees = itertools.groupby(sorted(graphs, key=degrees), degrees)
    pairs = itertools.chain(*(itertools.combinations(group, 2) for _, group in by_degrees))
    expected = {frozenset(map(form, pair)) for pair in pairs if not METHODS["1-WL"](*map(arrays, pair))}
    found = {frozenset(map(form, pair)) for pair in basic_pairs(6, len(expected), np.random.default_rng(0))}
    assert found == expected and len(found) == 2


def test_basic_pairs_of_10_nodes():
    pairs = list(basic_pairs(10, 5, np.random.default_rng(0)))
    assert len({form(g) for pair in pairs for g in pair}) == 10
    for g, h in pairs:
        assert len(g) == len(h) == 10 and not nx.is_regular(g) and is_pair(g, h)
    again = list(basic_pairs(10, 5, np.random.default_rng(0)))
    assert [sorted(g.edges) for pair in again for g in pair] == [sorted(g.edges) for pair in pairs for g in pair]


def test_regular_pairs():
    pairs = list(regular_pairs(6, 10, 20, np.random.default_rng(0)))
    assert len({form(g) for pair in pairs for g in pair}) == 40
    for g, h in pairs:
        assert 6 <= len(g) == len(h) <= 10 and nx.is_regular(g) and nx.is_regular(h) and is_pair(g, h)
        assert nx.is_connected(g) and nx.is_connected(h)


def test_regular_graphs_that_are_not_connected_are_left_out(monkeypatch):
    two = nx.disjoint_union(nx.complete_graph(4), nx.complete_graph(4))
    drawn = iter([two, nx.cubical_graph(), two, nx.circulant_graph(8, [1, 4])])
    monkeypatch.setattr(nx, "random_regular_graph", lambda k, n, seed: next(drawn))
    monkeypatch.setattr(brec_generate, "ATTEMPTS", 4)
    (pair,) = regular_pairs(7, 7, 1, np.random.default_rng(0))  # of one degree only
    assert all(map(nx.is_connected, pair))


def test_all_regular_pairs_of_6_nodes(monkeypatch):
    """K_3,3 and the prism; of degree 4 there is one graph only."""
    monkeypatch.setattr(brec_generate, "ATTEMPTS", 300)
    pairs = regular_pairs(6, 6, 2, np.random.default_rng(0))
    assert {form(g) for g in next(pairs)} == {
        form(g) for g in (nx.complete_bipartite_graph(3, 3), nx.circular_ladder_graph(3))
    }
    with pytest.raises(ValueError, match="no further pair of regular graphs of 6 to 6 nodes; 1 are missing"):
        next(pairs)


def test_virtual_nodes():
    for length in (3, 7):
        g, h = cycles(length)
        assert len(g) == len(h) == 2 * length + 1 and g.number_of_edges() == h.number_of_edges() == 4 * length
        assert is_pair(g, h)
        assert sorted(d for _, d in g.degree) == [3] * (2 * length) + [2 * length]
        for x, parts in ((g, [2 * length]), (h, [length, length])):
            x.remove_node(max(x, key=x.degree))
            assert sorted(map(len, nx.connected_components(x))) == parts
    assert nx.is_isomorphic(with_virtual_node(nx.complete_graph(4)), nx.complete_graph(5))
    with pytest.raises(ValueError, match="cycles of 2 nodes"):
        cycles(2)


# CFI graphs


def test_the_cfi_graphs_of_k4():
    """A gadget of degree 3 has 4 inner and 6 outer nodes and 12 edges; 6 edges of K_4 give two each."""
    g, h = cfi(nx.complete_graph(4))
    for x in (g, h):
        assert (len(x), x.number_of_edges()) == (4 * 10, 4 * 12 + 6 * 2)
        # an inner node is joined to one of each two outer ones; an outer node to 2 inner ones and one beyond
        assert {d for _, d in x.degree} == {3}
    assert is_pair(g, h)
    assert not told_apart_by_2_fwl(g, h)  # treewidth 3


def test_cfi_graphs_of_a_cycle_are_cycles():
    """A node of degree 2 becomes two paths of three nodes."""
    g, h = cfi(nx.cycle_graph(5))
    assert sorted(map(len, nx.connected_components(g))) == [15, 15]
    assert nx.is_isomorphic(h, nx.cycle_graph(30))


@pytest.mark.parametrize(
    "backbone", [nx.cycle_graph(3), nx.cycle_graph(4), nx.diamond_graph()], ids=["C3", "C4", "K4-e"]
)
def test_treewidth_2_is_told_apart_by_2_fwl_and_not_by_1_wl(backbone):
    g, h = cfi(backbone)
    assert is_pair(g, h) and told_apart_by_2_fwl(g, h)


@pytest.mark.parametrize("backbone", [nx.path_graph(2), nx.path_graph(4), nx.star_graph(3)], ids=["P2", "P4", "star"])
def test_treewidth_1_is_told_apart_by_1_wl(backbone):
    g, h = cfi(backbone)
    assert form(g) != form(h) and not is_pair(g, h)
    n = sum(2 ** (d - 1) + 2 * d for _, d in backbone.degree)
    assert len(g) == len(h) == n


def test_one_twist_is_as_good_as_another_and_two_are_none():
    """The laws of the construction: an even number of twists of a connected backbone cancels out."""
    backbone = nx.diamond_graph()
    untwisted, twisted = map(form, cfi(backbone))
    edges = list(backbone.edges)

    def twist(g, e):
        v, w = e
        g.remove_edges_from([((v, e, i), (w, e, i)) for i in (0, 1)])
        g.add_edges_from([((v, e, i), (w, e, 1 - i)) for i in (0, 1)])
        return g

    for e in edges:
        assert form(twist(cfi(backbone)[0], e)) == twisted
    for e in edges[1:]:
        assert form(twist(cfi(backbone)[1], e)) == untwisted


def test_the_number_of_backbones():
    """Connected graphs of 3 to 7 nodes without nodes of degree 1, a known sequence."""
    assert [len(backbones(n, n)) for n in range(3, 8)] == [1, 3, 11, 61, 507]


def test_backbones_that_cannot_be():
    loop = nx.cycle_graph(3)
    loop.add_edge(0, 0)
    for backbone, message in (
        (nx.empty_graph(3), "backbone with 0 edges"),
        (loop, "no self-loops"),
        (nx.complete_graph(30), "at most 20000 are made"),
    ):
        with pytest.raises(ValueError, match=message):
            cfi(backbone)
    with_isolated = nx.cycle_graph(3)
    with_isolated.add_node(3)
    assert len(cfi(with_isolated)[0]) == 18 + 1


# The command


@pytest.mark.parametrize(
    "words, n_pairs, n_left_out",
    [
        ("basic --pairs 2 --seed 1", 2, 0),
        ("regular --pairs 3", 3, 0),
        ("regular --pairs 2 --nodes 10 10 --virtual_node", 2, 0),
        ("cycles 3 5", 2, 0),
        ("cfi K4 C5 Bw A_ --nodes 3 4", 7, 1),  # A_ is an edge: 1-WL tells its graphs apart
    ],
)
def test_the_command_prints_pairs(capsys, words, n_pairs, n_left_out):
    assert brec_generate.main(words.split()) == 0
    out, err = capsys.readouterr()
    graphs = [nx.from_graph6_bytes(line.encode()) for line in out.splitlines()]
    assert f"{n_pairs} pairs; {n_left_out} left out" in err and len(graphs) == 2 * n_pairs
    assert all(is_pair(g, h) for g, h in zip(graphs[::2], graphs[1::2], strict=True))


@pytest.mark.parametrize(
    "words, message",
    [
        ("cfi", "name a backbone"),
        ("cfi --nodes 3 8", "--nodes 3 8: expected 3 to 7"),
        ("cfi --nodes 5 4", "the smaller first"),
        ("basic --nodes 40", "--nodes 40: expected 6 to 20"),
        ("basic --pairs 0", "--pairs 0"),
        ("regular --seed -1", "--seed -1"),
        ("nothing", "invalid choice: 'nothing'"),
    ],
)
def test_wrong_words(capsys, words, message):
    with pytest.raises(SystemExit):
        brec_generate.main(words.split())
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "words, message", [("cfi x5", "byte 53"), ("cfi A_", "0 pairs; 1 left out"), ("cycles 2", "2 nodes")]
)
def test_nothing_to_print_is_a_failure(capsys, words, message):
    assert brec_generate.main(words.split()) == 1
    out, err = capsys.readouterr()
    assert not out and message in err


def test_a_reader_that_has_enough_ends_it_without_a_word(child_env):
    command = [sys.executable, "-m", "tools.brec_generate", "cycles", "5", "6"]
    with subprocess.Popen(command, cwd=ROOT, env=child_env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()  # before anything is written
        words = process.stderr.read().decode()
    assert "Broken" not in words and "Traceback" not in words
    assert process.returncode == -signal.SIGPIPE, words
