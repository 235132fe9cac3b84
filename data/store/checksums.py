"""Folders of arrays that prove themselves: each 64 KiB block is compared with its CRC-32 before its first use.

The header holds the SHA-256 of itself, of the checksums and of each array file.
"""

import hashlib
import json
import math
import mmap
import os
import weakref
import zlib
from functools import cached_property

import numpy as np
from tqdm import tqdm

from data.errors import StoreError
from data.store.fields import Field

FORMAT, DERIVED_FORMAT, VERSION = "packed-graphs", "packed-graphs-derived", 1
HEADER, CHECKSUMS = "header.json", "checksums.npy"
REMEDY = "delete the folder {} and build it again"
BLOCK = 1 << 16  # bytes under one checksum
BUFFER = 1 << 20  # bytes gathered before they are written, and read at once while hashing


def _canonical(content):
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def fingerprint(content):
    """SHA-256 (hex) of plain JSON content, whatever the order of its keys."""
    return hashlib.sha256(_canonical(content)).hexdigest()


def plain_json(content, what):
    """A copy of `content` as it will be read back from JSON."""
    try:
        return json.loads(_canonical(content))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what} must be plain JSON (numbers, strings, lists, dicts): {error}") from error


def hash_file(path, bar=None):
    """SHA-256 of a file and the CRC-32 of each of its blocks."""
    sha, checksums = hashlib.sha256(), []
    with open(path, "rb") as file:
        while piece := file.read(BUFFER):
            sha.update(piece)
            view = memoryview(piece)
            checksums += [zlib.crc32(view[start : start + BLOCK]) for start in range(0, len(piece), BLOCK)]
            if bar is not None:
                bar.update(len(piece))
    return sha.hexdigest(), checksums


def hash_bar(arrays):
    n_bytes = sum(entry["bytes"] for entry in arrays.values())
    # None: no bar where stderr is not a terminal; small stores are done before a bar could be read
    return tqdm(total=n_bytes, desc="hashing", unit="B", unit_scale=True, disable=True if n_bytes < 1 << 28 else None)


def expand(starts, counts):
    """starts[0], starts[0] + 1, … (counts[0] numbers), then starts[1], …: all row numbers of some ranges."""
    before = np.cumsum(counts) - counts
    return np.repeat(starts - before, counts) + np.arange(counts.sum())


class MappedArray:
    """One array file, mapped when it is first used; `rows` compares blocks with their checksums."""

    def __init__(self, folder, entry):
        self.folder, self.entry, self.path = folder, entry, folder.path / entry["file"]
        self.dtype, self.shape = np.dtype(entry["dtype"]), tuple(entry["shape"])
        self.row_bytes = self.dtype.itemsize * math.prod(self.shape[1:])
        self.all_checked = False
        try:
            n_bytes = self.path.stat().st_size
        except FileNotFoundError:
            raise StoreError(f"{self.path} is missing: {REMEDY.format(folder.path)}") from None
        if n_bytes != entry["bytes"]:
            text = f"{self.path} has {n_bytes} bytes instead of {entry['bytes']}"
            raise StoreError(f"{text}: it is damaged, {REMEDY.format(folder.path)}")

    @cached_property
    def _descriptor(self):
        # Kept open: a store that is deleted and built again under the same name must not be mixed with this one.
        descriptor = os.open(self.path, os.O_RDONLY)
        weakref.finalize(self, os.close, descriptor)
        return descriptor

    @cached_property
    def _unchecked(self):
        """The whole array, read-only: a plain view of the mapping, as np.memmap costs microseconds at each slice."""
        mapping = mmap.mmap(self._descriptor, 0, access=mmap.ACCESS_READ)
        flat = np.frombuffer(mapping, np.uint8)[self.entry["offset"] :]
        return flat.view(self.dtype).reshape(self.shape)

    @cached_property
    def _checked(self):
        return np.zeros(-(-self.entry["bytes"] // BLOCK), bool)

    def rows(self, starts, stops):
        """The array, of which the rows from starts[k] to stops[k] - 1 are safe to use."""
        if not self.all_checked:
            last = (self.entry["offset"] + stops * self.row_bytes - 1) // BLOCK
            first = (self.entry["offset"] + starts * self.row_bytes) // BLOCK
            first = np.minimum(first, last)  # no rows at the very end: first would be a block that is not there
            short = (last - first).max() <= 1  # the usual case, spared the arithmetic
            blocks = np.concatenate([first, last]) if short else expand(first, last - first + 1)
            blocks = blocks[~self._checked[blocks]]
            if blocks.size:
                for block in np.unique(blocks).tolist():
                    self._check_block(block)
                self.all_checked = bool(self._checked.all())
        return self._unchecked

    def all(self):
        return self.rows(np.array([0]), np.array([self.shape[0]]))

    def _check_block(self, block):
        start = block * BLOCK
        stop = min(start + BLOCK, self.entry["bytes"])
        # read, not the mapping: of a file that was cut short meanwhile the mapping would be a bus error
        content = os.pread(self._descriptor, BLOCK, start)
        expected = self.folder.checksums[self.entry["first_block"] + block]
        if len(content) != stop - start or zlib.crc32(content) != expected:
            text = f"{self.path}: bytes {start} to {stop - 1} do not match their checksum"
            raise StoreError(f"{text}: the file is damaged, {REMEDY.format(self.folder.path)}")
        self._checked[block] = True


class Folder:
    """An opened folder: its header, and its arrays by name."""

    def __init__(self, path, expected_format):
        self.path = path
        self.header = _read_header(path, expected_format)
        self.arrays = {name: MappedArray(self, entry) for name, entry in self.header["arrays"].items()}
        MappedArray(self, self.header["checksums"])  # is it there, and as long as it should be?

    @cached_property
    def checksums(self):
        entry, path = self.header["checksums"], self.path / CHECKSUMS
        content = path.read_bytes()
        if hashlib.sha256(content).hexdigest() != entry["sha256"]:
            raise StoreError(f"{path} does not match its SHA-256: it is damaged, {REMEDY.format(self.path)}")
        return np.frombuffer(content, np.uint32, offset=entry["offset"])

    @property
    def fields(self):
        fields = {}
        for key, entry in self.header["arrays"].items():
            if "n_types" in entry:
                level, name = key.split(".")
                options = {option: entry.get(option) for option in ("n_types", "finite", "refers_to")}
                fields[key] = Field(level, name, entry["dtype"], entry["shape"][1:], **options)
        return fields

    def verify(self):
        files = self.header["arrays"] | {"checksums": self.header["checksums"]}
        with hash_bar(files) as bar:
            for entry in files.values():
                path = self.path / entry["file"]
                if hash_file(path, bar)[0] != entry["sha256"]:
                    raise StoreError(f"{path} does not match its SHA-256: it is damaged, {REMEDY.format(self.path)}")


def _read_header(folder, expected_format):
    path, remedy = folder / HEADER, REMEDY.format(folder)
    try:
        header = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        raise StoreError(f"{path} is missing: {folder} is not a packed store; build it first") from None
    except ValueError as error:
        raise StoreError(f"{path} is damaged ({error}): {remedy}") from None
    found = (header.get("format"), header.get("version")) if isinstance(header, dict) else header
    if found != (expected_format, VERSION):
        raise StoreError(f"{path}: format and version {found}: expected {(expected_format, VERSION)}; {remedy}")
    if header.get("sha256") != fingerprint({key: value for key, value in header.items() if key != "sha256"}):
        raise StoreError(f"{path} does not match its own SHA-256: it is damaged, {remedy}")
    return header
