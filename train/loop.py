"""The training of a net on one fold: epochs until the stop, validation after each, an evaluation of all splits at the end.

`fit` runs it inside a run folder, so that it can be killed at any moment and go on where it was. Several processes that train
one net (train/distributed.py) run the same code; `processes` is what they ask each other.
"""

import math
import signal
import sys
import time
from functools import cache
from typing import Any, NamedTuple

import dgl
import numpy as np
import torch
from torch.optim.lr_scheduler import ReduceLROnPlateau

from data.errors import DataError
from nets.heads import as_scores
from nets.inputs import InputEmbedding
from process import Sharing
from runs.files import RunError
from runs.result import machine_memory, made_with
from runs.signals import Interrupted, stop_signals
from train.checkpoint import load_state, save_state
from train.distributed import Alone, join
from train.progress import Progress
from train.random_state import get_random_state, make_deterministic, seed_all, set_random_state
from train.trackers import Trackers
from train.weights import save_weights

SHARE = 0.03  # of its time a run may spend on checkpoints


class Diverged(FloatingPointError):
    """The loss became NaN or infinite."""


class Part(NamedTuple):
    """What a net makes of a batch, or of a process's part of one."""

    g: Any
    of: Any
    y: torch.Tensor
    scores: torch.Tensor
    penalty: torch.Tensor | float


