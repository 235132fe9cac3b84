"""The TU text format: real data with the figures of Table 5, the published folds, a hand-made dataset, bad files."""

import zipfile

import numpy as np
import pytest

from data.dataset import DataConfig
from data.errors import DataError, StoreError
from data.TUs import NAMES, TABLE_5, TUDataset

# two triangles and a path; nodes 1-3, 4-5, 6-8 (numbered from 1 over all graphs)
TEXTS = {
    "A": "1, 2\n2, 1\n2, 3\n3, 2\n1, 3\n3, 1\n4, 5\n5, 4\n6, 7\n7, 6\n7, 6\n",
    "graph_indicator": "1\n1\n1\n2\n2\n3\n3\n3\n",
    "graph_labels": "-1\n1\n-1\n",
    "node_labels": "3\n5\n3\n3\n4\n5\n5\n5\n",
    "node_attributes": "0.5, 1\n1, 2\n1, 3\n2, 4\n2, 5\n3, 6\n3, 7\n3, 8\n",
}


def config(store_dir, data_dir, **keys):
    return DataConfig(store_dir=str(store_dir), data_dir=str(data_dir), raw_dir=str(store_dir), offline=True, **keys)


def write(folder, as_zip=True, **changes):
    """The files of a dataset TINY, in an archive or a folder; None leaves one out."""
    texts = TEXTS | changes
    if as_zip:
        (folder / "TU").mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(folder / "TU/TINY.zip", "w") as archive:
            for kind, text in texts.items():
                if text is not None:
                    archive.writestr(f"TINY//TINY_{kind}.txt", text)
    else:
        (folder / "TINY").mkdir(parents=True)
        for kind, text in texts.items():
            (folder / f"TINY/TINY_{kind}.txt").write_text(text)


def tiny(folder):
    return TUDataset("TU/TINY", config(folder / "stores", folder))


@pytest.mark.parametrize("name", TABLE_5)
def test_table_5(real_data, store_dir, name):
    dataset = TUDataset(name, config(store_dir, real_data))  # `check` compares all figures
    n_graphs, n_classes, n_features, nodes, edges = TABLE_5[name]
    assert len(dataset.store) == n_graphs and dataset.target.n_out == n_classes
    assert dataset.features.node.shape == (n_features,)
    assert (
        round(dataset.store.n_nodes / n_graphs, 2) == nodes and round(dataset.store.n_edges / n_graphs / 2, 2) == edges
    )
    folds = [dataset.fold(f).parts for f in dataset.folds]
    check_folds(folds, dataset.store.column("graph.label"))


def check_folds(folds, labels):
    """Ten folds of 8:1:1; every graph is tested once; class shares differ by one graph at most."""
    assert len(folds) == 10
    assert sorted(np.concatenate([f["test"] for f in folds]).tolist()) == list(range(len(labels)))
    for parts in folds:
        assert sum(map(len, parts.values())) == len(labels)
        for part, share in (("train", 0.8), ("val", 0.1), ("test", 0.1)):
            counts = np.bincount(labels[parts[part]], minlength=labels.max() + 1)
            assert np.abs(counts - share * np.bincount(labels)).max() <= 2


@pytest.mark.parametrize("name", ["ENZYMES", "PROTEINS"])
def test_published_folds(real_data, store_dir, name):
    dataset = TUDataset(f"{name}-paper-splits", config(store_dir, real_data))
    check_folds([dataset.fold(f).parts for f in dataset.folds], dataset.store.column("graph.label"))
    file = {"ENZYMES": "ENZYMES", "PROTEINS": "PROTEINS_full"}[name]
    first = (real_data / f"splits/benchmarking-gnns/TUs/{file}_test.index").read_text().split()[0]
    assert dataset.fold(0).parts["test"].tolist() == [int(word) for word in first.split(",")]


@pytest.mark.parametrize("as_zip", [True, False])
def test_a_small_dataset_by_hand(tmp_path, as_zip):
    write(tmp_path, as_zip)
    store = tiny(tmp_path).store
    assert len(store) == 3 and store.column("graph.label").tolist() == [0, 1, 0]
    assert np.diff(store.column("node_offsets")).tolist() == [3, 2, 3]
    # the edge 7, 6 stands twice in the file; nodes count from 0 in each graph, sorted by destination
    assert list(zip(*store.edges(2), strict=True)) == [(1, 0), (0, 1)]
    assert list(zip(*store.edges(0), strict=True)) == [(1, 0), (2, 0), (0, 1), (2, 1), (0, 2), (1, 2)]
    assert store.rows("node.feat", 1).tolist() == [[2, 4], [2, 5]]


def test_features_without_attributes(tmp_path):
    write(tmp_path, node_attributes=None)
    assert tiny(tmp_path).store.rows("node.feat", 0).tolist() == [[1, 0, 0], [0, 0, 1], [1, 0, 0]]
    write(tmp_path / "b", node_attributes=None, node_labels=None)
    assert tiny(tmp_path / "b").store.rows("node.feat", 1).tolist() == [[1], [1]]


