"""Datasets of one graph: real files where they are at hand, small files of the same format elsewhere, and bad ones."""

import gzip

import numpy as np
import pytest

from data.dataset import DataConfig
from data.errors import DataError, StoreError
from data.geom_gcn import DATASETS as GEOM_GCN
from data.geom_gcn import GeomGCN
from data.node_graphs import undirected
from data.splits import random_split


def config(folder, stores=None, **keys):
    return DataConfig(
        store_dir=str(stores or folder / "stores"), data_dir=str(folder), raw_dir="-", offline=True, **keys
    )


def loops(dataset):
    src, dst = dataset.store.edges(0)
    return int((src == dst).sum())


def sizes(fold):
    return [len(fold.parts[part]) for part in ("train", "val", "test")]


# --------------------------------------------------------------------------------------------------------------------
# Geom-GCN

# {name: (self-loops, nodes of the parts of the first split, classes)}; nodes, edges and features are compared on opening
REAL = {
    "WebKB-Cor": (3, [87, 59, 37], [33, 1, 18, 101, 30]),
    "WebKB-Cor-true": (3, [87, 59, 37], [38, 16, 30, 82, 17]),
    "WebKB-Wis": (16, [120, 80, 51], [10, 70, 118, 32, 21]),
    "WebKB-TeX": (16, [87, 59, 37], [33, 1, 18, 101, 30]),
    "Actor": (93, [3648, 2432, 1520], None),
    "WikiNet-cham": (50, [1092, 729, 456], None),
}


@pytest.mark.parametrize("name", REAL)
def test_geom_gcn(real_data, store_dir, name):
    dataset = GEOM_GCN[name](config(real_data, store_dir))
    n_loops, parts, classes = REAL[name]
    assert loops(dataset) == n_loops and sizes(dataset.fold(0)) == parts and dataset.folds == [0]
    assert dataset.target.n_out == 5 and dataset.target.level == "node"
    if classes:
        assert np.bincount(dataset.store.column("node.label")).tolist() == classes


def test_the_node_file_of_cornell_is_that_of_texas(real_data, store_dir):
    """The trap: WebKB-Cor has the features and labels of WebKB-TeX; WebKB-Cor-true has its own."""
    cornell, true, texas = (
        GEOM_GCN[n](config(real_data, store_dir)).store for n in ("WebKB-Cor", "WebKB-Cor-true", "WebKB-TeX")
    )
    for key in ("node.feat", "node.label"):
        assert np.array_equal(cornell.column(key), texas.column(key)) and not np.array_equal(
            true.column(key), texas.column(key)
        )
    assert np.array_equal(cornell.column("edge.src"), true.column("edge.src"))


class Tiny(GeomGCN):
    name, file, counts = "Tiny", "tiny", (4, 3, 3, 2)


class Listed(GeomGCN):
    name, file, counts, width = "Listed", "tiny", (4, 3, 3, 2), 3


def write_tiny(folder, edges="node_id\tnode_id\n0\t1\n0\t1\n2\t2\n3\t0\n", nodes=None, packed=False):
    nodes = nodes or "node_id\tfeature\tlabel\n2\t1,0,1\t1\n0\t0,1,0\t0\n3\t0,0,1\t1\n1\t1,1,1\t0\n"
    (folder / "node/geom-gcn/new_data/tiny").mkdir(parents=True)
    (folder / "node/geom-gcn/splits").mkdir()
    for kind, text in (("graph_edges", edges), ("node_feature_label", nodes)):
        path = folder / f"node/geom-gcn/new_data/tiny/out1_{kind}.txt"
        if packed:
            path.with_name(path.name + ".gz").write_bytes(gzip.compress(text.encode()))
        else:
            path.write_text(text)
    for i in range(10):
        masks = {
            f"{part}_mask": np.roll(mask, i)
            for part, mask in zip(("train", "val", "test"), np.eye(4)[[0, 1, 2]], strict=True)
        }
        masks["test_mask"] += np.roll(np.eye(4)[3], i)
        np.savez(
            folder / f"node/geom-gcn/splits/tiny_split_0.6_0.2_{i}.npz",
            **{k: m.astype(np.uint8) for k, m in masks.items()},
        )


@pytest.mark.parametrize("packed", [False, True])
def test_nodes_by_number_and_distinct_edges(tmp_path, packed):
    write_tiny(tmp_path, packed=packed)
    dataset = Tiny(config(tmp_path))
    assert dataset.store.column("node.feat").tolist() == [[0, 1, 0], [1, 1, 1], [1, 0, 1], [0, 0, 1]]
    assert dataset.store.column("node.label").tolist() == [0, 0, 1, 1]
    assert sorted(zip(*(e.tolist() for e in dataset.store.edges(0)), strict=True)) == [(0, 1), (2, 2), (3, 0)]
    g, of, y = next(iter(dataset.fold(0).loader("test", 1)))
    assert g.num_nodes() == 4 and of.tolist() == [2, 3] and y.tolist() == [1, 1]
    assert len(Tiny(config(tmp_path, splits="all")).folds) == 10


def test_features_listed_by_number(tmp_path):
    write_tiny(tmp_path, nodes="node_id\tfeature\tlabel\n0\t0,2\t1\n1\t1\t0\n2\t2\t0\n3\t0\t1\n")
    assert Listed(config(tmp_path)).store.column("node.feat").tolist() == [[1, 0, 1], [0, 1, 0], [0, 0, 1], [1, 0, 0]]


BAD = [
    ({"edges": "node_id\tnode_id\n0\t1\n0\n"}, "line 3: 1 columns, expected 2"),
    ({"edges": "node_id\tnode_id\n0\tx\n"}, "damaged or of another format"),
    ({"edges": "node_id\tnode_id\n0\t9\n"}, "edges up to node 9: the files do not belong together"),
    ({"nodes": "node_id\tfeature\tlabel\n0\t1,0,1\t1\n2\t0,1,0\t0\n"}, "not numbered from 0 to 1"),
]


@pytest.mark.parametrize(("changes", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_files(tmp_path, changes, message):
    write_tiny(tmp_path, **changes)
    with pytest.raises(DataError, match=message):
        Tiny(config(tmp_path))


def test_other_files_are_noticed(tmp_path):
    write_tiny(tmp_path, edges="node_id\tnode_id\n0\t1\n")
    with pytest.raises(StoreError, match=r"\(4, 1, 3, 2\), of Tiny \(4, 3, 3, 2\)"):
        Tiny(config(tmp_path))


# --------------------------------------------------------------------------------------------------------------------
# Splits and edges


@pytest.mark.parametrize(("n", "seed"), [(2995, 0), (4230, 7), (19, 3)])
def test_random_splits_are_those_of_scikit_learn(n, seed):
    from sklearn.model_selection import ShuffleSplit

    train, rest = next(ShuffleSplit(train_size=0.8, random_state=seed).split(np.zeros(n)))
    val, test = next(ShuffleSplit(train_size=0.1 / (1 - 0.8), random_state=seed).split(rest))
    parts = random_split(n, seed)
    assert [parts[part].tolist() for part in parts] == [train.tolist(), rest[val].tolist(), rest[test].tolist()]


def test_undirected():
    assert undirected([[0, 1], [1, 0], [2, 2], [3, 1]]).tolist() == [[0, 1], [1, 0], [1, 3], [3, 1]]
