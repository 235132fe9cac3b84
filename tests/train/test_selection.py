"""Model selection on a grid: the numbers of the Fair Comparison's protocol, ties, shared trainings, interruptions."""

import json
from types import SimpleNamespace

import pytest

from data.CSL import CSL
from data.dataset import DataConfig
from runs.ledger import Ledger
from runs.table_files import expand, find_table, table_files
from train.selection import SelectionConfig, best_of, groups_of, search, seed_of, select_and_assess
from train.tasks import GraphClassification

BASE = {
    "dataset": "CSL",
    "data": {"limit": 10},
    "net": {"model": "GCN", "L": 1, "hidden_dim": 4},
    "train": {
        "batch_size": 5,
        "optimizer": {"kind": "adam", "lr": 0.01},
        "stop": {"epochs": 4, "patience": 2, "ties": "renew"},
    },
    "grid": {"net.hidden_dim": [4, 8], "train.stop.of": ["metric", "loss"]},
    "selection": {"repetitions": 2},
    "progress": False,
}


@pytest.fixture(scope="module")
def dataset(store_dir):
    return CSL(DataConfig(store_dir=store_dir, limit=10))


@pytest.fixture
def config(tmp_path, store_dir):
    return SelectionConfig.model_validate({**BASE, "out_dir": str(tmp_path / "out")})


TASK = GraphClassification(10)


def test_the_runs_of_the_paper():
    """More than 47,000 trainings: 10 per configuration of a grid and 30 more, in all rows but the six of ECC printed as OOR."""
    runs = {}
    for name, table in table_files().items():
        if table.paper == "fair_comparison":
            sizes = [len(expand(row.config["grid"])) for row in table.rows.values()]
            runs[name] = sum(10 * size + 30 for size in sizes)
    assert runs["fair_GIN"] == 64 * 140 + 420 and runs["fair_GraphSAGE"] == 72 * 140 + 420
    assert runs["fair_DGCNN"] == runs["fair_DiffPool"] == 48 * 140 + 420
    assert runs["fair_ECC"] == 32 * 140 + 420
    assert runs["fair_baseline"] == 3330 + 750 + 4440 + 1620
    assert sum(runs.values()) - 6 * (32 * 10 + 30) == 47_100


def test_the_grid_is_in_the_order_of_the_program():
    """At a tie GIN ends with the loss stopper, dropout 0, no train_eps, [32, 32], batch 128: the last configuration."""
    grid = expand(find_table("fair_GIN").row("ENZYMES").config["grid"])
    assert grid[-1] == {
        "train.batch_size": 128, "net.widths": [32, 32], "net.train_eps": False, "net.dropout": 0.0, "train.stop.of": "loss",
    }  # fmt: skip


def line(accuracy):
    return {"val": accuracy if accuracy is None else {"accuracy": accuracy}}


def test_among_equal_configurations_the_last_wins():
    ledger = SimpleNamespace(lines={"0": line(50.0), "1": line(70.0), "2": line(70.0), "3": line(None)})
    assert best_of(ledger, 4, TASK) == 2
    assert best_of(SimpleNamespace(lines={}), 4, TASK) is None


def test_seeds_are_a_function_of_where_they_are_used():
    seeds = {seed_of(1, fold, i, r) for fold in range(10) for i in range(64) for r in range(4)}
    assert len(seeds) == 2560 and seed_of(1, 2, 3, 0) == seed_of(1, 2, 3) != seed_of(2, 2, 3)


def test_configurations_that_differ_in_the_stopper_share_a_training(config):
    assert groups_of(config.configurations(), share=True) == [[0, 1], [2, 3]]
    assert groups_of(config.configurations(), share=False) == [[0], [1], [2], [3]]


def test_the_best_configuration_is_assessed(config, dataset):
    result = select_and_assess(config, dataset, 0, TASK)
    assert result["status"] == "ok" and result["n_configurations"] == 4 and len(result["finals"]) == 2
    tests = [final["test"]["accuracy"] for final in result["finals"]]
    assert result["metrics"]["best_val"]["test"]["accuracy"] == pytest.approx(sum(tests) / 2)
    assert result["changes"] == expand(BASE["grid"])[result["selected"]]
    ledger = Ledger(config.run(0).path / "selection.jsonl")
    assert sorted(ledger.lines) == ["0", "1", "2", "3", "final-0", "final-1"]
    assert ledger.lines["0"]["seed"] == ledger.lines["1"]["seed"]  # one training
    assert select_and_assess(config, dataset, 0, TASK) == result  # not run again


def test_an_interrupted_selection_goes_on_with_what_is_missing(config, dataset, tmp_path):
    """Stopped after any line, and done in two parts by two processes: the same result."""
    whole = select_and_assess(config, dataset, 0, TASK)
    lines = (config.run(0).path / "selection.jsonl").read_text().splitlines(keepends=True)
    for n in range(len(lines)):
        again = config.model_copy(update={"out_dir": str(tmp_path / f"again-{n}")})
        path = again.run(0).path
        path.mkdir(parents=True)
        (path / "selection.jsonl").write_text("".join(lines[:n]))
        result = select_and_assess(again, dataset, 0, TASK)
        assert {k: result[k] for k in ("metrics", "selected", "finals")} == {
            k: whole[k] for k in ("metrics", "selected", "finals")
        }
    parts = config.model_copy(update={"out_dir": str(tmp_path / "parts")})
    for part in ((0, 2), (1, 2)):
        assert select_and_assess(parts, dataset, 0, TASK, part) is None
    assert select_and_assess(parts, dataset, 0, TASK)["metrics"] == whole["metrics"]


def test_a_training_that_diverges_is_a_line_with_its_status(config, dataset, tmp_path):
    net, grid = {**BASE["net"], "hidden_dim": 32, "L": 3, "batch_norm": False}, {"train.optimizer.lr": [1e30, 0.01]}
    wild = SelectionConfig.model_validate({**BASE, "net": net, "grid": grid, "out_dir": str(tmp_path / "wild")})
    path = wild.run(0).path
    path.mkdir(parents=True)
    ledger = Ledger(path / "selection.jsonl")
    search(wild, dataset, 0, TASK, ledger, progress=False)
    lines = [json.loads(text) for text in (path / "selection.jsonl").read_text().splitlines()]
    assert [line["status"] for line in lines] == ["Diverged", "ok"]
    assert best_of(ledger, 2, TASK) == 1
