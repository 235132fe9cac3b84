"""parallel_map gives what map gives, in order, and a failure in a worker reaches the caller."""

import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from data import parallel
from data.parallel import parallel_map

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def at_once(monkeypatch):
    """Workers are started before the first item."""
    monkeypatch.setattr(parallel, "PATIENCE", -1)


def square(x):
    if x == 0:
        time.sleep(0.3)  # the first is ready last
    return x * x, os.getpid()


def fail(kind, x):
    if x == 5:
        if kind == "dies":
            os._exit(1)
        raise ValueError("five")
    return x


def meet(folder, x):
    """Wait until another process computes an item, too."""
    (folder / str(os.getpid())).touch()
    while len(list(folder.iterdir())) < 2:
        time.sleep(0.02)
    return x * x, os.getpid()


def test_results_come_in_order_from_several_processes(at_once, tmp_path):
    results = list(parallel_map(partial(meet, tmp_path), range(40), None, chunk=4, workers=2))
    assert [value for value, _ in results] == [x * x for x in range(40)]
    processes = {process for _, process in results}
    assert len(processes) == 2 and os.getpid() not in processes


def test_one_worker_or_few_items_stay_in_this_process(at_once):
    assert {process for _, process in parallel_map(square, range(3), None, workers=1)} == {os.getpid()}
    assert {process for _, process in parallel_map(square, range(3), None, chunk=16, workers=2)} == {os.getpid()}
    assert list(parallel_map(square, [], None)) == []


@pytest.mark.parametrize(("kind", "error", "message"), [("raises", ValueError, "five"), ("dies", RuntimeError, "died")])
def test_failures_reach_the_caller(at_once, kind, error, message):
    before = dict(os.environ)
    with pytest.raises(error, match=message):
        list(parallel_map(partial(fail, kind), range(20), None, chunk=2, workers=2))
    assert dict(os.environ) == before


def test_a_small_task_is_done_before_workers_would_have_started():
    assert {process for _, process in parallel_map(square, range(40), None, chunk=4, workers=2)} == {os.getpid()}


def test_a_long_task_is_handed_over_in_the_middle(monkeypatch):
    monkeypatch.setattr(parallel, "PATIENCE", 0.2)  # the first item takes longer
    results = list(parallel_map(square, range(40), None, chunk=4, workers=2))
    assert [value for value, _ in results] == [x * x for x in range(40)]
    assert results[0][1] == os.getpid() and os.getpid() not in {process for _, process in results[1:]}


BOUND = """
import os
import process
import torch
print(sorted(process.all_cores()) == sorted(map(int, os.environ["EXPECTED"].split(","))))
"""


def test_bound_threads_leave_all_cores_to_the_workers():
    """OpenMP binds the main thread to one core as soon as torch is loaded; workers must not be counted by that."""
    cores = ",".join(map(str, sorted(os.sched_getaffinity(0))))
    hidden = {name: value for name, value in os.environ.items() if name not in ("GNN_CORES", "OMP_NUM_THREADS")}
    env = hidden | {"OMP_PROC_BIND": "true", "EXPECTED": cores}
    done = subprocess.run([sys.executable, "-c", BOUND], cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.stdout.strip() == "True", done.stderr
