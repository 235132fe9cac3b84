"""COLLAB on a look-alike in OGB's raw format: what is read is what was written, and what is wrong is refused by name."""

import csv
import gzip
import io
import re
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch

from data.COLLAB import COLLAB, YEARS, OwnCOLLAB
from data.dataset import DataConfig
from data.errors import DataError, StoreError
from data.folds import EVALUATION_PAIRS, random_pairs
from tools import collab_lookalike

TABLES = Path(__file__).resolve().parents[2] / "paper_tables" / "benchmarking_gnns"
SMALL = {"n_groups": 6, "group_size": 6, "n_features": 4, "n_negatives": 60}


def config(data_dir, tmp_path, **keys):
    return DataConfig(
        data_dir=str(data_dir), store_dir=str(tmp_path / "stores"), raw_dir=str(tmp_path / "raw"), offline=True, **keys
    )


@pytest.fixture(scope="module")
def raw_dir(tmp_path_factory):
    return collab_lookalike.write(tmp_path_factory.mktemp("collab"))


@pytest.fixture(scope="module")
def dataset(raw_dir, tmp_path_factory):
    return OwnCOLLAB(config(raw_dir, tmp_path_factory.mktemp("stores")))


def read_member(raw_dir, name):
    with zipfile.ZipFile(raw_dir / "ogbl_collab" / "collab.zip") as archive:
        return archive.read(f"collab/{name}")


def table(raw_dir, name):
    return np.array(
        [line.split(",") for line in gzip.decompress(read_member(raw_dir, f"raw/{name}.csv.gz")).decode().split()]
    )


def split(raw_dir, name):
    # our own file of a moment ago: it may be loaded without restrictions
    return torch.load(io.BytesIO(read_member(raw_dir, f"split/time/{name}.pt")), weights_only=False)


# What the dataset is


def test_counts_are_those_of_tables_1_and_5():
    with open(TABLES / "table5_dataset_statistics.csv", newline="") as file:
        row = next(line for line in csv.DictReader(file) if line["dataset"] == "COLLAB")
    assert COLLAB.counts["nodes"] == float(row["avg_nodes"])
    assert COLLAB.counts["edges"] == float(row["avg_edges"]) == 2 * COLLAB.counts["pairs.train"]
    assert COLLAB.counts["node features"] == int(row["node_feat_dim"])
    # OGB's page counts the edges of all years
    assert sum(COLLAB.counts[f"pairs.{part}"] for part in ("train", "val", "test")) == 1_285_465


def test_the_graph_is_the_training_edges_in_both_directions_with_year_and_weight(dataset, raw_dir):
    g = dataset.fold(0).g
    u_v, year, weight = (table(raw_dir, name).astype(int) for name in ("edge", "edge_year", "edge_weight"))
    expected = [(u, v, y, w) for (u, v), (y,), (w,) in zip(u_v.tolist(), year.tolist(), weight.tolist(), strict=True)]
    expected += [(v, u, y, w) for u, v, y, w in expected]
    src, dst = g.edges()
    found = torch.cat([src[:, None], dst[:, None], g.edata["feat"].long()], dim=1)
    assert Counter(map(tuple, found.tolist())) == Counter(expected)
    assert g.edata["feat"].dtype == torch.float32
    assert max(Counter(map(tuple, found[:, :2].tolist())).values()) > 1  # a multigraph: several years
    assert np.allclose(g.ndata["feat"], table(raw_dir, "node-feat").astype(np.float32))


def test_pairs_are_those_of_the_split_in_its_order(dataset, raw_dir):
    fold = dataset.fold(0)
    for part, name in (("train", "train"), ("val", "valid"), ("test", "test")):
        arrays = split(raw_dir, name)
        assert np.array_equal(fold.parts[part], arrays["edge"])
        if part != "train":
            assert np.array_equal(fold.negatives[part], arrays["edge_neg"])
    assert np.array_equal(fold.negatives["train"], fold.negatives["val"])


