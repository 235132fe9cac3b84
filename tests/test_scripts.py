"""run.sh works from anywhere, from a path with spaces, without a network; a copied main file is a working family."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
OFFLINE = {"PIP_NO_INDEX": "1", "http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}


@pytest.fixture
def copy_with_spaces(tmp_path):
    """The project in a folder with spaces in its name, with the installation it has here."""
    if not (ROOT / ".venv").exists():
        pytest.skip("not started by test.sh: there is no .venv")
    target = tmp_path / "a folder with spaces"
    target.mkdir()
    for path in ROOT.iterdir():
        if path.name in (".venv", "out", "stores") or path.name.startswith((".git", ".pytest", ".hypothesis", ".ruff")):
            continue
        (shutil.copytree if path.is_dir() else shutil.copy)(path, target / path.name)
    (target / ".venv").symlink_to(ROOT / ".venv")
    return target


def run(script, *words, **environment):
    env = {**os.environ, **OFFLINE, "OMP_NUM_THREADS": "1", **environment}
    return subprocess.run(["bash", str(script), *words], cwd="/", env=env, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("model", ["GCN", "MLP"])
def test_run_sh_prints_the_row_and_prints_it_again_at_once(copy_with_spaces, model):
    words = ("--model", model, "--train.epochs", "2", "--folds", "[0, 1]")
    first = run(copy_with_spaces / "run.sh", *words)
    assert first.returncode == 0, first.stderr
    assert f"T3-CSL-{model}-LapPE-L4+train.epochs=2 (not a row of the paper)" in first.stdout
    assert "ours (seed 14; 2 folds)" in first.stdout and "epochs              -      2.00" in first.stdout
    second = run(copy_with_spaces / "run.sh", *words)
    assert second.stdout == first.stdout


def test_an_unknown_model_is_one_line_not_a_traceback(copy_with_spaces):
    done = subprocess.run(
        [sys.executable, "main_CSL.py", "--model", "GraphSaga"], cwd=copy_with_spaces, capture_output=True, text=True
    )
    assert done.returncode == 1 and "Did you mean GraphSage?" in done.stderr and "Traceback" not in done.stderr


def test_without_python_3_11_the_script_says_what_to_do(copy_with_spaces):
    (copy_with_spaces / ".venv").unlink()
    tools = copy_with_spaces / "tools"
    tools.mkdir()
    for name in ("bash", "dirname", "cat", "cksum", "cut", "flock"):
        (tools / name).symlink_to(shutil.which(name))
    done = run(copy_with_spaces / "run.sh", PATH=str(tools))
    assert done.returncode == 2 and "Python 3.11 is needed and was not found" in done.stderr
    assert not (copy_with_spaces / ".venv").exists()


NEW_DATASET = '''
from data.dataset import GraphDataset
from data.store import Field, PackedWriter


class Triangles(GraphDataset):
    """Triangle or path of three nodes."""

    name, version, n_classes, parameters = "triangles", 1, 2, {"n_graphs": 20}

    def build(self, path):
        fields = [Field("graph", "label", "int64", n_types=2), Field("node", "feat", "float32", (1,))]
        with PackedWriter(path, self.name, fields) as writer:
            for i in range(20):
                src, dst = ([0, 1, 2, 1, 2, 0], [1, 2, 0, 0, 1, 2]) if i % 2 else ([0, 1, 1, 2], [1, 0, 2, 1])
                writer.add(3, src, dst, node={"feat": [[1.0], [2.0], [3.0]]}, graph={"label": i % 2})
            writer.add_split("fold0", train=range(10), val=range(10, 15), test=range(15, 20))
'''


def test_copying_the_main_file_and_changing_names_gives_a_working_family(copy_with_spaces, child_env):
    """As the README says: a dataset class, a config file and a main file with other names."""
    (copy_with_spaces / "data" / "triangles.py").write_text(NEW_DATASET)
    main = (copy_with_spaces / "main_CSL.py").read_text()
    main = main.replace("data.CSL", "data.triangles").replace("import CSL", "import Triangles")
    main = main.replace('{"CSL": CSL}', '{"triangles": Triangles}').replace('argv, "CSL"', 'argv, "triangles"')
    main = main.replace("T3-CSL-{model}-LapPE-*", "{model}")
    (copy_with_spaces / "main_triangles.py").write_text(main)
    (copy_with_spaces / "configs" / "triangles").mkdir()
    (copy_with_spaces / "configs" / "triangles" / "GCN.json").write_text(
        '{"dataset": "triangles", "net": {"model": "GCN", "L": 2, "hidden_dim": 8, "out_dim": 8},'
        ' "train": {"batch_size": 5, "init_lr": 0.01, "lr_schedule_patience": 5, "min_lr": 1e-4, "epochs": 40}}'
    )
    done = subprocess.run(
        [sys.executable, "main_triangles.py"], cwd=copy_with_spaces, env=child_env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "test accuracy (%)   -      100.000 ± 0.000" in done.stdout
