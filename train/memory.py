"""A limit on the memory of this process: what would exceed it fails with an error, before the system ends some process for it."""

import os
from contextlib import contextmanager
from pathlib import Path

try:
    import resource
except ImportError:  # not on Windows: no limit there
    resource = None

SHARE = 0.8  # of the free memory that runs may use when they are not told how much


def free_memory():
    """Bytes of memory that programs can have now; None where the system does not tell."""
    path = Path("/proc/meminfo")
    lines = path.read_text().splitlines() if path.exists() else []
    found = [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    return found[0] if found else None


def budget(gigabytes):
    """Bytes: as many gigabytes, or a share of what is free, divided among the runs of this machine; None for no limit."""
    if gigabytes is not None:
        return int(gigabytes * 1e9)
    free, n_runs = free_memory(), int(os.environ.get("GNN_RUNS", "1"))
    return None if free is None else int(SHARE * free / n_runs)


@contextmanager
def at_most(n_bytes):
    """Inside, this process gets no more memory than that in all, and an error (MemoryError, or torch's) when it asks for more."""
    if resource is None or n_bytes is None:
        yield
        return
    old = resource.getrlimit(resource.RLIMIT_DATA)
    soft = n_bytes if old[1] == resource.RLIM_INFINITY else min(n_bytes, old[1])
    resource.setrlimit(resource.RLIMIT_DATA, (soft, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, old)
