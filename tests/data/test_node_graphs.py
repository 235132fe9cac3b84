"""Datasets of one graph: real files where they are at hand, small files of the same format elsewhere, and bad ones."""

import gzip
import json
import pickle
import zipfile

import numpy as np
import pytest
import scipy.sparse

from data.citation import DATASETS as CITATION
from data.citation import Documents, Planetoid, csr
from data.dataset import DataConfig
from data.errors import DataError, StoreError
from data.geom_gcn import DATASETS as GEOM_GCN
from data.geom_gcn import GeomGCN
from data.musae import DATASETS as MUSAE
from data.musae import Raw, Reduced
from data.node_graphs import undirected
from data.splits import random_split
from data.wikics_flickr import Flickr, WikiCS


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


# --------------------------------------------------------------------------------------------------------------------
# Citations, products, authors


@pytest.mark.parametrize("name", ["CF-CoraML", "CF-CiteSeer"])
def test_documents(real_data, store_dir, name):
    """Opening compares nodes, edges, features and classes with Table C.2. The split follows the seed."""
    dataset = CITATION[name](config(real_data, store_dir, seed=3))
    assert set(np.unique(dataset.store.column("node.feat"))) == {0, 1} and loops(dataset) == 0
    parts = random_split(dataset.store.n_nodes, 3)
    assert all(np.array_equal(dataset.fold(0).parts[part], parts[part]) for part in parts)
    assert sizes(CITATION[name](config(real_data, store_dir, limit=50)).fold(0)) == [50, 50, 50]


class TinyDocuments(Documents):
    name, file, source, counts = "TinyDocuments", "tiny", "-", (3, 4, 2, 2)


def write_documents(folder, **changes):
    adjacency = scipy.sparse.csr_array(np.array([[1, 1, 0], [0, 0, 1], [0, 1, 0]], np.float32))
    words = scipy.sparse.csr_array(np.array([[0.5, 0], [0, 2], [1, 1]], np.float32))
    arrays = {"labels": np.array([0, 1, 1])}
    for prefix, matrix in (("adj", adjacency), ("attr", words)):
        arrays |= {f"{prefix}_{part}": getattr(matrix, part) for part in ("data", "indices", "indptr", "shape")}
    (folder / "node/npz").mkdir(parents=True)
    np.savez(folder / "node/npz/tiny.npz", **arrays | changes)


def test_links_both_ways_and_words_as_0_and_1(tmp_path):
    write_documents(tmp_path)
    store = TinyDocuments(config(tmp_path)).store
    assert store.column("node.feat").tolist() == [[1, 0], [0, 1], [1, 1]]
    assert sorted(zip(*(e.tolist() for e in store.edges(0)), strict=True)) == [(0, 1), (1, 0), (1, 2), (2, 1)]


BAD_DOCUMENTS = [
    ({"adj_indices": np.array([0, 9, 2, 1])}, "adj: .*damaged or of another format"),
    ({"adj_indices": np.array([0, 1, 2, 1.5])}, "adj: a place: 1.5: expected whole numbers"),
    ({"attr_indptr": np.array([0, 1, 2])}, "attr: .*damaged or of another format"),
    ({"attr_data": np.array(["a"] * 4)}, "attr: values of type <U1, expected numbers"),
    ({"attr_shape": np.array([3, 10**12])}, r"attr: shape \(3, 1000000000000\), of TinyDocuments \(3, 2\)"),
    ({"labels": np.array([0, 1, 0.5])}, "labels: 0.5: expected whole numbers"),
    ({"labels": np.zeros((3, 2), int)}, r"labels of shape \(3, 2\)"),
    ({"labels": np.array([0, 1, -1])}, "from 0 on"),
]


@pytest.mark.parametrize(("changes", "message"), BAD_DOCUMENTS, ids=[message for _, message in BAD_DOCUMENTS])
def test_a_damaged_matrix(tmp_path, changes, message):
    write_documents(tmp_path, **changes)
    with pytest.raises(DataError, match=rf"tiny.npz, {message}|tiny.npz: .*{message}"):
        TinyDocuments(config(tmp_path))


class TinyPlanetoid(Planetoid):
    name, file, counts = "TinyPlanetoid", "tiny", (5, 6, 3, 2)


def write_planetoid(folder, places="4\n3\n", **changes):
    """Three rows of allx, then two of tx at the places 4 and 3."""
    folder = folder / "node/planetoid"
    folder.mkdir(parents=True, exist_ok=True)
    content = {
        "allx": scipy.sparse.csr_matrix(np.array([[1, 0, 0], [0, 2, 0], [0, 0, 1]], np.float32)),
        "tx": scipy.sparse.csr_matrix(np.array([[1, 1, 0], [0, 1, 1]], np.float32)),
        "ally": np.eye(2)[[0, 1, 0]],
        "ty": np.eye(2)[[1, 1]],
        "graph": {0: [1], 1: [0, 2], 2: [1], 3: [4], 4: [3, 4]},
    }
    for part, value in (content | changes).items():
        (folder / f"ind.tiny.{part}").write_bytes(pickle.dumps(value, protocol=2))
    (folder / "ind.tiny.test.index").write_text(places)


