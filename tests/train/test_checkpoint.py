"""A checkpoint belongs to one run: that of another seed, fold, configuration or dataset is refused by name."""

import shutil

import pytest
import torch

from data.folds import GraphFold
from runs.files import RunError
from tests.train.toy import TASKS, make_store, run_in, toy
from train.checkpoint import load_state, save_state
from train.loop import Trainer, fit

CPU = torch.device("cpu")


def trainer_of(parts, seed=1):
    return Trainer(*parts, seed, CPU)


@pytest.fixture
def saved(tmp_path):
    """A run of seed 1 with a checkpoint."""
    run = run_in(tmp_path, "--seed", "1")
    with run.opened():
        save_state(run, trainer_of(toy(tmp_path)), ["abc"])
    return run


def put(checkpoint_of, into):
    into.path.mkdir(parents=True, exist_ok=True)
    shutil.copy(checkpoint_of.path / "checkpoint.pt", into.path)
    shutil.copy(checkpoint_of.path / "metrics.jsonl", into.path)


OTHERS = {
    "seed": (["--seed", "2"], 0),
    "fold": (["--seed", "1"], 3),
    "configuration": (["--seed", "1", "--net.L", "8"], 0),
}


@pytest.mark.parametrize("what", OTHERS)
def test_one_of_another_run_is_refused_and_nothing_comes_of_it(tmp_path, saved, what):
    words, fold = OTHERS[what]
    other = run_in(tmp_path, *words, fold=fold)
    put(saved, into=other)
    message = rf"checkpoint\.pt is of another run \(.*{saved.id}.*'seed': 1, 'fold': 0.*: move it to its own folder, or .*--force"
    with pytest.raises(RunError, match=message):
        fit(*toy(tmp_path), other)
    assert other.result is None
    other.force = True
    assert fit(*toy(tmp_path), other)["epochs"] == 4  # the remedy


def test_one_of_another_version_of_the_dataset_is_refused(tmp_path, saved):
    net, fold, task, config = toy(tmp_path)
    other = GraphFold("fold0", make_store(tmp_path / "other", TASKS["graph"][1], n_graphs=13), fold.parts)
    with pytest.raises(RunError, match=r"checkpoint\.pt was made on another version of the dataset: .*--force"):
        fit(net, other, task, config, saved)


@pytest.mark.parametrize("content", [[], {}, {"epoch": 3}, {"belongs_to": {"id": 1}}, {"belongs_to": "mine"}])
def test_a_file_that_is_none_of_ours_is_refused(tmp_path, saved, content):
    torch.save(content, saved.path / "checkpoint.pt")
    with pytest.raises(RunError, match=r"checkpoint\.pt is damaged .*--force"):
        fit(*toy(tmp_path), saved)


def test_commits_are_remembered_in_order(tmp_path, saved, monkeypatch):
    trainer = trainer_of(toy(tmp_path))
    for now, seen in (("abc", ["abc"]), ("def", ["abc", "def"])):
        monkeypatch.setattr("train.checkpoint.git_commit", lambda now=now: now)
        assert load_state(saved, trainer)[1] == seen
    fresh = run_in(tmp_path, "--seed", "5")
    assert load_state(fresh, trainer) == (None, ["def"])


def test_one_of_a_net_whose_parameters_were_called_otherwise_is_refused(tmp_path, saved):
    """A run that was begun before a layer was rewritten."""
    net, *rest = toy(tmp_path)
    net.added = torch.nn.Linear(1, 1)
    message = r"checkpoint\.pt was made by another version of this net \(commit abc; .*added.*\): start this run again with --force"
    with pytest.raises(RunError, match=message):
        fit(net, *rest, saved)
