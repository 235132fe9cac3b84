"""run.sh works from anywhere, from a path with spaces, without a network; a copied main file is a working family."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
VENV = Path(os.environ.get("GNN_VENV") or ROOT / ".venv")  # test.sh says which
OFFLINE = {"PIP_NO_INDEX": "1", "http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}


@pytest.fixture
def copy_with_spaces(tmp_path):
    """The project in a folder with spaces in its name, with the installation it has here."""
    if not VENV.exists():
        pytest.skip(f"not started by test.sh: there is no {VENV.name}")
    target = tmp_path / "a folder with spaces"
    target.mkdir()
    for path in ROOT.iterdir():
        if path.name in ("out", "stores") or path.name.startswith((".git", ".venv", ".pytest", ".hypothesis", ".ruff")):
            continue
        (shutil.copytree if path.is_dir() else shutil.copy)(path, target / path.name)
    return target


@pytest.fixture
def scripts(tmp_path):
    """The scripts that install and start, without the project, in a folder with spaces in its name."""
    target = tmp_path / "a folder with spaces"
    target.mkdir()
    for path in (*ROOT.glob("*.sh"), *ROOT.glob("requirements*.txt")):
        shutil.copy(path, target)
    return target


def run(script, *words, **environment):
    env = {**os.environ, **OFFLINE, "OMP_NUM_THREADS": "1", "GNN_VENV": str(VENV), **environment}
    return subprocess.run(["bash", str(script), *words], cwd="/", env=env, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("model", ["GCN", "MLP"])
def test_run_sh_prints_the_row_and_prints_it_again_at_once(copy_with_spaces, model):
    words = ("--model", model, "--train.stop.epochs", "2", "--folds", "0,1")
    first = run(copy_with_spaces / "run.sh", *words)
    assert first.returncode == 0, first.stderr
    assert f"table3/{model}-LapPE-L4+train.stop.epochs=2 (not a row of the paper)" in first.stdout
    assert "ours (seed 14; 2 folds)" in first.stdout and "epochs              -      2.00" in first.stdout
    second = run(copy_with_spaces / "run.sh", *words)
    assert second.stdout == first.stdout


def test_an_unknown_model_is_one_line_not_a_traceback(copy_with_spaces):
    done = subprocess.run(
        [sys.executable, "main_CSL.py", "--model", "GraphSaga"], cwd=copy_with_spaces, capture_output=True, text=True
    )
    assert done.returncode == 1 and "Did you mean GraphSage?" in done.stderr and "Traceback" not in done.stderr


def test_without_python_3_11_the_script_says_what_to_do(scripts):
    tools = scripts / "programs"
    tools.mkdir()
    for name in ("bash", "dirname", "cat", "cksum", "cut", "flock"):
        (tools / name).symlink_to(shutil.which(name))
    done = run(scripts / "run.sh", PATH=str(tools), GNN_VENV="")
    assert done.returncode == 2 and "Python 3.11 is needed and was not found" in done.stderr
    assert not (scripts / ".venv").exists()


@pytest.fixture
def stand_in(tmp_path):
    """A function: an environment of that name whose python writes down how it is called and does nothing."""

    def make(name, made_by_venv):
        venv = tmp_path / name
        (venv / "bin").mkdir(parents=True)
        python = venv / "bin" / "python"
        python.write_text(f'#!/bin/bash\necho "${{@:2}}" >> "{venv}/calls"\n')
        python.chmod(0o755)
        if made_by_venv:
            (venv / "pyvenv.cfg").touch()
        return venv

    return make


def test_the_oldest_versions_have_an_environment_of_their_own_and_are_installed_once(scripts, stand_in):
    venv = stand_in("my env-oldest", made_by_venv=True)
    for name in (f"{venv}".removesuffix("-oldest"), f"{venv}/"):
        done = run(scripts / "test.sh", "--oldest", "tests", "-k", "GCN", GNN_VENV=name)
        assert done.returncode == 0, done.stderr
    calls = [line for line in (venv / "calls").read_text().splitlines() if line.startswith(("pip", "pytest"))]
    assert [line.split()[0] for line in calls] == ["pip", "pytest", "pytest"]
    assert calls[0].endswith("-r requirements-oldest.txt") and calls[1:] == ["pytest tests -k GCN"] * 2


def test_an_environment_that_venv_did_not_make_is_used_as_it_is(scripts, stand_in):
    venv = stand_in("conda", made_by_venv=False)
    assert run(scripts / "run.sh", "--model", "MLP", GNN_VENV=str(venv)).returncode == 0
    assert (venv / "calls").read_text() == "--model MLP\n"


def test_a_folder_that_is_no_environment_is_left_alone(scripts, tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mine.txt").touch()
    done = run(scripts / "run.sh", GNN_VENV=str(tmp_path / "notes"))
    assert done.returncode == 2 and "no bin/python; name another GNN_VENV" in done.stderr and not done.stdout
    assert (tmp_path / "notes" / "mine.txt").exists()


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


TABLE = """{"main": "triangles", "seeds": [1, 2],
 "shared": {"dataset": "triangles", "train": {"batch_size": 5, "optimizer": {"kind": "adam", "lr": 0.01}, "stop": {"epochs": 40}}},
 "rows": {"GCN": {"net": {"model": "GCN", "L": 2, "hidden_dim": 8}}}}
"""


def test_copying_the_main_file_and_changing_names_gives_a_working_family(copy_with_spaces, child_env):
    """As the README says: one data module, one main file, one table file; then the main file, all runs and their table work."""
    (copy_with_spaces / "data" / "triangles.py").write_text(NEW_DATASET)
    main = (copy_with_spaces / "main_CSL.py").read_text()
    main = main.replace("data.CSL", "data.triangles").replace("import CSL, PublishedCSL", "import Triangles")
    main = main.replace('{"CSL": CSL, "CSL-published": PublishedCSL}', '{"triangles": Triangles}')
    main = main.replace('argv, "CSL"', 'argv, "triangles"').replace("table3/GCN-LapPE-L4", "my_table/GCN")
    (copy_with_spaces / "main_triangles.py").write_text(main)
    (copy_with_spaces / "configs" / "mine").mkdir()
    (copy_with_spaces / "configs" / "mine" / "my_table.json").write_text(TABLE)

    def python(*words):
        done = subprocess.run(
            [sys.executable, *words], cwd=copy_with_spaces, env=child_env, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "100.000 ± 0.000" in python("main_triangles.py")
    python("-m", "launch.reproduce", "mine/my_table")
    assert len(list((copy_with_spaces / "out").rglob("result.json"))) == 2
    assert "100.000 ± 0.000" in python("-m", "tables.table", "my_table")