def test_planetoid(tmp_path):
    write_planetoid(tmp_path)
    store = TinyPlanetoid(config(tmp_path)).store
    assert store.column("node.feat").tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 1], [1, 1, 0]]
    assert store.column("node.label").tolist() == [0, 1, 0, 1, 1]


BAD_PLANETOID = [
    ({"allx": {"rows": 3}}, "it holds rows: expected a sparse matrix"),
    ({"allx": [3]}, "it holds list: expected a sparse matrix"),
    ({"allx": scipy.sparse.csr_matrix((3, 10**12), dtype=np.float32)}, "they do not belong together"),
    ({"ally": [[1, 0]] * 3}, "they do not belong together"),
    ({"ty": np.eye(2)[[1, 1]] * 1j}, "ty: values of type complex128"),
    ({"graph": [[1]]}, "expected 5 nodes"),
    ({"graph": {0: 1}}, "graph: .*damaged"),
    ({"graph": {0: [0.5]}}, "graph: edges: 0.5: expected whole numbers"),
    ({"places": "4\n999999999999\n"}, "places up to 999999999999, expected 5 nodes"),
    ({"places": "4\n"}, "they do not belong together"),
]


@pytest.mark.parametrize(("changes", "message"), BAD_PLANETOID, ids=[message for _, message in BAD_PLANETOID])
def test_bad_planetoid(tmp_path, changes, message):
    write_planetoid(tmp_path, **changes)
    with pytest.raises(DataError, match=message):
        TinyPlanetoid(config(tmp_path))


# --------------------------------------------------------------------------------------------------------------------
# Contacts


@pytest.mark.parametrize("name", ["Twitch-PT-raw", "LFMA-raw"])
def test_raw_contacts(real_data, store_dir, name):
    dataset = MUSAE[name](config(real_data, store_dir))
    assert loops(dataset) == (dataset.store.n_nodes if name.startswith("Twitch") else 0)


class TinyReduced(Reduced):
    name, file, counts = "TinyReduced", "tiny", (3, 5, 2, 2)


def test_edges_as_stored(tmp_path):
    (tmp_path / "node/ptg").mkdir(parents=True)
    edges = np.array([[0, 1], [1, 0], [2, 2], [0, 2], [0, 2]])
    arrays = {"features": np.ones((3, 2)), "target": np.array([0, 1, 1]), "edges": edges}
    np.savez(tmp_path / "node/ptg/tiny.npz", **arrays)
    assert TinyReduced(config(tmp_path)).store.n_edges == 5
    for changes, message in (
        ({"edges": edges.T}, r"edges of shape \(2, 5\)"),
        ({"edges": edges + 0.5}, "edges: 0.5: expected whole numbers"),
        ({"features": np.full((3, 2), 1e308)}, r"tiny.npz: .*1e\+308 does not fit into float32"),
        ({"features": np.ones(3)}, r"features of shape \(3,\)"),
        ({"target": np.zeros(0, int)}, r"labels of shape \(0,\)"),
    ):
        np.savez(tmp_path / "node/ptg/tiny.npz", **arrays | changes)
        with pytest.raises(DataError, match=message):
            TinyReduced(config(tmp_path, tmp_path / "others"))


class TinyRaw(Raw):
    name, file, counts, column, number, loops = "TinyRaw", "tiny", (3, 7, 4, 2), "mature", "new_id", True


CONTACTS = {
    "edges.csv": "from,to\n0,1\n1,2\n",
    "target.csv": "id,mature,new_id\n77,True,2\n78,False,0\n79,True,1\n80,False,9\n",
    "features.json": '{"0": [3, 0], "2": [1], "1": []}',
}


def write_contacts(folder, changes):
    (folder / "node/musae").mkdir(parents=True)
    with zipfile.ZipFile(folder / "node/musae/tiny.zip", "w") as archive:
        for name, text in (CONTACTS | changes).items():
            archive.writestr(name, text)


BAD_CONTACTS = [
    ("edges.csv", "from,to\n0,1,1,2\n", r"edges of shape \(1, 4\)"),
    ("edges.csv", "from,to\n0,18446744073709551616\n", "edges: values of type object: expected whole numbers"),
    ("target.csv", "id,mature,new_id\n77,True,2\n", "target.csv: 1 nodes, edges.csv has them up to 2"),
    ("features.json", '{"0": [3, 999999999999]}', "node 0: expected nodes below 3 with features below 4"),
    ("features.json", '{"-1": [3]}', "node -1: expected nodes below 3"),
    ("features.json", '{"0": [0.5]}', "features of node 0: 0.5: expected whole numbers"),
    ("features.json", '{"0": [3], "0": [1]}', "the key '0' is there twice"),
    ("features.json", '{"0": [2]}', "features up to 2, expected 3"),
]


