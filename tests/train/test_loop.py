"""The loop of section 3: what it does to the learning rate, when it stops, what it leaves, at every level of task."""

import copy
import json
import zipfile
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from data.splits import PARTS
from runs.files import RunError
from runs.result import problem_of
from tests.train.toy import TASKS, run_in, same_weights, toy
from train import loop
from train.loop import Checkpoints, Diverged, Interrupted, Trainer, fit
from train.progress import Progress

LONG = {"stop.epochs": 60, "schedule.patience": 100}


def no_signals():
    pass


@pytest.mark.parametrize("kind", TASKS)
def test_every_level_of_task_learns_and_leaves_a_whole_folder(tmp_path, kind):
    run = run_in(tmp_path)
    parts = toy(tmp_path, kind, LONG)
    result = fit(*parts, run)
    measure = parts[2].metric().measures[0]
    lines = [json.loads(line) for line in (run.path / "metrics.jsonl").read_text().splitlines()]
    assert [line["epoch"] for line in lines] == list(range(1, 61))
    assert lines[-1]["train"]["loss"] < 0.7 * lines[0]["train"]["loss"]
    assert result["status"] == "ok" and result["stopped_by"] == "epochs" and result["epochs"] == 60
    assert set(result["metrics"]) == {"last", "best_val"}
    assert all(set(m) == set(PARTS) and measure.name in m["test"] for m in result["metrics"].values())
    stored = json.loads((run.path / "config.json").read_text())
    assert stored == {"id": run.id, "identity": run.identity, "config": run.config} and result["config"] == run.identity
    assert run.result == result and problem_of(result) == "" and result["measures"][0] == measure._asdict()
    assert not list(run.path.glob("*.tmp"))

    board = EventAccumulator(str(run.path / "tensorboard"))
    board.Reload()
    assert [event.step for event in board.Scalars("loss/val")] == list(range(1, 61))
    np.testing.assert_allclose(
        [e.value for e in board.Scalars("loss/val")], [line["val"]["loss"] for line in lines], rtol=1e-6
    )


def test_best_validation_is_that_of_its_epoch(tmp_path):
    run = run_in(tmp_path)
    result = fit(*toy(tmp_path, "regression", {"stop.epochs": 30, "optimizer.lr": 0.1, "schedule.patience": 100}), run)
    values = [json.loads(line)["val"]["MAE"] for line in (run.path / "metrics.jsonl").read_text().splitlines()]
    assert result["best_val_epoch"] == 1 + int(np.argmin(values)) < 30
    assert result["metrics"]["best_val"]["val"]["MAE"] == pytest.approx(min(values), rel=1e-6)
    assert result["metrics"]["last"]["val"]["MAE"] == pytest.approx(values[-1], rel=1e-6)


def test_the_learning_rate_is_halved_after_patience_epochs_and_the_run_stops_below_min_lr(tmp_path):
    """Followed by hand from the logged validation losses: more than `patience` epochs without a relative gain of 1e-4 halve it."""
    run = run_in(tmp_path)
    result = fit(*toy(tmp_path, train={"stop.epochs": 1000}), run)
    lines = [json.loads(line) for line in (run.path / "metrics.jsonl").read_text().splitlines()]
    lr, best, bad = 0.01, float("inf"), 0
    for line in lines:
        assert line["lr"] == pytest.approx(lr)
        if line["val"]["loss"] < best * (1 - 1e-4):
            best, bad = line["val"]["loss"], 0
        else:
            bad += 1
        if bad > 2:
            lr, bad = lr / 2, 0
    assert result["stopped_by"] == "min_lr" and lr < 1e-4 <= 2 * lr


def test_it_stops_after_some_hours(tmp_path):
    result = fit(
        *toy(tmp_path, train={"stop.epochs": 10**6, "schedule.patience": 10**6, "stop.hours": 0.5 / 3600}),
        run_in(tmp_path),
    )
    assert result["stopped_by"] == "hours" and 0.5 / 3600 <= result["total_time_hr"] < 20 / 3600


