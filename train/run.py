"""The folder of one run: what it computes (config.json), how far it is (checkpoint.pt, metrics.jsonl, tensorboard/) and, at the
end, what came out (result.json). Every file is whole or absent; one process at a time works in a folder.
"""

import io
import json
import os
import zipfile
from contextlib import contextmanager
from itertools import count

import filelock
import torch
from torch.utils.tensorboard import SummaryWriter

from train.files import RunBusy, RunError, explain, read_json, write_atomic, write_json
from train.results import is_result


class Run:
    """One run of a configuration: `identity` is what the numbers depend on, `config` the complete resolved configuration, and
    `complete` adds to a stored identity the keys it is too old to have."""

    def __init__(
        self, path, config, identity, complete, row, name, seed, fold, force=False, device="auto", progress=True
    ):
        self.path, self.config, self.identity, self.complete = path, config, identity, complete
        self.row, self.name, self.seed, self.fold = row, name, seed, fold
        self.force, self.device, self.progress = force, device, progress
        self.board = None

    @property
    def result(self):
        """What a finished run wrote, or None."""
        return read_json(self.path / "result.json")

    @contextmanager
    def opened(self):
        """Hold the folder: made, locked against a second process, and known to belong to this configuration."""
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
            self._check_config()
            yield self
        finally:
            if self.board is not None:
                self.board.close()
                self.board = None
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

    def _check_config(self):
        for leftover in self.path.glob("*.tmp"):  # of a process that was killed while writing
            leftover.unlink()
        written, result = read_json(self.path / "config.json"), self.result
        if result is not None and not is_result(result):
            raise RunError(f"{self.path / 'result.json'} is not a result of this project: move it away")
        stored = [written and written["identity"], result and result["config"]]  # a result may have been copied here
        for old in map(self.complete, filter(None, stored)):
            if old != self.identity:
                raise RunError(
                    f"{self.path} holds a run of another configuration ({differences(old, self.identity)}): "
                    "choose another --out_dir, or move the old run aside: with --force, by hand, or, if the row's file has been "
                    "changed since, with python -m train.rename"
                )
        if result is not None and any(result[key] != getattr(self, key) for key in ("name", "seed", "fold")):
            of = f"{result['name']}, seed {result['seed']}, fold {result['fold']}"
            raise RunError(f"{self.path / 'result.json'} is of another run ({of}): move it to its own folder, or away")
        if written is None:
            write_json(self.path / "config.json", {"identity": self.identity, "config": self.config})

    def save_checkpoint(self, state):
        self._sync_log()  # it must never be behind
        buffer = io.BytesIO()
        torch.save(state, buffer)
        write_atomic(self.path / "checkpoint.pt", buffer.getvalue())

    def load_checkpoint(self, device):
        """The last whole state, or None before the first."""
        path = self.path / "checkpoint.pt"
        if not path.exists():
            return None
        try:
            with zipfile.ZipFile(path) as archive:  # torch does not compare the checksums, zipfile does
                if (damaged := archive.testzip()) is not None:
                    raise ValueError(f"wrong checksum of {damaged}")
            return torch.load(path, map_location=device, weights_only=True)
        except (ValueError, RuntimeError, EOFError, zipfile.BadZipFile) as error:
            raise RunError(f"{path} is damaged ({error}): start this run again with --force") from error

    def log_epoch(self, record):
        """One line of metrics.jsonl and one step of the TensorBoard curves."""
        line = (json.dumps(record) + "\n").encode()
        path = self.path / "metrics.jsonl"
        try:
            with open(path, "ab", buffering=0) as file:
                if file.write(line) != len(line):
                    raise OSError(28, "No space left on device")
            if self.board is None:
                self.board = SummaryWriter(self.path / "tensorboard", purge_step=record["epoch"])
            self.board.add_scalar("lr", record["lr"], record["epoch"])
            for part in ("train", "val"):
                for name, value in record[part].items():
                    self.board.add_scalar(f"{name}/{part}", value, record["epoch"])
            self.board.flush()
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

    def cut_log(self, epoch):
        """Drop the lines of metrics.jsonl after `epoch`: a killed run may have logged an epoch it had not saved yet."""
        path = self.path / "metrics.jsonl"
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        if len(lines) < epoch:
            raise RunError(
                f"{path} has {len(lines)} lines, the checkpoint is of epoch {epoch}: start this run again with --force"
            )
        write_atomic(path, b"".join(lines[:epoch]))

    def save_result(self, result):
        write_json(self.path / "result.json", result)


def differences(old, new, prefix=""):
    """'net.L: 4 -> 8, ...' for two nested dictionaries."""
    found = []
    for key in sorted(old.keys() | new.keys()):
        a, b = old.get(key), new.get(key)
        if isinstance(a, dict) and isinstance(b, dict):
            found += [differences(a, b, f"{prefix}{key}.")] if a != b else []
        elif a != b:
            found.append(f"{prefix}{key}: {a} -> {b}")
    return ", ".join(found)
