"""layers/per_graph.py: answers about a graph are remembered as long as they are right."""

import gc
import weakref

import dgl
import pytest
import torch

from layers import fused
from layers.neighbourhood import Edges
from layers.per_graph import once_per_graph

CHANGES = {
    "an edge is added": lambda g: g.add_edges(0, 2),
    "a loop is added": lambda g: g.add_edges(1, 1),
    "an edge is removed": lambda g: g.remove_edges(torch.tensor([0])),
    "a node is added": lambda g: g.add_nodes(1),
    "a node is removed": lambda g: g.remove_nodes(torch.tensor([2])),
}


def test_a_graph_is_asked_once():
    asked = []
    ask = once_per_graph(lambda g: asked.append(g.num_edges()) or g.num_edges())
    a, b = dgl.graph(([0, 1], [1, 0])), dgl.graph(([0, 1, 2], [1, 2, 0]))
    assert [ask(g) for g in (a, b, a, b)] == [2, 3, 2, 3] and asked == [2, 3]


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_graph_that_was_changed_is_asked_again(change):
    """What is said of it is what a new graph with the same edges says."""
    g = dgl.graph(([0, 1, 2, 2], [1, 2, 0, 2]))
    questions = (
        fused.in_edges,
        fused.out_edges,
        lambda g: (Edges(g).degree,),
        lambda g: (torch.tensor(fused.in_order(g)),),
    )
    for question in questions:
        question(g)
    change(g)
    new = dgl.graph(g.edges(order="eid"), num_nodes=g.num_nodes())
    for question in questions:
        assert all(map(torch.equal, question(g), question(new)))


def test_a_graph_that_nobody_needs_goes():
    g = dgl.graph(([0, 1], [1, 0]))
    fused.in_edges(g), fused.out_edges(g), fused.in_order(g), Edges(g)
    gone = weakref.ref(g)
    del g
    gc.collect()
    assert gone() is None
