"""Model selection: each configuration of a grid is trained once on an inner split, the best one is then trained and tested a
few times.

Every training is a line of a ledger, selection.jsonl, so that a killed run goes on with the next missing one and several
processes can share a grid. A training that diverges or runs out of memory or time is a line with its status.
"""

import hashlib
import time

import torch
from pydantic import Field
from tqdm import tqdm

from data.section import Section
from nets import build_net, count_parameters
from runs.errors import ConfigError
from runs.ledger import Ledger
from runs.result import made_with
from runs.signals import stop_signals
from runs.table_files import expand, with_changes
from train.config import Config
from train.loop import Trainer, choose_device, is_out_of_memory
from train.optim import Select
from train.random_state import make_deterministic, seed_all

LEDGER = "selection.jsonl"
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

    def configurations(self):
        """[(changes, configuration)] in the order of the grid."""
        base = self.model_dump(exclude={"grid", "selection"})
        made = []
        for changes in expand(self.grid):
            try:
                made.append((changes, Config.model_validate(with_changes(base, changes))))
            except ValueError as error:
                raise ConfigError(f"grid: {changes}: {error}") from None
        return made


def seed_of(base, fold, configuration, repetition=0):
    """A seed for every training: a function of the base seed, the fold, the configuration's index and the repetition."""
    text = f"{base}/{fold}/{configuration}/{repetition}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


# --------------------------------------------------------------------------------------------------------------------
# One training


class Watch:
    """The best epoch by one criterion. Among equal epochs the latest counts; it is over after `patience` epochs without one."""

    def __init__(self, trainer, stop):
        self.trainer, self.of, self.patience = trainer, stop.of, stop.patience
        self.key, self.epoch, self.val = None, 0, None

    def see(self, val):
        key = self.trainer._key(val, self.of)
        if self.key is None or key <= self.key:
            self.key, self.epoch, self.val = key, self.trainer.epoch, val

    @property
    def over(self):
        return self.patience is not None and self.trainer.epoch - self.epoch >= self.patience


def train_once(config, dataset, fold, task, seed, device, stops, check_signals):
    """One training until all of `stops` are over: {"status", "seconds", "epochs", "best": [best epoch and validation of each]}."""
    start = time.process_time()
    trainer = make_trainer(config, dataset, fold, task, seed, device)
    watches, stop = [Watch(trainer, stop) for stop in stops], config.train.stop
    status = "ok"
    try:
        while trainer.epoch < stop.epochs and not all(watch.over for watch in watches):
            if trainer.elapsed >= 3600 * stop.hours:
                status = "OOR"  # out of resources, as the paper calls it
                break
            val = trainer.run_epoch(check_signals)["val"]
            for watch in watches:
                if not watch.over:
                    watch.see(val)
    except FloatingPointError:
        status = "Diverged"
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        status = "OOM"
    best = [{"epoch": watch.epoch, "val": watch.val} for watch in watches]
    return {"status": status, "seconds": round(time.process_time() - start, 2), "epochs": trainer.epoch, "best": best}


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


def search(config, dataset, fold_index, task, ledger, part=(0, 1), progress=True):
    """Train what is missing of the grid; of `part` (k, n) only every n-th training, from the k-th on."""
    configurations, device = config.configurations(), choose_device(config.device)
    fold = dataset.fold(fold_index)
    groups = groups_of(configurations, config.selection.share_trainings)[part[0] :: part[1]]
    missing = [group for group in groups if ledger.missing(map(str, group))]
    bar = tqdm(missing, desc=f"{config.name} fold {fold_index}", unit=" trainings", disable=None if progress else True)
    with stop_signals() as check_signals, bar:
        for group in bar:
            first = configurations[group[0]][1]
            stops = [configurations[i][1].train.stop for i in group]
            seed = seed_of(config.seed, fold_index, group[0])
            outcome = train_once(first, dataset, fold, task, seed, device, stops, check_signals)
            for i, best in zip(group, outcome.pop("best"), strict=True):
                ledger.append(str(i), **outcome, **best, seed=seed, dataset=fold.store.hash)
            if (winner := best_of(ledger, len(configurations), task)) is not None:
                bar.set_postfix_str(f"best so far: configuration {winner}")


