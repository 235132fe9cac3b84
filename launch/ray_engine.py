"""ENGINE=ray: the jobs of launch/engine.py on the machines of a Ray cluster (requirements-cluster.txt).

No common disk is needed. A job works in a temporary folder of the machine that Ray gives it, and every few seconds sends the files
that changed to the driver, the process that started the script, which puts them where a local run would have. When the machine
dies, the job is started elsewhere from the files the driver has: it goes on from its last checkpoint. The machines need the project
at the same path as the driver, installed with `bash install.sh requirements-cluster.txt`.
"""

import contextlib
import os
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import filelock
import ray

from launch.engine import LOST, POLL, Engine, start_process, stop
from runs.files import BUSY, RunError, explain, write_atomic

SYNC = 5.0  # seconds between two looks at the files of a run
ATTEMPTS = 5  # machines a run may lose before it counts as failed
PASSED_ON = ("GNN_", "OMP_NUM_THREADS", "DGLBACKEND")  # environment variables that a run inherits from the driver,
NOT_PASSED_ON = "GNN_CORES"  # but not the numbers of the driver's cores (process.py)
COPIES, ALIVE = "gnn-run-", ".alive"  # temporary folders of runs, and the lock that the worker of one holds
SAME_PATH = "the project must be at the same path on all machines of the cluster, installed as docs/scale.md says"


class RayEngine(Engine):
    """A cluster that is there already (RAY_ADDRESS), or one of this machine alone, started and ended with the engine."""

    def __init__(self, jobs=None, address=None):
        connect(address)
        self.jobs, self.under_way, self.lost = jobs, 0, {}
        self.gpus = int(ray.cluster_resources().get("GPU", 0))
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)  # each run under way holds the locks of its folders
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard if hard != resource.RLIM_INFINITY else 10240, hard))

    def close(self):
        ray.shutdown()

    def run(self, jobs, *display):
        """As every engine; a warning first if no machine is large enough, since Ray would wait for one without a word."""
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        for kind, what in (("CPU", "cores"), ("GPU", "GPUs")):
            largest = max((node.get(kind, 0) for node in nodes), default=0)
            wanted = max((getattr(job, f"{kind.lower()}s") for job in jobs), default=0)
            if wanted > largest:
                print(
                    f"{kind}S={wanted}: no machine of the cluster has so many {what}, the largest has {largest:.0f}. "
                    "The runs wait until one joins; Ctrl-C stops",
                    file=sys.stderr,
                )
        return super().run(jobs, *display)

    def room(self):
        """More jobs than fit are handed to Ray: a machine that joins finds work, and an autoscaler sees what is wanted."""
        return self.under_way < (self.jobs or 2 * int(ray.cluster_resources().get("CPU", 1)) + 8)

    def start(self, job):
        run = RayRun(job)
        self.under_way += 1
        return run

    def poll(self, run):
        try:
            code = run.poll()
        finally:
            self.under_way -= run.code is not None
        if code == LOST:
            self.lost[run.job.name] = self.lost.get(run.job.name, 0) + 1
            if self.lost[run.job.name] >= ATTEMPTS:
                run.note(f"given up: its machine died {ATTEMPTS} times")
                return 1
        return code

    def began(self, run):
        return run.began

    def stop(self, runs):
        """End the runs and wait until their machines have tidied up, a minute at most."""
        streams = [run.stream for run in runs if run.stream is not None]
        for stream in streams:
            ray.cancel(stream)
        end = time.monotonic() + 60
        for run in runs:
            # what arrives now and cannot be written is lost: the run goes on from what is there
            with contextlib.suppress(RunError):
                while run.poll() is None and time.monotonic() < end:
                    time.sleep(POLL)
            run.release()


