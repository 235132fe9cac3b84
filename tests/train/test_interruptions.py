"""Nothing is lost: real processes, real signals, real full and read-only disks.

A life of the program is a fork of this process, in which all modules are loaded: a kill costs milliseconds and no start-up.
"""

import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import main_CSL
from runs import files, folder
from runs.files import BUSY
from train import loop, run_main

ROOT = Path(__file__).resolve().parents[2]
N_EPOCHS = 40
SMALL = [
    "--folds",
    "[0]",
    "--data.limit",
    "10",
    "--train.stop.epochs",
    str(N_EPOCHS),
    "--device",
    "cpu",
    "--progress",
    "false",
]


class Life:
    """main_CSL.py with these words in a process of its own; `before` is called in it first."""

    def __init__(self, words, log, before=lambda: None):
        self.log = log
        self.process = multiprocessing.get_context("fork").Process(target=self._live, args=(words, before))
        self.process.start()

    def _live(self, words, before):
        sys.argv = ["main_CSL.py", *words]
        with open(self.log, "w", buffering=1) as sys.stdout:
            sys.stderr = sys.stdout
            before()
            try:
                run_main(main_CSL.main)
            except SystemExit as stop:
                if isinstance(stop.code, str):
                    print(stop.code)
                sys.exit(1 if isinstance(stop.code, str) else stop.code)

    def send(self, number):
        os.kill(self.process.pid, number)

    def end(self):
        """(exit code, what it said)"""
        self.process.join(120)
        self.process.kill()  # nothing, unless it hangs
        self.process.join()
        code = self.process.exitcode
        text = self.log.read_text() if self.log.exists() else ""  # killed before its first word
        self.process.close()
        return code, text


@pytest.fixture(scope="module")
def words_for(store_dir):
    def make(out):
        return [*SMALL, "--data.store_dir", store_dir, "--out_dir", str(out)]

    return make


@pytest.fixture
def live(words_for, tmp_path):
    def start(out, before=lambda: None):
        return Life(words_for(out), tmp_path / "log", before)

    return start


@pytest.fixture
def finish(words_for):
    """The last life, in this process."""
    return lambda out, *more: main_CSL.main([*words_for(out), *more])


def folder_in(out):
    return next(out.glob("CSL/*/seed_14/fold_0"))


def result_in(out):
    return json.loads((folder_in(out) / "result.json").read_text())


def epochs_in(out):
    """The epochs whose lines are in metrics.jsonl, as numbers; the times differ between runs."""
    lines = (folder_in(out) / "metrics.jsonl").read_text().splitlines()
    return [{k: v for k, v in json.loads(line).items() if k not in ("seconds", "elapsed")} for line in lines]


def wait_for_epochs(out, n):
    for _ in range(6000):
        found = list(out.glob("CSL/*/seed_14/fold_0/metrics.jsonl"))
        if found and found[0].read_bytes().count(b"\n") >= n:
            return
        time.sleep(0.01)
    raise AssertionError("the run logged nothing within a minute")


@pytest.fixture(scope="module")
def whole(tmp_path_factory, words_for):
    """The run that was never interrupted."""
    out = tmp_path_factory.mktemp("whole")
    main_CSL.main(words_for(out))
    assert len(epochs_in(out)) == N_EPOCHS
    return result_in(out), epochs_in(out)


def assert_same(out, whole):
    assert result_in(out)["metrics"] == whole[0]["metrics"]
    assert epochs_in(out) == whole[1]


def test_killed_at_random_moments_it_ends_with_the_same_numbers_to_the_bit(tmp_path, live, whole):
    """At least five kills. The seed is drawn anew each time and printed when the test fails."""
    seed = int.from_bytes(os.urandom(3))  # hypothesis sets the seed of the module random
    chance, kills = random.Random(seed), 0
    while True:
        life = live(tmp_path)
        life.process.join(chance.uniform(0, 0.1 + 0.03 * kills))  # longer and longer: it ends on a machine of any speed
        if not life.process.is_alive():
            break
        life.send(signal.SIGKILL)
        life.end()
        kills += 1
    code, text = life.end()
    print(f"seed {seed}, {kills} kills")
    assert code == 0 and kills >= 5, text
    assert_same(tmp_path, whole)


