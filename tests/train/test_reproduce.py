"""The scripts of script_reproduce/: every row of the paper's tables is in one of them, and they run."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from train.engine import Engine
from train.reproduce import find_row, gpu_numbers, make_engine, make_jobs, number, read_lines
from train.rows import WITHOUT_CONFIG, config_files, printed_rows

from train import reproduce as module

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted(path for path in (ROOT / "script_reproduce").glob("table*.sh"))


def rows_of(script):
    """[(row, seeds)] as bash itself expands the script, without running anything."""
    quiet = 'run_table() { printf "%s\\n" "${rows[@]}"; }'
    text = script.read_text().replace("\nrun_table", f"\n{quiet}\nrun_table")
    done = subprocess.run(
        ["bash", "-c", text, str(script)], cwd=script.parent, capture_output=True, text=True, check=True
    )
    return read_lines(done.stdout)


def test_every_row_with_a_configuration_is_in_a_script():
    in_scripts = {row for script in SCRIPTS for row, _ in rows_of(script)}
    wanted = {path.stem for row, paths in config_files().items() if row in printed_rows() for path in paths}
    assert in_scripts == wanted
    assert set(printed_rows()) - set(WITHOUT_CONFIG) <= set(config_files())


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda p: p.stem)
def test_seeds_and_names(script):
    number = script.stem.removeprefix("table").split("_")[0]
    n_seeds = {"6": 2}.get(number, 20 if "CSL" in script.stem or number == "3" else 4)
    for row, seeds in rows_of(script):
        assert row.startswith(f"T{number}-") and len(seeds) == len(set(seeds)) == n_seeds
    assert re.search(rf"^run_table {script.stem}$", script.read_text(), re.MULTILINE)


def test_jobs_of_a_row(tmp_path):
    (job,) = make_jobs([("T3-CSL-GCN-LapPE-L4", [41])], tmp_path)
    folder = "CSL/T3-CSL-GCN-LapPE-L4/seed_41"
    assert job.folder == folder and list(job.results) == [f"{folder}/fold_{f}/result.json" for f in range(5)]
    (quick,) = make_jobs([("T6-DD-GCN-L4", [41, 95])], tmp_path, quick=True)
    assert len(quick.results) == 1 and "T6-DD-GCN-L4+data.limit=8+train.epochs=2" in str(quick.results[0])
    (own,) = make_jobs([("T2-ZINC-GCN-L4", [41])], tmp_path, dataset="ZINC-redrawn")
    assert "ZINC-redrawn/T2-ZINC-GCN-L4+dataset=ZINC-redrawn" in str(own.results[0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("T3-CSL-GCN-LapPE-L4", "line 1"),
        ("x 41,a", "expected a row and its seeds"),
        ("x 41,95\nx 12,95", "x with seed 95 is listed twice"),
    ],
)
def test_lines_that_are_no_rows(text, message):
    with pytest.raises(SystemExit, match=message):
        read_lines(text)
    with pytest.raises(SystemExit, match=r"python -m train\.rows"):
        find_row("T3-CSL-GCM")


def test_a_dataset_that_the_catalogue_does_not_have(tmp_path, monkeypatch):
    path = tmp_path / "CSL/mine.json"
    path.parent.mkdir()
    path.write_text((ROOT / "configs/CSL/T3-CSL-GCN-LapPE-L4.json").read_text().replace('"CSL"', '"Mine"'))
    monkeypatch.setattr(module, "row_files", lambda: {"mine": path})
    with pytest.raises(SystemExit, match=r"mine\.json: dataset='Mine': not in data/catalogue\.py"):
        make_jobs([("mine", [41])], tmp_path)


def test_a_family_without_a_main_file(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "row_files", lambda: {"mine": ROOT / "configs/Mine/mine.json"})
    monkeypatch.setattr(module, "read_config", lambda path: {"dataset": "CSL"})
    with pytest.raises(SystemExit, match=r"there is no main_Mine\.py to run its rows"):
        make_jobs([("mine", [41])], tmp_path)


def test_the_first_seed_of_every_row_comes_first(tmp_path):
    jobs = make_jobs([("T3-CSL-GCN-LapPE-L4", [41, 95]), ("T3-CSL-MLP-LapPE-L4", [41, 95, 12])], tmp_path)
    short = [(job.name.split("-")[2], int(job.name.split()[-1])) for job in jobs]
    assert short == [("GCN", 41), ("MLP", 41), ("GCN", 95), ("MLP", 95), ("MLP", 12)]


def test_bad_settings(monkeypatch):
    monkeypatch.setenv("JOBS", "0")
    with pytest.raises(SystemExit, match="JOBS=0: expected a positive number"):
        make_engine()
    monkeypatch.setenv("JOBS", "2")
    monkeypatch.setenv("ENGINE", "slurm")
    with pytest.raises(SystemExit, match="ENGINE=slurm: expected local or ray"):
        make_engine()
    monkeypatch.setenv("GPUS", "all")
    with pytest.raises(SystemExit, match="GPUS=all: expected a number"):
        number("GPUS", "0")
    for name in ("ENGINE", "JOBS"):  # set to nothing
        monkeypatch.setenv(name, "")
    assert isinstance(make_engine(), Engine)


def test_the_gpus_that_may_be_used(monkeypatch):
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert gpu_numbers() == [0, 1]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,3")
    assert gpu_numbers() == ["2", "3"]


def test_a_signal_stops_in_order_under_an_engine_that_sets_handlers_too(monkeypatch, capsys, tmp_path):
    """As Ray does when it starts."""

    class Signalled(Engine):
        def __init__(self):
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(15))

        def room(self):
            return True

        def start(self, job):
            assert (job.cpus, job.gpus) == (2, 3)
            os.kill(os.getpid(), signal.SIGTERM)  # also now it is noticed, and the run is known and can be stopped
            return "run"

        def poll(self, handle):
            return None

        def stop(self, handles):
            assert handles == ["run"]

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    monkeypatch.setattr(module, "make_engine", Signalled)
    monkeypatch.setattr("sys.stdin", io.StringIO("T3-CSL-MLP-LapPE-L4 41\n"))
    for name, value in (("OUT", str(tmp_path)), ("CPUS", "2"), ("GPUS", "3")):
        monkeypatch.setenv(name, value)
    try:
        assert module.main(["table3"]) == 130 and "the same command goes on" in capsys.readouterr().err
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@pytest.mark.parametrize("name", ["all", "check_all"])
def test_ctrl_c_ends_the_scripts_that_start_the_others(tmp_path, name):
    """A stopped table ends with 130, a failed one with 1."""
    for path in [*(ROOT / "script_reproduce").glob("*table*.sh"), tmp_path / "all.sh"]:
        code = {"table2_ZINC": 1, "table2_CLUSTER": 1, "table2_PATTERN": 130}.get(path.stem, 0)
        (tmp_path / path.name).write_text(f"echo {path.stem} >> '{tmp_path}/begun'; exit {code}")
    (tmp_path / f"{name}.sh").write_text((ROOT / f"script_reproduce/{name}.sh").read_text())
    names = ["table2_ZINC", "table2_PATTERN", "table2_CLUSTER"] if name == "check_all" else []
    env = os.environ | {"OUT": "relative out"}
    done = subprocess.run(["bash", f"{name}.sh", *names], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 130 and (tmp_path / "begun").read_text().split() == ["table2_ZINC", "table2_PATTERN"]


def reproduce(env, lines, **more):
    return subprocess.run(
        [sys.executable, "-m", "train.reproduce", "table3"],
        cwd=ROOT,
        env=env | more,
        input=lines,
        capture_output=True,
        text=True,
    )


def test_runs_are_made_failures_reported_and_nothing_is_run_twice(child_env, tmp_path):
    env = child_env | {"QUICK": "1", "OUT": str(tmp_path), "JOBS": "2"}
    lines = "T3-CSL-MLP-LapPE-L4 41\nT3-CSL-GCN-LapPE-L4 41\n"
    done = reproduce(env, lines)
    assert done.returncode == 0 and "2 of 2 done, 0 running, 0 failed" in done.stderr, done.stderr
    results = sorted((tmp_path / "quick").rglob("result.json"))
    assert len(results) == 2 and all(json.loads(path.read_text())["status"] == "ok" for path in results)
    times = [path.stat().st_mtime_ns for path in results]
    results[1].with_name("checkpoint.pt").unlink()
    (results[0].with_name("result.json")).unlink()
    results[0].with_name("checkpoint.pt").write_bytes(b"damaged")
    again = reproduce(env, lines)
    assert again.returncode == 1 and "1 failed" in again.stderr and "start this run again with --force" in again.stderr
    assert results[1].stat().st_mtime_ns == times[1]


def test_only_a_result_of_the_row_as_it_is_now_counts_as_done(tmp_path):
    """The others are started: the run itself says what is wrong and what to do."""
    (job,) = make_jobs([("T3-CSL-GCN-LapPE-L4", [41])], tmp_path)
    for path in job.paths:
        assert not job.done()
        path.parent.mkdir(parents=True)
        path.write_text((ROOT / "results" / path.relative_to(tmp_path)).read_text())
    assert job.done()
    path, result, of_another_fold = job.paths[2], job.paths[2].read_text(), job.paths[3].read_text()
    for changed in (result.replace('"L": 4', '"L": 5'), result[:100], "{}", of_another_fold):
        assert changed != result
        path.write_text(changed)
        assert not job.done()
    path.unlink()
    path.mkdir()
    assert not job.done()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_it_leaves_no_run_behind_and_goes_on_later(child_env, tmp_path, number):
    """Started as a shell starts a program in the background: with SIGINT ignored."""
    env = child_env | {"OUT": str(tmp_path)}
    process = subprocess.Popen(
        [sys.executable, "-m", "train.reproduce", "table3"],
        cwd=ROOT,
        env=env,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    process.stdin.write("T3-CSL-MLP-LapPE-L4 41\n")
    process.stdin.close()
    while not (logs := list(tmp_path.rglob("metrics.jsonl"))):
        assert process.poll() is None
        time.sleep(0.1)
    (run,) = psutil.Process(process.pid).children()
    process.send_signal(number)
    assert process.wait(60) == 130 and "the same command goes on" in process.stderr.read()
    process.stderr.close()
    assert not psutil.pid_exists(run.pid) or run.status() == psutil.STATUS_ZOMBIE
    assert logs[0].with_name("checkpoint.pt").exists()


def test_two_scripts_at_once_do_each_run_once(child_env, tmp_path):
    env = child_env | {"QUICK": "1", "OUT": str(tmp_path)}
    lines = "T3-CSL-MLP-LapPE-L4 41\nT3-CSL-MLP-none-L4 41\n"
    words = [sys.executable, "-m", "train.reproduce", "table3"]
    both = [
        subprocess.Popen(words, cwd=ROOT, env=env, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    texts = [process.communicate(lines)[1] for process in both]
    assert [process.returncode for process in both] == [0, 0], texts
    for path in (tmp_path / "quick").rglob("metrics.jsonl"):
        assert len(path.read_text().splitlines()) == 2  # two epochs, once
    assert len(list((tmp_path / "quick").rglob("result.json"))) == 2


def test_a_script_from_the_shell_ends_with_its_table(child_env, tmp_path):
    if not os.path.exists(os.environ.get("GNN_VENV") or ROOT / ".venv"):
        pytest.skip("needs the environment that install.sh makes")
    script = tmp_path / "table3.sh"
    text = (ROOT / "script_reproduce/table3.sh").read_text()
    text = re.sub(r"(?m)^row (?!T3-CSL-MLP-LapPE-L4$).*\n", "", text)
    script.write_text(text.replace('$(dirname "${BASH_SOURCE[0]}")', str(ROOT / "script_reproduce")))
    env = child_env | {"QUICK": "1", "OUT": "my runs"}  # as seen from where the script is started
    done = subprocess.run(["bash", str(script)], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Table 3 of Benchmarking" in done.stdout and "1 of 1 done" in done.stderr
    assert re.search(r"T3-CSL-MLP-LapPE-L4 .*1 of 100", done.stdout)
    assert os.path.exists(tmp_path / "my runs/quick/CSL")
    wrong = subprocess.run(["bash", str(script)], env=env | {"JOBS": "many"}, capture_output=True, text=True)
    assert wrong.returncode == 2 and "JOBS=many: expected a positive number" in wrong.stderr and not wrong.stdout
