"""The card says what a dataset is and what the paper says of it; the check finds what is wrong with one's own."""

import inspect
import re
import zipfile

import numpy as np
import pytest

from data import card, check
from data.dataset import DataConfig, GraphDataset
from data.errors import DataError
from data.registry import DATASETS, open_dataset
from data.store import Field, PackedWriter


def test_the_card_of_csl(store_dir, capsys):
    assert card.main(["CSL", "--store_dir", store_dir]) == 0
    text = capsys.readouterr().out
    lines = {line.split("  ")[0]: line.split() for line in text.splitlines()}
    assert lines["graphs"][-2:] == ["150", "150"] and lines["nodes"][-2:] == ["6,150", "6,150"]
    assert lines["nodes per graph"][-2:] == ["41.00", "41.00"]
    assert lines["directed edges per graph"][-2:] == ["164.00", "164.00"]
    dataset = open_dataset("CSL", DataConfig(store_dir=store_dir))
    assert dataset.store.hash in text and "splits: 5 (train 90, val 30, test 30)" in text
    assert "graph class 9:  10.0 % (15)" in text and "circular skip links" in text and "licence" in text


def test_the_card_of_pattern_has_the_range_of_table_1(store_dir, capsys):
    assert card.main(["PATTERN", "--store_dir", store_dir, "--limit", "4"]) == 0
    text = capsys.readouterr().out
    counts = open_dataset("PATTERN", DataConfig(store_dir=store_dir, limit=4)).store.header["counts"]
    (line,) = (line.split() for line in text.splitlines() if "from - to" in line)
    assert line[-2:] == ["44-188", f"{counts['min_nodes']}-{counts['max_nodes']}"] and "PATTERN, version 2" in text


@pytest.mark.parametrize("name", ["CSL", "PATTERN", "CLUSTER"])
def test_pictures(store_dir, tmp_path, name):
    pytest.importorskip("matplotlib")
    path = tmp_path / "picture.png"
    assert card.main([name, "--store_dir", store_dir, "--limit", "4", "--draw", str(path)]) == 0
    assert path.read_bytes().startswith(b"\x89PNG") and path.stat().st_size > 10000


def test_pictures_of_molecules(real_data, store_dir, tmp_path):
    path = tmp_path / "molecules.png"
    words = ["ZINC-redrawn", "--store_dir", store_dir, "--data_dir", str(real_data), "--draw", str(path)]
    assert card.main(words) == 0 and path.stat().st_size > 10000


def test_the_card_says_why_a_dataset_may_stand_for_the_papers(real_data, store_dir, capsys):
    assert card.main(["ZINC-rebuilt", "--store_dir", store_dir, "--data_dir", str(real_data)]) == 0
    text = capsys.readouterr().out
    (nodes,) = (line.split() for line in text.splitlines() if line.startswith("nodes  "))
    assert nodes == ["nodes", "277,864", "277,864"]


def test_every_dataset_has_a_licence_and_a_version():
    for name, dataset in DATASETS.items():
        if isinstance(dataset, type):
            assert dataset.name == name and dataset.version >= 1 and isinstance(dataset.licence, str)


def test_unknown_names(capsys):
    assert card.main(["PATERN"]) == 1
    assert "Did you mean PATTERN?" in capsys.readouterr().err


def test_a_picture_that_cannot_be_drawn(store_dir, tmp_path, capsys):
    words = ["CSL", "--store_dir", store_dir, "--draw"]
    assert card.main([*words, str(tmp_path / "nowhere" / "x.png")]) == 1
    assert "nowhere" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        card.main([*words, str(tmp_path / "x.xyz")])
    assert "expected a name that ends in .png" in capsys.readouterr().err


def own_text_files(folder, name):
    folder.mkdir(parents=True)
    (folder / f"{name}_A.txt").write_text("1, 2\n2, 1\n3, 4\n4, 3\n")
    (folder / f"{name}_graph_indicator.txt").write_text("1\n1\n2\n2\n")
    (folder / f"{name}_graph_labels.txt").write_text("1\n2\n")


def test_a_namesake_in_the_collection_is_not_compared_with_the_paper(tmp_path, capsys):
    own_text_files(tmp_path / "TU" / "CSL", "CSL")
    assert card.main(["TU/CSL", "--store_dir", str(tmp_path / "stores"), "--data_dir", str(tmp_path)]) == 0
    assert "6,150" not in capsys.readouterr().out


