"""Sets the process up for fast CPU runs, when it is imported: data, layers, nets and train do so before they load torch.

Four settings, each measured (benchmarks/process_settings.py), none of which changes a result:

- large tensors come from a heap that keeps its pages: glibc gives big blocks back to the system at once, and the kernel then
  zero-fills them again page by page. Huge pages (torch's THP_MEM_ALLOC_ENABLE=1) are left off: their alignment keeps this
  heap from using a freed block again, and a GatedGCN layer on 128 PATTERN graphs, forward and backward, took twice as long;
- OpenMP threads stay on their cores, so that two threads never share one. Only on a machine that is idle when the run starts: a
  bound thread that has to share its core with another program is far slower than a free one. Left alone with one thread
  (several runs side by side, OMP_NUM_THREADS=1), in the processes of torchrun, which would all choose the same cores, and when
  OMP_PROC_BIND is set already;
- threads that wait for each other sleep while other programs want the cores (`Sharing`, which a training asks as it goes);
- dgl is told its backend, so that it neither asks nor writes a file into the home folder.

`GNN_PROCESS_SETTINGS=off` switches the first three off. They do nothing on systems other than Linux with glibc.
"""

import contextlib
import ctypes
import importlib.util
import os
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

if importlib.util.find_spec("torch") is None:
    sys.exit(
        f"{sys.executable} has no torch: run bash install.sh requirements.txt and use .venv/bin/python, or bash run.sh"
    )

M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # malloc.h
NEVER = -1
USUAL = {M_MMAP_MAX: 65536, M_TRIM_THRESHOLD: 128 * 1024}  # of glibc


def keep_pages():
    """Large blocks from the heap instead of fresh mappings, and the heap kept when blocks are freed. True where glibc agreed."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # not glibc: nothing to set
        return False
    return bool(mallopt(M_MMAP_MAX, 0)) and bool(mallopt(M_TRIM_THRESHOLD, NEVER))


@contextmanager
def pages_given_back():
    """Inside, freed blocks go back to the system, as glibc does it: slower, but nothing is lost between blocks of many sizes. On a
    net of BREC with 118 nodes the kept heap grew to 5.7 GB, in 11 s, where 1.4 GB are in use at a time, in 32 s."""
    if not active:
        yield
        return
    libc = ctypes.CDLL(None)
    for key, value in USUAL.items():
        libc.mallopt(key, value)
    libc.malloc_trim(0)
    try:
        yield
    finally:
        libc.malloc_trim(0)
        keep_pages()


def machine_is_idle(samples=5):
    """Whether no other thread wants a core now: the number of runnable threads in /proc/loadavg, this one included, is 1."""
    for _ in range(samples):
        with open("/proc/loadavg") as file:
            if int(file.read().split()[3].split("/")[0]) > 1:
                return False
        time.sleep(0.005)
    return True


def all_cores():
    """The cores on which this program and its workers may run; None where the system does not tell.

    A bound thread has one core, and the processes it starts inherit that one. So all are noted when this module is loaded, in
    the environment, which those processes inherit too.
    """
    noted = os.environ.get("GNN_CORES")
    return {int(core) for core in noted.split(",")} if noted else None


def openmp():
    """torch's own library, through which its OpenMP is called, whichever that is; OSError or AttributeError where there is none."""
    import torch

    library = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"))
    library.GOMP_parallel.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint]
    library.GOMP_parallel.restype = None
    return library


class Sharing:
    """How the threads of this process wait for each other: spinning while it is alone, asleep while others want the cores too.

    Two spinning threads that share their cores with other programs are 2 to 80 times slower: each waits for the other while that
    one has no core. `look`, called for every batch, sees every few seconds how long this thread stood in line for a core.
    Only waiting and placement change, never the number of threads, on which the rounding of products depends: the bits of a run
    do not depend on what else the machine does.
    """

    SECONDS = 2.0  # between two looks
    BUSY, FREE = 0.10, 0.02  # share of the time in line above which we share, and below which we are alone

    def __init__(self, threads):
        self.looked, self.before, self.release = time.monotonic(), time_in_line(), None
        self.cores = all_cores()
        self.enabled = active and threads > 1 and self.before is not None and self.cores is not None
        if self.enabled and not idle_at_start:
            self.step_aside()

    def look(self):
        now = time.monotonic()
        if not self.enabled or now - self.looked < self.SECONDS:
            return
        in_line = time_in_line()
        share, self.looked, self.before = (in_line - self.before) / (now - self.looked), now, in_line
        if share > self.BUSY and self.release is None:
            self.step_aside()
        elif share < self.FREE and self.release is not None:
            self.release.set()
            self.release = None

    def step_aside(self):
        """Let threads move between the cores, and sleep while they wait: libgomp spins for long only while it manages no more
        threads than there are cores. So one more team is made, which does nothing, until `release`."""
        try:
            parallel = openmp().GOMP_parallel
        except (OSError, AttributeError):
            self.enabled = False
            return
        for thread in os.listdir("/proc/self/task"):
            with contextlib.suppress(OSError):  # it has ended
                os.sched_setaffinity(int(thread), self.cores)
        self.release = threading.Event()
        nothing = ctypes.cast(ctypes.CDLL(None).free, ctypes.c_void_p)  # free(NULL) does nothing

        def hold(release):
            parallel(nothing, None, len(self.cores) + 1, 0)
            release.wait()

        threading.Thread(target=hold, args=(self.release,), daemon=True).start()


def time_in_line():
    """Seconds that this thread was ready to run and had no core; None where the system does not count them."""
    try:
        with open(f"/proc/self/task/{threading.get_native_id()}/schedstat") as file:
            return int(file.read().split()[1]) / 1e9
    except OSError:
        return None


os.environ.setdefault("DGLBACKEND", "pytorch")
if hasattr(os, "sched_getaffinity"):
    os.environ.setdefault("GNN_CORES", ",".join(map(str, sorted(os.sched_getaffinity(0)))))
enabled = os.environ.get("GNN_PROCESS_SETTINGS", "on")
if enabled not in ("on", "off"):
    raise SystemExit(f"GNN_PROCESS_SETTINGS={enabled!r}: expected on or off")
idle_at_start = False
active = enabled == "on" and sys.platform == "linux" and "torch" not in sys.modules
if active:
    alone = os.environ.get("OMP_NUM_THREADS") != "1" and "WORLD_SIZE" not in os.environ
    idle_at_start = alone and machine_is_idle()
    if idle_at_start:
        os.environ.setdefault("OMP_PROC_BIND", "true")
    active = keep_pages()