def test_loss_and_metric_are_over_the_whole_split_not_averages_of_batches(tmp_path):
    values = []
    for batch_size in (2, 3, 6):  # 3 validation graphs of different sizes
        net, fold, task, config = toy(tmp_path, "edge", {"batch_size": batch_size})
        values.append(Trainer(net, fold, task, config, 1, torch.device("cpu")).evaluate(no_signals)["val"])
    for value in values[1:]:
        assert value["F1"] == values[0]["F1"]
        assert value["loss"] == pytest.approx(values[0]["loss"], rel=1e-6)


def test_two_runs_with_one_seed_are_equal_to_the_bit_and_another_seed_differs(tmp_path):
    results = []
    for name, seed in (("a", "14"), ("b", "14"), ("c", "15")):
        run = run_in(tmp_path / name, "--seed", seed)
        parts = toy(tmp_path)
        results.append((fit(*parts, run), parts[0]))
    (a, net_a), (b, net_b), (c, net_c) = results
    assert a["metrics"] == b["metrics"] != c["metrics"]
    assert same_weights(net_a, net_b) and not same_weights(net_a, net_c)


def test_a_finished_run_is_not_run_again_unless_forced_and_nothing_is_lost(tmp_path):
    first = fit(*toy(tmp_path), run_in(tmp_path))
    assert fit(*toy(tmp_path), run_in(tmp_path)) == first
    run = run_in(tmp_path, "--force")
    again = fit(*toy(tmp_path), run)
    assert again["metrics"] == first["metrics"]
    assert json.loads((run.path / "replaced-1" / "result.json").read_text()) == first


class Blowing(torch.nn.Module):
    """A net that fails in its n-th forward pass."""

    def __init__(self, net, at, how):
        super().__init__()
        self.net, self.left, self.how = net, at, how

    def forward(self, g, of=None):
        self.left -= 1
        return self.how(self.net(g, of)) if self.left < 0 else self.net(g, of)


def allocate_too_much(scores):
    return scores + torch.empty(2**60).sum()


@pytest.mark.parametrize(
    ("how", "status"),
    [(lambda s: s * float("nan"), "Diverged"), (lambda s: s * float("inf"), "Diverged"), (allocate_too_much, "OOM")],
)
def test_diverged_and_out_of_memory_are_recorded_as_the_paper_does(tmp_path, how, status):
    net, *rest = toy(tmp_path)
    run = run_in(tmp_path)
    result = fit(Blowing(net, 5, how), *rest, run)  # 3 batches per epoch: in the second epoch
    assert result["status"] == status and result["metrics"] is None and result["epochs"] == 1
    assert run.result == result
    assert fit(*toy(tmp_path), run_in(tmp_path)) == result  # finished: not tried again


def test_out_of_memory_is_tried_again_where_there_is_more(tmp_path, monkeypatch, capsys):
    net, *rest = toy(tmp_path)
    with monkeypatch.context() as small:
        small.setattr(loop, "machine_memory", lambda: 0.5)
        assert fit(Blowing(net, 5, allocate_too_much), *rest, run_in(tmp_path))["host"]["memory"] == 0.5
        assert fit(*toy(tmp_path), run_in(tmp_path))["status"] == "OOM"  # not more than then
    result = fit(*toy(tmp_path), run_in(tmp_path))
    assert result["status"] == "ok" and "ended as OOM with 0.5 GB" in capsys.readouterr().err
    assert (run_in(tmp_path).path / "replaced-1" / "result.json").exists()


def test_another_error_is_not_taken_for_out_of_memory(tmp_path):
    def fail(scores):
        raise RuntimeError("a bug")

    net, *rest = toy(tmp_path)
    run = run_in(tmp_path)
    with pytest.raises(RuntimeError, match="a bug"):
        fit(Blowing(net, 5, fail), *rest, run)
    assert run.result is None


def test_old_runs_are_moved_aside_with_what_says_whose_they_are_last(tmp_path, monkeypatch):
    run = run_in(tmp_path)
    fit(*toy(tmp_path), run)
    kind, moved = type(run.path), []
    rename, iterdir = kind.rename, kind.iterdir

    def note(path, target):
        moved.append(path.name)
        return rename(path, target)

    monkeypatch.setattr(kind, "rename", note)
    monkeypatch.setattr(
        kind, "iterdir", lambda path: iter(sorted(iterdir(path), key=lambda p: p.name != "config.json"))
    )
    for name in ("replaced-1", "replaced-by-hand"):
        (run.path / name).mkdir()
    run.force = True
    fit(*toy(tmp_path), run)
    assert moved[-1] == "config.json" and len(moved) > 3 and (run.path / "replaced-2/result.json").exists()


