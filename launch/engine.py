"""Many runs at once: what is finished is skipped, what fails is reported, what others run is waited for.

A job is a command that leaves result files. `LocalEngine` starts as many on this machine as there are slots: one per GPU, or
several processes on the CPU; launch/ray_engine.py sends them to a cluster. Nothing is kept in memory that is not on the disk:
stopped at any moment and started again, only what is missing is done.
"""

import contextlib
import ctypes
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path

from runs.files import BUSY, RunError
from runs.ledger import SELECTION
from runs.signals import Interrupted, stop_signals

LOST = "lost"  # instead of an exit code: the machine of the run is gone, the run goes on elsewhere
POLL = 0.2  # seconds between looks at the running processes
RETRY, LONGEST = 10.0, 300.0  # seconds before a busy run is tried again, for the first time and later
LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None
OUT = "{out}"  # stands in a job's command for the folder of the runs


@dataclass(frozen=True)
class Job:
    """A command (words after `python`), and the files below `out` it leaves when it is done. A job writes only below
    `out/folder`. The placeholder OUT in its command is replaced by `out`, which may differ between machines.

    `needs` are names of jobs that must be done before. `command` may be a function without arguments, called when they are: a
    choice among their results. `cpus` and `gpus` are what it occupies on a cluster. `accepts(path)` is true if the file exists and
    is the wanted one.
    """

    name: str
    command: tuple | Callable
    out: Path
    folder: str
    results: tuple
    needs: tuple = ()
    cpus: int = 1
    gpus: int = 0
    accepts: Callable = Path.exists
    id: str | None = None  # of what its runs compute
    seed: int | None = None
    n_configurations: int = 0  # of a model selection: each is a line of its ledger

    @property
    def paths(self):
        return [self.out / name for name in self.results]

    @property
    def log(self):
        return self.out / self.folder / "log.txt"

    def missing(self):
        return [path for path in self.paths if not self.accepts(path)]

    def done(self):
        return not self.missing()

    def trained(self):
        """How many of its configurations are in its ledger, or in those of its parts, which it takes over."""
        folder = self.out / self.folder
        in_parts = sum(count_lines(path) for path in folder.glob(f"part_*/{SELECTION}"))
        return min(self.n_configurations, max(count_lines(folder / SELECTION), in_parts))

    def words(self):
        return [str(word) for word in (self.command() if callable(self.command) else self.command)]


class State:
    """What has become of the jobs, by name."""

    def __init__(self, jobs):
        self.n_jobs, self.n_results = len(jobs), sum(len(job.results) for job in jobs)
        self.missing = {job.name: job.missing() for job in jobs}  # at the start
        self.skipped = [job.name for job in jobs if not self.missing[job.name]]
        self.done, self.running, self.failed = [], [], {}  # failed: name -> the end of its log
        self.started = time.monotonic()
        self.selections = [job for job in jobs if job.n_configurations]
        self.trained_before = sum(map(self.trained, self.selections))
        parts = {name for job in self.selections for name in job.needs}
        self.only_selections = bool(self.selections) and all(job.n_configurations or job.name in parts for job in jobs)

    def trained(self, job):
        return job.n_configurations if job.name in (*self.done, *self.skipped) else job.trained()

    def line(self):
        ended = {*self.done, *self.skipped, *self.failed}
        left = sum(len(paths) for name, paths in self.missing.items() if name not in ended)
        made = sum(len(self.missing[name]) for name in self.done)
        for name in self.running:
            n = sum(path.exists() for path in self.missing[name])
            left, made = left - n, made + n
        lost = sum(len(self.missing[name]) for name in self.failed)
        text = f"{len(self.done) + len(self.skipped)} of {self.n_jobs} done"
        if self.n_results > self.n_jobs:
            text += f" ({self.n_results - left - lost} of {self.n_results} results)"
        text += f", {len(self.running)} running, {len(self.failed)} failed"
        if self.selections:
            n, trained = sum(job.n_configurations for job in self.selections), sum(map(self.trained, self.selections))
            text += f", {trained} of {n} configurations"
        if self.only_selections:
            given_up = [job for job in self.selections if job.name in self.failed]
            left = n - trained - sum(job.n_configurations - job.trained() for job in given_up)
            made = trained - self.trained_before
        if made and left:
            text += f", about {duration((time.monotonic() - self.started) / made * left)} left"
        return text


