"""Sets the process up for fast CPU runs, when it is imported: data, layers, nets and train do so before they load torch.

Three settings, each measured (benchmarks/process_settings.py), none of which changes a result:

- large tensors come from a heap that keeps its pages: glibc gives big blocks back to the system at once, and the kernel then
  zero-fills them again page by page. Huge pages (torch's THP_MEM_ALLOC_ENABLE=1) are left off: their alignment keeps this
  heap from using a freed block again, and a GatedGCN layer on 128 PATTERN graphs, forward and backward, took twice as long;
- OpenMP threads stay on their cores, so that two threads never share one. Only on a machine that is idle when the run starts: a
  bound thread that has to share its core with another program is far slower than a free one. Left alone with one thread
  (several runs side by side, OMP_NUM_THREADS=1), in the processes of torchrun, which would all choose the same cores, and when
  OMP_PROC_BIND is set already;
- dgl is told its backend, so that it neither asks nor writes a file into the home folder.

`GNN_PROCESS_SETTINGS=off` switches the first two off. They do nothing on systems other than Linux with glibc.
"""

import ctypes
import importlib.util
import os
import sys
import time

if importlib.util.find_spec("torch") is None:
    sys.exit(
        f"{sys.executable} has no torch: run bash install.sh requirements.txt and use .venv/bin/python, or bash run.sh"
    )

M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # malloc.h
NEVER = -1


def keep_pages():
    """Large blocks from the heap instead of fresh mappings, and the heap kept when blocks are freed. True where glibc agreed."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # not glibc: nothing to set
        return False
    return bool(mallopt(M_MMAP_MAX, 0)) and bool(mallopt(M_TRIM_THRESHOLD, NEVER))


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


os.environ.setdefault("DGLBACKEND", "pytorch")
if hasattr(os, "sched_getaffinity"):
    os.environ.setdefault("GNN_CORES", ",".join(map(str, sorted(os.sched_getaffinity(0)))))
enabled = os.environ.get("GNN_PROCESS_SETTINGS", "on")
if enabled not in ("on", "off"):
    raise SystemExit(f"GNN_PROCESS_SETTINGS={enabled!r}: expected on or off")
active = enabled == "on" and sys.platform == "linux" and "torch" not in sys.modules
if active:
    alone = os.environ.get("OMP_NUM_THREADS") != "1" and "WORLD_SIZE" not in os.environ
    if alone and machine_is_idle():
        os.environ.setdefault("OMP_PROC_BIND", "true")
    active = keep_pages()