def test_the_first_step_of_an_epoch_may_be_alone(tmp_path):
    """With 3 batches of one graph per step: after graphs 0 and 3; the gradients of those after the last step are lost."""
    rule = {"batch_size": 1, "optimizer.accumulate": 3, "optimizer.accumulated": "sum", "optimizer.first_step": "alone"}
    net, fold, task, config = toy(tmp_path, train=rule)
    by_hand = copy.deepcopy(net)
    optimizer = config.optimizer.build(list(by_hand.parameters()))
    shuffling, losses, indices = torch.Generator().manual_seed(5), [], fold.parts["train"]
    assert len(indices) == 6  # the last two change nothing
    by_hand.train()
    for _ in range(2):
        optimizer.zero_grad()
        for i, place in enumerate(torch.randperm(len(indices), generator=shuffling).tolist()):
            g, _, y = fold.store.batch(indices[place : place + 1])
            losses.append(task.loss(by_hand(g), y))
            losses[-1].backward()
            if i in (0, 3):
                optimizer.step()
                optimizer.zero_grad()
    trainer = Trainer(net, fold, task, config, seed=5, device=torch.device("cpu"))
    lines = [trainer.run_epoch(no_signals) for _ in range(2)]
    assert same_weights(net, by_hand)
    second = [loss.item() for loss in losses[len(indices) :]]
    assert lines[1]["train"]["loss"] == pytest.approx(sum(second) / len(second))