def test_no_edge_of_validation_or_test_carries_messages(dataset, raw_dir):
    g = dataset.fold(0).g
    assert int(g.edata["feat"][:, 0].max()) <= YEARS["train"][1]
    messages = {
        (*pair, year)
        for *pair, year in zip(*(x.tolist() for x in g.edges()), g.edata["feat"][:, 0].tolist(), strict=True)
    }
    pairs = {pair[:2] for pair in messages}
    again = 0
    for name in ("valid", "test"):
        arrays = split(raw_dir, name)
        for (u, v), year in zip(arrays["edge"].tolist(), arrays["year"].tolist(), strict=True):
            assert (u, v, year) not in messages
            again += (u, v) in pairs
    assert again > 10  # the pair alone may be: colleagues of old publish again


def test_features_are_the_declared_ones(dataset):
    assert dataset.features == dataset.declared.features
    assert dataset.folds == (0,) and dataset.fold(0).name == "split"
    with pytest.raises(ValueError, match="fold=1: COLLAB-own has the fold 0 only"):
        dataset.fold(1)


def test_opening_again_needs_no_raw_file(raw_dir, tmp_path, monkeypatch):
    """COLLAB itself, with the look-alike's counts."""
    counts = {"nodes": 400, "edges": 4608, "node features": 128, "pairs.train": 2304, "negatives.test": 2000}
    monkeypatch.setattr(COLLAB, "counts", counts)
    first = COLLAB(config(raw_dir, tmp_path))
    nowhere = tmp_path / "nowhere"
    nowhere.mkdir()
    assert COLLAB(config(nowhere, tmp_path)).store.hash == first.store.hash
    monkeypatch.setattr(COLLAB, "counts", counts | {"pairs.train": 7})
    with pytest.raises(StoreError, match=r"pairs.train 2304 instead of 7: delete the folder"):
        COLLAB(config(nowhere, tmp_path))


def test_another_file_is_another_dataset(raw_dir, dataset, tmp_path):
    other = collab_lookalike.write(tmp_path / "other", collab_lookalike.members(**SMALL))
    assert OwnCOLLAB(config(other, tmp_path)).store.n_nodes == 36
    again = OwnCOLLAB(config(raw_dir, tmp_path))
    assert again.store.hash == dataset.store.hash and again.store.n_nodes == 400


def test_an_unpacked_folder_is_the_same_data(tmp_path):
    files = collab_lookalike.members(**SMALL)
    zipped = OwnCOLLAB(config(collab_lookalike.write(tmp_path / "zip", files), tmp_path))
    for name, content in files.items():
        path = tmp_path / "folder" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    unpacked = OwnCOLLAB(config(tmp_path / "folder", tmp_path))
    for key in zipped.store.header["arrays"]:
        assert np.array_equal(zipped.store.column(key), unpacked.store.column(key)), key


@pytest.mark.parametrize("form", ["legacy", "zip", "other numpy", "tensors"])
def test_every_form_of_saved_arrays_is_read(form, tmp_path):
    files = collab_lookalike.members(**SMALL, legacy=form != "zip")
    for name in [name for name in files if name.endswith(".pt")]:
        if form == "other numpy":  # numpy 2 has renamed the module of its reconstruct function
            modules = (b"numpy._core.multiarray", b"numpy.core.multiarray")
            here, other = modules if modules[0] in files[name] else modules[::-1]
            assert here in files[name]
            files[name] = files[name].replace(here, other)
        if form == "tensors":
            arrays = torch.load(io.BytesIO(files[name]), weights_only=False)
            files[name] = collab_lookalike.saved({key: torch.from_numpy(x) for key, x in arrays.items()})
    found = OwnCOLLAB(config(collab_lookalike.write(tmp_path / form, files), tmp_path)).fold(0).parts
    reference = collab_lookalike.members(**SMALL)["collab/split/time/valid.pt"]
    assert np.array_equal(found["val"], torch.load(io.BytesIO(reference), weights_only=False)["edge"])


def test_limit_takes_so_many_pairs_of_each_part_and_leaves_graph_and_negatives(raw_dir, dataset, tmp_path):
    limited = OwnCOLLAB(config(raw_dir, tmp_path, limit=20))
    fold = limited.fold(0)
    assert [len(pairs) for pairs in fold.parts.values()] == [20, 20, 20]
    assert len(fold.negatives["test"]) == 2000 and fold.g.num_edges() == dataset.fold(0).g.num_edges()