def count_lines(path):
    return path.read_bytes().count(b"\n") if path.exists() else 0


def duration(seconds):
    """'40 s', '12 min', '3.5 h'."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


class Display:
    """One line that stays up to date on a terminal; elsewhere a line whenever something ended, and one per minute. A job
    that failed is named at once, with the reason."""

    def __init__(self, name, stream=None):
        self.name, self.stream = name, stream or sys.stderr
        self.terminal, self.last, self.shown, self.reported = self.stream.isatty(), "", -math.inf, set()

    def __call__(self, state, force=False):
        self.report(state.failed)
        now = time.monotonic()
        if not force and now - self.shown < (1 if self.terminal else 60):
            return
        self.shown = now
        text = f"{self.name}: {state.line()}"
        if self.terminal:
            running = (
                f" ({', '.join(state.running[:2])}{', …' if len(state.running) > 2 else ''})" if state.running else ""
            )
            width = shutil.get_terminal_size().columns - 1  # a line that wraps could not be written over
            print("\r\x1b[2K" + f"{text}{running}"[:width], end="", file=self.stream, flush=True)
        elif text != self.last:
            print(text, file=self.stream, flush=True)
            self.last = text

    def report(self, failed):
        for name in [name for name in failed if name not in self.reported]:
            start = "\r\x1b[2K" if self.terminal else ""
            reason = failed[name].replace("\n", "\n  ")
            print(f"{start}failed: {name}\n  {reason}", file=self.stream, flush=True)
            self.reported.add(name)

    def close(self, state):
        self(state, force=True)
        if self.terminal:
            print(file=self.stream)


class Slots:
    """Places for processes: the numbers of the GPUs, or None for each of `jobs` on the CPU."""

    def __init__(self, jobs=None, gpus=None):
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        self.free = list(gpus) if gpus else [None] * (jobs or 1)
        self.threads, self.runs = max(1, cores // len(self.free)), len(self.free)

    def environment(self, slot):
        """Threads are shared out evenly, so that runs do not wait for each other's cores, and so is memory; a run sees one GPU."""
        values = {**os.environ}
        values.setdefault("OMP_NUM_THREADS", str(self.threads))
        values.setdefault("GNN_RUNS", str(self.runs))
        if slot is not None:
            values["CUDA_VISIBLE_DEVICES"] = str(slot)
        return values


class Engine:
    """The order of the jobs. How one is started and watched is an engine's own: `room`, `start`, `poll`, `stop` and `close`.

    A job that cannot be started (`start` raises), or whose files cannot be written (`poll` raises RunError), has failed; the
    others go on.
    """

    gpus = 0  # of all machines together

    def began(self, handle):
        """Whether a job that was started is at work, and not in a queue for a machine."""
        return True

    def close(self):
        """Give back what the engine holds."""

    def run(self, jobs, display=lambda state, force=False: None):
        """Do all jobs; returns the State. Ctrl-C or SIGTERM stops the running ones in order and raises
        KeyboardInterrupt."""
        check_names(jobs)
        state = State(jobs)
        waiting, running, later = [job for job in jobs if state.missing[job.name]], {}, {}
        # noticed between the steps: an exception out of nowhere might come while a process is being started. Also in the
        # background, where the shell lets SIGINT be ignored, and after Ray, which sets a handler of its own
        with stop_signals() as check_signals:
            try:
                while waiting or running:
                    check_signals()
                    self._start(waiting, running, later, state)
                    self._collect(waiting, running, later, state, display)
                    display(state)
                    time.sleep(POLL)
            except BaseException as error:
                self.stop([handle for handle, *_ in running.values()])
                if isinstance(error, Interrupted):
                    raise KeyboardInterrupt from None
                raise
        display(state, force=True)
        return state

    def _start(self, waiting, running, later, state):
        if not self.room():
            return
        finished = {*state.done, *state.skipped}
        for job in list(waiting):
            if lost := [need for need in job.needs if need in state.failed]:
                waiting.remove(job)
                state.failed[job.name] = f"needs {lost[0]}, which failed"
                continue
            if not finished.issuperset(job.needs):
                continue
            if later.get(job.name, (0, 0))[0] > time.monotonic():  # another process has it
                if job.done():
                    waiting.remove(job)
                    state.skipped.append(job.name)
                continue
            waiting.remove(job)
            try:
                words = job.log.stat().st_size if job.log.exists() else 0  # of earlier tries
                running[job.name] = (self.start(job), job, words)
            except Exception as error:  # its function found no command, or its folder cannot be written
                state.failed[job.name] = f"not started: {type(error).__name__}: {error}"
                continue
            if not self.room():
                return

    def _collect(self, waiting, running, later, state, display):
        for name, (handle, job, words) in list(running.items()):
            reason = None
            try:
                code = self.poll(handle)
            except RunError as error:
                code, reason = 1, str(error)
            if code is None:
                if self.began(handle) and name not in state.running:
                    state.running.append(name)
                continue
            del running[name]
            if name in state.running:
                state.running.remove(name)
            if code in (BUSY, LOST):
                if job.done():
                    state.skipped.append(name)
                else:
                    if code == BUSY:  # asking costs a process: less and less often
                        delay = min(2 * later[name][1], LONGEST) if name in later else RETRY
                        later[name] = (time.monotonic() + delay, delay)
                    waiting.append(job)
            elif code == 0 and job.done():
                state.done.append(name)
            else:
                state.failed[name] = reason or ending(job.log, code, words)
            display(state, force=True)


