"""main_superpixels.py trains every model of Table 2 on real images, from the command line to the report."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

import main_superpixels
from data.errors import DataError

PROJECT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("GNN_DATA") or PROJECT.parent / "shared" / "data")
MODELS = ["MLP", "GCN", "GraphSage", "MoNet", "GAT", "GatedGCN", "GIN", "RingGNN", "3WLGNN"]
needs_data = pytest.mark.skipif(
    not ((DATA / "MNIST").is_dir() and (DATA / "CIFAR10").is_dir()), reason="no image files (GNN_DATA)"
)


def words(store_dir, out, limit):
    folders = ["--data.data_dir", str(DATA), "--data.store_dir", store_dir, "--out_dir", str(out)]
    return [*folders, "--data.limit", str(limit), "--train.stop.epochs", "1", "--data.offline"]


def result(out):
    (path,) = out.rglob("result.json")
    return json.loads(path.read_text())


@needs_data
@pytest.mark.parametrize("model", MODELS)
def test_every_model_trains_an_epoch(store_dir, tmp_path, capsys, model):
    main_superpixels.main(["--model", model, *words(store_dir, tmp_path, 8)])
    assert f"table2_MNIST/{model}-" in capsys.readouterr().out
    found = result(tmp_path)
    assert found["status"] == "ok" and found["name"].startswith(f"table2_MNIST/{model}-")
    assert math.isfinite(found["metrics"]["last"]["test"]["loss"])


@needs_data
@pytest.mark.parametrize(
    "row",
    [
        ["--model", "GatedGCN"],
        ["--config", "table2_CIFAR10/GatedGCN-L4"],
        ["--config", "table2_CIFAR10/3WLGNN-L3-100k"],
    ],
)
def test_rows_of_mnist_and_cifar10_run_on_images_of_cifar10(store_dir, tmp_path, capsys, row):
    main_superpixels.main([*row, "--dataset", "CIFAR10-4k", *words(store_dir, tmp_path, 2)])
    assert "not a row of a paper" in capsys.readouterr().out  # another dataset: no number to compare with
    assert result(tmp_path)["status"] == "ok"


@needs_data
def test_as_a_program(store_dir, tmp_path, child_env):
    command = [sys.executable, "main_superpixels.py", *words(store_dir, tmp_path, 8), "--model", "GCN"]
    done = subprocess.run(command, cwd=PROJECT, env=child_env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "test accuracy" in done.stdout


def test_without_the_images_it_says_what_to_do(tmp_path):
    (tmp_path / "empty").mkdir()
    options = ["--data.data_dir", str(tmp_path / "empty"), "--data.raw_dir", str(tmp_path / "raw"), "--data.offline"]
    folders = ["--data.store_dir", str(tmp_path / "stores"), "--out_dir", str(tmp_path / "out")]
    with pytest.raises(
        DataError, match=r"MNIST/train-images-idx3-ubyte.gz: not found .* forbids a download. Get it from https"
    ):
        main_superpixels.main([*options, *folders])


def test_every_dataset_is_known_by_its_name():
    names = ["MNIST", "CIFAR10", "CIFAR10-4k", "MNIST-published", "CIFAR10-published"]
    assert list(main_superpixels.DATASETS) == names
    with pytest.raises(SystemExit, match="--dataset MNISTT: Did you mean MNIST\\? This program knows MNIST, CIFAR10"):
        main_superpixels.main(["--dataset", "MNISTT"])
