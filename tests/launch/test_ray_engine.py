"""The same jobs on a real Ray cluster of two nodes, one of which is killed: every run finishes, once, from its checkpoint."""

import importlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import filelock
import pytest

from launch import engine
from launch.engine import OUT, Job
from runs.result import problem_of

ray = pytest.importorskip("ray")
cluster_utils = pytest.importorskip("ray.cluster_utils")

from launch import ray_engine  # noqa: E402 - needs ray

ROOT = Path(__file__).resolve().parents[2]
N_STEPS = 20

# Works like a run: a step, a line of its log, a checkpoint; what it did is also noted outside, where no one deletes it. In the
# middle it waits while there is a file "closed" outside.
STEPS = """
import os, pathlib, sys, time
folder, trace, name, n_steps = pathlib.Path(sys.argv[1]) / sys.argv[3], sys.argv[2], sys.argv[3], int(sys.argv[4])
folder.mkdir(parents=True, exist_ok=True)
saved = folder / "checkpoint.pt"
start = int(saved.read_text()) if saved.exists() else 0
for step in range(start, n_steps):
    time.sleep(0.05)
    while step == 5 and os.path.exists(os.path.join(os.path.dirname(trace), "closed")):
        time.sleep(0.05)
    open(folder / "metrics.jsonl", "a").write(f"{step}\\n")
    (folder / "new.tmp").write_text(str(step + 1))
    os.replace(folder / "new.tmp", saved)
    open(trace, "a").write(f"{name} {step}\\n")
(folder / "result.json").write_text("{}")
print("finished", name)
"""


def steps(out, name, n_steps=N_STEPS, **options):
    return Job(name, ("-c", STEPS, OUT, out / "trace", name, n_steps), out, name, (f"{name}/result.json",), **options)


def traces(out):
    """{job: [step, ...]} in the order in which they were made."""
    made = {}
    for line in (out / "trace").read_text().splitlines():
        made.setdefault(line.split()[0], []).append(int(line.split()[1]))
    return made


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(engine, "POLL", 0.02)
    monkeypatch.setattr(engine, "RETRY", 0.3)
    monkeypatch.setattr(ray_engine, "SYNC", 0.2)


