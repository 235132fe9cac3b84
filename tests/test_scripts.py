"""run.sh works from anywhere, from a path with spaces, without a network; the scripts of the papers' tables do what they say."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tables.papers import PAPERS

ROOT = Path(__file__).resolve().parents[1]
VENV = Path(os.environ.get("GNN_VENV") or ROOT / ".venv")  # test.sh says which
OFFLINE = {"PIP_NO_INDEX": "1", "http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}


@pytest.fixture
def copy_with_spaces(project_copy):
    """The project in a folder with spaces in its name, with the installation it has here."""
    if not VENV.exists():
        pytest.skip(f"not started by test.sh: there is no {VENV.name}")
    return project_copy


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


def test_run_sh_prints_the_row_and_prints_it_again_at_once(copy_with_spaces):
    words = ("--model", "MLP", "--train.stop.epochs", "2", "--folds", "0,1")
    first = run(copy_with_spaces / "run.sh", *words)
    assert first.returncode == 0, first.stderr
    assert "table3/MLP-LapPE-L4+train.stop.epochs=2 (not a row of a paper)" in first.stdout
    assert "ours (seed 14; 2 folds)" in first.stdout and "epochs              2.00" in first.stdout
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


# --------------------------------------------------------------------------------------------------------------------
# script_reproduce/


REPRODUCE = ROOT / "script_reproduce"
SCRIPTS = sorted(REPRODUCE.glob("*/*.sh"))


def name_of(script):
    return script.relative_to(REPRODUCE).with_suffix("").as_posix()


def test_every_table_of_a_paper_has_a_script_that_names_it():
    """By words that bash alone reads; the rows and seeds stand in the table file."""
    papers = {script.parent.name for script in SCRIPTS}
    assert papers >= {"benchmarking_gnns", "brec"}
    named = {}
    for script in SCRIPTS:
        *_, source, call = script.read_text().splitlines()
        assert source == 'source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"'
        assert call.startswith(("run_table ", "run_figure ")) and call.endswith(' "$@"')
        *_, tables, _ = call.split()
        if "," not in tables:  # a figure over the runs of several tables
            named[tables] = script
    declared = [(paper, table) for paper in PAPERS for table in paper.tables]
    assert set(named) == {f"{paper.name}/{table.name}" for paper, table in declared if not table.variant}
    for paper, table in declared:
        bash, script = table.command
        name = f"{paper.name}/{table.name}"
        assert named[name.removesuffix("_reduced")] == REPRODUCE / paper.name / script
        assert bash == ("GRID=reduced bash" if table.variant else "bash")


@pytest.fixture
def reproduce(tmp_path):
    """A copy of the scripts beside programs that only note how they are called; the exit code of launch.reproduce is given."""
    shutil.copytree(REPRODUCE, tmp_path / "a project" / "script_reproduce")
    project = tmp_path / "a project"
    (project / "install.sh").write_text(f'echo "install $1" >> "{tmp_path}/calls"; echo "{project}/python"\n')
    (project / "python").write_text(
        f'#!/bin/bash\necho "$PWD: $*" >> "{tmp_path}/calls"; [ "$2" = launch.reproduce ] && exit ${{CODE:-0}}\nexit 0\n'
    )
    (project / "python").chmod(0o755)

    def start(name, *rows, **environment):
        (tmp_path / "calls").unlink(missing_ok=True)
        names = ("QUICK", "DATASET", "OUT", "ENGINE", "GRID", "GNN_DATA", "GNN_STORES")
        env = {key: value for key, value in os.environ.items() if key not in names} | environment
        command = ["bash", str(project / "script_reproduce" / f"{name}.sh"), *rows]
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
        calls = (tmp_path / "calls").read_text() if (tmp_path / "calls").exists() else ""
        return done, calls.replace(str(project), "P").replace(str(tmp_path), "T").splitlines()

    (project / "out" / "quick").mkdir(parents=True)
    return start


def test_a_script_installs_runs_its_rows_and_prints_its_table(reproduce):
    done, calls = reproduce("benchmarking_gnns/table2_ZINC", "GCN-L4", "GIN-L4")
    assert done.returncode == 0, done.stderr
    assert calls == [
        "install requirements.txt",
        "P: -m launch.reproduce benchmarking_gnns/table2_ZINC GCN-L4 GIN-L4",
        "P: -m tables.table table2_ZINC --out_dir P/out",
    ]
    _, calls = reproduce("brec/table2")
    assert calls[1:] == ["P: -m launch.reproduce brec/brec_table2", "P: -m tables.table brec_table2 --out_dir P/out"]


def test_a_script_installs_what_its_data_needs(reproduce):
    """Peptides and PCQM-Contact are read from SMILES."""
    for name in ("table4_func", "table4_tuned_struct", "table5", "tableA3", "tableD3_func", "tableD4"):
        _, calls = reproduce(f"lrgb/{name}")
        assert calls[:2] == ["install requirements.txt", "install requirements-molecules.txt"]
    _, calls = reproduce("lrgb/table4_func", ENGINE="ray")
    assert calls[1:3] == ["install requirements-molecules.txt", "install requirements-cluster.txt"]
    _, calls = reproduce("lrgb/table3_VOC")
    assert "P: -m launch.reproduce" in calls[1]


def test_a_figure_of_the_taxonomy_ends_with_its_clusters_and_its_picture(reproduce):
    done, calls = reproduce("taxonomy/figure4", "MUTAG", QUICK="1")
    assert done.returncode == 0, done.stderr
    assert calls[1:] == [
        "P: -m launch.reproduce taxonomy/taxonomy_figure4 MUTAG",
        "P: -m tables.table taxonomy_figure4 --quick --out_dir P/out/quick",
        "P: -m tables.taxonomy figure4 --out_dir P/out/quick --save P/out/quick/figure4.png --quick",
    ]
    _, calls = reproduce("taxonomy/figure5", "Actor", DATASET="MINE")
    assert calls[-1] == "P: -m tables.taxonomy figure5 --out_dir P/out --save P/out/figure5.png --dataset MINE"
    _, calls = reproduce("taxonomy/figure3")
    assert [call.split()[2:4] for call in calls if "-m" in call] == [
        ["launch.reproduce", "taxonomy/taxonomy_figure4"], ["tables.table", "taxonomy_figure4"],
        ["launch.reproduce", "taxonomy/taxonomy_figure5"], ["tables.table", "taxonomy_figure5"],
        ["tables.taxonomy", "figure3"],
    ]  # fmt: skip
    done, calls = reproduce("taxonomy/figure3", CODE="2")
    assert done.returncode == 2 and len(calls) == 2


def test_the_variables_of_a_script(reproduce, tmp_path):
    done, calls = reproduce("benchmarking_gnns/table2_ZINC", QUICK="1", DATASET="ZINC-redrawn", ENGINE="ray")
    assert done.returncode == 0 and calls[:2] == ["install requirements.txt", "install requirements-cluster.txt"]
    assert calls[3] == "P: -m tables.table table2_ZINC --dataset ZINC-redrawn --quick --out_dir P/out/quick"
    (tmp_path / "my runs").mkdir()
    _, calls = reproduce("benchmarking_gnns/table3", OUT="my runs", QUICK="0")  # as seen from where it is started
    assert calls[2] == "P: -m tables.table table3 --out_dir T/my runs"
    _, calls = reproduce("benchmarking_gnns/table3", OUT="not made")
    assert len(calls) == 2  # without runs there is no table
    _, calls = reproduce("fair_comparison/table3", "ENZYMES-GIN", GRID="reduced")
    assert calls[1:] == [
        "P: -m launch.reproduce fair_comparison/fair_table3_reduced ENZYMES-GIN",
        "P: -m tables.table fair_table3_reduced --out_dir P/out",
    ]


@pytest.mark.parametrize("name", ["fair_comparison/table3", "taxonomy/figure3"])
def test_a_script_asked_for_help_prints_its_own_and_does_nothing_else(reproduce, name):
    for word in ("--help", "-h"):
        done, calls = reproduce(name, word)
        assert done.returncode == 0 and not calls and f"{name}.sh [ROW ...]" in done.stdout
        for variable in ("DATASET=", "QUICK=1", "JOBS=n", "ENGINE=ray", "OUT=", "GNN_DATA=", "GRID=reduced"):
            assert f"\n{variable}" in done.stdout
        assert "run_table" not in done.stdout and "source" not in done.stdout and "set -e" not in done.stdout


def test_an_unknown_grid_is_one_line(reproduce):
    done, calls = reproduce("fair_comparison/table3", GRID="foo")
    assert (done.returncode, done.stderr, calls) == (2, "GRID=foo: expected full or reduced\n", [])


@pytest.mark.parametrize(("code", "n_calls"), [(1, 3), (2, 2), (130, 2)])
def test_the_table_is_printed_when_runs_failed_and_not_after_a_mistake_or_a_stop(reproduce, code, n_calls):
    done, calls = reproduce("benchmarking_gnns/table3", CODE=str(code))
    assert done.returncode == code and len(calls) == n_calls


@pytest.fixture
def noting(tmp_path):
    """all.sh and check_all.sh beside scripts that only note that they began; two fail, one is stopped."""
    shutil.copytree(REPRODUCE, tmp_path / "scripts")
    codes = {"table2_CLUSTER": 1, "table2_CIFAR10": 1, "table2_ZINC": 130}
    for path in (tmp_path / "scripts").glob("*/*.sh"):
        path.write_text(f'echo {path.stem} "$DATASET" >> "{tmp_path}/begun"; exit {codes.get(path.stem, 0)}')
    return tmp_path / "scripts"


@pytest.mark.parametrize("name", ["all", "check_all"])
def test_ctrl_c_ends_the_scripts_that_start_the_others(noting, tmp_path, name):
    """A stopped table ends with 130, a failed one with 1."""
    env = os.environ | {"OUT": str(tmp_path / "relative out"), "DATASET": "", "TSP": "TSP-small"}
    done = subprocess.run(["bash", noting / f"{name}.sh"], env=env, capture_output=True, text=True)
    begun = [line.split() for line in (tmp_path / "begun").read_text().splitlines()]
    names = [words[0] for words in begun]
    assert done.returncode == 130 and names[0] == "table2_CIFAR10" and names[-1] == "table2_ZINC" and len(names) == 7
    assert ["table2_TSP", "TSP-small"] in begun if name == "check_all" else ["table2_TSP"] in begun


def test_a_part_of_the_scripts_is_checked(noting, tmp_path):
    env = os.environ | {"OUT": str(tmp_path / "out"), "COLLAB": "COLLAB-own", "DATASET": ""}

    def check(*names):
        return subprocess.run(["bash", noting / "check_all.sh", *names], env=env, capture_output=True, text=True)

    done = check("benchmarking_gnns/table2_CIFAR10", "benchmarking_gnns/table8", "brec/table3")
    assert done.returncode == 1 and (tmp_path / "begun").read_text().split("\n") == [
        "table2_CIFAR10 ",
        "table8 COLLAB-own",
        "table3 ",
        "",
    ]
    first, *others = done.stdout.splitlines()
    assert first.startswith("benchmarking_gnns/table2_CIFAR10: FAILED, see ")
    assert others == ["benchmarking_gnns/table8 on COLLAB-own: ok", "brec/table3: ok"]
    wrong = check("benchmarking_gnns/table9")
    assert wrong.returncode == 2 and "there is no script_reproduce/benchmarking_gnns/table9.sh" in wrong.stderr


def test_a_script_from_the_shell_ends_with_its_table(child_env, tmp_path):
    """The real programs, once."""
    if not VENV.exists():
        pytest.skip("needs the environment that install.sh makes")
    script = REPRODUCE / "benchmarking_gnns" / "table3.sh"
    env = child_env | {
        "QUICK": "1",
        "OUT": "my runs",
        "GNN_VENV": str(VENV),
    }  # as seen from where the script is started
    done = subprocess.run(["bash", script, "MLP-LapPE-L4"], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Table 3 of Benchmarking" in done.stdout and "1 of 1 done" in done.stderr
    assert re.search(r"MLP-LapPE-L4 .*1 of 100", done.stdout), done.stdout
    assert (tmp_path / "my runs/quick/CSL").is_dir()
    for words, message in (
        (["MLP-LapPE-L5"], "Did you mean MLP-LapPE-L4?"),
        ([], "JOBS=many: expected a positive number"),
    ):
        wrong = subprocess.run(
            ["bash", script, *words], cwd=tmp_path, env=env | {"JOBS": "many"}, capture_output=True, text=True
        )
        assert wrong.returncode == 2 and message in wrong.stderr and not wrong.stdout