@pytest.mark.parametrize("labels", [b"0\n1\n0\n4000000000\n", b"\xff\xfe\n"])
def test_the_check_of_odd_node_labels(tmp_path, capsys, labels):
    own_text_files(tmp_path / "OWN", "OWN")
    (tmp_path / "OWN" / "OWN_node_labels.txt").write_bytes(labels)
    assert check.main([str(tmp_path / "OWN")]) == 1 and "1 error, 0 warnings" in capsys.readouterr().out


def test_the_check_of_this_folder(tmp_path, capsys, monkeypatch):
    own_text_files(tmp_path / "OWN", "OWN")
    monkeypatch.chdir(tmp_path / "OWN")
    assert check.main(["."]) == 0 and "2 graphs, 4 nodes" in capsys.readouterr().out


# The check


def store(path, graphs, fields=None, **splits):
    """graphs: [(n, src, dst, features, label)]."""
    fields = fields or [
        Field("node", "feat", "float32", (1,), finite=False),
        Field("graph", "label", "int64", n_types=2),
    ]
    with PackedWriter(path, "own", fields) as writer:
        for n, src, dst, feat, label in graphs:
            given = {"node": {"feat": np.asarray(feat, np.float32).reshape(n, 1)}, "graph": {"label": label}}
            if len(fields) == 1:
                given.pop("graph")
            writer.add(n, src, dst, **given)
        for name, parts in splits.items():
            writer.add_split(name, **parts)
    return path


def good(label, shift=0.0):
    return 2, [0, 1], [1, 0], [1 + shift, 2], label


GOOD = [good(i % 2, shift=i) for i in range(6)]
SPLIT = {"train": [0, 1], "val": [2, 3], "test": [4, 5]}


def run(path, capsys):
    code = check.main([str(path)])
    return code, capsys.readouterr().out


def test_a_good_store(tmp_path, capsys):
    code, text = run(store(tmp_path / "s", GOOD, split=SPLIT), capsys)
    assert code == 0 and "0 errors, 0 warnings" in text


PROBLEMS = {
    "no split": ((GOOD, {}), 1, "there is no split"),
    "no test": ((GOOD, {"split": {"train": [0, 1], "val": [2, 3]}}), 1, "split split: test is missing or empty"),
    "unseen": ((GOOD, {"split": {"train": [0], "val": [2], "test": [1]}}), 1, "classes 1 are tested but never trained"),
    "copies": (
        ([*GOOD[:5], GOOD[0]], {"split": SPLIT}),
        0,
        "1 graph of val and test has an identical copy in train: 5",
    ),
    "no node": (([*GOOD, (0, [], [], [], 0)], {"split": SPLIT}), 1, "1 graph has no node: 6"),
    "no nodes": (([*GOOD, *[(0, [], [], [], 0)] * 2], {"split": SPLIT}), 1, "2 graphs have no node: 6, 7"),
    "no edge": (([*GOOD, (1, [], [], [3], 0)], {"split": SPLIT}), 0, "1 graph has no edge: 6"),
    "one way": (([*GOOD, (2, [0], [1], [3, 4], 0)], {"split": SPLIT}), 0, "one direction only"),
    "twice": (([*GOOD, (2, [0, 1, 0], [1, 0, 1], [3, 4], 0)], {"split": SPLIT}), 0, "has an edge twice: 6"),
    "loop": (([*GOOD, (2, [0, 1, 1], [1, 0, 1], [3, 4], 0)], {"split": SPLIT}), 0, "has self-loops: 6"),
    "isolated": (([*GOOD, (3, [0, 1], [1, 0], [3, 4, 5], 0)], {"split": SPLIT}), 0, "has isolated nodes: 6"),
    "NaN": (([*GOOD, (2, [0, 1], [1, 0], [np.nan, 4], 0)], {"split": SPLIT}), 1, "node.feat holds NaN"),
    "constant": (([(2, [0, 1], [1, 0], [1, 1], i % 2) for i in range(6)], {"split": SPLIT}), 0, "same everywhere"),
    "one class": (([good(0, i) for i in range(6)], {"split": SPLIT}), 0, "classes 1 of 2 never occur"),
}


