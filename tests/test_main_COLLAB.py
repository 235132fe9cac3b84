"""main_COLLAB.py runs every model of its rows from the raw files to the report, and learns."""

import json
import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F

from data.COLLAB import OwnCOLLAB
from data.dataset import DataConfig
from data.errors import DataError
from main_COLLAB import main
from runs.table_files import table_files
from tools import collab_lookalike
from train import loop
from train.metrics import HitsAtK
from train.tasks import LinkPrediction

ROOT = Path(__file__).resolve().parents[1]
ROWS = [str(row) for table in table_files().values() if table.main == "COLLAB" for row in table.rows.values()]
FACTORISATION = "table2_COLLAB/MatrixFact-L0"


@pytest.fixture(scope="module")
def raw_dir(tmp_path_factory):
    return collab_lookalike.write(tmp_path_factory.mktemp("collab"))


@pytest.fixture
def words(raw_dir, store_dir, tmp_path):
    return [
        "--dataset", "COLLAB-own", "--data.data_dir", str(raw_dir), "--data.store_dir", store_dir,
        "--out_dir", str(tmp_path), "--train.stop.epochs", "1", "--train.batch_size", "1024", "--progress", "false",
    ]  # fmt: skip


def only_result(folder):
    (path,) = folder.rglob("result.json")
    return json.loads(path.read_text())


@pytest.mark.parametrize("row", [row for row in ROWS if row != FACTORISATION])
def test_one_epoch_of_every_row(row, words, tmp_path, capsys):
    main([*words, "--config", row, "--data.limit", "200"])
    result = only_result(tmp_path)
    assert result["status"] == "ok" and result["epochs"] == 1
    assert result["dataset"]["name"] == "COLLAB-own"
    for part in ("train", "val", "test"):
        assert set(result["metrics"]["last"][part]) == {"loss", "Hits@50", "Hits@10", "Hits@100", "Hits@50_paper"}
    text = capsys.readouterr().out
    assert "not a row of a paper" in text and "test Hits@50 (%)" in text


def test_matrix_factorisation_needs_a_vector_for_each_node(words, tmp_path):
    words += ["--config", FACTORISATION]
    with pytest.raises(ValueError, match=r"net.num_embs=399, but the graph has 400 nodes"):
        main([*words, "--net.num_embs", "399"])
    main([*words, "--net.num_embs", "400", "--out_dir", str(tmp_path / "right")])
    assert only_result(tmp_path / "right")["params"] == 400 * 256 + 512 * 256 + 256 + 256 * 128 + 128 + 128 + 1


def test_gcn_learns_to_predict_links(words, tmp_path):
    """By chance 50 of 2,000 negatives are passed: 2.5 %."""
    main([*words, "--train.stop.epochs", "8", "--train.batch_size", "512"])
    metrics = only_result(tmp_path)["metrics"]["last"]
    assert metrics["test"]["Hits@50"] > 60 and metrics["val"]["Hits@50"] > 60
    assert metrics["test"]["Hits@10"] <= metrics["test"]["Hits@50"] <= metrics["test"]["Hits@100"]
    assert metrics["test"]["Hits@50"] <= metrics["test"]["Hits@50_paper"]  # fewer negatives are easier


def test_the_result_is_hits_at_50_of_the_whole_split(words, raw_dir, store_dir, tmp_path):
    """The number of the result file, once more from the checkpoint with one forward pass."""
    from nets import build_net
    from train import parse_config
    from train.checkpoint import load_state

    main(words)
    config = parse_config(words, "COLLAB", ["COLLAB-own"], default="table2_COLLAB/GCN-L3")
    dataset = OwnCOLLAB(DataConfig(data_dir=str(raw_dir), store_dir=store_dir))
    net = build_net(config.net, dataset.features, LinkPrediction())
    fold = dataset.fold(0)
    state, _ = load_state(config.run(0), SimpleNamespace(device=torch.device("cpu"), fold=fold))
    net.load_state_dict(state["net"])
    net.eval()
    metric = HitsAtK(50)
    with torch.no_grad():
        for g, pairs, y in fold.loader("test", 100):
            metric.update(net(g, pairs), y)
    assert metric.compute()["Hits@50"] == only_result(tmp_path)["metrics"]["last"]["test"]["Hits@50"]


def test_by_command_line_from_nothing(tmp_path, child_env, monkeypatch, capsys):
    """The two lines of the look-alike's docstring."""
    data = str(tmp_path / "data")
    monkeypatch.setattr(sys, "argv", ["collab_lookalike", data])
    runpy.run_path(collab_lookalike.__file__, run_name="__main__")
    assert "collab.zip" in capsys.readouterr().out
    words = [
        "--data.data_dir",
        data,
        "--out_dir",
        str(tmp_path / "out"),
        "--train.stop.epochs",
        "1",
        "--data.limit",
        "100",
    ]
    command = [sys.executable, "main_COLLAB.py", *words, "--dataset", "COLLAB-own"]
    done = subprocess.run(command, cwd=ROOT, env=child_env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "test Hits@50 (%)" in done.stdout


def test_collab_itself_refuses_another_file(raw_dir, tmp_path):
    with pytest.raises(DataError, match=r"nodes 400 instead of 235868.*--dataset COLLAB-own"):
        main(["--data.data_dir", str(raw_dir), "--data.store_dir", str(tmp_path), "--out_dir", str(tmp_path)])


def test_an_interrupted_run_ends_with_the_same_numbers(words, tmp_path):
    """The negatives of an epoch come from the generator that the checkpoint holds."""
    whole, parts = ["--out_dir", str(tmp_path / "whole")], ["--out_dir", str(tmp_path / "parts")]
    words += ["--data.limit", "200", "--train.batch_size", "64"]
    main([*words, *whole, "--train.stop.epochs", "3"])
    stop_after(1, [*words, *parts, "--train.stop.epochs", "3"])
    main([*words, *parts, "--train.stop.epochs", "3"])
    assert only_result(tmp_path / "parts")["metrics"] == only_result(tmp_path / "whole")["metrics"]


def stop_after(n_epochs, words):
    saved, original = [], loop.save_state

    def save_state(run, trainer, commits):
        original(run, trainer, commits)
        saved.append(trainer.epoch)
        if trainer.epoch == n_epochs:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(loop, "save_state", save_state)
        main(words)
    assert saved == [0, n_epochs]


def test_the_loss_is_half_of_the_papers():
    torch.manual_seed(0)
    positive, negative = torch.randn(7, 1), torch.randn(7, 1)
    paper = -torch.log(torch.sigmoid(positive)).mean() - torch.log(1 - torch.sigmoid(negative)).mean()
    scores, y = torch.cat([positive, negative]), torch.cat([torch.ones(7), torch.zeros(7)])
    task = LinkPrediction()
    assert task.loss(scores, y) == pytest.approx(paper / 2)
    assert task.loss(scores, y.long()) == task.loss(scores, y)  # labels may be integers
    assert (task.level, task.n_out, task.metric().measures[0].name) == ("pair", 1, "Hits@50")
    far = torch.tensor([[1e4], [-1e4]])  # where the logarithm of the sigmoid would be infinite
    assert task.loss(far, torch.tensor([0.0, 1.0])) == 1e4 and F.softplus(far[0]) == 1e4