def interrupted_run(tmp_path, monkeypatch, after=7):
    """A run that is stopped in its third epoch (2 batches of training and 1 of validation each), as by Ctrl-C."""
    calls = []

    def check():
        calls.append(1)
        if len(calls) > after:
            raise Interrupted(2)

    run = run_in(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr("train.loop.SHARE", float("inf"))  # a checkpoint after each epoch, however short
        patch.setattr("train.loop.stop_signals", lambda: nullcontext(check))
        with pytest.raises(SystemExit):
            fit(*toy(tmp_path), run)
    return run


def test_it_goes_on_where_it_was_and_ends_with_the_same_numbers(tmp_path, monkeypatch, capsys):
    whole = fit(*toy(tmp_path), run_in(tmp_path / "whole"))
    run = interrupted_run(tmp_path, monkeypatch)
    assert "The same command goes on from there" in capsys.readouterr().err
    assert fit(*toy(tmp_path), run)["metrics"] == whole["metrics"]


def test_a_damaged_checkpoint_is_an_error_not_a_restart(tmp_path, monkeypatch):
    run = interrupted_run(tmp_path, monkeypatch)
    path = run.path / "checkpoint.pt"
    good = path.read_bytes()
    with zipfile.ZipFile(path) as archive:  # torch itself would load a tensor with a wrong byte without a word
        weights = archive.read(max(archive.infolist(), key=lambda record: record.file_size))
    place = good.index(weights) + len(weights) // 2
    for spoiled in (good[: len(good) // 2], good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :], b""):
        path.write_bytes(spoiled)
        with pytest.raises(RunError, match=r"checkpoint\.pt is damaged.*--force"):
            fit(*toy(tmp_path), run)


def test_the_checkpoint_holds_everything(tmp_path, monkeypatch):
    run = interrupted_run(tmp_path, monkeypatch)
    state = torch.load(run.path / "checkpoint.pt", weights_only=True)
    parts = {
        "epoch",
        "elapsed",
        "train_loss",
        "net",
        "optimizer",
        "scheduler",
        "val",
        "best",
        "patience",
        "shuffling",
        "random",
    }
    assert set(state) == {"belongs_to", *parts}
    assert {"python", "numpy", "torch", "cuda"} == set(state["random"]) and state["epoch"] == 2
    assert set(state["belongs_to"]) == {"id", "seed", "fold", "dataset", "commits"}


def test_checkpoints_cost_a_small_share_of_the_time(monkeypatch):
    """On a clock of our own: 3 % of the time for checkpoints of 0.03 s is one per second; the last state is always saved."""
    now, saved = [0.0], []
    monkeypatch.setattr(loop, "time", SimpleNamespace(monotonic=lambda: now[0]))

    def save_state(run, trainer, commits):
        now[0] += 0.03
        saved.append(trainer.epoch)

    monkeypatch.setattr(loop, "save_state", save_state)
    trainer = SimpleNamespace(epoch=0)
    checkpoints = Checkpoints(trainer, run=None, commits=[])
    for seconds in [0.3] * 9 + [2.0] * 3 + [0.3]:
        now[0] += seconds
        trainer.epoch += 1
        checkpoints.save_if_due()
    assert saved == [1, 5, 9, 10, 11, 12]  # four epochs of 0.3 s are the first that take more than a second
    checkpoints.save()
    checkpoints.save()
    assert saved[-2:] == [12, 13]


def test_a_result_says_with_which_commits_it_was_made(tmp_path, monkeypatch):
    for commit in ("first", "second", "second"):
        monkeypatch.setattr("train.checkpoint.git_commit", lambda commit=commit: commit)
        run = interrupted_run(tmp_path, monkeypatch, after=4)  # in the second epoch that is left
    assert fit(*toy(tmp_path), run)["commits"] == ["first", "second"]


SCHEDULES = [
    {"kind": "plateau", "patience": 0, "threshold": 0.9},
    {"kind": "step", "every": 1},
    {"kind": "cosine", "warmup": 2},
    {"kind": "constant"},
]


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda schedule: schedule["kind"])
@pytest.mark.parametrize(
    "stop", [{"epochs": 4}, {"epochs": 4, "min_lr": 1e-6}, {"epochs": 9, "patience": 3}, {"epochs": 5, "hours": 1.0}]
)
def test_the_progress_bar_shows_the_way_to_the_stop(tmp_path, schedule, stop):
    """From 0 to 1 and never back by any schedule and any stop, also where the rate is 0."""
    parts = toy(tmp_path, train={"schedule": schedule, "stop": {**stop, "min_lr": stop.get("min_lr")}})
    trainer = Trainer(*parts, 1, torch.device("cpu"))
    progress = Progress(run_in(tmp_path), trainer)
    shares = [progress.share()]
    while trainer.stop_reason() is None:
        trainer.run_epoch(no_signals)
        shares.append(progress.share())
    assert shares[0] == 0 and shares[-1] == pytest.approx(1) and all(0 <= share <= 1 for share in shares)


def test_the_last_state_of_a_finished_run_is_saved(tmp_path):
    run = run_in(tmp_path)
    result = fit(*toy(tmp_path), run)  # epochs of milliseconds: most are not saved
    assert torch.load(run.path / "checkpoint.pt", weights_only=True)["epoch"] == result["epochs"] > 1


def test_divergence_in_validation_counts_too(tmp_path):
    net, fold, task, config = toy(tmp_path)
    trainer = Trainer(Blowing(net, 2, lambda s: s * float("nan")), fold, task, config, 1, torch.device("cpu"))
    with pytest.raises(Diverged, match="val batch"):
        trainer.run_epoch(no_signals)


def test_workers_change_nothing(tmp_path):
    results = [fit(*toy(tmp_path, train={"workers": n}), run_in(tmp_path / str(n))) for n in (0, 2)]
    assert results[0]["metrics"] == results[1]["metrics"]


class Heuristic(torch.nn.Module):
    """Predicts class 1 for every graph."""

    def forward(self, g, of=None):
        return torch.tensor([[0.0, 1.0]]).repeat(g.batch_size, 1)


def test_a_net_without_parameters_is_only_evaluated(tmp_path):
    _, fold, task, config = toy(tmp_path)
    result = fit(Heuristic(), fold, task, config, run_in(tmp_path))
    assert result["status"] == "ok" and result["stopped_by"] == "nothing to learn" and result["epochs"] == 0
    labels = fold.store.column("graph.label")[fold.parts["test"]]
    assert result["metrics"]["last"]["test"]["accuracy"] == pytest.approx(100 * labels.mean())
    assert problem_of(result) == "" and result["params"] == 0