@pytest.fixture
def cluster(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    two = cluster_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    two.second = two.add_node(num_cpus=1)
    yield two
    two.shutdown()


@pytest.fixture
def engine_of(monkeypatch):
    """Makes a RayEngine, and closes it at the end."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    made = []

    def make(**options):
        made.append(ray_engine.RayEngine(**options))
        return made[0]

    yield make
    made[0].close()


def test_a_node_dies_and_every_run_finishes_once(cluster, engine_of, tmp_path):
    jobs = [steps(tmp_path, f"j{i}") for i in range(4)]
    jobs.append(steps(tmp_path, "last", 2, needs=("j0", "j1", "j2", "j3")))
    killed, n_running = [], []
    (tmp_path / "closed").touch()

    runs = engine_of(address=cluster.address)

    def kill_when_both_work(state, force=False):
        n_running.append(len(state.running))
        begun = [path.parent.name for path in tmp_path.glob("j*/checkpoint.pt") if path.read_text() == "5"]
        if len(begun) == 2 and not killed:
            killed.extend(begun)
            cluster.remove_node(cluster.second, allow_graceful=False)
        if runs.lost:  # the processes of the dead node, which is no machine of its own here, are gone now
            (tmp_path / "closed").unlink(missing_ok=True)

    state = runs.run(jobs, kill_when_both_work)
    assert not state.failed and sorted(state.done) == ["j0", "j1", "j2", "j3", "last"] and killed
    assert max(n_running) == 2 and not state.running  # four were handed to Ray, which has two cores
    (lost,) = (name for name, times in runs.lost.items() if times == 1)
    assert lost in killed and "NodeDiedError" in (tmp_path / lost / "log.txt").read_text()
    made = traces(tmp_path)
    for name in ("j0", "j1", "j2", "j3"):
        assert made[name].count(N_STEPS - 1) == 1 and (tmp_path / name / "checkpoint.pt").read_text() == str(N_STEPS)
        if name != lost:
            assert made[name] == list(range(N_STEPS))
    # the second attempt went on from a checkpoint that had arrived before the death, not from the start
    assert made[lost].count(0) == 1
    assert made["last"] == [0, 1] and list(made)[-1] == "last"
    assert "finished last" in (tmp_path / "last/log.txt").read_text()


def test_failures_busy_folders_and_finished_runs(engine_of, tmp_path, monkeypatch, capsys):
    finished = steps(tmp_path, "finished", cpus=10_000, gpus=10_000)
    program = (
        "import os, sys; print(sys.argv[1] + '/failing', os.path.exists(sys.argv[1])); "
        "print('oh', os.environ['GNN_ANYTHING'], os.environ.get('GNN_CORES') != '77'); raise SystemExit(3)"
    )
    failing = Job("failing", ("-c", program, OUT), tmp_path, "failing", ("failing/r", "failing/r2"))
    (tmp_path / "finished").mkdir()
    (tmp_path / "finished/result.json").write_text("{}")
    absent = Job("absent", (str(tmp_path / "main_absent.py"),), tmp_path, "absent", ("r2",))
    busy = steps(tmp_path, "busy", 1)
    (tmp_path / "busy").mkdir()
    lock = filelock.FileLock(tmp_path / "busy/.lock")  # as a local run of the same folder holds it
    lock.acquire()
    (tmp_path / "full/metrics.jsonl").mkdir(parents=True)  # what comes back cannot be written at its place
    full = steps(tmp_path, "full")

    def release_when_the_rest_is_done(state, force=False):
        if len(state.failed) == 3 and lock.is_locked:
            assert "busy" not in traces(tmp_path)
            lock.release()

    runs = engine_of()
    monkeypatch.setenv("GNN_ANYTHING", "anything")
    monkeypatch.setenv("GNN_CORES", "77")  # of this machine: it means nothing on another
    state = runs.run([finished, failing, absent, full, busy], release_when_the_rest_is_done)
    assert state.skipped == ["finished"] and state.done == ["busy"] and traces(tmp_path)["busy"] == [0]
    printed = capsys.readouterr().err
    assert "CPUS=10000: no machine of the cluster has so many cores" in printed
    assert "GPUS=10000: no machine of the cluster has so many GPUs" in printed
    assert "exit code 3" in state.failed["failing"] and "oh anything True" in state.failed["failing"]
    assert f"{tmp_path}/failing True" in state.failed["failing"]  # its folder here, not the one it worked in
    assert "full/metrics.jsonl: Is a directory" in state.failed["full"] and runs.under_way == 0
    assert not (tmp_path / "full/checkpoint.pt").exists()  # it would be ahead of the log
    assert "the project must be at the same path" in state.failed["absent"]

    # a machine that cannot import our module
    (tmp_path / "not_everywhere.py").write_text("def work(*arguments):\n    yield {}, 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(ray_engine, "work", importlib.import_module("not_everywhere").work)
    (tmp_path / "not_everywhere.py").unlink()
    shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)
    state = runs.run([steps(tmp_path, "unknown")])
    assert "not_everywhere" in state.failed["unknown"] and "at the same path" in state.failed["unknown"]


def test_a_stop_ends_the_runs_and_keeps_what_has_arrived(engine_of, tmp_path):
    class Enough(Exception):
        pass

    def stop_after_some_steps(state, force=False):
        saved = tmp_path / "long/checkpoint.pt"
        if saved.exists() and int(saved.read_text()) >= 3:
            raise Enough

    long = steps(tmp_path, "long", 10_000)
    with pytest.raises(Enough):
        engine_of().run([long], stop_after_some_steps)
    made = len(traces(tmp_path)["long"])
    time.sleep(0.5)
    assert len(traces(tmp_path)["long"]) == made  # its process has ended
    with filelock.FileLock(tmp_path / "long/.lock", timeout=0):
        assert 3 <= int((tmp_path / "long/checkpoint.pt").read_text()) <= made


def test_no_cluster_at_the_address():
    with pytest.raises(SystemExit, match=r"RAY_ADDRESS=127\.0\.0\.1:9: no Ray cluster answers there"):
        ray_engine.RayEngine(address="127.0.0.1:9")


def test_addresses_of_ray_client_are_refused_with_the_remedy():
    with pytest.raises(SystemExit, match=r"RAY_ADDRESS=ray://127\.0\.0\.1:10001: expected HOST:PORT"):
        ray_engine.RayEngine(address="ray://127.0.0.1:10001")


def test_a_script_sends_real_runs_to_a_local_cluster(child_env, tmp_path):
    env = child_env | {"ENGINE": "ray", "QUICK": "1", "OUT": str(tmp_path)}
    env.pop("RAY_ADDRESS", None)
    words = [sys.executable, "-m", "launch.reproduce", "table3", "MLP-LapPE-L4"]
    done = subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0 and "1 of 1 done, 0 running, 0 failed" in done.stderr, done.stderr
    (path,) = (tmp_path / "quick").rglob("result.json")
    assert problem_of(json.loads(path.read_text())) == "" and json.loads(path.read_text())["threads"] == 1
    names = set(os.listdir(path.parent))
    assert {"config.json", "checkpoint.pt", "metrics.jsonl", "tensorboard", "result.json"} <= names


def test_copies_of_killed_workers_are_removed(tmp_path, monkeypatch):
    """That of a living worker stays, and one that has just been made."""
    monkeypatch.setattr(ray_engine.tempfile, "gettempdir", lambda: str(tmp_path))
    for name in ("gnn-run-dead", "gnn-run-alive", "gnn-run-old", "gnn-run-new", "other"):
        (tmp_path / name / "CSL").mkdir(parents=True)
    (tmp_path / "gnn-run-dead" / ".alive").touch()
    os.utime(tmp_path / "gnn-run-old", (0, 0))
    with filelock.FileLock(tmp_path / "gnn-run-alive" / ".alive"):
        ray_engine.remove_abandoned()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["gnn-run-alive", "gnn-run-new", "other"]
