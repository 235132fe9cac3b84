"""graph6 is read as networkx reads it, and what is not graph6 is refused."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from data.readers.graph6 import decode


def reference(text):
    g = nx.from_graph6_bytes(text)
    return len(g), sorted(tuple(sorted(edge)) for edge in g.edges)


def ours(text):
    n, a, b = decode(text)
    assert a.dtype == b.dtype == np.int64 and (a < b).all()
    return n, sorted(zip(a.tolist(), b.tolist(), strict=True))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 130), st.floats(0, 1), st.integers(0, 2**32 - 1))
@example(62, 0.5, 0)  # the last size that one character holds, and the first that needs four
@example(63, 0.5, 0)
@example(500, 1.0, 0)
def test_graphs_are_those_of_networkx(n, p, seed):
    g = nx.gnp_random_graph(n, p, seed=seed)
    text = nx.to_graph6_bytes(g, header=False)
    expected = n, sorted(g.edges)
    assert reference(text.strip()) == expected
    assert ours(text) == ours(text.strip()) == ours(text.decode()) == ours(b">>graph6<<" + text) == expected


def test_known_strings():
    assert ours("?") == (0, []) and ours("@") == (1, []) and ours("A_") == (2, [(0, 1)])
    assert ours("Bw") == (3, [(0, 1), (0, 2), (1, 2)])
    assert ours("~~??????") == (0, [])  # a small number in the longest form


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=12) | st.text(alphabet=[chr(c) for c in range(60, 129)], max_size=12))
def test_no_text_is_misread(text):
    """Either the graph that networkx reads, or an error."""
    try:
        found = ours(text)
    except ValueError:
        return
    text = text.encode() if isinstance(text, str) else text
    assert found == reference(text.strip(b"\r\n"))


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "'': no character: expected graph6"),
        ("\n", "no character"),
        ("I>zvx", "byte 62 at place 1: expected graph6, one or more characters with the codes 63 to 126"),
        (b"Bw\x00", "byte 0 at place 2"),
        ("Bw w", "byte 32 at place 2"),
        ("Bé", "byte 195 at place 1"),
        (":Bw", "byte 58 at place 0"),  # sparse6
        ("&Bw", "byte 38 at place 0"),  # digraph6
        ("B", "'B': 0 characters for the edges of 3 nodes: expected 1"),
        ("Bww", "'Bww': 2 characters for the edges of 3 nodes: expected 1"),
        ("B@", "bits after the last of 3 pairs of nodes"),
        ("~?", "it ends within the number of nodes"),
        ("~~?????", "it ends within the number of nodes"),
        ("~~~~~~~~", "68719476735 nodes: at most 100000 are read"),
    ],
)
def test_what_is_not_graph6_is_named(text, message):
    with pytest.raises(ValueError, match=message):
        decode(text)
