"""The training of section 3: Adam, the learning rate halved when the validation loss stalls, stopped at a smallest rate.

`fit` runs it inside a run folder, so that it can be killed at any moment and go on where it was.
"""

import math
import shlex
import signal
import sys
import time
from pathlib import Path

import dgl
import torch
from torch.optim.lr_scheduler import ReduceLROnPlateau

from train.files import RunError
from train.progress import Progress
from train.random_state import get_random_state, same_numbers_each_time, seed_all, set_random_state
from train.results import make_result
from train.signals import Interrupted, stop_signals

SHARE = 0.03  # of its time a run may spend on checkpoints


class Diverged(Exception):
    """The loss became NaN or infinite."""


class Trainer:
    """A net, its optimizer and its data: one epoch at a time, with a state that can be saved and restored to the bit."""

    def __init__(self, net, fold, task, config, seed, device):
        self.net, self.fold, self.task, self.config, self.device = net.to(device), fold, task, config, device
        self.learns = any(True for _ in net.parameters())  # a heuristic has nothing to learn
        # fused: the same Adam, one pass over each parameter; for the CPU since torch 2.4
        major, minor = map(int, torch.__version__.split(".")[:2])
        self.optimizer = torch.optim.Adam(
            net.parameters() if self.learns else [torch.zeros(1)],
            lr=config.init_lr,
            weight_decay=config.weight_decay,
            fused=device.type == "cuda" or (major, minor) >= (2, 4),
        )
        self.scheduler = ReduceLROnPlateau(
            self.optimizer, mode="min", factor=config.lr_reduce_factor, patience=config.lr_schedule_patience
        )
        self.shuffling = torch.Generator().manual_seed(seed)
        self.epoch, self.elapsed, self.best = 0, 0.0, None

    @property
    def lr(self):
        return self.optimizer.param_groups[0]["lr"]

    def stop_reason(self):
        """Why the training is over, or None. Asked before each epoch, so a run that goes on stops where it would have."""
        if not self.learns:
            return "nothing to learn"
        if self.lr < self.config.min_lr:
            return "min_lr"
        if self.epoch >= self.config.epochs:
            return "epochs"
        if self.elapsed >= 3600 * self.config.max_time:
            return "max_time"
        return None

    def run_epoch(self, check_signals):
        """One pass over the training graphs, then the validation. Returns the line of metrics.jsonl."""
        start, lr = time.perf_counter(), self.lr
        train = self._pass("train", check_signals, training=True)
        val = self._pass("val", check_signals)
        self.scheduler.step(val["loss"])
        self.epoch += 1
        self._remember_best(val)
        seconds = time.perf_counter() - start
        self.elapsed += seconds
        return {"epoch": self.epoch, "lr": lr, "train": train, "val": val, "seconds": seconds, "elapsed": self.elapsed}

    def evaluate(self, check_signals):
        """Loss and metric of every split, with the weights as they are."""
        return {part: self._pass(part, check_signals) for part in self.fold.parts}

    def _pass(self, part, check_signals, training=False):
        """Loss and metric over a whole split; with `training` an optimizer step for each batch, or, with `first_step_alone`, for
        the sum of the losses of batch_size graphs that are passed one by one."""
        self.net.train(training)
        generator, size, batches_per_step = (self.shuffling if training else None), self.config.batch_size, 1
        if training and self.config.first_step_alone:
            size, batches_per_step = 1, size
        loader = self.fold.loader(part, size, training, generator, self.config.workers)
        metric, loss_sum, n_items = self.task.metric(), 0.0, 0
        self.optimizer.zero_grad()
        with torch.set_grad_enabled(training):
            for i, batch in enumerate(loader):  # (g, labels), or (g, pairs, labels) where links are predicted
                check_signals()
                *inputs, y = (part.to(self.device) for part in batch)
                scores = self.net(*inputs)
                loss = self.task.loss(scores, y)
                if not torch.isfinite(loss):
                    raise Diverged(f"the loss of a {part} batch is {loss.item()} in epoch {self.epoch + 1}")
                if training:
                    loss.backward()
                    if i % batches_per_step == 0:
                        self.optimizer.step()
                        self.optimizer.zero_grad()
                loss_sum += loss.item() * len(y)
                n_items += len(y)
                metric.update(scores, y)
        extras = metric.extras() if hasattr(metric, "extras") else {}
        return {"loss": loss_sum / n_items, metric.name: metric.compute(), **extras}

    def _remember_best(self, val):
        """Keep the weights of the best validation metric; among equal ones those of the lowest validation loss."""
        metric = self.task.metric()
        sign = -1 if metric.direction == "max" else 1
        key = [sign * val[metric.name], val["loss"]]
        if self.best is None or key < self.best["key"]:
            weights = {name: value.detach().clone() for name, value in self.net.state_dict().items()}
            self.best = {"key": key, "epoch": self.epoch, "weights": weights}

    def state(self):
        return {
            "epoch": self.epoch,
            "elapsed": self.elapsed,
            "net": self.net.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self.scheduler.state_dict(),
            "best": self.best,
            "shuffling": self.shuffling.get_state(),
            "random": get_random_state(),
        }

    def restore(self, state):
        self.epoch, self.elapsed, self.best = state["epoch"], state["elapsed"], state["best"]
        self.net.load_state_dict(state["net"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])
        self.shuffling.set_state(state["shuffling"].cpu())
        set_random_state(state["random"])


