"""The trained net of a finished run, weights.pt beside result.json: the weights after the last epoch and those of the best
validation, and what the net must know to be built again without the dataset."""

import io
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import torch

from data.dataset import Features
from data.store import Field
from nets import NetError, build_net
from runs.files import RunError, read_json
from runs.folder import read_archive
from train.cli import validate
from train.config import Config

FILE, FORMAT = "weights.pt", 1
EPOCHS = ("best", "last")


class Use(NamedTuple):
    """What a trained net is for: the features that it reads, what it predicts for (`level`), the transforms that it needs."""

    features: Features
    level: str
    needs: dict


def save_weights(run, trainer):
    """Write the file. The trainer is after its last epoch."""
    fields = trainer.fold.store.fields
    features = {level: fields.get(f"{level}.feat") for level in ("node", "edge")}
    best = trainer.best if trainer.best and trainer.best["epoch"] != trainer.epoch else None
    buffer = io.BytesIO()
    content = {
        "format": FORMAT,
        "belongs_to": run.key,
        "features": {level: field and asdict(field) for level, field in features.items()},
        "task": {"level": trainer.task.level, "n_out": trainer.task.n_out},
        "last": trainer.net.state_dict(),
        "best": best and best["weights"],  # None: those of the last epoch
    }
    torch.save(content, buffer)
    run.save_weights(buffer.getvalue())


def load(folder, epoch=None):
    """(net, features, config) of the finished run in a folder, out/…/seed_41/fold_0; the net is in evaluation mode.

    `epoch` says which weights: "best" (of the validation) or "last"; None: those that the result of the run was made with.
    """
    folder = Path(folder)
    if epoch not in (None, *EPOCHS):
        raise RunError(f"epoch={epoch!r}: expected one of {', '.join(EPOCHS)}")
    written = read_json(folder / "config.json")
    if not (isinstance(written, dict) and isinstance(written.get("config"), dict)):
        raise RunError(f"{folder}: not the folder of a run, which ends in seed_S/fold_F and has a config.json")
    content = read_weights(folder / FILE, written.get("id"))
    config = validate(written["config"], folder / "config.json", Config)
    epoch = epoch or ("best" if config.train.select.epoch == "best_val" else "last")
    try:
        fields = {level: values and Field(**values) for level, values in content["features"].items()}
        features, task = Features(**fields), SimpleNamespace(**content["task"])
        net = build_net(config.net, features, task)
        net.load_state_dict((epoch == "best" and content["best"]) or content["last"])
    except (RuntimeError, KeyError, TypeError, AttributeError, NetError) as error:
        raise RunError(
            f"{folder / FILE} was made by another version of this net ({str(error).splitlines()[-1].strip()[:100]}): "
            "train it again with --force"
        ) from error
    net.use = Use(features, task.level, config.net.needs)
    return net.eval(), features, config


def read_weights(path, id):
    """The content of a file of weights that belongs to a run with this id."""
    data = read_archive(path)
    if data is None:
        raise RunError(
            f"{path}: no such file. A run of a main file writes it at its end; others, as selections, do not"
        )
    try:
        content = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
        right = content["format"] == FORMAT and content.keys() >= {"features", "task", "last", "best"}
        owner = content["belongs_to"]["id"]
    except Exception as error:  # whatever torch finds in a file that is not one of ours
        raise RunError(
            f"{path}: not the weights of a run ({str(error).splitlines()[0][:100]}): move it away"
        ) from error
    if not right:
        raise RunError(f"{path}: weights of another version of this project: train the net again with --force")
    if owner != id:
        raise RunError(f"{path} is of another configuration ({owner}): move it to its own folder")
    return content
