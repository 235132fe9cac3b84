"""A program that imports the project has its process set up, whichever package comes first."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the allocator is set with glibc only")
def test_importing_a_package_sets_the_process_up():
    """`active` is false if torch was there before."""
    code = "import nets, os, process, sys; print(process.active, 'torch' in sys.modules, os.environ['DGLBACKEND'])"
    env = {name: value for name, value in os.environ.items() if name not in ("DGLBACKEND", "GNN_PROCESS_SETTINGS")}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.stdout.split() == ["True", "True", "pytorch"], done.stderr