def test_it_can_be_drawn(dataset):
    class Axes:
        lines, points = 0, None

        def plot(self, xs, ys, **style):
            self.lines += len(xs) == len(ys) == 2

        def scatter(self, xs, ys, c, zorder):
            self.points = len(xs), c.count("tab:red")

        def set_title(self, text):
            assert "scientist 3" in text

        def set_axis_off(self):
            pass

    axes = Axes()
    dataset.draw(axes, 3)
    colleagues = set(dataset.fold(0).g.predecessors(3).tolist())
    assert axes.points == (len(colleagues) + 1, 1) and axes.lines >= len(colleagues) > 0


# Batches


def test_training_batches_cover_every_pair_once_with_as_many_new_negatives(dataset):
    fold = dataset.fold(0)
    generator = torch.Generator().manual_seed(1)
    loader = fold.loader("train", 500, shuffle=True, generator=generator)
    assert len(loader) == 5
    passes = []
    for _ in range(2):
        batches = list(loader)
        assert all(g is fold.g for g, _, _ in batches)
        assert [len(y) for _, _, y in batches] == [1000] * 4 + [608]
        for _, pairs, y in batches:
            assert pairs.shape == (2, len(y)) and pairs.dtype == torch.int64 and y.dtype == torch.float32
            assert y.sum() * 2 == len(y)
            assert (pairs[0, y == 0] != pairs[1, y == 0]).all() and pairs.min() >= 0 and pairs.max() < 400
        positive = torch.cat([pairs[:, y == 1] for _, pairs, y in batches], dim=1).T
        negative = torch.cat([pairs[:, y == 0] for _, pairs, y in batches], dim=1).T
        assert Counter(map(tuple, positive.tolist())) == Counter(map(tuple, fold.parts["train"].tolist()))
        passes.append((positive, negative))
    assert not any(torch.equal(a, b) for a, b in zip(*passes, strict=True))  # another order and other negatives
    again = list(fold.loader("train", 500, shuffle=True, generator=torch.Generator().manual_seed(1)))
    assert torch.equal(torch.cat([pairs[:, y == 0] for _, pairs, y in again], dim=1).T, passes[0][1])


def test_random_pairs_are_uniform_over_ordered_pairs_of_different_nodes():
    pairs = random_pairs(4, 24_000, torch.Generator().manual_seed(0))
    counts = Counter(map(tuple, pairs.tolist()))
    assert set(counts) == {(a, b) for a in range(4) for b in range(4) if a != b}
    assert all(abs(n - 2000) < 5 * 2000**0.5 for n in counts.values())
    assert random_pairs(2, 50).sum(dim=1).eq(1).all()


@pytest.mark.parametrize("part", ["train", "val", "test"])
def test_evaluation_is_positives_then_all_negatives_in_order_whatever_the_batches(dataset, part, monkeypatch):
    fold = dataset.fold(0)
    (only,) = fold.loader(part, 64)
    assert EVALUATION_PAIRS >= 60_084 + 100_000  # validation and test of COLLAB: one pass through the graph
    monkeypatch.setattr("data.folds.EVALUATION_PAIRS", 1)
    loader = fold.loader(part, 333)
    batches = list(loader)
    assert len(loader) == len(batches) > 1
    pairs, y = torch.cat([b[1] for b in batches], dim=1), torch.cat([b[2] for b in batches])
    assert torch.equal(pairs, only[1]) and torch.equal(y, only[2])
    expected = np.concatenate([fold.parts[part], fold.negatives[part]])
    assert np.array_equal(pairs.T, expected) and int(y.sum()) == len(fold.parts[part]) and (y.diff() <= 0).all()


# Bad input


def without(name):
    return lambda files: files.pop(f"collab/{name}")


def cut(name, n_bytes):
    def change(files):
        files[f"collab/{name}"] = files[f"collab/{name}"][:n_bytes]

    return change


def text(name, edit):
    """Change the text of a csv file."""

    def change(files):
        key = f"collab/raw/{name}.csv.gz"
        files[key] = gzip.compress(edit(gzip.decompress(files[key]).decode()).encode())

    return change


