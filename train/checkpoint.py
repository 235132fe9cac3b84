"""Checkpoints: the state of a trainer on the disk, with whose it is. One that belongs to another run or other data is refused."""

import io

import torch

from runs.files import RunError
from runs.result import git_commit


def save_state(run, trainer, commits):
    """Replace the run's checkpoint by the trainer's state."""
    buffer = io.BytesIO()
    belongs_to = {**run.key, "dataset": trainer.fold.store.hash, "commits": commits}
    torch.save({"belongs_to": belongs_to, **trainer.state()}, buffer)
    run.save_checkpoint(buffer.getvalue())


def load_state(run, trainer):
    """(state, commits): the last whole state, or None before the first, and the commits that the run has been made with."""
    data, now = run.load_checkpoint(), git_commit()
    if data is None:
        return None, [now]
    path = run.path / "checkpoint.pt"
    try:
        state = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)  # the random states stay there
        belongs_to = state.pop("belongs_to")
        key = {name: belongs_to[name] for name in run.key}
        dataset, commits = belongs_to["dataset"], belongs_to["commits"]
    except Exception as error:  # whatever torch finds in a file that is not one of ours
        raise RunError(f"{path} is damaged ({error}): start this run again with --force") from error
    if key != run.key:
        raise RunError(
            f"{path} is of another run ({key}): move it to its own folder, or start this run again with --force"
        )
    if dataset != trainer.fold.store.hash:
        raise RunError(f"{path} was made on another version of the dataset: start this run again with --force")
    return state, commits if now in commits else [*commits, now]
