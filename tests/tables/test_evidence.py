"""The state of the project's own runs: counted by identity, agreement by the table's rule, the rest by what runs took."""

import pytest

from runs import evidence as lists
from runs.collect import by_id
from runs.errors import ConfigError
from runs.evidence import read_list, runs_of
from tables import evidence
from tables.table import table_view
from tests.tables.records import result

GCN = {"table": "table3", "rows": ["GCN-LapPE-L4"], "seeds": 2}


def line(entry, results):
    return evidence.line_of(entry, results, by_id(results))


def test_the_list_names_rows_that_exist():
    entries = read_list()
    assert len(entries) > 30 and all(runs_of(entry) for entry in entries)


def test_a_star_stands_for_all_rows_that_it_fits():
    names = {row.name for row, *_ in runs_of({"table": "table3", "rows": ["GCN-*"]})}
    assert names == {"GCN-LapPE-L4", "GCN-none-L4"}
    with pytest.raises(ConfigError, match=r"GNC-\*: .* no such row"):
        runs_of({"table": "table3", "rows": ["GNC-*"]})


def test_what_is_there_what_agrees_and_what_is_left():
    seeds = [seed for _, _, seed, fold in runs_of(GCN) if fold == 0]
    found = [result("table3/GCN-LapPE-L4", seeds[0], 100.0, fold) for fold in range(5)]
    assert line(GCN, found)[1:4] == ["5 of 10", "1 of 1", "0.5"]  # 0.1 hours per run
    assert line(GCN, [result("table3/GCN-LapPE-L4", seeds[0], 10.0, fold) for fold in range(5)])[2] == "0 of 1"
    assert line(GCN, [])[1:4] == ["0 of 10", "-", "?"]
    other = GCN | {"dataset": "CSL-published"}
    assert line(other, found)[1] == "0 of 10" and "on CSL-published" in line(other, found)[0]


def test_what_is_never_compared_neither_agrees_nor_differs():
    """A reduced grid, and a sample of the paper's dataset."""
    entry = {"table": "lrgb_table3_VOC", "rows": ["GatedGCN"], "dataset": "PascalVOC-SP-300", "seeds": 1}
    changes = {"dataset": entry["dataset"]}
    found = [result("lrgb_table3_VOC/GatedGCN", 0, 0.05, metric="macro_F1", changes=changes)]
    assert line(entry, found)[1:3] == ["1 of 1", "-"]
    view = table_view("lrgb_table3_VOC", found, "PascalVOC-SP-300")
    assert view.title.endswith("not comparable") and "agrees" not in [column.header for column in view.columns()]
    assert evidence.words_of({"table": "fair_table3_reduced", "rows": ["ENZYMES-GIN"]}, []) == []


def test_an_unknown_key_is_named(tmp_path):
    (tmp_path / "list.json").write_text('[{"table": "table3", "sedes": 3}]')
    with pytest.raises(ConfigError, match=r"sedes=3: .* Did you mean seeds"):
        lists.read_list(tmp_path / "list.json")


def test_the_command(capsys):
    assert evidence.main([]) == 0
    assert "hours left" in capsys.readouterr().out