def cell(name, value):
    """Put a value into line 3, first column."""

    def edit(content):
        lines = content.split("\n")
        lines[2] = ",".join([value, *lines[2].split(",")[1:]])
        return "\n".join(lines)

    return text(name, edit)


def arrays(name, edit):
    def change(files):
        key = f"collab/split/time/{name}.pt"
        content = torch.load(io.BytesIO(files[key]), weights_only=False)
        files[key] = collab_lookalike.saved(edit(content))

    return change


def at(key, value):
    """Put a value into the third row of an array."""

    def edit(content):
        content[key] = content[key].copy()
        content[key][2] = value
        return content

    return edit


def drop_last_lines(files):
    """The graph has one edge less than the training split."""
    for name in ("edge", "edge_year", "edge_weight"):
        text(name, lambda content: content[: content[:-1].rindex("\n") + 1])(files)
    text("num-edge-list", lambda content: f"{int(content) - 1}\n")(files)


class Harmful:
    def __reduce__(self):
        return pytest.fail, ("code in the file was run",)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without("raw/edge_year.csv.gz"), r"edge_year.csv.gz: missing: get the archive again"),
        (without("split/time/test.pt"), r"test.pt: missing"),
        (cut("raw/edge.csv.gz", 80), r"edge.csv.gz: damaged or cut short"),
        (cut("raw/edge.csv.gz", 0), r"edge.csv.gz: not a table of int64 numbers .*no data"),
        (cut("split/time/train.pt", 700), r"train.pt: damaged"),
        (cut("split/time/train.pt", 0), r"train.pt: damaged"),
        (text("edge", lambda content: ""), r"edge.csv.gz: not a table of int64 numbers .*no data"),
        (text("edge", lambda content: content.replace(",", ",1,", 1)), r"edge.csv.gz: not a table.*columns changed"),
        (text("edge", lambda content: content.replace(",", ",1,")), r"edge.csv.gz: 3 columns: expected 2"),
        (text("edge_year", lambda content: content + "2010\n"), r"edge_year.csv.gz: shape .*expected \(\d+, any\)"),
        (text("node-feat", lambda content: content[content.index("\n") + 1 :]), r"node-feat.csv.gz: shape \(35, 4\)"),
        (text("num-node-list", lambda content: content * 2), r"num-node-list.csv.gz: shape \(2, 1\)"),
        (cell("edge", "36"), r"edge.csv.gz: 36 in row 3: expected 0 to 35"),
        (cell("edge", "-1"), r"edge.csv.gz: -1 in row 3: expected 0 to 35"),
        (cell("edge", "x"), r"edge.csv.gz: not a table of int64 numbers .*'x'"),
        (cell("edge", "2.5"), r"edge.csv.gz: not a table of int64 numbers"),
        (cell("node-feat", "nan"), r"node-feat.csv.gz: nan in line 3, column 1: expected finite"),
        (cell("node-feat", "inf"), r"node-feat.csv.gz: inf in line 3"),
        (cell("node-feat", ""), r"node-feat.csv.gz: not a table of float32"),
        (cell("edge_year", "2018"), r"edge_year.csv.gz: 2018 in row 3: expected 1900 to 2017"),
        (cell("edge_year", "2016.5"), r"edge_year.csv.gz: not a table of int64 numbers"),
        (cell("edge_year", "early"), r"edge_year.csv.gz: not a table of int64 numbers"),
        (cell("edge_weight", "-1"), r"edge_weight.csv.gz: -1 in row 3: expected 1 or more"),
        (cell("edge_weight", "0"), r"edge_weight.csv.gz: 0 in row 3: expected 1 or more"),
        (arrays("train", at("year", 2018)), r"train.pt, year: 2018 in row 3: expected 1900 to 2017"),
        (arrays("valid", at("year", 2017)), r"valid.pt, year: 2017 in row 3: expected 2018 to 2018"),
        (arrays("test", at("year", 2018)), r"test.pt, year: 2018 in row 3: expected 2019 to 2019"),
        (arrays("valid", at("edge", 36)), r"valid.pt, edge: 36 in row 3: expected 0 to 35"),
        (arrays("test", at("edge_neg", -5)), r"test.pt, edge_neg: -5 in row 3: expected 0 to 35"),
        (arrays("valid", lambda a: a | {"year": a["year"].astype(float)}), r"valid.pt, year: values of type float64"),
        (arrays("valid", lambda a: a | {"year": a["year"][1:]}), r"valid.pt, year: shape"),
        (arrays("valid", lambda a: a | {"edge_neg": a["edge_neg"].T}), r"valid.pt, edge_neg: shape \(2, 60\)"),
        (arrays("valid", lambda a: a | {"edge": "0 1"}), r"valid.pt, edge: str: expected an array"),
        (arrays("test", lambda a: {k: x[:0] for k, x in a.items()}), r"test.pt, edge: no pairs"),
        (arrays("valid", lambda a: a | {"edge_neg": a["edge_neg"][:0]}), r"valid.pt, edge_neg: no pairs"),
        (arrays("valid", lambda a: a | {"edge": np.array(7)}), r"valid.pt, edge: shape \(\)"),
        (arrays("test", lambda a: {"edge": a["edge"]}), r"test.pt: holds \['edge'\]: expected a dictionary with"),
        (arrays("test", lambda a: [1]), r"test.pt: holds list"),
        (arrays("test", lambda a: a | {"x": Harmful()}), r"test.pt: damaged, or .* \(it holds _pytest"),
        (arrays("train", at("year", 1999)), r"edge \(\d+, \d+\) of \d+ is in one of them only"),
        (arrays("train", at("edge", 0)), r"edge \(\d+, \d+\) of \d+ is in one of them only"),
        (arrays("train", lambda a: {k: np.concatenate([x, x[:1]]) for k, x in a.items()}), r"listed more often"),
        (drop_last_lines, r"is in one of them only"),
    ],
)  # fmt: skip
def test_bad_files_are_refused_and_no_store_is_left(change, message, tmp_path):
    files = collab_lookalike.members(**SMALL)
    change(files)
    data_dir = collab_lookalike.write(tmp_path / "data", files)
    with pytest.raises(DataError, match=message) as error:
        OwnCOLLAB(config(data_dir, tmp_path))
    assert "collab.zip" in str(error.value) or "train.pt" in str(error.value)
    assert [path for path in (tmp_path / "stores").rglob("*") if path.suffix != ".lock"] == []


