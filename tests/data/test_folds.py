"""Folds: the batches (g, of, y) of a division of graphs, of nodes, of pairs of nodes."""

import pytest
import torch

from data.dataset import DataConfig, GraphDataset
from data.folds import NodeFold
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
