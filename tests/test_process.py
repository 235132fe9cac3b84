"""A program that imports the project has its process set up, whichever package comes first."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

import process

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the allocator is set with glibc only")
def test_importing_a_package_sets_the_process_up():
    """`active` is false if torch was there before."""
    code = "import nets, os, process, sys; print(process.active, 'torch' in sys.modules, os.environ['DGLBACKEND'])"
    env = {name: value for name, value in os.environ.items() if name not in ("DGLBACKEND", "GNN_PROCESS_SETTINGS")}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.stdout.split() == ["True", "True", "pytorch"], done.stderr


@pytest.fixture
def sharing(monkeypatch):
    """Sharing with a clock and a time in line that the test sets: sharing.after(seconds, in_line)."""
    times = {"now": 100.0, "in_line": 5.0}
    monkeypatch.setattr(process.time, "monotonic", lambda: times["now"])
    monkeypatch.setattr(process, "time_in_line", lambda: times["in_line"])
    for name in ("active", "idle_at_start"):
        monkeypatch.setattr(process, name, True)
    sharing = process.Sharing(threads=2)

    def after(seconds, in_line):
        times["now"] += seconds
        times["in_line"] += in_line
        sharing.look()
        return sharing.release is not None

    sharing.after = after
    yield sharing
    if sharing.release is not None:
        sharing.release.set()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_threads_step_aside_while_others_want_the_cores(sharing):
    assert not sharing.after(1, 0.2)  # too early to judge
    assert not sharing.after(2, 0)
    assert sharing.after(3, 1)
    assert sharing.after(3, 0.2)  # neither busy nor free: as before
    assert not sharing.after(3, 0.01)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_one_thread_waits_for_nobody(sharing):
    alone = process.Sharing(threads=1)
    alone.looked -= 10
    alone.before -= 10
    alone.look()
    assert alone.release is None


ASIDE = """
import hashlib, os, process, time, torch
process.active, process.idle_at_start = True, True
torch.manual_seed(0)
x, W = torch.randn(3000, 70), torch.randn(70, 70)
def bits():
    return hashlib.sha256((x @ W).t().mm(x).numpy().tobytes()).hexdigest()
def n_threads(more_than):
    for _ in range(200):
        if (len(os.listdir("/proc/self/task")) > first) is more_than:
            return True
        time.sleep(0.05)
before, first = bits(), len(os.listdir("/proc/self/task"))
sharing = process.Sharing(torch.get_num_threads())
sharing.step_aside()
grown = n_threads(True)
during = bits()
sharing.release.set()
print(torch.get_num_threads(), grown, n_threads(False), before == during == bits())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="libgomp")
def test_stepping_aside_and_back_changes_no_bit():
    """A team more that sleeps, then none more; the same threads compute the same numbers."""
    env = {**os.environ, "OMP_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", ASIDE], cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.stdout.split() == ["2", "True", "True", "True"], done.stderr


def test_the_system_counts_the_time_in_line():
    before = process.time_in_line()
    assert before is None or process.time_in_line() >= before


GIVEN_BACK = """
import process, torch, re
def resident():
    return int(re.search(r"VmRSS:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) // 1024
def freed():
    before = resident()
    blocks = [torch.ones(10**7) for _ in range(8)]
    del blocks
    return resident() - before
print(freed())
with process.pages_given_back():
    print(freed())
print(freed())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the allocator is set with glibc only")
def test_pages_can_be_given_back_for_a_while():
    """320 MB of freed tensors stay, are returned, and stay again."""
    env = {name: value for name, value in os.environ.items() if name != "GNN_PROCESS_SETTINGS"}
    done = subprocess.run([sys.executable, "-c", GIVEN_BACK], cwd=ROOT, env=env, capture_output=True, text=True)
    kept, back, again = map(int, done.stdout.split())
    assert kept > 250 and back < 100 and again > 250, done.stderr