def best_of(ledger, n, task):
    """The index of the best validation score; among equal ones the last. None without any score."""
    measure = task.metric().measures[0]
    sign = 1 if measure.better == "max" else -1
    scores = [
        (sign * line["val"][measure.name], i) for i in range(n) if (line := ledger.lines.get(str(i))) and line["val"]
    ]
    return max(scores)[1] if scores else None


# --------------------------------------------------------------------------------------------------------------------
# The assessment


def assess(config, dataset, fold_index, task, index, repetition):
    """Train a configuration and evaluate the weights of its best validation: {"status", "metrics", "epochs", "seconds", ...}."""
    chosen = config.configurations()[index][1]
    select = Select(epoch="best_val", of=chosen.train.stop.of, ties="latest")
    chosen = chosen.model_copy(update={"train": chosen.train.model_copy(update={"select": select})})
    device, start = choose_device(config.device), time.process_time()
    seed = seed_of(config.seed, fold_index, index, 1 + repetition)
    trainer = make_trainer(chosen, dataset, dataset.fold(fold_index), task, seed, device)
    metrics, status = None, "ok"
    with stop_signals() as check_signals:
        try:
            while trainer.stop_reason() is None:
                trainer.run_epoch(check_signals)
            trainer.net.load_state_dict(trainer.best["weights"])
            metrics = trainer.evaluate(check_signals)
        except FloatingPointError:
            status = "Diverged"
    return {
        "status": status,
        "metrics": metrics,
        "epochs": trainer.epoch,
        "best_epoch": trainer.best["epoch"] if trainer.best else None,
        "params": count_parameters(trainer.net),
        "seconds": round(time.process_time() - start, 2),
        "seed": seed,
        "dataset": dataset.store.hash,
    }


def select_and_assess(config, dataset, fold_index, task, part=None):
    """Algorithm 1 of the Fair Comparison for one outer fold: select on the inner split, then assess. Returns the result, or
    None when only a part of the grid is asked for."""
    run = config.run(fold_index)
    run.path.mkdir(parents=True, exist_ok=True)
    ledger = Ledger(run.path / LEDGER)
    if part is not None:
        search(config, dataset, fold_index, task, ledger, part, config.progress)
        return None
    with run.opened():
        if (result := run.finished_on(dataset.store.hash)) is not None:
            return result
        search(config, dataset, fold_index, task, ledger, progress=config.progress)
        n = len(config.configurations())
        winner = best_of(ledger, n, task)
        if winner is None:
            status = ledger.lines["0"]["status"]
            return run.save_result(**summary(config, dataset, task, ledger, n, None, [], status))
        for repetition in range(config.selection.repetitions):
            if ledger.missing([f"final-{repetition}"]):
                ledger.append(f"final-{repetition}", **assess(config, dataset, fold_index, task, winner, repetition))
        finals = [ledger.lines[f"final-{repetition}"] for repetition in range(config.selection.repetitions)]
        return run.save_result(**summary(config, dataset, task, ledger, n, winner, finals, finals[0]["status"]))


def summary(config, dataset, task, ledger, n, winner, finals, status):
    """The values of a result: means over the final trainings, and what was selected."""
    metrics = None
    if status == "ok":
        metrics = {"best_val": mean_of([final["metrics"] for final in finals])}
    lines = [ledger.lines[str(i)] for i in range(n)]
    seconds = sum(line["seconds"] for line in [*lines, *finals])
    return {
        "status": status,
        "stopped_by": "all configurations",
        "select": "best_val",
        "measures": [measure._asdict() for measure in task.metric().measures],
        "metrics": metrics,
        "selected": winner,
        "changes": config.configurations()[winner][0] if winner is not None else None,
        "selected_val": lines[winner]["val"] if winner is not None else None,
        "n_configurations": n,
        "statuses": {s: sum(line["status"] == s for line in lines) for s in {line["status"] for line in lines}},
        "finals": [final["metrics"] for final in finals],
        "params": finals[0]["params"] if finals else None,
        "epochs": sum(final["epochs"] for final in finals) / len(finals) if finals else None,
        "epoch_time_s": None,
        "total_time_hr": seconds / 3600,
        **made_with(dataset.store, choose_device(config.device).type, torch.get_num_threads()),
    }


def mean_of(metrics):
    """The mean of several {split: {name: value}}."""
    splits = metrics[0]
    return {s: {name: sum(m[s][name] for m in metrics) / len(metrics) for name in splits[s]} for s in splits}
