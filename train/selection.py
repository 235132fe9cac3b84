"""Model selection: each configuration of a grid is trained once on an inner split, the best one is then trained and tested a
few times.

Every training is a line of a ledger, selection.jsonl, so that a killed run goes on with the next missing one and several
processes can share a grid. A training that diverges, crashes or runs out of memory or time is a line with its status.
"""

import hashlib
import time
import traceback
from collections import Counter

import filelock
import torch
from pydantic import Field, model_validator
from tqdm import tqdm

from data.errors import DataError, StoreError
from data.section import NO_IDENTITY, Section
from nets import NetError, build_net, count_parameters
from runs.errors import ConfigError
from runs.files import RunBusy, RunError, explain, write_json
from runs.ledger import SELECTION, Ledger
from runs.result import made_with
from runs.signals import Interrupted, stop_signals
from runs.table_files import expand, with_changes
from train.cli import validate
from train.config import Config
from train.loop import Trainer, choose_device, is_out_of_memory
from train.optim import Select
from train.random_state import make_deterministic, seed_all

PART = "part.json"
NOT_ITS_FAULT = (Interrupted, RunError, DataError, StoreError, NetError)  # of a configuration: they end the program
CRITERION = "train.stop.of"


class Selection(Section):
    """How the configurations of a grid are compared and the best one is assessed."""

    repetitions: int = Field(3, gt=0, description="trainings of the selected configuration, with different seeds")
    share_trainings: bool = Field(
        True,
        description="configurations that differ only in what stops them are read off one training that outlasts both",
    )


class SelectionConfig(Config):
    """A grid over the keys of a configuration: {"net.L": [2, 4], "train.stop.of": ["metric", "loss"]}."""

    grid: dict[str, list] = Field(min_length=1, description="keys and the values to try; the last key changes fastest")
    selection: Selection = Selection()
    part: str | None = Field(
        None,
        pattern=r"^[1-9]\d*/[1-9]\d*$",
        description="train only this part of the grid, as 1/4, in a process beside others; the run without it uses what they did",
        json_schema_extra=NO_IDENTITY,
    )

    @model_validator(mode="after")
    def _not_tracked(self):
        if self.log not in ([], ["tensorboard"]):
            raise ValueError(
                f"log={self.log}: the trainings of a selection are lines of its ledger, no tracker shows them"
            )
        return self

    def configurations(self):
        """[(changes, configuration)] in the order of the grid."""
        base = self.model_dump(exclude={"grid", "selection", "part"})
        if wrong := [key for key in self.grid if not key.startswith(("net.", "train."))]:
            raise ConfigError(f"grid: {wrong[0]}: expected keys of net and train; the data is the same for all")
        made = [
            (changes, validate(with_changes(base, changes), f"grid, {changes}", Config))
            for changes in expand(self.grid)
        ]
        for changes, config in made:
            if not config.net.needs.items() <= self.net.needs.items():
                raise ConfigError(f"grid, {changes}: it needs other encodings than the first: take a table for each")
        return made

    @property
    def selects(self):
        return True

    @property
    def slice(self):
        """`part` as (k, n): of n trainings the k-th, counted from 0."""
        k, n = map(int, (self.part or "1/1").split("/"))
        if k > n:
            raise ConfigError(f"part={self.part!r}: there are {n} parts, 1/{n} to {n}/{n}")
        return k - 1, n


def seed_of(base, fold, configuration, repetition=0):
    """A seed for every training: a function of the base seed, the fold, the configuration's index and the repetition."""
    text = f"{base}/{fold}/{configuration}/{repetition}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


# --------------------------------------------------------------------------------------------------------------------
# One training


class Watch:
    """The best epoch by one criterion; it is over after `patience` epochs without one. Of equally good epochs the latest counts if
    `stop.ties` says that it renews the patience, else the first."""

    def __init__(self, stop):
        self.stop, self.key, self.epoch, self.val = stop, None, 0, None

    def see(self, trainer, val):
        key = trainer._key(val, self.stop.of)
        if self.key is None or key < self.key or (self.stop.ties == "renew" and key == self.key):
            self.key, self.epoch, self.val = key, trainer.epoch, val

    def over(self, epoch):
        return self.stop.patience is not None and epoch - self.epoch >= self.stop.patience


class Attempt:
    """A training in a `with` block: what ends it early becomes its status. What is no fault of the configuration is raised."""

    def __init__(self):
        self.start, self.status, self.why = time.process_time(), "ok", None

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind is None or not issubclass(kind, Exception) or isinstance(error, NOT_ITS_FAULT):
            return False
        self.why = f"{kind.__name__}: {error}".splitlines()[0]
        if isinstance(error, FloatingPointError):
            self.status = "Diverged"
        elif is_out_of_memory(error):
            self.status = "OOM"
        else:
            self.status = "Crashed"
            traceback.print_exception(error)
        return True

    def outcome(self):
        seconds = round(time.process_time() - self.start, 2)
        return {"status": self.status, "seconds": seconds} | ({"why": self.why} if self.why else {})


