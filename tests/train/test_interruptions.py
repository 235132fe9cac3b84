"""Nothing is lost: real processes, real signals, real full and read-only disks."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SMALL = ["--folds", "[0]", "--train.epochs", "12", "--device", "cpu"]


def command(out, *words):
    return [sys.executable, "main_CSL.py", *SMALL, "--out_dir", str(out), *words]


def start(out, env, *words):
    return subprocess.Popen(
        command(out, *words), cwd=ROOT, env=env, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def finish(out, env, *words):
    done = subprocess.run(command(out, *words), cwd=ROOT, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def folder(out):
    return next(out.glob("CSL/*/seed_14/fold_0"))


def result_in(out):
    return json.loads((folder(out) / "result.json").read_text())


def epochs_in(out):
    """The epochs whose lines are in metrics.jsonl, as numbers; the times differ between runs."""
    lines = (folder(out) / "metrics.jsonl").read_text().splitlines()
    return [{k: v for k, v in json.loads(line).items() if k not in ("seconds", "elapsed")} for line in lines]


def wait_for_epochs(out, n):
    for _ in range(3000):
        found = list(out.glob("CSL/*/seed_14/fold_0/metrics.jsonl"))
        if found and found[0].read_bytes().count(b"\n") >= n:
            return
        time.sleep(0.02)
    raise AssertionError("the run logged nothing within a minute")


@pytest.fixture(scope="module")
def whole(tmp_path_factory, child_env):
    """The run that was never interrupted."""
    out = tmp_path_factory.mktemp("whole")
    finish(out, child_env)
    return result_in(out), epochs_in(out)


def assert_same(out, whole):
    assert result_in(out)["metrics"] == whole[0]["metrics"]
    assert epochs_in(out) == whole[1]


def test_killed_at_random_moments_it_ends_with_the_same_numbers_to_the_bit(tmp_path, child_env, whole):
    """At least five kills. The seed is drawn anew each time and printed when the test fails."""
    seed = random.randrange(10**6)
    program = [sys.executable, "-m", "tests.train.killed_runs", str(seed), "0.5", *SMALL, "--out_dir", str(tmp_path)]
    done = subprocess.run(program, cwd=ROOT, env=child_env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    kills = int(done.stdout.split()[-1])
    print(f"seed {seed}, {kills} kills")
    assert kills >= 5
    assert_same(tmp_path, whole)


KILLED_WHILE_WRITING = """
import os, signal, sys
import main_CSL
from train import files, loop, run

loop.SHARE = float("inf")  # after each epoch, however short
moment, nth = sys.argv[1], int(sys.argv[2])
write_atomic = files.write_atomic

def dying(path, data):
    global nth
    if path.name == "checkpoint.pt":
        nth -= 1
        if nth == 0 and moment == "half written":
            path.with_name(path.name + ".tmp").write_bytes(data[: len(data) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
    write_atomic(path, data)
    if path.name == "checkpoint.pt" and nth == 0 and moment == "just written":
        os.kill(os.getpid(), signal.SIGKILL)

run.write_atomic = dying
main_CSL.main(sys.argv[3:])
"""


@pytest.mark.parametrize(("moment", "nth"), [("half written", 1), ("half written", 6), ("just written", 6)])
def test_killed_while_writing_a_checkpoint(tmp_path, child_env, whole, moment, nth):
    words = [moment, str(nth), *SMALL, "--out_dir", str(tmp_path)]
    env = {**child_env, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", KILLED_WHILE_WRITING, *words], cwd=ROOT, env=env, capture_output=True, text=True
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    finish(tmp_path, child_env)
    assert_same(tmp_path, whole)
    assert not list(folder(tmp_path).glob("*.tmp"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_and_sigterm_leave_a_checkpoint_and_say_how_to_go_on(tmp_path, child_env, whole, number):
    process = start(tmp_path, child_env)
    wait_for_epochs(tmp_path, 2)
    process.send_signal(number)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert f"Stopped by {number.name} in epoch" in error and "main_CSL.py --folds '[0]'" in error
    assert (folder(tmp_path) / "checkpoint.pt").exists() and not (folder(tmp_path) / "result.json").exists()
    finish(tmp_path, child_env)
    assert_same(tmp_path, whole)


def test_a_second_process_on_the_same_run_is_turned_away(tmp_path, child_env, whole):
    first = start(tmp_path, child_env)
    wait_for_epochs(tmp_path, 1)
    second = subprocess.run(command(tmp_path), cwd=ROOT, env=child_env, capture_output=True, text=True)
    first.communicate(timeout=120)
    # on a slow start the first may have finished: then the second finds its result
    if second.returncode:
        assert "another process is running this very run" in second.stderr and "Traceback" not in second.stderr
    assert_same(tmp_path, whole)


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 3 MB: room for one checkpoint of 1.7 MB, not for the next one beside it."""
    place = tmp_path / "disk"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", place], capture_output=True).returncode:
        pytest.skip("mounting a tmpfs needs root")
    yield place
    subprocess.run(["umount", place], check=True)


def failing(out, env):
    done = subprocess.run(command(out), cwd=ROOT, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
    return done.stderr


def test_a_full_disk_is_a_clear_error_and_the_checkpoint_stays_good(small_disk, child_env, whole):
    error = failing(small_disk, child_env)
    assert "no space left on the disk. Make room and give the same command again" in error and "checkpoint.pt" in error
    assert not list(folder(small_disk).glob("*.tmp"))
    subprocess.run(["mount", "-o", "remount,size=64m", small_disk], check=True)
    finish(small_disk, child_env)
    assert_same(small_disk, whole)


def test_a_disk_that_fills_up_in_the_middle(small_disk, child_env, whole):
    subprocess.run(["mount", "-o", "remount,size=64m", small_disk], check=True)
    process = start(small_disk, child_env)
    wait_for_epochs(small_disk, 3)
    ballast = small_disk / "ballast"
    with open(ballast, "wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 65536)
        except OSError:
            pass
    _, error = process.communicate(timeout=60)
    assert process.returncode == 1 and "no space left on the disk" in error and "Traceback" not in error, error
    ballast.unlink()
    finish(small_disk, child_env)
    assert_same(small_disk, whole)


def test_a_read_only_folder_is_a_clear_error(small_disk, child_env, whole):
    subprocess.run(["mount", "-o", "remount,size=64m", small_disk], check=True)
    finish(small_disk, child_env, "--seed", "15", "--train.epochs", "1")  # another run in the same place
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    assert "the folder cannot be written to. Choose another one (--out_dir" in failing(small_disk, child_env)
    subprocess.run(["mount", "-o", "remount,rw", small_disk], check=True)
    finish(small_disk, child_env)
    assert_same(small_disk, whole)


def test_a_folder_without_permission_is_a_clear_error(tmp_path, child_env):
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    tmp_path.chmod(0o500)
    assert "cannot be written to" in failing(tmp_path, child_env)