def dying(moment, nth):
    """A process that is killed in its nth checkpoint, which it writes after each epoch, however short."""

    def prepare():
        left, write_atomic = [nth], files.write_atomic

        def write(path, data):
            left[0] -= path.name == "checkpoint.pt"
            now = path.name == "checkpoint.pt" and left[0] == 0
            if now and moment == "half written":
                path.with_name(path.name + ".tmp").write_bytes(data[: len(data) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            write_atomic(path, data)
            if now:
                os.kill(os.getpid(), signal.SIGKILL)

        loop.SHARE, folder.write_atomic = float("inf"), write

    return prepare


@pytest.mark.parametrize(("moment", "nth"), [("half written", 1), ("half written", 6), ("just written", 6)])
def test_killed_while_writing_a_checkpoint(tmp_path, live, finish, whole, moment, nth):
    code, text = live(tmp_path, dying(moment, nth)).end()
    assert code == -signal.SIGKILL, text
    finish(tmp_path)
    assert_same(tmp_path, whole)
    assert not list(folder_in(tmp_path).glob("*.tmp"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_and_sigterm_leave_a_checkpoint_and_say_how_to_go_on(tmp_path, live, finish, whole, number):
    life = live(tmp_path)
    wait_for_epochs(tmp_path, 2)
    life.send(number)
    code, text = life.end()
    assert code == 128 + number
    assert f"Stopped by {number.name} in epoch" in text and "main_CSL.py --folds '[0]'" in text
    assert (folder_in(tmp_path) / "checkpoint.pt").exists() and not (folder_in(tmp_path) / "result.json").exists()
    finish(tmp_path)
    assert_same(tmp_path, whole)


def test_the_program_itself_is_stopped_and_goes_on(tmp_path, child_env, words_for, finish, whole):
    """Not a fork: python main_CSL.py, as a shell starts it."""
    command = [sys.executable, "main_CSL.py", *words_for(tmp_path)]
    process = subprocess.Popen(
        command, cwd=ROOT, env=child_env, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    wait_for_epochs(tmp_path, 2)
    process.send_signal(signal.SIGTERM)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM and "Stopped by SIGTERM" in error and "Traceback" not in error
    finish(tmp_path)
    assert_same(tmp_path, whole)


def test_a_second_process_on_the_same_run_is_turned_away(tmp_path, live, words_for, whole):
    first = live(tmp_path)
    wait_for_epochs(tmp_path, 1)
    first.send(signal.SIGSTOP)  # it holds the run for as long as it takes
    code, text = Life(words_for(tmp_path), tmp_path / "log of the second").end()
    assert code == BUSY and "another process is running this very run" in text and "Traceback" not in text
    first.send(signal.SIGCONT)
    assert first.end()[0] == 0
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


def failing(life):
    code, text = life.end()
    assert code == 1 and "Traceback" not in text, text
    return text


def test_a_full_disk_is_a_clear_error_and_the_checkpoint_stays_good(small_disk, live, finish, whole):
    error = failing(live(small_disk))
    assert "no space left on the disk. Make room and give the same command again" in error and "checkpoint.pt" in error
    assert not list(folder_in(small_disk).glob("*.tmp"))
    subprocess.run(["mount", "-o", "remount,size=64m", small_disk], check=True)
    finish(small_disk)
    assert_same(small_disk, whole)


def test_a_disk_that_fills_up_in_the_middle(small_disk, live, finish, whole):
    subprocess.run(["mount", "-o", "remount,size=64m", small_disk], check=True)
    life = live(small_disk)
    wait_for_epochs(small_disk, 3)
    life.send(signal.SIGSTOP)
    ballast = small_disk / "ballast"
    with open(ballast, "wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 65536)
        except OSError:
            pass
    life.send(signal.SIGCONT)
    assert "no space left on the disk" in failing(life)
    ballast.unlink()
    finish(small_disk)
    assert_same(small_disk, whole)


def test_a_read_only_folder_is_a_clear_error(small_disk, live, finish, whole):
    subprocess.run(["mount", "-o", "remount,size=64m", small_disk], check=True)
    finish(small_disk, "--seed", "15", "--train.stop.epochs", "1")  # another run in the same place
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    assert "the folder cannot be written to. Choose another one (--out_dir" in failing(live(small_disk))
    subprocess.run(["mount", "-o", "remount,rw", small_disk], check=True)
    finish(small_disk)
    assert_same(small_disk, whole)


def test_a_folder_without_permission_is_a_clear_error(tmp_path, live):
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    tmp_path.chmod(0o500)
    assert "cannot be written to" in failing(live(tmp_path / "out"))