def train_once(config, dataset, fold, task, seed, device, stops, check_signals):
    """One training until all of `stops` are over: {"status", "seconds", "epochs", "best": [best epoch and validation of each]}."""
    watches, epoch = [Watch(stop) for stop in stops], 0
    with Attempt() as attempt:
        trainer = make_trainer(config, dataset, fold, task, seed, device)
        while not all(watch.over(epoch) for watch in watches):
            if (reason := trainer.stop_reason()) not in (None, "patience"):
                attempt.status = "OOR" if reason == "hours" else "ok"  # out of resources, as the paper calls it
                break
            val = trainer.run_epoch(check_signals)["val"]
            for watch in watches:
                if val and not watch.over(epoch):
                    watch.see(trainer, val)
            epoch = trainer.epoch
    best = [{"epoch": watch.epoch, "val": watch.val} for watch in watches]
    return {**attempt.outcome(), "epochs": epoch, "best": best}


def make_trainer(config, dataset, fold, task, seed, device):
    net = build_net(config.net, dataset.features, task, seed=seed)
    seed_all(seed)
    make_deterministic(device)
    return Trainer(net, fold, task, config.train, seed, device)


# --------------------------------------------------------------------------------------------------------------------
# The grid


def groups_of(configurations, share):
    """Indices of configurations that are read off one training: those that differ in the criterion alone."""
    groups = {}
    for i, (changes, _) in enumerate(configurations):
        rest = [(key, str(value)) for key, value in changes.items() if key != CRITERION]
        groups.setdefault(str(rest) if share else i, []).append(i)
    return list(groups.values())


def search(config, dataset, fold_index, task, ledger, known=()):
    """Train what is missing of the grid, or of the configuration's part of it. `known`: keys that other ledgers have."""
    configurations, device = config.configurations(), choose_device(config.device)
    fold, (k, n) = dataset.fold(fold_index), config.slice
    if any(line["dataset"] != fold.store.hash for line in ledger.lines.values()):
        raise RunError(f"{ledger.path} was made on another version of the dataset: run it again with --force")
    groups = groups_of(configurations, config.selection.share_trainings)[k::n]
    missing = [group for group in groups if ledger.missing(str(i) for i in group if str(i) not in known)]
    bar = tqdm(
        desc=f"{config.name} fold {fold_index}",
        total=sum(map(len, groups)),
        initial=sum(map(len, groups)) - sum(map(len, missing)),
        unit=" configurations",
        disable=None if config.progress else True,
    )
    with stop_signals() as check_signals, bar:
        for group in missing:
            first = configurations[group[0]][1]
            stops = [configurations[i][1].train.stop for i in group]
            seed = seed_of(config.seed, fold_index, group[0])
            outcome = train_once(first, dataset, fold, task, seed, device, stops, check_signals)
            for i, best in zip(group, outcome.pop("best"), strict=True):
                ledger.append(str(i), **outcome, **best, seed=seed, dataset=fold.store.hash)
            bar.set_postfix_str(best_so_far(ledger, len(configurations), task), refresh=False)
            bar.update(len(group))


def best_so_far(ledger, n, task):
    if (winner := best_of(ledger, n, task)) is None:
        return "none counts so far"
    measure = task.metric().measures[0]
    return f"best so far {ledger.lines[str(winner)]['val'][measure.name]:.{measure.digits}f}, number {winner}"


def best_of(ledger, n, task):
    """The index of the best validation score; among equal ones the last. None without any score.

    A training that diverged counts by its best epoch before; one that ran out of time or memory, or crashed, does not count.
    """
    measure = task.metric().measures[0]
    sign = 1 if measure.better == "max" else -1
    lines = ((i, ledger.lines.get(str(i))) for i in range(n))
    scores = [
        (sign * line["val"][measure.name], i)
        for i, line in lines
        if line and line["val"] and line["status"] in ("ok", "Diverged")
    ]
    return max(scores)[1] if scores else None


# --------------------------------------------------------------------------------------------------------------------
# The assessment


def assess(config, dataset, fold_index, task, index, repetition):
    """Train a configuration and evaluate the weights of its best validation: {"status", "metrics", "epochs", "seconds", ...}."""
    chosen = config.configurations()[index][1]
    stop = chosen.train.stop
    select = Select(epoch="best_val", of=stop.of, ties="latest" if stop.ties == "renew" else "first")
    chosen = chosen.model_copy(update={"train": chosen.train.model_copy(update={"select": select})})
    device, seed = choose_device(config.device), seed_of(config.seed, fold_index, index, 1 + repetition)
    trainer = metrics = None
    with stop_signals() as check_signals:
        with Attempt() as attempt:
            trainer = make_trainer(chosen, dataset, dataset.fold(fold_index), task, seed, device)
            while (reason := trainer.stop_reason()) is None:
                trainer.run_epoch(check_signals)
            attempt.status = "OOR" if reason == "hours" else "ok"
        if attempt.status in ("ok", "Diverged") and trainer.best:
            with Attempt() as evaluation:
                trainer.net.load_state_dict(trainer.best["weights"])
                metrics = trainer.evaluate(check_signals)
            if metrics is None:
                attempt.status, attempt.why = evaluation.status, evaluation.why
    return {
        **attempt.outcome(),
        "metrics": metrics,
        "epochs": trainer.epoch if trainer else 0,
        "best_epoch": trainer.best["epoch"] if trainer and trainer.best else None,
        "params": count_parameters(trainer.net) if trainer else None,
        "seed": seed,
        "dataset": dataset.store.hash,
    }