def connect(address):
    """To the cluster at `address`, host:port, or to one of this machine alone that ends with this process."""
    if address and "://" in address:
        raise SystemExit(
            f"RAY_ADDRESS={address}: expected HOST:PORT as `ray start --head` prints it, usually port 6379. Addresses of "
            "Ray Client (ray://) are not supported: start the script on a machine of the cluster"
        )
    try:
        if address and ":" in address:  # Ray itself tries for many minutes
            socket.create_connection(address.rsplit(":", 1), timeout=10).close()
        options = {} if address else {"include_dashboard": False}
        ray.init(address=address or "local", log_to_driver=False, logging_level="ERROR", **options)
    # OSError: refused, too late, unknown host; RuntimeError: other versions of Python or Ray
    except (OSError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
        if not address:
            raise SystemExit(f"ENGINE=ray: no Ray cluster could be started on this machine ({error})") from error
        raise SystemExit(
            f"RAY_ADDRESS={address}: no Ray cluster answers there ({error}). Start one as docs/scale.md says; if it wants a token, "
            "RAY_AUTH_MODE=token is needed here too. Without RAY_ADDRESS one of this machine alone is started"
        ) from error


class RayRun:
    """A job on its way: the locks of its folders, and the stream of files that comes back."""

    def __init__(self, job):
        self.job, self.locks, self.stream, self.code = job, [], None, None
        self.began = False  # a machine has taken it: the first message has come
        try:
            for folder in dict.fromkeys(path.parent for path in job.paths):
                folder.mkdir(parents=True, exist_ok=True)
                lock = filelock.FileLock(folder / ".lock")  # the lock that a local run of the same folder takes
                lock.acquire(timeout=0)
                self.locks.append(lock)
            self.stream = self._send()
        except filelock.Timeout:
            self._end(BUSY)
        except BaseException:
            self.release()
            raise

    def _send(self):
        job = self.job
        task = ray.remote(work).options(
            name=job.name, num_cpus=job.cpus, num_gpus=job.gpus, max_retries=0, num_returns="streaming"
        )
        environment = {
            key: value for key, value in os.environ.items() if key.startswith(PASSED_ON) and key != NOT_PASSED_ON
        }
        environment.setdefault("OMP_NUM_THREADS", str(job.cpus))
        return task.remote(job.words(), job.out, job.folder, read_files(job.out / job.folder), environment, SYNC)

    def poll(self):
        """Write what has arrived; None while the job is under way, then its exit code, or LOST. RunError if it cannot be written:
        what comes after it is not written either, and the run ends."""
        while self.code is None and ray.wait([self.stream], timeout=0)[0]:
            try:
                self.receive(ray.get(next(self.stream)))
            except StopIteration:
                self.note("the stream of files ended without an exit code")
                self._end(1)
            except ray.exceptions.RayTaskError as error:  # raised by work() itself
                remedy = f"\n{SAME_PATH}" if "ModuleNotFoundError" in str(error.cause) else ""
                self.note(f"{error.cause}{remedy}")
                self._end(1)
            except ray.exceptions.RayError as error:  # the machine, its memory or its network
                self.note(f"{type(error).__name__}: {error}".splitlines()[0])
                self._end(LOST)
            except RunError:
                ray.cancel(self.stream)
                self._end(1)
                raise
        return self.code

    def receive(self, message):
        self.began = True
        files, code = message
        for name in in_order(files):
            path = self.job.out / self.job.folder / name
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise RunError(explain(error, path)) from error
            write_atomic(path, files[name])
        if code is not None:
            self._end(code)

    def note(self, text):
        """A line of our own in the log of the run, where it can be written."""
        with contextlib.suppress(OSError):
            self.job.log.parent.mkdir(parents=True, exist_ok=True)
            with open(self.job.log, "a") as log:
                log.write(text + "\n")

    def _end(self, code):
        self.code = code
        self.release()

    def release(self):
        for lock in self.locks:
            lock.release()
        self.locks = []


def work(words, out_of_driver, folder, files, environment, sync):
    """On a machine of the cluster: run the command on a copy of its files, and yield (changed files, exit code or None), first
    no files as a sign of life. Where the log names the folder of the copy, it is sent with that of the driver, where users look."""
    if words[0].endswith(".py") and not Path(words[0]).exists():
        raise FileNotFoundError(f"{words[0]} is not on this machine: {SAME_PATH}")
    yield {}, None
    environment.setdefault("GNN_RUNS", str(max(1, os.cpu_count() // int(environment["OMP_NUM_THREADS"]))))
    remove_abandoned()
    out = Path(tempfile.mkdtemp(prefix=COPIES))
    alive = filelock.FileLock(out / ALIVE)
    alive.acquire(timeout=0)

    def changed_files():
        changed = read_files(out / folder, sent)
        if "log.txt" in changed:
            changed["log.txt"] = changed["log.txt"].replace(os.fsencode(out), os.fsencode(out_of_driver))
        return changed

    try:
        for name, content in files.items():
            (out / folder / name).parent.mkdir(parents=True, exist_ok=True)
            (out / folder / name).write_bytes(content)
        sent = {}
        read_files(out / folder, sent)
        process = start_process(words, out, out / folder / "log.txt", {**os.environ, **environment})
        try:
            while (code := process.poll()) is None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(sync)
                if changed := changed_files():
                    yield changed, None
            yield changed_files(), code
        finally:
            stop([process])
    finally:
        shutil.rmtree(out, ignore_errors=True)
        alive.release()


def remove_abandoned():
    """Delete the copies on this machine whose worker was killed: nobody holds their lock. One that has none yet is a minute old
    at most."""
    for out in Path(tempfile.gettempdir()).glob(f"{COPIES}*"):
        with contextlib.suppress(filelock.Timeout, OSError):
            if not (out / ALIVE).exists() and time.time() - out.stat().st_mtime < 60:
                continue
            with filelock.FileLock(out / ALIVE, timeout=0):
                shutil.rmtree(out, ignore_errors=True)


def read_files(folder, known=None):
    """{name below folder: content} of its files, of those alone that changed since they were last put into `known`."""
    known = {} if known is None else known
    found = [path for path in folder.rglob("*") if path.is_file() and path.name != ".lock" and path.suffix != ".tmp"]
    content = {}
    for name in reversed(in_order(str(path.relative_to(folder)) for path in found)):
        with contextlib.suppress(FileNotFoundError):  # the run has removed it since
            stamp = ((folder / name).stat().st_mtime_ns, (folder / name).stat().st_size)
            if known.get(name) != stamp:
                content[name] = (folder / name).read_bytes()
                known[name] = stamp
    return content


def in_order(names):
    """In the order of writing: checkpoints after the rest, so that metrics.jsonl has the lines before them, then the results. Read
    in the opposite order, what has arrived is at every moment what a killed run leaves."""
    last = ("checkpoint.pt", "result.json")
    return sorted(names, key=lambda name: last.index(Path(name).name) if Path(name).name in last else -1)