def fit(net, fold, task, config, run):
    """Train `net` on one fold in the folder of `run` and return the result; a finished run is not run again."""
    with run.opened():
        if (result := run.finished_on(fold.store.hash)) is not None:
            return result
        device = choose_device(run.device)
        seed_all(run.seed)
        trainer = Trainer(net, fold, task, config, run.seed, device)
        same_numbers_each_time(device)
        try:
            with stop_signals() as check_signals:
                outcome = train_to_the_end(trainer, run, check_signals)
        except Interrupted as stop:
            number = stop.args[0]
            command = shlex.join([Path(sys.executable).name, *sys.argv])
            print(
                f"\nStopped by {signal.Signals(number).name} in epoch {trainer.epoch + 1}; the checkpoint is in {run.path}. "
                f"The same command goes on from there:\n  {command}",
                file=sys.stderr,
            )
            raise SystemExit(128 + number) from None
        result = make_result(run, trainer, **outcome)
        run.save_result(result)
        return result


def train_to_the_end(trainer, run, check_signals):
    """All epochs that are left, then the evaluation: {"status", "stopped_by", "metrics"}."""
    with Progress(run, trainer) as progress:
        try:
            resume(trainer, run)
            checkpoints = Checkpoints(trainer, run)
            while (reason := trainer.stop_reason()) is None:
                record = trainer.run_epoch(check_signals)
                run.log_epoch(record)
                checkpoints.save_sometimes()
                progress.show(record)
            checkpoints.save()
            last = trainer.evaluate(check_signals)
            best = last
            if trainer.best is not None and trainer.best["epoch"] != trainer.epoch:
                trainer.net.load_state_dict(trainer.best["weights"])
                best = trainer.evaluate(check_signals)
            return {"status": "ok", "stopped_by": reason, "metrics": {"last": last, "best_val": best}}
        except Diverged as error:
            return {"status": "Diverged", "stopped_by": str(error), "metrics": None}
        except (RuntimeError, MemoryError, dgl.DGLError) as error:
            if not is_out_of_memory(error):
                raise
            return {"status": "OOM", "stopped_by": str(error).splitlines()[0], "metrics": None}


class Checkpoints:
    """The state after an epoch, on the disk. After every epoch, unless these are so short that saving would cost more than SHARE of
    the time: then after several. A run that is killed repeats what came after the last one, with the same numbers."""

    def __init__(self, trainer, run):
        self.trainer, self.run = trainer, run
        self.epoch, self.ended, self.cost = trainer.epoch, -math.inf, 0.0  # of the last one

    def save_sometimes(self):
        if (time.monotonic() - self.ended) * SHARE >= self.cost:
            self.save()

    def save(self):
        if self.epoch < self.trainer.epoch:
            start = time.monotonic()
            self.run.save_checkpoint(checkpoint_of(self.trainer))
            self.epoch, self.ended = self.trainer.epoch, time.monotonic()
            self.cost = self.ended - start


def checkpoint_of(trainer):
    return {"dataset": trainer.fold.store.hash, **trainer.state()}


def resume(trainer, run):
    """Go on from the checkpoint of the folder, or write the first one."""
    state = run.load_checkpoint(trainer.device)
    if state is None:
        run.cut_log(0)
        run.save_checkpoint(checkpoint_of(trainer))
        return
    if state["dataset"] != trainer.fold.store.hash:
        raise RunError(
            f"{run.path}: "
            + "the checkpoint was made on another version of the dataset: start this run again with --force"
        )
    trainer.restore(state)
    run.cut_log(trainer.epoch)


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
