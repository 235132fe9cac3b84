"""What a run leaves behind: result.json, one flat record that the tables are made from."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parent.parent
FORMAT = 1
KEYS = {
    "format", "row", "name", "seed", "fold", "status", "select", "metrics", "config", "dataset", "params", "epochs",
    "epoch_time_s", "total_time_hr",
}  # fmt: skip


def is_result(content):
    """Whether the content of a file is a result in our format; one that ended well has the numbers that it was selected by."""
    if not isinstance(content, dict) or not KEYS.issubset(content) or content["format"] != FORMAT:
        return False
    types = {
        "name": str,
        "seed": int,
        "fold": int,
        "status": str,
        "select": str,
        "config": dict,
        "dataset": dict,
        "finished": str,
    }
    if not all(isinstance(content.get(key, kind()), kind) for key, kind in types.items()):
        return False
    return content["status"] != "ok" or (
        isinstance(content["metrics"], dict) and content["select"] in content["metrics"]
    )


def make_result(run, trainer, status, stopped_by, metrics):
    """The record of a finished run: which row, which seed, what came out, at what cost, made with what."""
    epochs = trainer.epoch
    return {
        **which_run(run),
        "status": status,
        "stopped_by": stopped_by,
        "select": trainer.config.select,
        "metrics": metrics,
        "best_val_epoch": trainer.best["epoch"] if trainer.best else None,
        "params": sum(p.numel() for p in trainer.net.parameters()),
        "epochs": epochs,
        "epoch_time_s": trainer.elapsed / epochs if epochs else None,
        "total_time_hr": trainer.elapsed / 3600,
        **made_with(run, trainer.fold.store, trainer.device, torch.get_num_threads()),
    }


def which_run(run):
    return {"format": FORMAT, "row": run.row, "name": run.name, "seed": run.seed, "fold": run.fold}


def made_with(run, store, device, threads):
    """On what data, by which configuration, with what programs, on what machine."""
    return {
        "dataset": {"name": store.name, "hash": store.hash},
        "config": run.identity,  # what the numbers depend on; folders and the like are in config.json
        "device": device.type,
        "threads": threads,
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("torch", "dgl", "numpy")},
        },
        "commit": git_commit(),
        "host": describe_host(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def git_commit():
    """The commit this code is at, with a + when files differ from it; None outside a git checkout."""

    def git(*words):
        return subprocess.run(
            ["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=True
        ).stdout.strip()

    try:
        return git("rev-parse", "HEAD") + ("+" if git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def describe_host():
    """The kind of machine, not its name."""
    cpu = platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [
            line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")
        ]
        cpu = names[0] if names else cpu
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    return {"system": platform.system(), "cpu": cpu, "cores": os.cpu_count(), "gpu": gpu}
