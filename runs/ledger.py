"""A ledger: many small answers in one file, one line of JSON per key, each on the disk before the next begins.

Several processes may write. Each holds the ledger's lock while it does, and a key that is there already is not written again:
a worker that outlives its killed parent can at worst repeat an answer. A line carries a checksum; a last line that a kill or a
full disk cut off is dropped, a damaged one is named and dropped, and their work is done again.
"""

import errno
import json
import os
import sys

import filelock

from runs.files import RunError, explain, write_atomic
from runs.result import is_whole, signed

# the ledgers in run folders
SELECTION = "selection.jsonl"  # of a model selection, a line per configuration
PAIRS = "pairs.jsonl"  # of BREC, a line per pair


class Ledger:
    """The lines of the file at `path` by their key, a text."""

    def __init__(self, path):
        self.path, self.lines, self.position = path, {}, (None, 0)  # of what has been read: which file, how far
        self.lock = filelock.FileLock(path.with_name(path.name + ".lock"))
        with self.held():
            self._catch_up()

    def __getstate__(self):  # for a worker process, which makes a lock of its own
        return {"path": self.path}

    def __setstate__(self, state):
        self.__init__(state["path"])

    def missing(self, keys):
        """Those of the keys that have no line."""
        return [key for key in keys if key not in self.lines]

    def append(self, key, **values):
        """Add a line; False if the key has one already."""
        with self.held():
            self._catch_up()
            if key in self.lines:
                return False
            line = signed({"key": key, **values})
            data = (json.dumps(line) + "\n").encode()
            with open(self.path, "ab", buffering=0) as file:
                if file.write(data) != len(data):
                    raise OSError(errno.ENOSPC, "No space left on device")
                os.fsync(file.fileno())
            self.lines[key] = line
            self.position = (self.position[0] or self.path.stat().st_ino, self.position[1] + len(data))
            return True

    def held(self):
        return _Held(self.lock, self.path)

    def _catch_up(self):
        """Read what other processes have added. Nobody writes now: a last line without an end was cut off."""
        if not self.path.exists():
            self.lines, self.position = {}, (None, 0)
            return
        inode, start = self.position
        if self.path.stat().st_ino != inode:
            self.lines, start = {}, 0
        with open(self.path, "rb") as file:
            file.seek(start)
            content = file.read()
        whole = content[: content.rfind(b"\n") + 1]
        damaged = self._take(whole)
        if damaged or whole != content:
            self._repair(damaged)
        self.position = (self.path.stat().st_ino, self.path.stat().st_size)

    def _take(self, whole):
        """The lines of some bytes; returns those that are damaged or double."""
        damaged = []
        for data in whole.splitlines():
            try:
                line = json.loads(data)
                right = isinstance(line, dict) and is_whole(line) and isinstance(line.get("key"), str)
            except (ValueError, RecursionError):
                right = False
            if not right or line["key"] in self.lines:
                damaged.append(data)
            else:
                self.lines[line["key"]] = line
        return damaged

    def _repair(self, damaged):
        for data in damaged:
            print(f"{self.path}: a damaged line is dropped, its work is done again: {data[:60]!r}", file=sys.stderr)
        write_atomic(self.path, "".join(json.dumps(line) + "\n" for line in self.lines.values()).encode())


class _Held:
    """The lock of a ledger; errors of the disk become one line."""

    def __init__(self, lock, path):
        self.lock, self.path = lock, path

    def __enter__(self):
        try:
            self.lock.acquire()
        except OSError as error:
            raise RunError(explain(error, self.path)) from error

    def __exit__(self, kind, error, trace):
        self.lock.release()
        if isinstance(error, OSError):
            raise RunError(explain(error, self.path)) from error
