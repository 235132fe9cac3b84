"""Optimizers, schedules, stops and selections: what they compute, and that a stopped run ends with the same bits."""

import copy
import json
import math
from contextlib import nullcontext

import numpy as np
import pytest
import torch

from runs.table_files import find_table
from tests.train.toy import epochs_of, run_in, same_weights, toy
from train.loop import Interrupted, Trainer, fit
from train.optim import Cosine, Milestones, Plateau, Select, Step, Stop

CPU = torch.device("cpu")


def no_signals():
    pass


# --------------------------------------------------------------------------------------------------------------------
# A killed run ends with the same bits

ADAM = {"kind": "adam", "lr": 0.05, "weight_decay": 0.01}
SGD = {"kind": "sgd", "lr": 0.05, "momentum": 0.9}
KINDS = {
    "every": {"schedule": {"kind": "plateau", "patience": 1}, "select": {"every": 3, "ties": "first", "digits": 2}},
    "adam": {"optimizer": ADAM},
    "adamw": {"optimizer": {"kind": "adamw", "lr": 0.05, "weight_decay": 0.1}},
    "sgd": {"optimizer": SGD},
    "plateau of the loss": {"schedule": {"kind": "plateau", "patience": 0, "threshold": 0.5}},
    "plateau of the metric": {"schedule": {"kind": "plateau", "patience": 0, "of": "metric", "min_lr": 0.01}},
    "step": {"schedule": {"kind": "step", "every": 2}},
    "milestones": {"schedule": {"kind": "milestones", "at": [1, 3, 5]}},
    "cosine": {"schedule": {"kind": "cosine", "warmup": 3}},
    "constant": {"schedule": {"kind": "constant"}},
    "accumulated mean": {"batch_size": 1, "optimizer": {**SGD, "accumulate": 4}},
    "accumulated sum": {"batch_size": 1, "optimizer": {**ADAM, "accumulate": 4, "accumulated": "sum"}},
    "first step alone": {"batch_size": 1, "optimizer": {**ADAM, "accumulate": 4, "first_step": "alone"}},
    "clipped": {"optimizer": {**SGD, "clip_norm": 0.05}},
    "patience, ties wait": {"stop": {"epochs": 8, "patience": 2, "of": "metric"}},
    "patience, ties renew": {"stop": {"epochs": 8, "patience": 2, "of": "metric", "ties": "renew"}},
    "patience of the loss": {"stop": {"epochs": 8, "patience": 2}, "optimizer": {"kind": "sgd", "lr": 5.0}},
    "select by metric, then loss": {"select": {"ties": "loss"}},
    "select by metric, the first": {"select": {"ties": "first"}},
    "select by metric, the latest": {"select": {"epoch": "best_val", "ties": "latest"}},
    "select by loss": {"select": {"epoch": "best_val", "of": "loss"}},
    "select by loss, the latest": {"select": {"of": "loss", "ties": "latest"}},
    "stop at a loss": {"stop": {"epochs": 8, "loss": 0.2}},
}


def parts_of(tmp_path, kind):
    """With dropout, so that the random states matter too."""
    train = {"optimizer": ADAM, "schedule": {"kind": "constant"}, "stop": {"epochs": 8, "min_lr": None}, **KINDS[kind]}
    return toy(tmp_path, "graph", train, dropout=0.2)


def stop_after(monkeypatch, n_batches):
    calls = []

    def check():
        calls.append(1)
        if len(calls) > n_batches:
            raise Interrupted(15)

    monkeypatch.setattr("train.loop.stop_signals", lambda: nullcontext(check))


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_that_is_stopped_again_and_again_ends_with_the_same_bits(tmp_path, monkeypatch, kind, capsys):
    """Two lives end in the middle of an epoch; the next one begins from the checkpoint, with a net of its own."""
    monkeypatch.setattr("train.loop.SHARE", float("inf"))  # a checkpoint after each epoch, however short
    for place in ("runs.result.git_commit", "train.checkpoint.git_commit"):
        monkeypatch.setattr(place, lambda: None)  # asks a program
    run, whole = run_in(tmp_path / "stopped"), run_in(tmp_path / "whole")
    parts = parts_of(tmp_path, kind)
    expected = fit(*parts, whole)
    an_epoch = sum(len(list(parts[1].loader(part, parts[3].batch_size))) for part in ("train", "val"))
    for _ in range(2):
        with monkeypatch.context() as patch, pytest.raises(SystemExit):
            stop_after(patch, an_epoch + 1)
            fit(*parts_of(tmp_path, kind), run)
    assert run.result is None and len(epochs_of(run)) == 2
    again = parts_of(tmp_path, kind)
    result = fit(*again, run)
    assert epochs_of(run) == epochs_of(whole) and len(epochs_of(run)) == expected["epochs"] > 2
    different = ("finished", "total_time_hr", "epoch_time_s", "sum")
    assert {k: v for k, v in result.items() if k not in different} == {
        k: v for k, v in expected.items() if k not in different
    }
    assert same_weights(again[0], parts[0])
    states = [torch.load(r.path / "checkpoint.pt", weights_only=True) for r in (run, whole)]
    assert_same(*({k: v for k, v in state.items() if k not in ("elapsed", "belongs_to")} for state in states))


