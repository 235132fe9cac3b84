"""Positional encodings by node number, section D: numbers, permutations, sizes of the tables; and what eigenvectors need."""

import itertools

import dgl
import pytest
import torch

from data.dataset import Features
from data.store import Field
from nets import NETS, build_net
from nets.encodings import NodeIndex
from nets.inputs import InputEmbedding
from train.tasks import GraphClassification

NODE_TYPES = Field("node", "feat", "int64", n_types=3)
ORDERS = ["stored", "random"]


def batch_of(*sizes):
    return dgl.batch([dgl.graph(([], []), num_nodes=n) for n in sizes])


def encoding(n_indices, order):
    """An encoding whose vector for index k is (k,), so that the indices can be read off."""
    encoding = NodeIndex(n=n_indices, order=order).build(1)
    with torch.no_grad():
        encoding.table.weight.copy_(torch.arange(n_indices)[:, None])
    return encoding


def numbers(encoding, g):
    return encoding(g).flatten().int().tolist()


@pytest.mark.parametrize("order", ORDERS)
def test_nodes_are_numbered_in_each_graph_anew(order):
    assert numbers(encoding(4, order).eval(), batch_of(3, 1, 0, 4)) == [0, 1, 2, 0, 0, 1, 2, 3]
    assert numbers(encoding(4, "stored").train(), batch_of(3, 1, 0, 4)) == [0, 1, 2, 0, 0, 1, 2, 3]


def test_in_training_random_numbers_are_a_permutation_in_each_graph_and_change():
    random = encoding(20, "random").train()
    seen = [numbers(random, batch_of(20, 2, 20)) for _ in range(5)]
    for drawn in seen:
        assert sorted(drawn[:20]) == sorted(drawn[22:]) == list(range(20)) and sorted(drawn[20:22]) == [0, 1]
    assert len({tuple(drawn) for drawn in seen}) == 5 and all(drawn[:20] != drawn[22:] for drawn in seen)


def test_all_permutations_are_equally_likely():
    torch.manual_seed(0)
    random = encoding(3, "random").train()
    drawn = numbers(random, batch_of(*[3] * 6000))
    counts = dict.fromkeys(itertools.permutations(range(3)), 0)
    for i in range(0, len(drawn), 3):
        counts[tuple(drawn[i : i + 3])] += 1
    assert all(abs(n - 1000) < 5 * 1000**0.5 for n in counts.values())  # five standard deviations and more


@pytest.mark.parametrize("order", ORDERS)
def test_a_graph_larger_than_the_table_is_an_error_that_says_what_to_do(order):
    with pytest.raises(ValueError, match=r"NodeIndex has n=4, but a graph has 5 nodes: set n to 5 or more"):
        encoding(4, order)(batch_of(2, 5))


# Table 7: dataset, width, node types, numbers in the table, and by how much the printed count grows
TABLE_7 = [
    ("CSL", 70, None, 41, 106807 - 104007),
    ("PATTERN", 78, 3, 188, 516887 - 502223),
    ("CLUSTER", 78, 7, 190, 517435 - 502615),
    ("ZINC", 78, 28, 37, 507195 - 504309),
]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("dataset", "dim", "n_types", "n_indices", "more"), TABLE_7)
def test_the_counts_of_table_7_grow_by_the_table_of_numbers(dataset, dim, n_types, n_indices, more, order):
    def size(**keys):
        config = NETS["GCN"].Config(L=1, hidden_dim=dim, **keys)
        node = None if n_types is None else Field("node", "feat", "int64", n_types=n_types)
        return sum(p.numel() for p in InputEmbedding(Features(node, None), config, dim).parameters())

    assert size(encodings=[NodeIndex(n=n_indices, order=order)]) - size() == more


def test_the_encoding_is_added_to_the_node_features():
    config = NETS["GCN"].Config(L=1, hidden_dim=4, encodings=[NodeIndex(n=3)])
    embedding = InputEmbedding(Features(NODE_TYPES, None), config, 4)
    g = batch_of(2, 3)
    g.ndata["feat"] = torch.tensor([2, 0, 1, 1, 2])
    expected = embedding.node.weight[g.ndata["feat"]] + embedding.encodings[0].table.weight[[0, 1, 0, 1, 2]]
    assert torch.equal(embedding(g), expected)
    assert set(g.ndata) == {"feat"}


@pytest.mark.parametrize("order", ORDERS)
def test_indices_need_no_transform(order):
    config = NETS["GCN"].Config(L=1, hidden_dim=4, encodings=[NodeIndex(n=7, order=order)])
    assert config.needs == {}
    net = build_net(config, Features(None, None), GraphClassification(2))
    assert net(batch_of(7, 3)).shape == (2, 2)