def check_names(jobs):
    """No two jobs of one name; what a job needs is a job, and does not wait for it in turn."""
    needs = {job.name: job.needs for job in jobs}
    for name, n in Counter(job.name for job in jobs).items():
        if n > 1:
            raise ValueError(f"{n} jobs are called {name}")
        if absent := [need for need in needs[name] if need not in needs]:
            raise ValueError(f"{name} needs {absent[0]}, which is no job")
    TopologicalSorter(needs).prepare()  # raises CycleError, a ValueError, which names the jobs of a circle


class LocalEngine(Engine):
    """Processes of this machine."""

    def __init__(self, jobs=None, gpus=None):
        self.slots, self.gpus = Slots(jobs, gpus), len(gpus or [])

    def room(self):
        return bool(self.slots.free)

    def start(self, job):
        process = start_process(job.words(), job.out, job.log, self.slots.environment(self.slots.free[0]))
        return process, self.slots.free.pop(0)

    def poll(self, handle):
        process, slot = handle
        code = process.poll()
        if code is not None:
            self.slots.free.append(slot)
        return code

    def stop(self, handles):
        stop([process for process, _ in handles])


def start_process(words, out, log, environment):
    """A command of a job as a process whose words are added to `log`. It ends, in order, when this process is killed."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, "ab") as file:
        return subprocess.Popen(
            [sys.executable, *(str(out) if word == OUT else word for word in words)],
            stdout=file,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
            preexec_fn=belong_to_parent,
        )


def belong_to_parent():
    """In a new process (Linux): SIGTERM when the process that started it ends, however that comes, and its priority. Where sessions
    share the processor evenly, `nice` counts inside a session only, so the new session is told too."""
    if LIBC is None:
        return
    LIBC.prctl(1, signal.SIGTERM)  # 1: PR_SET_PDEATHSIG
    with contextlib.suppress(OSError):
        Path("/proc/self/autogroup").write_text(str(os.nice(0)))


def ending(log, code, start=0, n_lines=3):
    """Why a run failed: its last words, of those in the log from `start`."""
    text = log.read_bytes()[start:].decode(errors="replace") if log.exists() else ""
    lines = [line for line in text.splitlines() if line.strip()]
    reason = f"ended by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
    if code == 0:
        reason = "exited without an error, but did not write the expected result"
    return "\n".join([reason, *lines[-n_lines:]])


def stop(processes):
    """SIGTERM: a run saves its state and ends. One that does not within a minute is killed; nothing is lost then either."""
    for process in processes:
        process.terminate()
    for process in processes:
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
