"""Model selection on a grid: the numbers of the Fair Comparison's protocol, ties, shared trainings, interruptions."""

import json
from functools import partial
from types import SimpleNamespace

import pytest
import torch
from tqdm import tqdm

from data.CSL import CSL
from data.dataset import DataConfig
from nets.gcn_net import GCNNet
from runs.files import RunError
from runs.ledger import Ledger
from runs.result import problem_of
from runs.signals import Interrupted
from runs.table_files import expand, find_table, table_files, with_changes
from train.optim import Stop
from train.selection import (
    SelectionConfig,
    Watch,
    best_of,
    groups_of,
    search,
    seed_of,
    select_and_assess,
    train_once,
)
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
        if table.main == "fair_comparison" and not table.made_of_others and not name.endswith("_reduced"):
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


def line(accuracy, status="ok"):
    return {"val": accuracy if accuracy is None else {"accuracy": accuracy}, "status": status}


def test_among_equal_configurations_the_last_wins():
    ledger = SimpleNamespace(lines={"0": line(50.0), "1": line(70.0), "2": line(70.0), "3": line(None)})
    assert best_of(ledger, 4, TASK) == 2
    assert best_of(SimpleNamespace(lines={}), 4, TASK) is None


def test_what_ran_out_of_time_does_not_count():
    """A training that diverged counts by its best epoch before."""
    ledger = SimpleNamespace(lines={"0": line(50.0), "1": line(90.0, "OOR"), "2": line(60.0, "Diverged")})
    assert best_of(ledger, 3, TASK) == 2


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


def numbers_of(result):
    return {
        key: result[key] for key in ("metrics", "selected", "finals", "n_configurations", "n_trainings", "statuses")
    }


def test_parts_of_a_grid_are_trained_apart_and_put_together(config, dataset, tmp_path):
    """Of two parts by two processes, one of them not finished: the same numbers, each configuration once."""
    whole = select_and_assess(config, dataset, 0, TASK)
    apart = config.model_copy(update={"out_dir": str(tmp_path / "parts")})
    path = apart.run(0).path
    for part in ("1/2", "2/2"):
        assert select_and_assess(apart.model_copy(update={"part": part}), dataset, 0, TASK) is None
    assert sorted(Ledger(path / "part_1_of_2" / "selection.jsonl").lines) == ["0", "1"]
    assert json.loads((path / "part_2_of_2" / "part.json").read_text())["part"] == "2/2"
    (path / "part_2_of_2" / "selection.jsonl").unlink()
    select_and_assess(
        apart.model_copy(update={"part": "2/3"}), dataset, 0, TASK
    )  # another division: what is done is not done again
    assert sorted(Ledger(path / "part_2_of_3" / "selection.jsonl").lines) == ["2", "3"]
    assert numbers_of(select_and_assess(apart, dataset, 0, TASK)) == numbers_of(whole)
    with pytest.raises(SystemExit, match="part='3/2': there are 2 parts"):
        select_and_assess(apart.model_copy(update={"part": "3/2"}), dataset, 0, TASK)


def test_one_training_gives_what_two_would(config, dataset, tmp_path):
    """Each configuration's best epoch and validation are those of its own training with the same seed; the result says which."""
    shared = select_and_assess(config, dataset, 0, TASK)
    assert shared["share_trainings"] is True and shared["n_trainings"] == 2
    lines = Ledger(config.run(0).path / "selection.jsonl").lines
    configurations = config.configurations()
    for i in range(4):
        alone = train_once(
            configurations[i][1], dataset, dataset.fold(0), TASK, lines[str(i)]["seed"], torch.device("cpu"),
            [configurations[i][1].train.stop], lambda: None,
        )  # fmt: skip
        assert alone["best"] == [{"epoch": lines[str(i)]["epoch"], "val": lines[str(i)]["val"]}]
    selection = config.selection.model_copy(update={"share_trainings": False})
    apart = config.model_copy(update={"selection": selection, "out_dir": str(tmp_path / "apart")})
    result = select_and_assess(apart, dataset, 0, TASK)
    assert result["share_trainings"] is False and result["n_trainings"] == 4


