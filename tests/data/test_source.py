"""A store remembers what built it: an edited `build` under an old version is said, with the remedy."""

import importlib
import json
import subprocess
import sys
from itertools import count

import pytest

from data.dataset import DataConfig
from data.registry import DATASETS
from data.source import FILE, source_hash

MODULE = '''"""Rings."""

import numpy as np

from data.dataset import GraphDataset
from data.store import Field, PackedWriter

N = 5


def ring(n):
    """A ring."""
    i = np.arange(n)
    return i, (i + 1) % n


def unused():
    return 1


class Rings(GraphDataset):
    name, version, parameters, label = "rings", 1, {}, 0

    def build(self, path):
        # a comment
        with PackedWriter(path, self.name, [Field("graph", "label", "int64", n_types=2)]) as writer:
            for size in self.sizes():
                writer.add(size, *ring(size), graph={"label": self.label})
            writer.add_split("fold0", train=[0], val=[1], test=[2])

    def sizes(self):
        return [N, N + 1, N + 2]

    def other(self):
        return 0
'''
CHANGED = {
    "build": ("train=[0], val=[1]", "train=[1], val=[0]"),
    "a function that it calls": ("(i + 1) % n", "(i + 2) % n"),
    "a method that it calls": ("[N, N + 1, N + 2]", "[N, N + 1, N + 3]"),
    "a constant": ("N = 5", "N = 6"),
    "an attribute of the class": ('"rings", 1, {}, 0', '"rings", 1, {}, 1'),
}
SAME = {
    "a comment": ("# a comment", "# another"),
    "a docstring": ('"""A ring."""', '"""One."""'),
    "layout": ("train=[0], val=[1]", "train=[0],  val=[1]"),
    "a function that it does not call": ("return 1", "return 2"),
    "another method": ("return 0", "return 5"),
}


@pytest.fixture
def load(tmp_path, monkeypatch):
    """The dataset's class as a new program would find it, from changed source."""
    monkeypatch.syspath_prepend(tmp_path)

    numbers = count()

    def load(change=("", "")):
        old, new = change
        assert old in MODULE
        module = f"rings_{tmp_path.name}_{next(numbers)}"
        (tmp_path / f"{module}.py").write_text(MODULE.replace(old, new, 1))
        importlib.invalidate_caches()
        return importlib.import_module(module).Rings

    return load


@pytest.mark.parametrize("what", CHANGED)
def test_what_changes_the_data_is_said_once_with_the_remedy(load, tmp_path, capsys, what):
    config = DataConfig(store_dir=str(tmp_path / "stores"))
    store = load()(config).store
    assert capsys.readouterr().err == ""
    changed = load(CHANGED[what])
    changed(config)
    text = capsys.readouterr().err
    assert (
        "what builds rings has changed since" in text and "raise `version` of Rings" in text and text.count("\n") == 1
    )
    changed(config)
    assert capsys.readouterr().err == ""
    (store.path / FILE).unlink()  # the one remedy: it is right as it is
    load(CHANGED[what])(config)
    assert capsys.readouterr().err == ""
    newer = load(CHANGED[what])
    newer.version = 2  # the other one: another store
    assert newer(config).store.path != store.path and capsys.readouterr().err == ""


@pytest.mark.parametrize("what", SAME)
def test_what_does_not_change_it_is_not(load, tmp_path, capsys, what):
    config = DataConfig(store_dir=str(tmp_path / "stores"))
    load()(config)
    assert source_hash(load(SAME[what])) == source_hash(load())
    load(SAME[what])(config)
    assert capsys.readouterr().err == ""


def test_a_store_of_another_python_or_of_before_is_taken_as_it_is(load, tmp_path, capsys):
    config = DataConfig(store_dir=str(tmp_path / "stores"))
    path = load()(config).store.path / FILE
    for content in ('{"source": "0", "python": "2.7"}', "damaged", "[]"):
        path.write_text(content)
        load()(config)
        assert json.loads(path.read_text())["source"] == source_hash(load()) and capsys.readouterr().err == ""


def test_a_store_that_cannot_be_written_to_works(load, tmp_path, capsys):
    config = DataConfig(store_dir=str(tmp_path / "stores"))
    path = load()(config).store.path / FILE
    path.unlink()
    path.mkdir()  # as root, a folder without the right to write would be written to
    assert len(load()(config).store) == 3 and capsys.readouterr().err == ""


def test_every_dataset_has_the_same_hash_in_every_process():
    """Of an address or an order of a set there is nothing in it."""
    classes = {
        name: dataset for name, dataset in DATASETS.items() if isinstance(dataset, type) and hasattr(dataset, "build")
    }
    source_hash.cache_clear()  # other tests replace attributes of these classes for a while
    here = {name: source_hash(dataset) for name, dataset in classes.items()}
    assert None not in here.values() and len(here) > 15
    program = (
        "import json\nfrom data.registry import DATASETS\nfrom data.source import source_hash\n"
        f"print(json.dumps({{name: source_hash(DATASETS[name]) for name in {list(classes)!r}}}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == here
