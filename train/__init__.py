"""Training: schema, command line, optimisation, loop, tasks, metrics, checkpoints, trained nets; and the paired test of BREC."""

import process  # noqa: F401 - before torch is loaded

# isort: split
from train.cli import parse_config
from train.errors import run_main
from train.loop import fit
from train.prediction import predict
from train.selection import select
from train.tasks import auroc_task, task_of
from train.weights import load

__all__ = ["auroc_task", "fit", "load", "parse_config", "predict", "run_main", "select", "task_of"]
