"""Programs that are shown a run while it trains (`--log tensorboard,wandb,mlflow`): the numbers of metrics.jsonl once more, and
the hyper-parameters. They never change the numbers, and a service that fails does not end a run.

TensorBoard is always there. The others are optional (requirements-trackers.txt) and work without a network unless their own
environment variables say otherwise: WANDB_MODE=online, MLFLOW_TRACKING_URI=....
"""

import importlib.util
import logging
import os
import re
import sys

import filelock
from torch.utils.tensorboard import SummaryWriter
from torch.utils.tensorboard.summary import hparams

from runs.files import RunError, explain
from runs.naming import as_text

PROJECT = "gnn-benchmarks"  # the name under which runs are collected, where the environment names no other


class Trackers:
    """Those that a run asks for, opened and closed with it; `active` is False in a process that is not the first of its run."""

    def __init__(self, run, active=True):
        self.run, self.names, self.open = run, run.config.get("log", ()) if active else (), []

    def __enter__(self):
        for name in self.names:
            if importlib.util.find_spec(name) is None:
                raise RunError(
                    f"--log {name}: it is not installed. bash install.sh requirements-trackers.txt installs it"
                )
            try:
                self.open.append(KINDS[name](self.run))
            except Exception as error:
                raise RunError(f"--log {name}: it does not start ({one_line(error)}): leave it out of --log") from error
        return self

    def __exit__(self, *error):
        self._each("close")

    def show(self, record):
        """An epoch: its line of metrics.jsonl."""
        if record["val"]:
            self._each("show", record["epoch"], {"lr": record["lr"], **flat(record, ("train", "val"))})

    def finish(self, outcome, select):
        """The end: the scores of all splits that the result reports."""
        if outcome["metrics"]:
            splits = outcome["metrics"][select]
            self._each("finish", {f"result/{name}": value for name, value in flat(splits, splits).items()})

    def _each(self, call, *arguments):
        for tracker in list(self.open):
            try:
                getattr(tracker, call)(*arguments)
            except RunError:
                raise
            except Exception as error:  # of a service, whatever it may be
                self.open.remove(tracker)
                print(f"warning: {type(tracker).__name__} is left out from now on: {one_line(error)}", file=sys.stderr)


def flat(values, splits):
    """{"accuracy/val": 61.5} of nested values."""
    return {f"{name}/{split}": value for split in splits for name, value in values[split].items()}


def one_line(error):
    return f"{type(error).__name__}: {error}".splitlines()[0][:200]


def hyper_parameters(run):
    """{"net.L": 4, ...}: the keys that the numbers of a run depend on, its seed and its fold; lists as texts."""

    def leaves(content, prefix=""):
        for key, value in content.items():
            if isinstance(value, dict):
                yield from leaves(value, f"{prefix}{key}.")
            else:
                yield prefix + key, value if isinstance(value, bool | int | float | str) else as_text(value)

    return {**dict(leaves(run.identity)), "seed": run.seed, "fold": run.fold}


def title(run):
    return f"{run.name} seed {run.seed} fold {run.fold}"


class TensorBoard:
    """Curves in the folder of the run; a run that goes on replaces what it repeats."""

    def __init__(self, run):
        self.run, self.folder, self.writer = run, run.path / "tensorboard", None

    def show(self, epoch, values):
        try:
            if self.writer is None:
                self.writer = SummaryWriter(self.folder, purge_step=epoch)
                self._describe(values)
            for name, value in values.items():
                self.writer.add_scalar(name, value, epoch)
            self.writer.flush()
        except OSError as error:
            raise RunError(explain(error, self.folder)) from error

    def _describe(self, values):
        """The hyper-parameters, beside the curves that they are compared by."""
        for summary in hparams(hyper_parameters(self.run), dict.fromkeys(values, 0.0)):
            self.writer.file_writer.add_summary(summary)

    def finish(self, values):
        if self.writer is not None:
            for name, value in values.items():
                self.writer.add_scalar(name, value)

    def close(self):
        if self.writer is not None:
            self.writer.close()


class Wandb:
    """A run of Weights & Biases, in the folder of ours; `wandb sync FOLDER` sends one that was made offline."""

    def __init__(self, run):
        os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
        import wandb

        again = len(list(run.path.glob("replaced-*")))  # --force: another run
        self.wandb = wandb.init(
            project=os.environ.get("WANDB_PROJECT", PROJECT),
            id=f"{run.id}-{run.seed}-{run.fold}" + (f"-{again}" if again else ""),
            name=title(run),
            group=run.name,
            dir=str(run.path),
            config=hyper_parameters(run),
            resume="allow",
            mode=os.environ.get("WANDB_MODE", "offline"),
            settings=wandb.Settings(silent=True, console="off", disable_code=True),
        )

    def show(self, epoch, values):
        self.wandb.log(values, step=epoch)

    def finish(self, values):
        self.wandb.summary.update(values)

    def close(self):
        self.wandb.finish()


class MLflow:
    """A run of MLflow, in OUT/mlflow.db or where MLFLOW_TRACKING_URI says; one that goes on adds what is new."""

    def __init__(self, run):
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
        from mlflow import MlflowClient

        for part in ("mlflow", "alembic"):  # each says how it makes its tables
            logging.getLogger(part).setLevel(logging.WARNING)
        out = run.path.parents[3]
        uri = os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{out / 'mlflow.db'}"
        with filelock.FileLock(out / ".mlflow.lock"):  # the first one makes the tables
            self.client = MlflowClient(uri)
            name = os.environ.get("MLFLOW_EXPERIMENT_NAME", PROJECT)
            known = self.client.get_experiment_by_name(name)
            experiment = known.experiment_id if known else self.client.create_experiment(name, str(out / "mlflow"))
        place = run.path / "mlflow.txt"  # whose run it is, for a run that goes on
        if not place.exists():
            place.write_text(self.client.create_run(experiment, run_name=title(run)).info.run_id)
            for key, value in hyper_parameters(run).items():
                self.client.log_param(place.read_text(), allowed(key), value)
        self.id = place.read_text()
        self.last = max((metric.step for metric in self.client.get_metric_history(self.id, "lr")), default=0)

    def show(self, epoch, values):
        for name, value in values.items() if epoch > self.last else ():
            self.client.log_metric(self.id, allowed(name), value, step=epoch)

    def finish(self, values):
        for name, value in values.items():
            self.client.log_metric(self.id, allowed(name), value)
        self.client.set_terminated(self.id)

    def close(self):
        """Nothing is held."""


def allowed(name):
    """A name with the characters that MLflow takes: Hits@50 has another."""
    return re.sub(r"[^\w\-./ ]", "_", name)


KINDS = {"tensorboard": TensorBoard, "wandb": Wandb, "mlflow": MLflow}
