"""Folds: the batches (g, of, y) of a division of graphs, of nodes, of pairs of nodes."""

import re

import numpy as np
import pytest
import torch

from data.dataset import DataConfig, GraphDataset
from data.errors import DataError
from data.folds import NodeFold, PairFold, all_pairs, false_pairs
from data.store import Field, PackedWriter


class Ring(GraphDataset):
    """One ring of ten nodes; node i has the label i."""

    name, version, parameters = "Ring", 1, {}

    def build(self, path):
        fields = [Field("node", "label", "int64", n_types=10)]
        with PackedWriter(path, self.name, fields) as writer:
            nodes = list(range(10))
            writer.add(10, nodes, nodes[1:] + nodes[:1], node={"label": nodes})
            writer.add_split("mask0", level="node", train=[7, 1, 4, 0], val=[2, 5], test=[3])
            writer.add_split("mask1", level="node", train=[1], val=[], test=[8, 9])


def test_the_one_batch_of_a_part_of_the_nodes(tmp_path):
    dataset = Ring(DataConfig(store_dir=str(tmp_path)))
    assert dataset.folds == [0, 1]
    fold = dataset.fold(0)
    assert isinstance(fold, NodeFold) and list(fold.parts) == ["train", "val", "test"]
    loader = fold.loader("train", batch_size=1, shuffle=True, generator=torch.Generator())
    assert len(loader) == 1
    ((g, of, y),) = loader
    assert g.num_nodes() == 10 and of.tolist() == y.tolist() == [7, 1, 4, 0]
    ((again, of, y),) = fold.loader("test", 64)
    assert again is g and of.tolist() == y.tolist() == [3]
    with pytest.raises(ValueError, match="mask1: the val part is empty"):
        dataset.fold(1).loader("val", 1)


def test_a_limit_takes_so_many_nodes_of_each_part(tmp_path):
    fold = Ring(DataConfig(store_dir=str(tmp_path), limit=2)).fold(0)
    assert {part: len(nodes) for part, nodes in fold.parts.items()} == {"train": 2, "val": 2, "test": 1}


@pytest.mark.parametrize("folds", [None, [0]])
@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((), "Three: there is no split: call add_split"),
        (("train", "valid", "test"), "split fold0 has the parts train, valid, test: expected train, val, test"),
        (("train", "val"), "split fold0 has the parts train, val: expected train, val, test"),
    ],
)
def test_a_split_that_is_missing_or_lacks_a_part(tmp_path, parts, message, folds):
    class Three(GraphDataset):
        name, version, parameters = "Three", 1, {}

        def build(self, path):
            with PackedWriter(path, self.name, [Field("graph", "label", "float32")]) as writer:
                for label in range(3):
                    writer.add(2, [0], [1], graph={"label": label})
                if parts:
                    writer.add_split("fold0", **{part: [i] for i, part in enumerate(parts)})

    with pytest.raises(DataError, match=re.escape(message)):
        Three(DataConfig(store_dir=str(tmp_path))).chosen_folds(folds)


# Pairs inside graphs


class Chains(GraphDataset):
    """Paths of 3 to 8 nodes; the true pairs are those at distance 2, in both directions."""

    name, version, parameters = "Chains", 1, {}

    def build(self, path):
        with PackedWriter(path, self.name, [Field("pair", "of", "int8", (2,), refers_to="node")]) as writer:
            for i in range(30):
                n = 3 + i % 6
                there, back = range(n - 1), range(1, n)
                apart = [(k, k + 2) for k in range(n - 2)]
                of = apart + [(t, h) for h, t in apart]
                writer.add(n, [*there, *back], [*back, *there], pair={"of": of})
            writer.add_split("split", train=range(20), val=range(20, 25), test=range(25, 30))


@pytest.fixture(scope="module")
def chains(tmp_path_factory):
    return Chains(DataConfig(store_dir=str(tmp_path_factory.mktemp("chains")))).fold(0)


def graph_numbers(g, nodes):
    return torch.repeat_interleave(torch.arange(g.batch_size), g.batch_num_nodes().long())[nodes]


def as_set(pairs):
    return set(map(tuple, pairs.T.tolist()))


