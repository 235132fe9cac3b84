"""Jobs are done once, in an order that respects what they need; failures stay with the job; a stop loses nothing."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from launch import engine
from launch.engine import BUSY, OUT, Job, LocalEngine, Slots, State, duration


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(engine, "POLL", 0.02)
    monkeypatch.setattr(engine, "RETRY", 0.3)


def job(folder, name, code="", **options):
    """A job that runs `code`, notes that it ran, and writes its result."""
    program = f"""
{textwrap.dedent(code)}
import pathlib, sys
open({str(folder / "ran")!r}, "a").write({name!r} + chr(10))
(pathlib.Path(sys.argv[1]) / {name!r} / "result").touch()
"""
    return Job(name, ("-c", program, OUT), folder, name, (f"{name}/result",), **options)


def ran(folder):
    path = folder / "ran"
    return path.read_text().split() if path.exists() else []


def test_all_jobs_are_done_once_and_finished_ones_are_skipped(tmp_path):
    jobs = [job(tmp_path, f"j{i}") for i in range(5)]
    (tmp_path / "j2").mkdir()
    jobs[2].paths[0].touch()
    state = LocalEngine(2).run(jobs)
    assert sorted(ran(tmp_path)) == ["j0", "j1", "j3", "j4"] and state.skipped == ["j2"] and not state.failed
    again = LocalEngine(2).run(jobs)
    assert len(ran(tmp_path)) == 4 and len(again.skipped) == 5
    assert "5 of 5 done" in again.line()


def test_a_selection_shows_its_configurations_and_the_time_left(tmp_path):
    """Two folds of eight configurations. One has two lines at the start and makes three more in a minute, the other four in its
    parts: of 16 nine are there, seven were made, seven are left."""
    jobs = [
        Job("part", (), tmp_path, "b/part_1_of_2", ("b/part_1_of_2/part.json",)),
        Job("a", (), tmp_path, "a", ("a/result.json",), n_configurations=8),
        Job("b", (), tmp_path, "b", ("b/result.json",), needs=("part",), n_configurations=8),
    ]
    (tmp_path / "a").mkdir()
    (tmp_path / "a/selection.jsonl").write_text("{}\n" * 2)
    state = State(jobs)
    assert state.line() == "0 of 3 done, 0 running, 0 failed, 2 of 16 configurations"
    state.started -= 60
    (tmp_path / "a/selection.jsonl").write_text("{}\n" * 5)
    for part in ("part_1_of_2", "part_2_of_2"):
        (tmp_path / "b" / part).mkdir(parents=True)
        (tmp_path / "b" / part / "selection.jsonl").write_text("{}\n" * 2)
    assert state.line() == "0 of 3 done, 0 running, 0 failed, 9 of 16 configurations, about 60 s left"
    state.failed["b"] = "exit code 1"
    state.done.append("a")  # its three final trainings have lines too
    assert state.line().endswith("1 failed, 12 of 16 configurations")
    mixed = State([*jobs, Job("c", (), tmp_path, "c", ("c/result.json",))])
    mixed.started -= 60
    (tmp_path / "a/selection.jsonl").write_text("{}\n" * 6)
    assert mixed.line().endswith("10 of 16 configurations")  # they say nothing of the other job


def test_the_time_left_is_known_from_the_first_result_on(tmp_path):
    """Of jobs with four results each, `a` had one at the start and made one more in a minute: six are left."""
    jobs = [Job(name, (), tmp_path, name, tuple(f"{name}{i}" for i in range(4))) for name in "abc"]
    for path in ("a0", "c0", "c1", "c2", "c3"):
        (tmp_path / path).touch()
    state = State(jobs)
    assert state.skipped == ["c"] and state.line() == "1 of 3 done (5 of 12 results), 0 running, 0 failed"
    state.running.append("a")
    state.started -= 60
    (tmp_path / "a1").touch()
    assert state.line() == "1 of 3 done (6 of 12 results), 1 running, 0 failed, about 6 min left"
    state.running.remove("a")
    state.done.append("a")
    state.failed["b"] = "exit code 1"
    assert state.line() == "2 of 3 done (8 of 12 results), 0 running, 1 failed"


def test_a_file_that_is_not_the_wanted_one_is_not_taken_for_done(tmp_path):
    """The job is started; what it leaves must be the wanted one too."""
    jobs = [job(tmp_path, name, accepts=lambda path: path.exists() and path.read_text() == "new") for name in "ab"]
    for one, content in zip(jobs, ("new", "old"), strict=True):
        one.paths[0].parent.mkdir()
        one.paths[0].write_text(content)
    state = LocalEngine(1).run(jobs)
    assert ran(tmp_path) == ["b"] and state.skipped == ["a"]
    assert state.failed["b"].startswith("exited without an error, but did not write the expected result")


def test_the_last_words_are_those_of_the_last_try(tmp_path):
    for code, words in (("print('first'); raise SystemExit(1)", "first"), ("raise SystemExit(2)", "")):
        state = LocalEngine(1).run([job(tmp_path, "j", code)])
        assert state.failed["j"].split("\n")[1:] == ([words] if words else [])
    assert (tmp_path / "j/log.txt").read_text() == "first\n"


def test_no_more_jobs_at_once_than_slots(tmp_path):
    code = f"""
    import os, time
    def note(sign): open({str(tmp_path / "signs")!r}, "a").write(sign)
    note("+")
    while open({str(tmp_path / "signs")!r}).read().count("+") < 2: time.sleep(0.02)  # the first waits for the second
    time.sleep(0.1); note("-")
    """
    LocalEngine(2).run([job(tmp_path, f"j{i}", code) for i in range(5)])
    signs = (tmp_path / "signs").read_text()
    alive = [signs[:n].count("+") - signs[:n].count("-") for n in range(len(signs) + 1)]
    assert max(alive) == 2 and signs.count("-") == 5


def test_a_failed_job_is_reported_with_its_last_words_and_stops_only_what_needs_it(tmp_path):
    bad = job(tmp_path, "bad", "import sys; print('about to fail'); sys.exit(3)")
    state = LocalEngine(1).run([bad, job(tmp_path, "child", needs=("bad",)), job(tmp_path, "other")])
    assert set(state.failed) == {"bad", "child"} and state.done == ["other"]
    assert "exit code 3" in state.failed["bad"] and "about to fail" in state.failed["bad"]
    assert state.failed["child"] == "needs bad, which failed"


def test_a_killed_job_and_one_without_its_result_have_failed(tmp_path):
    killed = job(tmp_path, "killed", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    silent = Job("silent", ("-c", "pass"), tmp_path, "silent", ("never",))
    state = LocalEngine(1).run([killed, silent])
    assert "SIGKILL" in state.failed["killed"] and "did not write the expected result" in state.failed["silent"]


def test_a_job_waits_for_what_it_needs_and_may_choose_by_it(tmp_path):
    first = [job(tmp_path, f"inner{i}") for i in range(2)]
    last = job(tmp_path, "outer")
    chosen = Job("outer", lambda: last.command if len(ran(tmp_path)) == 2 else ("-c", "raise SystemExit(9)"),
                 tmp_path, last.folder, last.results, needs=("inner0", "inner1"))  # fmt: skip
    state = LocalEngine(3).run([chosen, *first])
    assert not state.failed and ran(tmp_path)[-1] == "outer"


def test_a_job_that_cannot_be_started_has_failed_and_keeps_no_slot(tmp_path):
    def no_choice():
        raise LookupError("no inner result")

    chosen = Job("chosen", no_choice, tmp_path, "chosen", ("never",))
    (tmp_path / "file").touch()
    unwritable = Job("unwritable", ("-c", "pass"), tmp_path, "file/folder", ("never",))
    state = LocalEngine(1).run([chosen, unwritable, job(tmp_path, "other")])
    assert state.done == ["other"] and state.failed["chosen"] == "not started: LookupError: no inner result"
    assert "NotADirectoryError" in state.failed["unwritable"]


@pytest.mark.parametrize(
    ("needs", "message"),
    [
        ({"a": ("c",)}, "a needs c, which is no job"),
        ({"a": ("b",), "b": ("a",)}, "cycle"),
    ],
)
def test_needs_that_would_be_waited_for_for_ever(tmp_path, needs, message):
    with pytest.raises(ValueError, match=message):
        LocalEngine(1).run([job(tmp_path, name, needs=needed) for name, needed in needs.items()])
    with pytest.raises(ValueError, match="2 jobs are called a"):
        LocalEngine(1).run([job(tmp_path, "a"), job(tmp_path, "a")])
    assert not ran(tmp_path)


def test_a_job_that_another_process_finishes_meanwhile(tmp_path):
    """The result appears between two looks."""

    def accepts(path):
        there = path.exists()
        path.parent.mkdir(exist_ok=True)
        path.touch()
        return there

    late = Job("late", ("-c", "pass"), tmp_path, "late", ("late/result",), accepts=accepts)
    state = LocalEngine(1).run([late])
    assert state.done == ["late"] and not state.failed


def test_a_busy_run_is_waited_for(tmp_path):
    """Another process holds the run: its exit code says so, and it is tried again until the result is there."""
    busy = Job("busy", ("-c", f"raise SystemExit({BUSY})"), tmp_path, "busy", ("result",))
    threading.Timer(0.8, (tmp_path / "result").touch).start()
    state = LocalEngine(1).run([busy])
    assert state.skipped == ["busy"] and not state.failed


def test_threads_and_gpus_are_shared_out(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    cores = len(os.sched_getaffinity(0))
    assert Slots(1).environment(None)["OMP_NUM_THREADS"] == str(cores)
    assert Slots(2 * cores).environment(None)["OMP_NUM_THREADS"] == "1"
    assert Slots(3).environment(None)["GNN_RUNS"] == "3"
    two = Slots(gpus=[0, 1])
    assert two.free == [0, 1] and two.environment(1)["CUDA_VISIBLE_DEVICES"] == "1"


STOPPED = """
import sys
from pathlib import Path
from launch.engine import Job, LocalEngine
folder = Path(sys.argv[1])
LocalEngine(1).run([Job("long", ("-c", sys.argv[2], folder), folder, "long", ("never",))])
"""
LONG_JOB = """
import pathlib, signal, sys, time
folder = pathlib.Path(sys.argv[1])
signal.signal(signal.SIGTERM, lambda *_: ((folder / "saved").touch(), sys.exit(1)))
(folder / "on").touch()
time.sleep(60)
"""


def wait_for(path):
    end = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_or_killed_engine_lets_its_runs_save_their_state(tmp_path, number):
    """Also when the signal comes while a run is being started: on Linux a run ends, in order, when its engine is gone."""
    process = subprocess.Popen([sys.executable, "-c", STOPPED, tmp_path, LONG_JOB], stderr=subprocess.PIPE)
    wait_for(tmp_path / "on")
    process.send_signal(number)
    process.communicate(timeout=30)
    assert process.returncode != 0
    wait_for(tmp_path / "saved")


def test_a_busy_run_is_asked_for_less_and_less_often(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "LONGEST", 1.0)
    started = tmp_path / "started"
    program = f"open({str(started)!r}, 'a').write('x'); raise SystemExit({BUSY})"
    busy = Job("busy", ("-c", program), tmp_path, "busy", ("result",))
    later = []

    class Watched(LocalEngine):
        def _collect(self, waiting, running, delays, state, display):
            super()._collect(waiting, running, delays, state, display)
            later.extend(delay for _, delay in delays.values() if delay not in later)
            if len(later) == 3 or (started.exists() and len(started.read_text()) > 4):
                (tmp_path / "result").touch()

    state = Watched(1).run([busy])
    assert later == [0.3, 0.6, 1.0] and state.skipped == ["busy"] and len(started.read_text()) == 3


def test_durations():
    assert [duration(s) for s in (40, 600, 12600)] == ["40 s", "10 min", "3.5 h"]


@pytest.mark.skipif(not Path("/proc/self/autogroup").exists(), reason="this system has no groups of sessions")
def test_the_session_of_a_run_has_the_priority_of_the_engine(tmp_path):
    """A low priority counts against the programs of other sessions too."""
    code = textwrap.dedent("""
        import sys
        from pathlib import Path
        from launch.engine import start_process
        run = ["-c", "print(open('/proc/self/autogroup').read())"]
        sys.exit(start_process(run, Path(), Path(sys.argv[1]), {}).wait())
    """)
    subprocess.run(["nice", "-n", "7", sys.executable, "-c", code, tmp_path / "log"], check=True)
    assert "nice 7" in (tmp_path / "log").read_text()