def assert_same(a, b, place=""):
    """Equal to the bit, whatever is nested in what."""
    if isinstance(a, dict):
        assert a.keys() == b.keys(), place
        for key in a:
            assert_same(a[key], b[key], f"{place}.{key}")
    elif isinstance(a, list | tuple):
        assert len(a) == len(b), place
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            assert_same(x, y, f"{place}[{i}]")
    elif isinstance(a, torch.Tensor):
        assert torch.equal(a, b), place
    else:
        assert a == b, place


# --------------------------------------------------------------------------------------------------------------------
# Optimizers


def trained(parts, n_epochs=2):
    trainer = Trainer(*parts, 7, CPU)
    for _ in range(n_epochs):
        trainer.run_epoch(no_signals)
    return trainer


@pytest.mark.parametrize("kind", ["adam", "sgd"])
def test_the_mean_of_k_equal_batches_is_one_batch_of_k_times_the_size(tmp_path, kind):
    """Without batch normalisation, which looks at the batch. Six graphs: two steps of three either way."""
    optimizer = {"adam": ADAM, "sgd": SGD}[kind]
    nets = []
    for batch_size, k in ((3, 1), (1, 3)):
        changes = {"batch_size": batch_size, "optimizer": {**optimizer, "accumulate": k}}
        parts = toy(tmp_path, "regression", changes, batch_norm=False)
        nets.append(trained(parts).net)
    for a, b in zip(*(net.parameters() for net in nets), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-6)
    assert not same_weights(toy(tmp_path, "regression", batch_norm=False)[0], nets[0])


def by_hand(parts, k, how):
    """The steps of an epoch as loops over batches and parameters, with SGD without momentum."""
    net, fold, task, config = parts
    batches = list(fold.loader("train", config.batch_size, True, torch.Generator().manual_seed(7)))
    net.train()
    for start in range(0, len(batches), k):
        group = batches[start : start + k]
        gradients = []
        for g, _, y in group:
            gradients.append(torch.autograd.grad(task.loss(net(g), y), list(net.parameters())))
        with torch.no_grad():
            for parameter, *of_batches in zip(net.parameters(), *gradients, strict=True):
                total = sum(of_batches)
                parameter -= config.optimizer.lr * (total / len(group) if how == "mean" else total)
    return net


@pytest.mark.parametrize("how", ["mean", "sum"])
@pytest.mark.parametrize("k", [1, 2, 4, 9])
def test_gradients_are_accumulated_and_what_is_left_makes_a_step(tmp_path, how, k):
    changes = {"batch_size": 1, "optimizer": {"kind": "sgd", "lr": 0.1, "accumulate": k, "accumulated": how}}
    parts = toy(tmp_path, "regression", changes, batch_norm=False)
    slow = by_hand((copy.deepcopy(parts[0]), *parts[1:]), k, how)
    for a, b in zip(trained(parts, 1).net.parameters(), slow.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-6)


def test_a_long_gradient_is_shortened_and_a_short_one_stays(tmp_path):
    def step_of(**more):
        changes = {"batch_size": 6, "optimizer": {"kind": "sgd", "lr": 1.0, **more}}
        parts = toy(tmp_path, "regression", changes)
        before = torch.cat([p.detach().clone().flatten() for p in parts[0].parameters()])
        return torch.cat([p.detach().flatten() for p in trained(parts, 1).net.parameters()]) - before

    free = step_of()
    assert free.norm() > 0.01
    clipped = step_of(clip_norm=0.01)
    assert clipped.norm() == pytest.approx(0.01, rel=1e-3)
    torch.testing.assert_close(clipped / clipped.norm(), free / free.norm(), rtol=1e-3, atol=1e-5)
    assert torch.equal(step_of(clip_norm=1e6), free)