def test_true_and_drawn_pairs_of_training(chains):
    generator, passes = torch.Generator().manual_seed(1), []
    loader = chains.loader("train", 8, shuffle=True, generator=generator)
    assert isinstance(chains, PairFold) and len(loader) == 3
    for _ in range(2):
        passes.append(list(loader))
        for g, of, y in passes[-1]:
            true, false = as_set(of[:, y == 1]), as_set(of[:, y == 0])
            assert len(true) + len(false) == len(y)  # none twice
            assert not true & false and (of[0] - of[1]).abs()[y == 1].eq(2).all()
            assert torch.equal(graph_numbers(g, of[0]), graph_numbers(g, of[1]))
            heads = torch.bincount(of[0, y == 1], minlength=g.num_nodes())
            drawn = torch.bincount(of[0, y == 0], minlength=g.num_nodes())
            assert (drawn <= 2 * heads).all() and drawn.sum() > heads.sum()
    (_, a, _), (_, b, _) = passes[0][0], passes[1][0]
    assert a.shape != b.shape or not torch.equal(a, b)
    generator.manual_seed(1)
    again = list(chains.loader("train", 8, shuffle=True, generator=generator))
    assert all(torch.equal(x.of, y.of) for x, y in zip(passes[0], again, strict=True))


def test_all_pairs_are_asked_of_in_evaluation(chains):
    for g, of, y in chains.loader("val", 3):
        sizes = g.batch_num_nodes().long()
        nodes = torch.arange(g.num_nodes())
        expected = [
            (h, t) for h in nodes.tolist() for t in nodes[graph_numbers(g, nodes) == graph_numbers(g, h)].tolist()
        ]
        assert of.T.tolist() == [list(pair) for pair in expected] and len(y) == int((sizes**2).sum())
        distance = (of[0] - of[1]).abs()
        assert torch.equal(y == 1, distance == 2) and y.isnan().any() and (y == 0).any()


def test_the_pairs_of_an_evaluation_do_not_depend_on_the_batches(chains):
    labels = [torch.cat([y for _, _, y in chains.loader("train", size)]) for size in (1, 7, 20, 20)]
    assert all(torch.equal(labels[0].nan_to_num(-1), other.nan_to_num(-1)) for other in labels[1:])


def drawn_by_graph(loader):
    """{true pairs of a graph, which name it: the pairs drawn for it}, of one pass; nodes are numbered inside their graph."""
    drawn = {}
    for g, of, y in (batch for batch in loader if batch is not None):
        first = g.batch_num_nodes().cumsum(0) - g.batch_num_nodes()
        for i in range(g.batch_size):
            here = graph_numbers(g, of[0]) == i
            true, false = (as_set(of[:, here & (y == label)] - first[i]) for label in (1, 0))
            drawn.setdefault(frozenset(true), []).append(sorted(false))
    return {key: sorted(lists) for key, lists in drawn.items()}


def test_the_pairs_drawn_for_a_graph_do_not_depend_on_its_batch(chains):
    """One pass of training with batches of 8, with workers, and with each batch shared by three processes: the same pairs. The
    generator ends in the same state, so that a run goes on as if it had not stopped."""
    passes = []
    for workers, shares in ((0, [(0, 1)]), (2, [(0, 1)]), (0, [(0, 3), (1, 3), (2, 3)])):
        batches = []
        for share in shares:
            generator = torch.Generator().manual_seed(3)
            batches += list(chains.loader("train", 8, True, generator, workers, share))
        passes.append((drawn_by_graph(batches), generator.get_state().tolist()))
    assert passes[0] == passes[1] == passes[2]
    assert passes[0][0] != drawn_by_graph(chains.loader("train", 8, True, torch.Generator().manual_seed(4)))


def test_a_graph_whose_pairs_are_all_true_has_no_false_ones():
    true = np.array([[0, 0, 1, 1], [0, 1, 0, 1]])
    assert false_pairs(true, np.array([2]), [np.random.default_rng(0)]).shape == (2, 0)
    of, y = all_pairs(true, np.empty((2, 0), dtype=np.int64), np.array([2]))
    assert y.tolist() == [1, 1, 1, 1] and of.tolist() == true.tolist()


def test_drawn_tails_are_equally_likely():
    """One true pair of a graph of four nodes: 0 -> 1. The others, 0, 2 and 3, are drawn two at a time."""
    random, counts = np.random.default_rng(0), np.zeros(4)
    for _ in range(3000):
        head, tail = false_pairs(np.array([[0], [1]]), np.array([4]), [random])
        assert (head == 0).all()
        counts[tail] += 1
    assert counts[1] == 0 and np.abs(counts[[0, 2, 3]] - 2000).max() < 100