class Trainer:
    """A net, its optimizer and its data: one epoch at a time, with a state that can be saved and restored to the bit."""

    def __init__(self, net, fold, task, config, seed, device, processes=None):
        self.net, self.fold, self.task, self.config, self.device = net.to(device), fold, task, config, device
        self.processes, self.seed = processes or Alone(device), seed
        parameters = list(net.parameters())
        self.learns = bool(parameters)  # a heuristic has nothing to learn
        self.measure = task.metric().measures[0]
        self.optimizer = config.optimizer.build(parameters or [torch.zeros(1)])
        self.scheduler = config.schedule.build(self.optimizer, config.stop, self.measure.better)
        self.shuffling = torch.Generator().manual_seed(seed)
        self.epoch, self.elapsed, self.train_loss = 0, 0.0, math.inf
        self.sharing = Sharing(torch.get_num_threads())
        self.val = None  # the last validation
        self.best = None  # key, epoch and weights of the best validation
        self.patience = {"key": None, "epoch": 0}  # of the last improvement that the stop counts from

    @property
    def lr(self):
        return self.optimizer.param_groups[0]["lr"]

    def stop_reason(self):
        """Why the training is over, or None. Asked before each epoch, so a run that goes on stops where it would have."""
        stop = self.config.stop
        if not self.learns:
            return "nothing to learn"
        warming_up = self.epoch < getattr(self.config.schedule, "warmup", 0)
        if stop.min_lr is not None and self.lr < stop.min_lr and not warming_up:
            return "min_lr"
        if self.epoch >= stop.epochs:
            return "epochs"
        if self.elapsed >= 3600 * stop.hours:
            return "hours"
        if stop.loss is not None and self.train_loss < stop.loss:
            return "loss"
        if stop.patience is not None and self.epoch - self.patience["epoch"] >= stop.patience:
            return "patience"
        return None

    def run_epoch(self, check_signals):
        """One pass over the training split, then the validation. Returns the line of metrics.jsonl.

        An epoch that is not validated (`select.every`) has a training loss only; the schedule is given the last validation again.
        """
        start, lr = time.perf_counter(), self.lr
        self.processes.seed_pass(self.seed, self.epoch)
        validated = self.epoch == 0 or (self.epoch + 1) % self.config.select.every == 0
        train = self._pass("train", check_signals, training=True, measured=validated)
        self.processes.join_statistics(self.net)
        val = self._pass("val", check_signals) if validated else {}
        self.val = val or self.val
        self._step_schedule(self.val)
        self.epoch += 1
        self.train_loss = train["loss"]
        if validated:
            self._remember_best(val)
            self._count_patience(val)
        seconds = self.processes.from_first(time.perf_counter() - start)
        self.elapsed += seconds
        return {"epoch": self.epoch, "lr": lr, "train": train, "val": val, "seconds": seconds, "elapsed": self.elapsed}

    def evaluate(self, check_signals):
        """Loss and metrics of every split, with the weights as they are."""
        self.processes.seed_pass(self.seed, self.epoch)
        return {split: self._pass(split, check_signals) for split in self.fold.parts}

    def _pass(self, split, check_signals, training=False, measured=True):
        """Loss and metrics over a whole split; with `training` optimizer steps; without `measured` the loss alone."""
        self.net.train(training)
        generator = self.shuffling if training else None
        share = self.processes.share
        loader = self.fold.loader(split, self.config.batch_size, training, generator, self.config.workers, share)
        metric, loss_sum, n_items = self.task.metric(), 0.0, 0
        self.optimizer.zero_grad()
        with torch.set_grad_enabled(training):
            for i, batch in enumerate(loader):
                check_signals()
                self.sharing.look()
                part = None if batch is None else self._forward(*batch.to(self.device))
                loss, n = self.processes.loss(self.task, part)
                if not torch.isfinite(loss):
                    raise Diverged(f"the loss of a {split} batch is {loss.item()} in epoch {self.epoch + 1}")
                if training:
                    self._learn(loss, i, len(loader))
                loss_sum += loss.item() * n
                n_items += n
                if measured and part is not None:
                    metric.update(part.scores, part.y, part.g, part.of)
        if not n_items:
            raise DataError(f"{self.fold.store.name}, {self.fold.name}: no label of the {split} split is known")
        if measured:
            self.processes.join_metric(metric)
        return {"loss": loss_sum / n_items, **(metric.compute() if measured else {})}

    def _forward(self, g, of, y):
        return Part(g, of, y, *as_scores(self.net(g, of)))

    def _learn(self, loss, i, n_batches):
        """The gradient of batch i, and a step when it is the last of those that share one."""
        optimizer, k = self.config.optimizer, self.config.optimizer.accumulate
        if optimizer.first_step == "alone":
            in_step, is_last = (1 if i == 0 else k), i % k == 0
        else:
            in_step, is_last = min(k, n_batches - i // k * k), (i + 1) % k == 0 or i + 1 == n_batches
        (loss if optimizer.accumulated == "sum" or in_step == 1 else loss / in_step).backward()
        if is_last:
            self.processes.add_gradients(self.net.parameters())
            if optimizer.clip_norm is not None:
                torch.nn.utils.clip_grad_norm_(self.net.parameters(), optimizer.clip_norm)
            self.optimizer.step()
            self.optimizer.zero_grad()

    def _step_schedule(self, val):
        if isinstance(self.scheduler, ReduceLROnPlateau):
            self.scheduler.step(val["loss" if self.config.schedule.of == "loss" else self.measure.name])
        else:
            self.scheduler.step()

    def _key(self, val, of):
        """A number that is lower for a better validation."""
        if of == "loss":
            return val["loss"]
        return -val[self.measure.name] if self.measure.better == "max" else val[self.measure.name]

    def _remember_best(self, val):
        """Keep the weights of the best validation; `select.ties` says which of equally good epochs."""
        select = self.config.select
        key = [self._key(val, select.of)] + ([val["loss"]] if select.ties == "loss" else [])
        if select.digits is not None:
            key[0] = round(key[0], select.digits)
        old = self.best and self.best["key"]
        if old is None or key < old or (select.ties == "latest" and key == old):
            weights = {name: value.detach().clone() for name, value in self.net.state_dict().items()}
            self.best = {"key": key, "epoch": self.epoch, "weights": weights}

    def _count_patience(self, val):
        stop, old = self.config.stop, self.patience["key"]
        key = self._key(val, stop.of)
        if old is None or key < old or (stop.ties == "renew" and key == old):
            self.patience = {"key": key, "epoch": self.epoch}

    def state(self):
        return {
            "epoch": self.epoch,
            "elapsed": self.elapsed,
            "train_loss": self.train_loss,
            "net": self.net.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self.scheduler.state_dict(),
            "val": self.val,
            "best": self.best,
            "patience": self.patience,
            "shuffling": self.shuffling.get_state(),
            "random": get_random_state(),
        }

    def restore(self, state):
        for name in ("epoch", "elapsed", "train_loss", "best", "patience"):
            setattr(self, name, state[name])
        self.val = state.get("val")
        self.net.load_state_dict(state["net"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])
        self.shuffling.set_state(state["shuffling"])
        set_random_state(state["random"])


def fit(net, fold, task, config, run):
    """Train `net` on one fold in the folder of `run` and return the result; a finished run is not run again."""
    if "grid" in run.config:
        raise RunError(
            "this main file does not select: call select where the configuration says so, as main_CSL.py does"
        )
    processes = join(config.processes, choose_device(run.device))
    with processes.opened(run):
        if processes.first:
            run.try_again(memory_of(processes.device))
        if (result := processes.from_first(processes.first and run.finished_on(fold.store.hash))) is not None:
            return result
        if processes.first:
            say_if_nodes_are_alike(net, fold.store, run.config)
        seed_all(run.seed)
        trainer = Trainer(net, fold, task, config, run.seed, processes.device, processes)
        processes.same_weights(net)
        make_deterministic(processes.device)
        try:
            with stop_signals() as check_signals, Trackers(run, processes.first) as trackers:
                outcome = train_to_the_end(trainer, run, trackers, processes.agreed(check_signals))
                trackers.finish(outcome, config.select.epoch)
        except Interrupted as stop:
            number = stop.args[0]
            if processes.first:
                print(
                    f"\nStopped by {signal.Signals(number).name} in epoch {trainer.epoch + 1}; the checkpoint is in {run.path}. "
                    f"The same command goes on from there:\n  {processes.command()}",
                    file=sys.stderr,
                )
            raise SystemExit(128 + number) from None
        if processes.first:
            result = run.save_result(**outcome, **description(trainer), **costs(trainer))
        if outcome["status"] == "OOM":
            processes.leave(f"OOM, {outcome['stopped_by']}")
        return processes.from_first(result)


def say_if_nodes_are_alike(net, store, config):
    """One line, once, if nothing distinguishes the nodes before the first layer and nobody asked for that."""
    inputs, feat = [part for part in net.modules() if isinstance(part, InputEmbedding)], store.fields.get("node.feat")
    alike = any(part.constant is not None for part in inputs)
    if feat is not None and feat.shape == (1,):
        alike = np.ptp(store.column("node.feat")) == 0
    encoded = any(len(part.encodings) for part in inputs)
    asked_for = any(config.get("data", {}).get(key) for key in ("features", "transforms"))
    if alike and not encoded and not asked_for:
        say_once(
            f"{store.name} has no node features, so all nodes start alike. To give them their degree: --data.features degree; a "
            'position: --net.encodings \'[{"kind": "RWSE", "k": 16}]\''
        )


@cache
def say_once(text):
    print(text, file=sys.stderr, flush=True)


def train_to_the_end(trainer, run, trackers, check_signals):
    """All epochs that are left, then the evaluation: {"status", "stopped_by", "metrics", "commits"}."""
    commits = []
    with Progress(run, trainer) as progress:
        try:
            commits = resume(trainer, run)
            checkpoints = Checkpoints(trainer, run, commits)
            while (reason := trainer.stop_reason()) is None:
                record = trainer.run_epoch(check_signals)
                if trainer.processes.first:
                    run.log_epoch(record)
                    trackers.show(record)
                    checkpoints.save_if_due()
                    progress.show(record)
            if trainer.processes.first:
                checkpoints.save()
                save_weights(run, trainer)
            last = trainer.evaluate(check_signals)
            best = last
            if trainer.best is not None and trainer.best["epoch"] != trainer.epoch:
                trainer.net.load_state_dict(trainer.best["weights"])
                best = trainer.evaluate(check_signals)
            outcome = {"status": "ok", "stopped_by": reason, "metrics": {"last": last, "best_val": best}}
        except FloatingPointError as error:  # of the loss, or of the scores that a metric is given
            outcome = {"status": "Diverged", "stopped_by": str(error), "metrics": None}
        except (RuntimeError, MemoryError, dgl.DGLError) as error:
            if not is_out_of_memory(error):
                raise
            outcome = {"status": "OOM", "stopped_by": str(error).splitlines()[0], "metrics": None}
    return outcome | {"commits": commits}


def description(trainer):
    """What was measured, on what, with what."""
    gpu = torch.cuda.get_device_name() if trainer.device.type == "cuda" else None
    return {
        "select": trainer.config.select.epoch,
        "measures": [measure._asdict() for measure in trainer.task.metric().measures],
        **trainer.processes.description(trainer.net),
        **made_with(trainer.fold.store, trainer.device.type, torch.get_num_threads(), gpu, memory_of(trainer.device)),
    }


def memory_of(device):
    """GB of the GPU, or of the machine."""
    if device.type != "cuda":
        return machine_memory()
    return round(torch.cuda.get_device_properties(device).total_memory / 2**30, 1)


def costs(trainer):
    epochs = trainer.epoch
    return {
        "best_val_epoch": trainer.best["epoch"] if trainer.best else None,
        "params": sum(p.numel() for p in trainer.net.parameters()),
        "epochs": epochs,
        "epoch_time_s": trainer.elapsed / epochs if epochs else None,
        "total_time_hr": trainer.elapsed / 3600,
    }


class Checkpoints:
    """The state after an epoch, on the disk. After every epoch, unless these are so short that saving would cost more than SHARE of
    the time: then after several. A run that is killed repeats what came after the last one, with the same numbers."""

    def __init__(self, trainer, run, commits):
        self.trainer, self.run, self.commits = trainer, run, commits
        self.epoch, self.ended, self.cost = trainer.epoch, -math.inf, 0.0  # of the last one

    def save_if_due(self):
        if (time.monotonic() - self.ended) * SHARE >= self.cost:
            self.save()

    def save(self):
        if self.epoch < self.trainer.epoch:
            start = time.monotonic()
            save_state(self.run, self.trainer, self.commits)
            self.epoch, self.ended = self.trainer.epoch, time.monotonic()
            self.cost = self.ended - start


def resume(trainer, run):
    """Go on from the checkpoint of the folder, or write the first one. Returns the commits that the run was made with so far."""
    first = trainer.processes.first
    state, commits = trainer.processes.from_first(first and load_state(run, trainer))
    if state is None:
        if first:
            run.cut_log(0)
            save_state(run, trainer, commits)
    else:
        try:
            trainer.restore(state)
        except (RuntimeError, KeyError, ValueError) as error:
            raise RunError(
                f"{run.path / 'checkpoint.pt'} was made by another version of this net (commit {commits[0]}; "
                f"{str(error).splitlines()[-1].strip()[:100]}): start this run again with --force"
            ) from error
        if first:
            run.cut_log(trainer.epoch)
    return commits


def choose_device(name):
    """cpu, cuda, or with auto a GPU where torch and dgl can both use one."""
    if name == "cpu":
        return torch.device("cpu")
    usable = torch.cuda.is_available()
    if usable:
        try:
            dgl.graph(([0], [0])).to("cuda")
        except dgl.DGLError as error:
            if name == "cuda":
                raise SystemExit(
                    f"--device cuda: this dgl was built without CUDA ({str(error).splitlines()[-1]})"
                ) from error
            usable = False
    if name == "cuda" and not usable:
        raise SystemExit(
            "--device cuda: torch sees no GPU. Use --device cpu, or install the CUDA builds (environment.yml)"
        )
    return torch.device("cuda" if usable else "cpu")


def is_out_of_memory(error):
    text = str(error).lower()
    return isinstance(error, MemoryError | torch.cuda.OutOfMemoryError) or any(
        sign in text for sign in ("out of memory", "can't allocate memory", "cannot allocate memory")
    )