@pytest.mark.parametrize(
    ("kind", "torch_kind", "keys"),
    [("adam", torch.optim.Adam, {}), ("adamw", torch.optim.AdamW, {}), ("sgd", torch.optim.SGD, {"momentum": 0.9})],
)
def test_an_optimizer_is_torchs(tmp_path, kind, torch_kind, keys):
    section = {"kind": kind, "lr": 0.02, "weight_decay": 0.1, **keys}
    config = toy(tmp_path, train={"optimizer": section})[3].optimizer
    torch.manual_seed(0)
    ours, theirs = (torch.nn.Linear(3, 2) for _ in range(2))
    theirs.load_state_dict(ours.state_dict())
    steps = config.build(list(ours.parameters())), torch_kind(theirs.parameters(), lr=0.02, weight_decay=0.1, **keys)
    for _ in range(5):
        x = torch.randn(4, 3)
        for net, optimizer in zip((ours, theirs), steps, strict=True):
            optimizer.zero_grad()
            net(x).square().sum().backward()
            optimizer.step()
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(a, b)


# --------------------------------------------------------------------------------------------------------------------
# Schedules


def rates(schedule, n_epochs, lr=1.0, stop=None, values=None, better="min"):
    """The learning rates of the epochs."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=lr)
    scheduler = schedule.build(optimizer, stop or Stop(epochs=n_epochs), better)
    seen = []
    for epoch in range(n_epochs):
        seen.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step(*([values[epoch]] if values is not None else []))
    return seen


def test_a_cosine_with_warm_up_written_out():
    """Two epochs up, then half a cosine over the eight that are left; the first rate is not quite zero."""
    half = [0.5 * (1 + math.cos(math.pi * k / 8)) for k in range(8)]
    assert rates(Cosine(warmup=2), 10, lr=0.1) == pytest.approx([1e-7, 0.05, *(0.1 * share for share in half)])
    assert rates(Cosine(warmup=2), 10, lr=0.1)[6] == pytest.approx(0.05)  # half way down
    assert rates(Cosine(), 4) == pytest.approx([1.0, 0.8535533905932737, 0.5, 0.14644660940672627])
    assert rates(Cosine(warmup=5), 5) == pytest.approx([1e-6, 0.2, 0.4, 0.6, 0.8])


def test_a_cosine_is_torchs():
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.3)
    theirs = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=7)
    expected = []
    for _ in range(7):
        expected.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        theirs.step()
    assert rates(Cosine(), 7, lr=0.3) == pytest.approx(expected)


def test_steps_and_milestones():
    """lr · factor ** floor(epoch / every), and one factor for each milestone that is behind."""
    assert rates(Step(every=3, factor=0.5), 8) == pytest.approx([0.5 ** (epoch // 3) for epoch in range(8)])
    assert rates(Milestones(at=[5, 2], factor=0.1), 8) == pytest.approx([1, 1, 0.1, 0.1, 0.1, 0.01, 0.01, 0.01])


def test_the_rates_of_ecc():
    """Fair Comparison: the milestones as they were meant, and every ten epochs as the program has them from torch 1.4 on."""
    schedule = Milestones.model_validate(find_table("fair_ECC").row("ENZYMES").config["train"]["schedule"])
    meant = {1: 0.1, 24: 0.1, 25: 0.01, 34: 0.01, 35: 1e-3, 44: 1e-3, 45: 1e-4, 60: 1e-4}
    assert {n: rates(schedule, 61, lr=0.1)[n] for n in meant} == pytest.approx(meant)
    later = {1: 0.1, 9: 0.1, 10: 0.01, 20: 1e-3, 30: 1e-4, 40: 1e-5, 60: 1e-7}
    assert {n: rates(Step(every=10, factor=0.1), 61, lr=0.1)[n] for n in later} == pytest.approx(later)


def plateau_by_hand(values, patience, factor, mode, threshold=1e-4, least=0.0):
    """More than `patience` epochs without a relative gain reduce the rate."""
    lr, best, bad, seen = 1.0, None, 0, []
    for value in values:
        seen.append(lr)
        improved = best is None or (value < best * (1 - threshold) if mode == "min" else value > best * (1 + threshold))
        best, bad = (value, 0) if improved else (best, bad + 1)
        if bad > patience:
            lr, bad = max(lr * factor, least), 0
    return seen


@pytest.mark.parametrize("better", ["min", "max"])
@pytest.mark.parametrize("of", ["loss", "metric"])
@pytest.mark.parametrize("patience", [0, 2])
def test_a_plateau_follows_the_loss_or_the_metric(of, better, patience):
    """A loss is better when it is lower, a metric when it says so."""
    values = np.random.RandomState(patience).rand(40).round(2) + 0.5
    schedule = Plateau(patience=patience, factor=0.5, of=of, min_lr=0.01)
    mode = "min" if of == "loss" else better
    expected = plateau_by_hand(values, patience, 0.5, mode, least=0.01)
    assert rates(schedule, 40, values=values, better=better) == pytest.approx(expected)
    assert len(set(expected)) > 3


def test_the_loop_gives_the_plateau_its_value(tmp_path):
    """Of the metric: accuracy, which is better when it is higher."""
    changes = {"schedule": {"kind": "plateau", "patience": 1, "of": "metric"}, "stop": {"epochs": 12, "min_lr": None}}
    run = run_in(tmp_path)
    fit(*toy(tmp_path, "graph", changes), run)
    lines = epochs_of(run)
    expected = plateau_by_hand([line["val"]["accuracy"] for line in lines], 1, 0.5, "max")
    assert [line["lr"] / 0.01 for line in lines] == pytest.approx(expected) and expected[-1] < 1


# --------------------------------------------------------------------------------------------------------------------
# Stop and select, on validations of our own


class Scripted(Trainer):
    """A trainer whose validations are given: (loss, accuracy) of each epoch."""

    def __init__(self, parts, script):
        super().__init__(*parts, 1, CPU)
        self.script = script

    def run_to_the_end(self):
        while self.stop_reason() is None:
            loss, accuracy = self.script[self.epoch]
            self.epoch += 1
            val = {"loss": loss, "accuracy": accuracy}
            self._remember_best(val)
            self._count_patience(val)
        return self.epoch


#         epoch    1          2          3          4          5          6          7
SCRIPT = [(0.9, 50), (0.8, 70), (0.7, 70), (0.7, 70), (0.9, 60), (0.7, 70), (1.0, 50)]


@pytest.mark.parametrize(
    ("select", "epoch"),
    [
        ({}, 3),  # the metric, then the lower loss, then the first
        ({"of": "metric", "ties": "first"}, 2),
        ({"of": "metric", "ties": "latest"}, 6),
        ({"of": "loss", "ties": "first"}, 3),
        ({"of": "loss", "ties": "latest"}, 6),
        ({"of": "loss", "ties": "loss"}, 3),
    ],
)
def test_the_best_epoch_and_its_ties(tmp_path, select, epoch):
    trainer = Scripted(toy(tmp_path, train={"select": select, "stop.epochs": 7}), SCRIPT)
    trainer.run_to_the_end()
    assert trainer.best["epoch"] == epoch


@pytest.mark.parametrize(
    ("stop", "epochs"),
    [
        ({"patience": 2}, 5),  # the loss is better in epoch 3 for the last time
        ({"patience": 1, "ties": "renew"}, 5),  # in epoch 4 it is as good
        ({"patience": 2, "ties": "renew"}, 7),  # in epoch 6 again
        ({"patience": 1, "of": "metric"}, 3),
        ({"patience": 1, "of": "metric", "ties": "renew"}, 5),
        ({"patience": 3, "of": "metric"}, 5),
        ({"patience": 3, "ties": "renew"}, 7),
    ],
)
def test_patience_and_its_ties(tmp_path, stop, epochs):
    trainer = Scripted(toy(tmp_path, train={"stop": {"epochs": 7, **stop}}), SCRIPT)
    assert trainer.run_to_the_end() == epochs
    assert trainer.stop_reason() == ("patience" if epochs < 7 else "epochs")


def test_a_metric_that_is_better_when_lower(tmp_path):
    parts = toy(tmp_path, "regression", {"stop": {"epochs": 3, "patience": 5, "of": "metric"}})
    trainer = Trainer(*parts, 1, CPU)
    for epoch, mae in enumerate((0.5, 0.3, 0.4), 1):
        trainer.epoch = epoch
        trainer._remember_best({"loss": 1.0, "MAE": mae})
        trainer._count_patience({"loss": 1.0, "MAE": mae})
    assert trainer.best["epoch"] == trainer.patience["epoch"] == 2


def test_it_stops_at_a_loss_of_the_training(tmp_path):
    run = run_in(tmp_path)
    result = fit(*toy(tmp_path, "graph", {"stop": {"epochs": 200, "loss": 0.5, "min_lr": None}}), run)
    losses = [line["train"]["loss"] for line in epochs_of(run)]
    assert result["stopped_by"] == "loss" and losses[-1] < 0.5 <= min(losses[:-1])


def test_the_warm_up_is_not_taken_for_a_rate_that_fell(tmp_path):
    """The first rates of a cosine lie below stop.min_lr."""
    changes = {
        "schedule": {"kind": "cosine", "warmup": 3},
        "stop": {"epochs": 20, "min_lr": 1e-3},
        "optimizer.lr": 0.01,
    }
    run = run_in(tmp_path)
    result = fit(*toy(tmp_path, "graph", changes), run)
    lrs = [line["lr"] for line in epochs_of(run)]
    assert lrs[0] < 1e-3 and result["stopped_by"] == "min_lr" and 10 < len(lrs) < 20 and min(lrs[3:]) >= 1e-3


def test_what_is_reported_is_what_select_says(tmp_path):
    for epoch in ("last", "best_val"):
        result = fit(*toy(tmp_path, "graph", {"select.epoch": epoch}), run_in(tmp_path / epoch))
        assert result["select"] == epoch and set(result["metrics"]) == {"last", "best_val"}
    assert Select().epoch == "last"
    assert json.loads(Select().model_dump_json()) == {
        "epoch": "last", "of": "metric", "ties": "loss", "digits": None, "every": 1,
    }  # fmt: skip


# --------------------------------------------------------------------------------------------------------------------
# Validations


def test_some_epochs_are_validated_and_the_schedule_counts_all(tmp_path, monkeypatch):
    """Epochs 1, 4 and 8; patience 2 with validations that never get better: the rate falls after epochs 4 and 7."""
    changes = {
        "stop.epochs": 8,
        "stop.min_lr": None,
        "select": {"every": 4},
        "schedule": {"kind": "plateau", "patience": 2},
    }
    trainer = Trainer(*toy(tmp_path, "graph", changes), 7, CPU)
    monkeypatch.setattr(
        trainer, "_pass", lambda split, check, training=False, measured=True: {"loss": 1.0, "accuracy": 50.0}
    )
    records = [trainer.run_epoch(no_signals) for _ in range(8)]
    assert [record["epoch"] for record in records if record["val"]] == [1, 4, 8]
    assert [record["lr"] for record in records] == [0.01] * 4 + [0.005] * 3 + [0.0025]


def test_an_epoch_without_validation_has_its_loss_alone(tmp_path):
    run = run_in(tmp_path)
    every = {"stop.epochs": 5, "select": {"every": 2}}
    result = fit(*toy(tmp_path, "graph", every), run)
    lines = epochs_of(run)
    assert [bool(line["val"]) for line in lines] == [True, True, False, True, False]
    assert all(set(line["train"]) == ({"loss", "accuracy"} if line["val"] else {"loss"}) for line in lines)
    assert result["best_val_epoch"] in (1, 2, 4) and result["epochs"] == 5


def test_validations_are_compared_after_rounding(tmp_path):
    """Of 0.123451 and 0.123454 the first is kept, of 0.12347 the later one."""
    for digits, values, best in (
        (5, (0.123451, 0.123454), 1),
        (5, (0.123451, 0.12347), 2),
        (None, (0.123451, 0.123454), 2),
    ):
        trainer = Trainer(*toy(tmp_path, "graph", {"select": {"ties": "first", "digits": digits}}), 7, CPU)
        for trainer.epoch, value in enumerate(values, start=1):
            trainer._remember_best({"loss": 1.0, "accuracy": value})
        assert trainer.best["epoch"] == best