@pytest.mark.parametrize(("file", "text", "message"), BAD_CONTACTS, ids=[message for *_, message in BAD_CONTACTS])
def test_bad_contacts(tmp_path, file, text, message):
    write_contacts(tmp_path, {file: text})
    with pytest.raises(DataError, match=message):
        TinyRaw(config(tmp_path))


def test_a_zip_file_of_contacts(tmp_path):
    """The node of a row is its new_id; classes are sorted; one row too many is left out."""
    write_contacts(tmp_path, {})
    store = TinyRaw(config(tmp_path)).store
    assert store.column("node.label").tolist() == [0, 1, 1]
    assert store.column("node.feat").tolist() == [[1, 0, 0, 1], [0, 0, 0, 0], [0, 1, 0, 0]]


# --------------------------------------------------------------------------------------------------------------------
# WikiCS and Flickr


class TinyWikiCS(WikiCS):
    counts = (4, 4, 2, 2)


def test_wikics(tmp_path):
    """Training and validation nodes are trained on, the stopping nodes validate; links are directed, each once."""
    masks = {"train": [1, 0, 0, 0], "val": [0, 1, 0, 0], "stopping": [0, 0, 1, 0]}
    content = {f"{kind}_masks": [np.roll(mask, i).tolist() for i in range(20)] for kind, mask in masks.items()}
    content |= {"features": [[0.5, -1]] * 4, "labels": [0, 1, 1, 0], "links": [[1, 2], [0], [2], []]}
    (tmp_path / "node/wikics").mkdir(parents=True)
    path = tmp_path / "node/wikics/data.json"
    path.write_text(json.dumps(content | {"test_mask": [0, 0, 0, 1]}))
    dataset = TinyWikiCS(config(tmp_path))
    assert [part.tolist() for part in dataset.fold(0).parts.values()] == [[0, 1], [2], [3]] and loops(dataset) == 1
    for changes, message in (
        ({"labels": [0, 1, 0.5, 1]}, "labels: 0.5: expected whole numbers"),
        ({"links": [[1, 2.5]]}, "edges: 2.5: expected whole numbers"),
        ({"test_mask": [0, 0, 0, "x"]}, "mask: values of type <U21: expected whole numbers"),
        ({"test_mask": [1]}, r"masks of shape \(4,\), \(4,\), \(1,\)"),
        ({"features": [[1e308, 1]] * 4}, r"1e\+308 does not fit into float32"),
    ):
        path.write_text(json.dumps(content | {"test_mask": [0, 0, 0, 1]} | changes))
        with pytest.raises(DataError, match=message):
            TinyWikiCS(config(tmp_path, tmp_path / "others"))
    path.write_text("{}")
    with pytest.raises(DataError, match="damaged or of another format"):
        TinyWikiCS(config(tmp_path, tmp_path / "others"))


class TinyFlickr(Flickr):
    counts = (3, 3, 2, 2)


def test_flickr(tmp_path):
    folder = tmp_path / "node/flickr"
    folder.mkdir(parents=True)
    scipy.sparse.save_npz(folder / "adj_full.npz", scipy.sparse.csr_matrix(np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]])))
    np.save(folder / "feats.npy", np.array([[1.5, 0], [0, 2], [1, 1]]))
    (folder / "class_map.json").write_text('{"1": 1, "0": 0, "2": 1}')
    (folder / "role.json").write_text('{"tr": [2], "va": [0], "te": [1]}')
    dataset = TinyFlickr(config(tmp_path))
    assert [part.tolist() for part in dataset.fold(0).parts.values()] == [[2], [0], [1]]
    assert dataset.store.column("node.label").tolist() == [0, 1, 1]
    for file, text, message in (
        ("role.json", '{"tr": [2]}', "role.json: .*damaged or of another format"),
        ("role.json", '{"tr": [2], "va": [0.5], "te": [1]}', "role.json: va: 0.5: expected whole numbers"),
        ("class_map.json", '{"0": 0, "1": 1.5, "2": 0}', "labels: 1.5: expected whole numbers"),
        ("class_map.json", '{"0": 0, "2": 1}', "the nodes are not numbered from 0 on"),
        ("class_map.json", '"0"', "class_map.json: 'str' object has no attribute 'items': the file is damaged"),
    ):
        before = (folder / file).read_text()
        (folder / file).write_text(text)
        with pytest.raises(DataError, match=message):
            TinyFlickr(config(tmp_path, tmp_path / "others"))
        (folder / file).write_text(before)


@pytest.mark.parametrize("indptr", [[0, 10**8, 0], [0, 3, 2], [-1, 0, 0], [0, 1, 5], [[0, 0, 0]]])
def test_rows_of_a_sparse_matrix_that_do_not_follow_each_other(indptr):
    """The first, of a matrix without numbers, passed scipy's own check and was then read beyond its arrays."""
    n = 0 if np.max(indptr) == 10**8 else 2
    with pytest.raises(DataError, match="here: its rows do not follow each other"):
        csr(np.ones(n), np.zeros(n, int), np.array(indptr), np.array([2, 3]), "here")
