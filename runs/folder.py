"""The folder of one run: what it computes (config.json), how far it is (checkpoint.pt, metrics.jsonl, tensorboard/) and, at the
end, what came out (weights.pt, result.json). Every file is whole or absent; one process at a time works in a folder.

The folder is OUT/DATASET/NAME-ID/seed_S/fold_F. People read the name, programs the id: a run that two tables want has one folder.
"""

import errno
import io
import json
import os
import re
import sys
import zipfile
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import filelock

from runs.files import RunBusy, RunError, explain, read_json, write_atomic, write_json
from runs.identity import hash_of, identity
from runs.result import FORMAT, problem_of, signed, was_short_of_memory

LONGEST = 120  # characters of a name in a folder's name; file systems allow 255 bytes


def configuration_folder(out, config, name):
    """The folder of all runs of a configuration: the one that ends in its id, whatever it is called, or a new one."""
    parent = Path(out) / file_name(config["dataset"])
    id = hash_of(identity(config))
    found = sorted(parent.glob(f"*-{id}")) if parent.is_dir() else []
    return found[0] if found else parent / f"{file_name(name)}-{id}"


def file_name(text):
    """A text as part of a file's name."""
    return re.sub(r"[^\w.+=,-]", "_", text)[:LONGEST]


class Run:
    """One run of a configuration (nested dictionaries) with a seed on a fold."""

    def __init__(self, out, config, name, seed, fold=0, force=False, device="auto", progress=True):
        self.config, self.name, self.seed, self.fold = config, name, seed, fold
        self.identity = identity(config)
        self.id = hash_of(self.identity)
        self.path = configuration_folder(out, config, name) / f"seed_{seed}" / f"fold_{fold}"
        self.force, self.device, self.progress = force, device, progress

    @property
    def key(self):
        """Whose files these are: what a checkpoint and a result must say too."""
        return {"id": self.id, "seed": self.seed, "fold": self.fold}

    @property
    def result(self):
        """What a finished run wrote, or None."""
        return read_json(self.path / "result.json")

    @contextmanager
    def opened(self):
        """Hold the folder: made, locked against a second process, and known to belong to this run."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock = filelock.FileLock(self.path / ".lock")
            lock.acquire(timeout=0)
        except filelock.Timeout:
            raise RunBusy(f"{self.path}: another process is running this very run; wait for it or stop it") from None
        except OSError as error:
            raise RunError(explain(error, self.path)) from error
        try:
            if self.force:
                self._move_aside()
            self._check()
            yield self
        finally:
            lock.release()

    def _move_aside(self):
        """--force: the old files stay, in a folder of their own."""
        old = [p for p in self.path.iterdir() if p.name != ".lock" and not p.name.startswith("replaced-")]
        if old:
            aside = next(p for n in count(1) if not (p := self.path / f"replaced-{n}").exists())
            aside.mkdir()
            for p in sorted(old, key=lambda p: p.name == "config.json"):  # last: what is left still says whose it is
                p.rename(aside / p.name)
        self.force = False

    def _check(self):
        for leftover in self.path.glob("*.tmp"):  # of a process that was killed while writing
            leftover.unlink()
        written, result = read_json(self.path / "config.json"), self.result
        if written is not None and (not isinstance(written, dict) or written.get("id") != self.id):
            raise RunError(f"{self.path / 'config.json'} is of another configuration: move it away, or use --force")
        if result is not None:
            if problem := problem_of(result):
                raise RunError(f"{self.path / 'result.json'}: {problem}. Move it away, or run again with --force")
            if any(result[key] != value for key, value in self.key.items()):
                raise RunError(f"{self.path / 'result.json'} is of another run ({of_run(result)}): move it away")
        if written is None:
            write_json(self.path / "config.json", {"id": self.id, "identity": self.identity, "config": self.config})

    def save_checkpoint(self, data):
        """Replace the checkpoint by these bytes."""
        self._sync_log()  # it must never be behind
        write_atomic(self.path / "checkpoint.pt", data)

    def load_checkpoint(self):
        """The bytes of the last whole state, or None before the first."""
        return read_archive(self.path / "checkpoint.pt")

    def save_weights(self, data):
        """Replace the trained net by these bytes."""
        write_atomic(self.path / "weights.pt", data)

    def log_epoch(self, record):
        """One line of metrics.jsonl."""
        line = (json.dumps(record) + "\n").encode()
        path = self.path / "metrics.jsonl"
        try:
            with open(path, "ab", buffering=0) as file:
                if file.write(line) != len(line):
                    raise OSError(errno.ENOSPC, "No space left on device")
        except OSError as error:
            raise RunError(explain(error, path)) from error

    def _sync_log(self):
        path = self.path / "metrics.jsonl"
        try:
            with open(path, "ab") as file:
                os.fsync(file.fileno())
        except OSError as error:
            raise RunError(explain(error, path)) from error

    def finished_on(self, dataset_hash):
        """The result of a finished run, or None. RunError when it was made on other data than there is now."""
        result = self.result
        if result is not None and result["dataset"].get("hash") != dataset_hash:
            raise RunError(
                f"{self.path / 'result.json'} was made on another version of the dataset: run it again with --force"
            )
        return result

    def try_again(self, memory):
        """Put a result aside that ended as OOM where there was less memory (GB); True if there was one."""
        if (result := self.result) is None or not was_short_of_memory(result, memory):
            return False
        print(
            f"{self.path}: ended as OOM with {result['host']['memory']} GB; there are {memory} GB now, so it is tried again",
            file=sys.stderr,
        )
        self._move_aside()
        self._check()
        return True

    def cut_log(self, epoch):
        """Drop the lines of metrics.jsonl after `epoch`: a killed run may have logged an epoch it had not saved yet."""
        path = self.path / "metrics.jsonl"
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        if len(lines) < epoch:
            raise RunError(
                f"{path} has {len(lines)} lines, the checkpoint is of epoch {epoch}: start this run again with --force"
            )
        write_atomic(path, b"".join(lines[:epoch]))

    def save_result(self, **values):
        """Write the record of the finished run and return it."""
        record = signed({"format": FORMAT, "name": self.name, "config": self.identity, **self.key, **values})
        write_json(self.path / "result.json", record)
        return record


def read_archive(path):
    """The bytes of a file that torch wrote, or None where there is none. RunError when it is damaged."""
    if not path.exists():
        return None
    try:
        data = path.read_bytes()
        with zipfile.ZipFile(io.BytesIO(data)) as archive:  # torch does not compare the checksums, zipfile does
            if (damaged := archive.testzip()) is not None:
                raise ValueError(f"wrong checksum of {damaged}")
        return data
    except (ValueError, RuntimeError, EOFError, OSError, zipfile.BadZipFile) as error:
        raise RunError(f"{path} is damaged ({error}): start this run again with --force") from error


def of_run(record):
    return f"{record['name']}, seed {record['seed']}, fold {record['fold']}"