def test_not_a_zip_an_empty_one_and_a_cut_one(tmp_path):
    path = collab_lookalike.write(tmp_path / "data", collab_lookalike.members(**SMALL)) / "ogbl_collab" / "collab.zip"
    whole = path.read_bytes()
    for content, message in (
        (b"hello", "not a zip file"),
        (whole[: len(whole) // 2], "damaged or cut short .File is not a zip file"),
        (b"", "the file is empty"),
        (whole.replace(b"node-feat", b"mode-feat"), "node-feat.csv.gz: missing"),
    ):
        path.write_bytes(content)
        with pytest.raises(DataError, match=message):
            OwnCOLLAB(config(tmp_path / "data", tmp_path))


def test_a_flipped_byte_in_the_zip_is_found(tmp_path):
    path = collab_lookalike.write(tmp_path / "data", collab_lookalike.members(**SMALL)) / "ogbl_collab" / "collab.zip"
    content = bytearray(path.read_bytes())
    content[content.index(b"edge_weight.csv.gz") + 40] ^= 1
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"edge_weight.csv.gz: (damaged|not a table)"):
        OwnCOLLAB(config(tmp_path / "data", tmp_path))


def test_nothing_there_says_where_to_get_it(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"not found.*offline forbids.*snap.stanford.edu"):
        COLLAB(config(tmp_path / "empty", tmp_path))
    with pytest.raises(DataError, match=r"no address to download it from"):
        OwnCOLLAB(config(tmp_path / "empty", tmp_path))
    with pytest.raises(DataError, match="no such folder"):
        COLLAB(config(tmp_path / "nowhere", tmp_path))


def test_a_small_file_is_not_taken_for_ogbs(raw_dir, tmp_path):
    with pytest.raises(
        DataError, match=re.escape("nodes 400 instead of 235868, edges 4608 instead of 2358104")
    ) as error:
        COLLAB(config(raw_dir, tmp_path))
    assert "--dataset COLLAB-own" in str(error.value)
