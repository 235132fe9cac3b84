"""Training: schema, command line, optimisation, loop, tasks, metrics, checkpoints; and the paired test of BREC."""

import process  # noqa: F401 - before torch is loaded

# isort: split
from train.cli import parse_config
from train.errors import run_main
from train.loop import fit
from train.tasks import task_of

__all__ = ["fit", "parse_config", "run_main", "task_of"]
