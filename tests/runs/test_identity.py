"""The identity of a run: what its numbers depend on, whatever the order, the spelling and the name of its row."""

import json

import pytest
from pydantic import Field

from data.transforms.perturb import Frag
from nets.encodings import LapPE
from runs.identity import canonical, hash_of, identity, read_defaults, without_defaults
from runs.table_files import find_row, table_files
from tools.defaults import conflicts, make, walk
from train.config import Config, TrainConfig
from train.selection import SelectionConfig


def row_of(name):
    return find_row(name)


def test_the_defaults_are_those_of_the_schema():
    """`python -m tools.defaults` was run after the last key was added."""
    assert read_defaults() == make()


def test_a_number_has_one_spelling():
    assert canonical({"b": 12.0, "a": [1e-5, True, None]}) == '{"a":[1e-05,true,null],"b":12}'
    assert canonical({"a": 0.00001}) == canonical({"a": 1e-5})


def test_a_key_at_its_default_is_not_part_of_it():
    """With or without `"dropout": 0.0`, with a section written out or left out: the same identity."""
    row = row_of("table2_ZINC/GCN-L4")
    whole = Config.model_validate({"seed": 1, **row.config}).model_dump()
    assert len(json.dumps(whole)) > 2 * len(json.dumps(row.config))
    assert identity(whole) == identity(row.config)
    assert hash_of(identity(whole)) == row.id()


@pytest.mark.parametrize("name", [name for name, table in table_files().items() if table.main != "BREC"])
def test_table_files_and_schema_agree_on_every_identity(name):
    """Tables compute identities from the files alone; runs from the checked configuration."""
    for row in table_files()[name].rows.values():
        schema = SelectionConfig if "grid" in row.config else Config
        assert hash_of(identity(schema.model_validate(row.config).model_dump())) == row.id(), str(row)


def test_keys_that_change_no_number_are_not_part_of_it():
    row = row_of("table2_ZINC/GCN-L4")
    changes = {
        "seed": 7,
        "device": "cpu",
        "out_dir": "/elsewhere",
        "progress": False,
        "data.offline": True,
        "train.workers": 3,
    }
    assert row.id(changes) == row.id()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("net.L", 5),
        ("dataset", "AQSOL"),
        ("data.limit", 9),
        ("train.optimizer.lr", 0.01),
        ("train.select.epoch", "best_val"),
    ],
)
def test_any_other_key_is(key, value):
    row = row_of("table2_ZINC/GCN-L4")
    assert row.id({key: value}) != row.id()


def test_a_key_that_is_added_later_touches_no_stored_result():
    """A schema with one more key, at its default: all identities stay; at another value they do not."""

    class Longer(TrainConfig):
        added: float = Field(0.5, description="a key of next year")

    class NextYear(Config):
        train: Longer

    defaults, skipped = {}, set()
    walk(NextYear, "", defaults, skipped)
    assert defaults["train.added"] == 0.5
    row = row_of("table2_ZINC/GCN-L4")
    content = NextYear.model_validate(row.config).model_dump()
    assert content["train"]["added"] == 0.5
    stripped = without_defaults(content, defaults, skipped)
    assert hash_of(stripped) == row.id()
    content["train"]["added"] = 0.6
    assert hash_of(without_defaults(content, defaults, skipped)) != row.id()


def test_a_changed_default_is_refused():
    old = {"defaults": {"train.stop.epochs": 1000, "gone": 1}}
    new = {"defaults": {"train.stop.epochs": 500}}
    assert len(conflicts(old, new)) == 2


def test_a_version_that_falls_is_refused():
    old, new = ({"defaults": {}, "versions": {"net": versions}} for versions in ({"A": 2, "B": 3}, {"A": 3}))
    assert conflicts(old, new) == ["net B: version 3 in the file, 1 in the code"]


def test_versions_are_those_of_the_code(monkeypatch):
    assert make()["versions"]["transforms"] == make()["versions"]["encodings"] == {}
    monkeypatch.setattr(Frag, "version", 2)
    monkeypatch.setattr(LapPE, "version", 3)
    assert make()["versions"]["transforms"] == {"Frag": 2} and make()["versions"]["encodings"] == {"LapPE": 3}


def test_a_version_of_a_net_is_part_of_it():
    """GraphSage computes something else since version 2; GCN is what it was."""
    assert identity(row_of("table2_ZINC/GraphSage-L4").config)["net"]["version"] == 2
    assert "version" not in identity(row_of("table2_ZINC/GCN-L4").config)["net"]


def test_a_version_of_a_perturbation_and_of_an_encoding_too(monkeypatch):
    rows = [row_of(name) for name in ("taxonomy_figure4/MUTAG+HighPass", "table3/GCN-LapPE-L4", "table3/GCN-none-L4")]
    before = [hash_of(identity(row.config)) for row in rows]
    versions = read_defaults()["versions"]
    monkeypatch.setitem(versions, "transforms", {"HighPass": 2})
    monkeypatch.setitem(versions, "encodings", {"LapPE": 2})
    after = [hash_of(identity(row.config)) for row in rows]
    assert [a == b for a, b in zip(before, after, strict=True)] == [False, False, True]


@pytest.mark.parametrize(
    "changes",
    [
        {"net": {"encodings": {"kind": "LapPE"}}},
        {"net": {"encodings": "LapPE"}},
        {"net": {"encodings": None}},
        {"net": {"encodings": ["LapPE"]}},
        {"net": 3},
        {"data": {"transforms": None}},
        {"data": None},
        {"data": []},
    ],
)
def test_what_a_user_has_written_wrongly_has_an_identity_too(changes):
    """What is wrong with it the run says."""
    assert hash_of(identity({"dataset": "MINE", **changes}))


def test_rows_of_two_tables_with_one_configuration_have_one_identity():
    """Table 7 'No PE' on CSL is GatedGCN of Table 3 without encodings."""
    assert row_of("table7_CSL/No_PE").id() == row_of("table3/GatedGCN-none-L4").id()