@pytest.mark.parametrize(
    ("values", "best", "last"),
    [([50, 60, 60, 55, 55, 55, 99], 3, 6), ([50, 49, 48, 47], 1, 4), ([50, 50, 50, 50], 4, None)],
)
def test_the_patience_of_the_program(values, best, last):
    """n = 3, validation 50, 60, 60, 55, 55, 55: the best epoch is 3 and the training ends after 6."""
    watch, trainer = Watch(Stop(patience=3, of="metric", ties="renew")), SimpleNamespace(_key=lambda val, of: -val)
    for epoch, value in enumerate(values, 1):
        trainer.epoch = epoch
        watch.see(trainer, value)
        if watch.over(epoch):
            break
    assert (watch.epoch, epoch if watch.over(epoch) else None) == (best, last)


def wild_config(config, **changes):
    net = {**BASE["net"], "hidden_dim": 32, "L": 3, "batch_norm": False}
    return SelectionConfig.model_validate({**BASE, "net": net, "out_dir": config.out_dir, **changes})


def ledger_of(config):
    path = config.run(0).path
    path.mkdir(parents=True, exist_ok=True)
    return Ledger(path / "selection.jsonl")


def test_a_training_that_diverges_is_a_line_with_its_status(config, dataset):
    wild = wild_config(config, grid={"train.optimizer.lr": [1e30, 0.01]})
    ledger = ledger_of(wild)
    search(wild, dataset, 0, TASK, ledger)
    assert [ledger.lines[str(i)]["status"] for i in range(2)] == ["Diverged", "ok"]
    assert "the loss" in ledger.lines["0"]["why"] and best_of(ledger, 2, TASK) == 1


def test_a_training_that_crashes_is_a_line_with_its_status(config, dataset, monkeypatch, capsys):
    """A net that fails in one configuration of the grid; the others are trained, and the result counts them."""
    forward = GCNNet.forward

    def failing(self, g, of=None):
        if self.layers[0].U.weight.shape[0] == 8:
            raise IndexError("a bug")
        return forward(self, g, of)

    monkeypatch.setattr(GCNNet, "forward", failing)
    result = select_and_assess(config, dataset, 0, TASK)
    lines = ledger_of(config).lines
    assert [lines[str(i)]["status"] for i in range(4)] == ["ok", "ok", "Crashed", "Crashed"]
    assert lines["2"]["why"] == "IndexError: a bug" and "a bug" in capsys.readouterr().err
    assert result["statuses"] == {"ok": 2, "Crashed": 2} and result["selected"] < 2 and result["status"] == "ok"


def test_a_time_limit_gives_OOR(config, dataset, tmp_path):
    """Of a training, and of the whole row where no training ends in time; a stopped program leaves no line."""
    slow = with_changes(BASE, {"train.stop.hours": 1e-9, "out_dir": str(tmp_path / "slow")})
    result = select_and_assess(SelectionConfig.model_validate(slow), dataset, 0, TASK)
    assert result["status"] == "OOR" and result["statuses"] == {"OOR": 4} and result["metrics"] is None
    assert not problem_of(result)
    stopped = SelectionConfig.model_validate({**BASE, "out_dir": str(tmp_path / "stopped")})

    def stop():
        raise Interrupted(15)

    first = stopped.configurations()[0][1]
    with pytest.raises(Interrupted):
        train_once(first, dataset, dataset.fold(0), TASK, 1, torch.device("cpu"), [first.train.stop], stop)


def test_lines_of_another_dataset_do_not_count(config, dataset):
    ledger = ledger_of(config)
    ledger.append("0", status="ok", val={"accuracy": 1.0}, dataset="another")
    with pytest.raises(RunError, match="another version of the dataset"):
        search(config, dataset, 0, TASK, ledger)


def test_the_progress_says_how_far_it_is(config, dataset, capsys, monkeypatch):
    monkeypatch.setattr("train.selection.tqdm", partial(tqdm, mininterval=0, miniters=1, ncols=200))
    shown = config.model_copy(update={"progress": True})
    ledger = ledger_of(shown)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    search(shown, dataset, 0, TASK, ledger)
    text = capsys.readouterr().err
    assert "4/4" in text and "best so far" in text and "2/4" in text
