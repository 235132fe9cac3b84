"""What TensorBoard, Weights & Biases and MLflow are shown of a run, each in its offline mode; the numbers stay the same."""

import importlib.util
import struct

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

from runs.files import RunError
from tests.train.toy import epochs_of, run_in, toy
from train.loop import fit
from train.selection import SelectionConfig
from train.trackers import KINDS, Trackers, hyper_parameters


@pytest.fixture(autouse=True)
def nothing_from_outside(monkeypatch, tmp_path):
    for name in ("WANDB_MODE", "WANDB_PROJECT", "MLFLOW_TRACKING_URI", "MLFLOW_EXPERIMENT_NAME"):
        monkeypatch.delenv(name, raising=False)
    for name in ("WANDB_CONFIG_DIR", "WANDB_CACHE_DIR", "WANDB_DATA_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "wandb"))
    monkeypatch.setenv("WANDB_ERROR_REPORTING", "false")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")


def trained(tmp_path, log, where="run"):
    run = run_in(tmp_path / where, "--log", log)
    net, fold, task, config = toy(tmp_path, "regression")
    return run, fit(net, fold, task, config, run)


@pytest.fixture
def expected(tmp_path):
    """The epochs of the same run that nobody is shown."""
    run, _ = trained(tmp_path, "[]", "unseen")
    assert not (run.path / "tensorboard").exists()
    return epochs_of(run)


def test_hyper_parameters_are_the_keys_of_the_identity(tmp_path):
    found = hyper_parameters(run_in(tmp_path, "--net.L", "3", "--seed", "9", fold=2))
    assert found["net.L"] == 3 and found["train.optimizer.lr"] == 0.0005 and (found["seed"], found["fold"]) == (9, 2)
    assert found["net.encodings"] == '[{"kind":"LapPE","k":20,"signs":"abs"}]'
    assert "log" not in found and "out_dir" not in found


def test_tensorboard_gets_the_curves_and_the_hyper_parameters(tmp_path, expected):
    run, result = trained(tmp_path, "tensorboard")
    assert epochs_of(run) == expected
    board = EventAccumulator(str(run.path / "tensorboard"))
    board.Reload()
    assert [event.step for event in board.Scalars("MAE/val")] == [1, 2, 3, 4]
    assert board.Scalars("result/MAE/test")[0].value == pytest.approx(result["metrics"]["last"]["test"]["MAE"])
    content = board.SummaryMetadata("_hparams_/session_start_info").plugin_data.content
    shown = HParamsPluginData.FromString(content).session_start_info.hparams
    assert shown["net.hidden_dim"].number_value == 146 and shown["train.schedule.kind"].string_value == "plateau"
    assert shown["net.model"].string_value == "GCN" and shown["seed"].number_value == run.seed


def log_records(data, block=32768):
    """The records of a file in the format of LevelDB's log, which wandb writes behind 7 bytes of its own."""
    place, record = 7, b""
    while place + 7 <= len(data):
        if block - place % block < 7:  # the rest of a block
            place += block - place % block
            continue
        _, length, kind = struct.unpack_from("<IHB", data, place)
        record += data[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):  # whole, or its last part
            yield record
            record = b""


def test_weights_and_biases_offline(tmp_path, expected):
    pytest.importorskip("wandb")
    from wandb.proto.wandb_internal_pb2 import Record

    run, result = trained(tmp_path, "tensorboard,wandb")
    assert epochs_of(run) == expected
    (path,) = run.path.glob("wandb/offline-run-*/*.wandb")
    records = [Record.FromString(data) for data in log_records(path.read_bytes())]
    (start,) = [record.run for record in records if record.HasField("run")][:1]
    shown = {item.key or ".".join(item.nested_key): item.value_json for item in start.config.update}
    assert start.run_id == f"{run.id}-{run.seed}-0" and shown["net.model"] == '"GCN"'
    steps = [
        {"/".join(item.nested_key) or item.key: item.value_json for item in record.history.item}
        for record in records
        if record.HasField("history")
    ]
    seen = [float(step["loss/val"]) for step in steps if "loss/val" in step]
    assert seen == pytest.approx([line["val"]["loss"] for line in expected])
    summary = {i.key or "/".join(i.nested_key): i.value_json for r in records for i in r.summary.update}
    assert float(summary["result/MAE/test"]) == pytest.approx(result["metrics"]["last"]["test"]["MAE"])


def test_mlflow_in_a_local_database(tmp_path, expected):
    pytest.importorskip("mlflow")
    from mlflow import MlflowClient

    run, result = trained(tmp_path, "mlflow")
    assert epochs_of(run) == expected and not (run.path / "tensorboard").exists()
    client, id = MlflowClient(f"sqlite:///{tmp_path}/run/out/mlflow.db"), (run.path / "mlflow.txt").read_text()
    again = KINDS["mlflow"](run)  # a run that goes on repeats its last epochs
    for epoch in (4, 5):
        again.show(epoch, {"lr": 1.0, "Hits@50/val": 0.5})
    history = client.get_metric_history(id, "loss/val")
    assert [(m.step, m.value) for m in history] == [(line["epoch"], line["val"]["loss"]) for line in expected]
    assert [metric.step for metric in client.get_metric_history(id, "lr")] == [1, 2, 3, 4, 5]
    assert [metric.step for metric in client.get_metric_history(id, "Hits_50/val")] == [5]
    data = client.get_run(id).data
    assert data.params["net.model"] == "GCN" and data.params["seed"] == str(run.seed)
    assert data.metrics["result/MAE/test"] == result["metrics"]["last"]["test"]["MAE"]


def test_what_is_not_installed_is_said_before_the_training(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(
        RunError, match=r"--log wandb: it is not installed\. bash install\.sh requirements-trackers\.txt"
    ):
        trained(tmp_path, "wandb")
    assert not list(tmp_path.rglob("metrics.jsonl"))


class Broken:
    """A service that stops to answer in the second epoch."""

    def __init__(self, run):
        self.shown = []

    def show(self, epoch, values):
        if epoch > 1:
            raise ConnectionError("the server is gone\nfor ever")
        self.shown.append(values)


def test_a_service_that_fails_does_not_end_the_run(tmp_path, expected, monkeypatch, capsys):
    monkeypatch.setitem(KINDS, "tensorboard", Broken)
    run, result = trained(tmp_path, "tensorboard")
    assert result["status"] == "ok" and epochs_of(run) == expected
    line = "warning: Broken is left out from now on: ConnectionError: the server is gone\n"
    assert capsys.readouterr().err.count(line) == 1


def test_one_that_does_not_start_ends_it_with_one_line(tmp_path, monkeypatch):
    monkeypatch.setitem(KINDS, "tensorboard", lambda run: 1 / 0)
    with pytest.raises(RunError, match=r"--log tensorboard: it does not start \(ZeroDivisionError: .*\): leave it out"):
        trained(tmp_path, "tensorboard")


def test_the_key_is_not_part_of_the_identity(tmp_path):
    ids = {run_in(tmp_path, "--log", log).id for log in ("tensorboard", "wandb,mlflow", "[]")}
    assert len(ids) == 1 and run_in(tmp_path, "--log", "wandb").path == run_in(tmp_path).path
    with pytest.raises(SystemExit, match=r"log\.0='tensorbord'"):
        run_in(tmp_path, "--log", "tensorbord")


def test_processes_beside_the_first_show_nothing(tmp_path):
    with Trackers(run_in(tmp_path), active=False) as trackers:
        trackers.show({"epoch": 1, "lr": 0.1, "train": {"loss": 1.0}, "val": {"loss": 1.0}})
    assert not list(tmp_path.rglob("tensorboard"))


def test_a_selection_is_not_tracked():
    content = {
        "dataset": "CSL",
        "net": {"model": "GCN", "L": 1, "hidden_dim": 4},
        "grid": {"net.L": [1]},
        "log": ["wandb"],
    }
    train = {"batch_size": 5, "optimizer": {"kind": "adam", "lr": 0.01}}
    with pytest.raises(ValueError, match="the trainings of a selection are lines of its ledger"):
        SelectionConfig.model_validate({**content, "train": train})