BAD = {
    "missing file": ({"graph_labels": None}, "graph_labels.txt is missing"),
    "empty file": ({"A": ""}, "A.txt: not a table of int64 numbers .no data"),
    "node 0": ({"A": "0, 1\n"}, "node 0: expected 1 to 8"),
    "node 9": ({"A": "1, 9\n"}, "node 9: expected 1 to 8"),
    "two graphs": ({"A": "1, 4\n"}, "edge 1, 4 joins two graphs"),
    "three columns": ({"A": "1, 2, 3\n"}, "3 numbers per line"),
    "no number": ({"graph_labels": "1\nx\n2\n"}, "graph_labels.txt: .*x"),
    "ragged": ({"node_attributes": "1, 2\n3\n"}, "node_attributes"),
    "NaN": ({"node_attributes": TEXTS["node_attributes"].replace("0.5", "nan")}, "NaN"),
    "too few attributes": ({"node_attributes": "1\n2\n"}, "features of 2 nodes, but there are 8"),
    "indicator": ({"graph_indicator": "1\n1\n2\n1\n2\n3\n3\n3\n"}, "graph indicator"),
    "labels": ({"graph_labels": "1\n2\n"}, "graph indicator"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files_are_refused_and_leave_no_store(tmp_path, case):
    changes, message = BAD[case]
    write(tmp_path, **changes)
    with pytest.raises(DataError, match=message) as error:
        tiny(tmp_path)
    assert "TINY.zip" in str(error.value)
    assert not [p for p in (tmp_path / "stores").rglob("*") if p.suffix != ".lock"]


@pytest.mark.parametrize("content", [b"PK\x03\x04 cut", b"", b"text"])
def test_files_that_are_no_archives(tmp_path, content):
    (tmp_path / "TU").mkdir()
    (tmp_path / "TU/TINY.zip").write_bytes(content)
    with pytest.raises(DataError, match=r"TINY\.zip: .*(zip|empty)"):
        tiny(tmp_path)


def test_a_missing_dataset_names_the_places(tmp_path):
    with pytest.raises(DataError, match=r"TU/TINY\.zip: not found .*offline"):
        tiny(tmp_path)


def test_other_data_under_the_name_of_the_paper(tmp_path):
    write(tmp_path)
    with zipfile.ZipFile(tmp_path / "TU/ENZYMES.zip", "w") as archive:
        for kind, text in TEXTS.items():
            archive.writestr(f"ENZYMES_{kind}.txt", text)
    with pytest.raises(StoreError, match="in Table 5"):
        TUDataset("ENZYMES", config(tmp_path / "stores", tmp_path))


def test_bad_folds(tmp_path):
    write(tmp_path)
    folder = tmp_path / "splits/benchmarking-gnns/TUs"
    folder.mkdir(parents=True)
    for texts, message in (
        (("0\n", "1\n", "3\n"), "found 3"),
        (("0\n", "0\n", "2\n"), "graph 0 is in train and again in val"),
        (("0\n", "1\n", "x\n"), "x"),
    ):
        for part, text in zip(("train", "val", "test"), texts, strict=True):
            (folder / f"TINY_{part}.index").write_text(text)
        with pytest.raises(DataError, match=message):
            TUDataset("TU/TINY-paper-splits", config(tmp_path / "stores", tmp_path))


def test_names():
    """The COLLAB of this collection is not OGB's: all but the paper's three carry the collection's name."""
    assert NAMES[:3] == ("ENZYMES", "DD", "PROTEINS")
    for name in ("../x", "TU/../x", "COLLAB", "MUTAG"):
        with pytest.raises(DataError, match="or TU/NAME for any other"):
            TUDataset(name)


# --------------------------------------------------------------------------------------------------------------------
# As the Taxonomy reads them


def test_folds_of_the_taxonomy(real_data, store_dir):
    """Fold 0 of MUTAG as its program draws it; attributes stand before the labels of ENZYMES."""
    mutag = TUDataset("TU/MUTAG", config(store_dir, real_data, splits="taxonomy"))
    first = [0, 1, 2, 21, 22, 23, 47, 54, 58, 64, 78, 91, 94, 104, 114, 126, 147, 174, 181]
    assert mutag.fold(0).parts["test"].tolist() == first == mutag.fold(9).parts["val"].tolist()
    keys = {"splits": "taxonomy", "features": "attributes+labels"}
    enzymes = TUDataset("TU/ENZYMES", config(store_dir, real_data, **keys))
    assert [enzymes.fold(f).parts["test"].sum() for f in (0, 9)] == [18164, 18111]
    x = enzymes.store.column("node.feat")
    assert x.shape[1] == 21 and (x[:, 18:].sum(1) == 1).all()


def test_the_taxonomy_leaves_out_two_graphs_of_DD(real_data, store_dir):
    dataset = TUDataset("TU/DD", config(store_dir, real_data, splits="taxonomy"))
    assert len(dataset.store) == 1176 and dataset.store.header["counts"]["max_nodes"] < 3500


def test_the_taxonomy_drops_self_loops(tmp_path):
    labels = "-1\n" * 20 + "1\n" * 20
    indicator = "".join(f"{i}\n" for i in range(1, 41))
    write(
        tmp_path,
        A="1, 1\n2, 2\n",
        graph_indicator=indicator,
        graph_labels=labels,
        node_labels="1\n" * 40,
        node_attributes=None,
    )
    for splits, n in ((None, 2), ("taxonomy", 0)):
        assert TUDataset("TU/TINY", config(tmp_path / "stores", tmp_path, splits=splits)).store.n_edges == n