@pytest.mark.parametrize("case", PROBLEMS)
def test_problems_are_named(tmp_path, capsys, case):
    (graphs, splits), code, message = PROBLEMS[case]
    seen, text = run(store(tmp_path / "s", graphs, **splits), capsys)
    assert message in text and seen == code


FEATURES = {
    "node.feat: int64 without n_types: say how many types, or store float32": ("int64", (3,)),
    "node.feat: n_types=4 with shape (3,): say how many types for each column": ("int64", (3,), 4),
    "node.feat: float64: store float32": ("float64", (3,)),
    "node.feat: bool: store float32": ("bool", (3,)),
    "node.feat: shape (): store the numbers of one node as shape (1,)": ("float32", ()),
    "node.feat: shape (3, 2): store the numbers of one node as shape (6,)": ("float32", (3, 2)),
}
LABELS = {
    "graph.label: n_types=2 with shape (1,): store one class per graph as shape ()": ("int64", (1,), 2),
    "graph.label: bool: store int64 with n_types=2 for classes, float32 for numbers": ("bool",),
    "graph.label: shape (2, 1): store the numbers of one graph as shape (2,)": ("float32", (2, 1)),
}


class Declaring(GraphDataset):
    """Six graphs; a test says how features and labels are declared."""

    name, version = "own", 1

    def __init__(self, folder, feat=("float32", (1,)), label=("int64", (), 2)):
        self.feat, self.label = Field("node", "feat", *feat), Field("graph", "label", *label)
        self.parameters = {"fields": str((feat, label))}
        super().__init__(DataConfig(store_dir=str(folder)))

    def build(self, path):
        with PackedWriter(path, self.name, [self.feat, self.label]) as writer:
            for i in range(6):
                feat = np.full((2, *self.feat.shape), i % 2, self.feat.dtype)
                label = np.full(self.label.shape, i % 2, self.label.dtype)
                writer.add(2, [0, 1], [1, 0], node={"feat": feat}, graph={"label": label})
            writer.add_split("split", **SPLIT)


@pytest.mark.parametrize("wrong", FEATURES)
def test_features_that_no_net_can_read(tmp_path, capsys, wrong):
    dataset = Declaring(tmp_path, feat=FEATURES[wrong])
    with pytest.raises(DataError, match=re.escape(f"own, {wrong}")):
        assert dataset.features
    code, text = run(dataset.store.path, capsys)
    assert code == 1 and f"error: {wrong}" in text


@pytest.mark.parametrize("wrong", LABELS)
def test_labels_that_no_task_can_read(tmp_path, capsys, wrong):
    dataset = Declaring(tmp_path, label=LABELS[wrong])
    with pytest.raises(DataError, match=re.escape(wrong)):
        assert dataset.target
    code, text = run(dataset.store.path, capsys)
    assert code == 1 and f"error: {wrong}" in text


def test_a_store_without_label_and_a_damaged_one(tmp_path, capsys):
    path = store(tmp_path / "s", GOOD, [Field("node", "feat", "float32", (1,))], split=SPLIT)
    assert "no field is called label" in run(path, capsys)[1]
    file = path / "node.feat.npy"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    code, text = run(path, capsys)
    assert code == 1 and "node.feat.npy" in text


def test_text_files_and_other_things(tmp_path, capsys):
    with zipfile.ZipFile(tmp_path / "OWN.zip", "w") as archive:
        archive.writestr("OWN_A.txt", "1, 2\n2, 1\n3, 4\n")
        archive.writestr("OWN_graph_indicator.txt", "1\n1\n2\n2\n")
        archive.writestr("OWN_graph_labels.txt", "1\n2\n")
    code, text = run(tmp_path / "OWN.zip", capsys)
    assert code == 0 and "2 graphs, 4 nodes, 3 edges" in text and "1 graph has an edge in one direction only" in text
    (tmp_path / "x.txt").write_text("x")
    for path in (tmp_path / "x.txt", tmp_path / "nowhere", tmp_path):
        assert run(path, capsys)[0] == 1


@pytest.mark.parametrize("name", DATASETS)
def test_every_dataset_can_be_opened_by_its_name(name):
    """open_dataset hands each of them a configuration and what the net needs."""
    inspect.signature(DATASETS[name]).bind(DataConfig(), needs=None)
