"""A grid of one's own: a main file compares its configurations, prints them all with the chosen one, and goes on when stopped."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from main_CSL import main
from runs.ledger import Ledger
from tables import selection
from tables.summary import selection_table
from train import run_main
from train.selection import SelectionConfig

ROOT = Path(__file__).resolve().parents[1]
TABLE = {
    "main": "CSL",
    "seeds": [3],
    "folds": 2,
    "grid": {"net.hidden_dim": [4, 8], "train.optimizer.lr": [0.1, 0.01]},
    "shared": {
        "dataset": "CSL",
        "data": {"limit": 10},
        "selection": {"repetitions": 1},
        "train": {"batch_size": 5, "optimizer": {"kind": "adam"}, "stop": {"epochs": 3}},
    },
    "rows": {"GCN": {"net": {"model": "GCN", "L": 1, "encodings": [{"kind": "LapPE", "k": 4}]}}},
}


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "my_table.json"
    path.write_text(json.dumps(TABLE))
    return path


@pytest.fixture
def words(store_dir, tmp_path):
    return ["--data.store_dir", store_dir, "--out_dir", str(tmp_path / "out"), "--progress", "false", "--folds", "0,1"]


def chosen_of(text):
    """{fold: number of the configuration that the table marks}"""
    lines = [line.split() for line in text.splitlines() if "*" in line]
    return {int(fold): int(line[0]) for line in lines for fold in re.findall(r"fold (\d)", " ".join(line))}


def test_all_configurations_and_the_chosen_one(table, words, tmp_path, capsys):
    main(["--config", str(table), "--select", *words])
    text = capsys.readouterr().out
    assert "my_table/GCN: 4 configurations, 8 of 8 trainings are made." in text
    assert "net.hidden_dim  train.optimizer.lr  val accuracy (%)" in text
    results = {r["fold"]: r for path in tmp_path.rglob("result.json") if (r := json.loads(path.read_text()))}
    assert chosen_of(text) == {fold: result["selected"] for fold, result in results.items()} and len(results) == 2
    ledgers = {path.parent.name: Ledger(path) for path in tmp_path.rglob("selection.jsonl")}
    for fold, result in results.items():  # the best validation; of equal ones the last
        scores = [ledgers[f"fold_{fold}"].lines[str(i)]["val"]["accuracy"] for i in range(4)]
        assert result["selected"] == max(range(4), key=lambda i: (scores[i], i))
    mean = sum(ledger.lines["2"]["val"]["accuracy"] for ledger in ledgers.values()) / 2
    assert re.search(rf"(?m)^2 +8 +0\.1 +{mean:.3f} ± ", text)
    assert "test accuracy (%)" in text  # of the chosen ones
    (folder,) = (tmp_path / "out/CSL").iterdir()
    assert not selection.main([str(folder)]) and capsys.readouterr().out == text  # at any time
    assert not list(tmp_path.rglob("*.pt"))  # a grid of thousands would fill the disk


def test_a_stopped_selection_goes_on_and_parts_are_used(table, words, tmp_path, capsys):
    words = ["--config", str(table), *words]  # a row with a grid needs no --select
    for part in ("1/2", "2/2"):
        main([*words, "--part", part])
    assert "this part of the grid is trained" in capsys.readouterr().out
    (folder,) = (tmp_path / "out/CSL").iterdir()
    with pytest.raises(SystemExit, match="parts of a grid alone so far"):
        selection.main([str(folder)])
    before = {path: path.read_text() for path in tmp_path.rglob("part_*/selection.jsonl")}
    assert len(before) == 4
    main(words)
    first = capsys.readouterr().out
    assert before == {path: path.read_text() for path in before}
    (ledger, *_) = sorted(folder.glob("seed_3/fold_0/selection.jsonl"))
    (ledger.parent / "result.json").unlink()  # stopped before it was written
    text = selection_table(*selection.read_outcomes(folder))
    assert "8 of 8 trainings" in text and list(chosen_of(text)) == [1]
    lines = ledger.read_text()
    main(words)
    again = capsys.readouterr().out
    assert ledger.read_text() == lines and chosen_of(again) == chosen_of(first)


def error_of(*words):
    with pytest.raises(SystemExit) as stop:
        run_main(lambda: main(list(words)))
    assert isinstance(stop.value.code, str) and "\n" not in stop.value.code
    return stop.value.code


REFUSED = [
    ([], "--select: table3/GCN-LapPE-L4 has no grid: add one to the table file, or as --grid"),
    (["--grid", "[1]"], "grid=[1]: expected keys and lists of values"),
    (["--grid", '{"net.L": 4}'], "grid: net.L=4: expected a list of values"),
    (["--grid", '{"data.limit": [4, 5]}'], "grid: data.limit: expected keys of net and train"),
    (["--grid", '{"net.hiden_dim": [4]}'], "net.hiden_dim=4: unknown key. Did you mean net.hidden_dim?"),
    (["--grid", '{"net.L": [4, 0]}'], "grid, {'net.L': 0}: net.L=0: expected int > 0"),
    (
        ["--grid", '{"net.encodings": [[{"kind": "LapPE", "k": 2}], [{"kind": "LapPE", "k": 3}]]}'],
        "it needs other encodings than the first",
    ),
    (["--grid", '{"net.L": [1, 2]}', "--part", "3/2"], "part='3/2': there are 2 parts, 1/2 to 2/2"),
    (["--grid", '{"net.L": [1, 2]}', "--net.wat", "1"], "--net.wat: unknown."),
]


@pytest.mark.parametrize(("more", "message"), REFUSED, ids=[message[:40] for _, message in REFUSED])
def test_what_cannot_be_selected_is_refused_in_one_line(words, more, message):
    assert message in error_of("--select", *words, *more)


def test_a_grid_on_the_command_line(words, tmp_path, capsys):
    grid = ["--grid", '{"net.hidden_dim": [4, 8]}', "--net.L", "1", "--train.stop.epochs", "2", "--data.limit", "10"]
    main([*words, "--folds", "0", *grid, "--selection.repetitions", "1"])
    text = capsys.readouterr().out
    assert "2 configurations, 2 of 2 trainings are made" in text and "not a row of a paper" in text
    assert len(chosen_of(text)) == 1 and "grid" in next((tmp_path / "out/CSL").iterdir()).name


def test_the_engine_makes_it_in_parallel(table, store_dir, tmp_path, child_env):
    """The launcher takes a table of one's own with a grid like any other."""
    env = child_env | {"JOBS": "2", "OUT": str(tmp_path / "out"), "GNN_STORES": store_dir}
    done = subprocess.run(
        [sys.executable, "-m", "launch.reproduce", str(table)], cwd=ROOT, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.rglob("result.json"))) == 2


def test_a_main_file_that_does_not_select_says_so(table, words, monkeypatch):
    """It would train the first configuration of the grid under the name of the selection."""
    monkeypatch.setattr(SelectionConfig, "selects", False)
    assert "this main file does not select" in error_of("--config", str(table), *words)


def test_no_selection_is_below_the_folder(tmp_path):
    with pytest.raises(SystemExit, match="no selection below it"):
        selection.main([str(tmp_path)])