def select_and_assess(config, dataset, fold_index, task):
    """Algorithm 1 of the Fair Comparison for one outer fold: select on the inner split, then assess. Returns the result; of a part
    of the grid alone None."""
    run = config.run(fold_index)
    if config.part is not None:
        return search_part(config, dataset, fold_index, task, run)
    with run.opened():
        if (result := run.finished_on(dataset.store.hash)) is not None:
            return result
        ledger = Ledger(run.path / SELECTION)
        adopt(ledger, run.path)
        search(config, dataset, fold_index, task, ledger)
        n = len(config.configurations())
        winner = best_of(ledger, n, task)
        names = [f"final-{r}" for r in range(config.selection.repetitions)] if winner is not None else []
        for repetition, name in enumerate(names):
            if ledger.missing([name]):
                ledger.append(name, **assess(config, dataset, fold_index, task, winner, repetition))
        finals = [ledger.lines[name] for name in names]
        return run.save_result(**summary(config, dataset, task, ledger, n, winner, finals))


def select(config, dataset, task):
    """The selection of every seed and fold: [(result, lines of its ledger)]; of a part of the grid alone nothing."""
    folds, outcomes = dataset.chosen_folds(config.folds), []
    for one in config.each_seed():
        for fold in folds:
            if (result := select_and_assess(one, dataset, fold, task)) is not None:
                outcomes.append((result, Ledger(one.run(fold).path / SELECTION).lines))
    return outcomes


def search_part(config, dataset, fold_index, task, run):
    """A part of the grid, in a folder of its own with a ledger of its own: parts may be made on machines without a common disk."""
    k, n = config.slice
    path = run.path / f"part_{k + 1}_of_{n}"
    try:
        path.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(path / ".lock", timeout=0):
            known = {key for other in run.path.glob(f"**/{SELECTION}") for key in Ledger(other).lines}
            search(config, dataset, fold_index, task, Ledger(path / SELECTION), known)
            write_json(path / PART, {**run.key, "part": config.part})
    except filelock.Timeout:
        raise RunBusy(f"{path}: another process is working on this part; wait for it or stop it") from None
    except OSError as error:
        raise RunError(explain(error, path)) from error


def adopt(ledger, folder):
    """Take over the lines of the parts below a folder."""
    for path in sorted(folder.glob(f"part_*/{SELECTION}")):
        for key, line in Ledger(path).lines.items():
            ledger.append(key, **{name: value for name, value in line.items() if name not in ("key", "sum")})


def summary(config, dataset, task, ledger, n, winner, finals):
    """The values of a result: means over the final trainings, and what was selected."""
    lines = [ledger.lines[str(i)] for i in range(n)]
    failed = [final["status"] for final in finals if final["metrics"] is None]
    status = lines[0]["status"] if winner is None else failed[0] if failed else "ok"
    changes, line = (config.configurations()[winner][0], lines[winner]) if winner is not None else (None, {})
    return {
        "status": status,
        "stopped_by": "all configurations",
        "select": "best_val",
        "measures": [measure._asdict() for measure in task.metric().measures],
        "metrics": {"best_val": mean_of([final["metrics"] for final in finals])} if status == "ok" else None,
        "selected": winner,
        "changes": changes,
        "selected_val": line.get("val"),
        "n_configurations": n,
        "n_trainings": len({line["seed"] for line in lines}),
        "share_trainings": config.selection.share_trainings,
        "statuses": dict(Counter(line["status"] for line in lines)),
        "finals": [final["metrics"] for final in finals],
        "params": finals[0]["params"] if finals else None,
        "epochs": sum(final["epochs"] for final in finals) / len(finals) if finals else None,
        "epoch_time_s": None,
        "total_time_hr": total_seconds(lines, finals) / 3600,
        **made_with(dataset.store, choose_device(config.device).type, torch.get_num_threads()),
    }


def total_seconds(lines, finals):
    """Of all trainings; one that several configurations were read off counts once."""
    trainings = {line["seed"]: line["seconds"] for line in lines}
    return sum(trainings.values()) + sum(final["seconds"] for final in finals)


def mean_of(metrics):
    """The mean of several {split: {name: value}}."""
    splits = metrics[0]
    return {s: {name: sum(m[s][name] for m in metrics) / len(metrics) for name in splits[s]} for s in splits}
