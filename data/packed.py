"""The packed dataset store: all graphs of a dataset as a few flat, memory-mapped `.npy` arrays beside a JSON header.

    STORE/header.json                    counts, generator parameters, and for each array its type, shape and SHA-256
    STORE/graph.label.npy                level graph: one row a graph
    STORE/node.feat.npy, edge.feat.npy   ragged levels: graph i has the rows offsets[i] to offsets[i + 1] - 1,
    STORE/node_offsets.npy, edge_…       with these offsets (int64, one more than there are graphs)
    STORE/edge.src.npy, node.in_degree.npy   the edges (below)
    STORE/free.split.fold0.train.npy     level free: not tied to single graphs; the splits and what `add_array` was given
    STORE/checksums.npy                  CRC-32 of every 64 KiB block of every array file
    STORE/derived/pos_enc-<key>/         arrays computed from the store (`Packed.derive`), laid out the same way

Edges are sorted by destination (stable: ties stay in the order given) and every edge-level array with them. So the
sources and the in-degrees say everything, and the CSC form of a batch, the one DGL aggregates with, is one cumsum away.
A batch is one block-diagonal DGLGraph, cut out of the arrays without making the single graphs.

Nothing wrong is ever handed out: a folder gets its final name only when it is complete, and each block is compared with
its checksum before its first use. `python -m data.packed info|verify STORE` shows a store or checks all of it.
"""

import argparse
import contextlib
import glob
import hashlib
import io
import json
import math
import mmap
import numbers
import os
import re
import shutil
import sys
import uuid
import weakref
import zlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import dgl
import numpy as np
import torch
from filelock import FileLock, Timeout
from tqdm import tqdm

from data.errors import StoreError
from data.parallel import parallel_map

FORMAT, DERIVED_FORMAT, VERSION = "packed-graphs", "packed-graphs-derived", 1
HEADER, CHECKSUMS = "header.json", "checksums.npy"
REMEDY = "delete the folder {} and build it again"

RAGGED = ("node", "edge")  # levels whose number of rows differs from graph to graph; each has its offsets
LEVELS = ("graph", *RAGGED)
EDGE_SRC, IN_DEGREE = "edge.src", "node.in_degree"
RESERVED = (EDGE_SRC, "edge.dst", IN_DEGREE)  # edge.dst: not stored, but nothing else may be called so
NODE_IDS = (EDGE_SRC,)  # arrays of node numbers: local to their graph on disk, shifted to the graph's place in a batch
INTEGERS = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
DTYPES = ("bool", *INTEGERS, "float32", "float64")
# what an array of integers can hold; uint64 not all of its range, because all integers reach torch as int64
LIMITS = {name: (int(np.iinfo(name).min), min(int(np.iinfo(name).max), 2**63 - 1)) for name in INTEGERS}

BLOCK = 1 << 16  # bytes under one checksum
BUFFER = 1 << 20  # bytes gathered before they are written, and read at once while hashing
# Mean rows of a run of adjacent rows from which copying run by run is faster than gathering row by row; measured with
# benchmarks/batching.py --threshold.
LONG_RUN = 192


@dataclass(frozen=True)
class Field:
    """One array of a dataset, declared before the graphs are added."""

    level: str  # "graph", "node" or "edge"
    name: str  # "feat", "label", …
    dtype: str  # numpy's name of the type on disk
    shape: tuple = ()  # of one row
    n_types: int | None = None  # categorical: values are in [0, n_types)
    finite: bool = True  # refuse NaN and infinity

    def __post_init__(self):
        object.__setattr__(self, "shape", tuple(self.shape))
        if self.level not in LEVELS:
            raise ValueError(f"level={self.level!r}: expected one of {', '.join(LEVELS)}")
        if not re.fullmatch(r"\w+", self.name) or self.key in RESERVED:
            raise ValueError(f"name={self.name!r}: expected letters, digits and _, and none of {', '.join(RESERVED)}")
        if self.dtype not in DTYPES:
            raise ValueError(f"{self.key}: dtype={self.dtype!r}: expected one of {', '.join(DTYPES)}")
        if not all(isinstance(size, numbers.Integral) and size > 0 for size in self.shape):
            raise ValueError(f"{self.key}: shape={self.shape}: expected positive sizes")
        if self.n_types is not None and not 1 <= self.n_types <= LIMITS.get(self.dtype, (0, -1))[1] + 1:
            raise ValueError(f"{self.key}: n_types={self.n_types}: expected an integer dtype with so many values")

    @property
    def key(self):
        return f"{self.level}.{self.name}"


def _check_names(fields):
    keys = [field.key for field in fields]
    labels = [key for key in keys if key.endswith(".label")]
    if len(set(keys)) < len(keys):
        raise ValueError(f"a field is declared twice: {', '.join(keys)}")
    if len(labels) > 1:
        raise ValueError(f"only one level can have the label, not {', '.join(labels)}")


# --------------------------------------------------------------------------------------------------------------------
# Checking what is added


def _numpy(values):
    return values.detach().cpu().numpy() if isinstance(values, torch.Tensor) else np.asarray(values)


def _first(values, bad):
    return values[bad].reshape(-1)[0].item()


def _convert(field, values, n_rows, where):
    """The rows of one graph in the type of the field; ValueError if that would lose something."""
    values, where = _numpy(values), f"{where}, {field.key}"
    shape = field.shape if field.level == "graph" else (n_rows, *field.shape)
    if values.shape == (0,) and 0 in shape:  # an empty list has neither type nor shape
        return np.empty(shape, field.dtype)
    if values.shape != shape:
        raise ValueError(f"{where}: shape {values.shape}: expected {shape}")
    if values.dtype.kind not in "biuf":
        raise ValueError(f"{where}: values of type {values.dtype}: expected {field.dtype}")
    if values.dtype.kind == "f" and field.finite and not np.isfinite(values).all():
        raise ValueError(f"{where}: {_first(values, ~np.isfinite(values))}: expected finite values")
    if field.dtype not in LIMITS:
        return values if values.dtype == field.dtype else _cast(values, field.dtype, where)
    if values.dtype.kind not in "biu":
        raise ValueError(f"{where}: {values.dtype} values would be cut to {field.dtype}: convert them")
    low, high = LIMITS[field.dtype] if field.n_types is None else (0, field.n_types - 1)
    if values.size and (values.min() < low or values.max() > high):
        raise ValueError(f"{where}: {_first(values, (values < low) | (values > high))}: expected {low} to {high}")
    return values.astype(field.dtype, copy=False)


def _cast(values, dtype, where):
    """To float or bool: rounding to a shorter float is fine, overflow and changed integers are not."""
    with np.errstate(over="ignore", invalid="ignore"):
        converted = values.astype(dtype)
        if values.dtype.kind == "f" and converted.dtype.kind == "f":
            lost = np.isinf(converted) & ~np.isinf(values)
        else:
            lost = converted.astype(values.dtype) != values
    if lost.any():
        raise ValueError(f"{where}: {_first(values, lost)} does not fit into {dtype}")
    return converted


def _convert_edges(n_nodes, src, dst, where):
    """Sources and destinations as integer arrays, checked against the number of nodes."""
    if not isinstance(n_nodes, numbers.Integral) or isinstance(n_nodes, bool) or n_nodes < 0:
        raise ValueError(f"{where}: n_nodes={n_nodes!r}: expected a whole number, 0 or more")
    ends = {"src": _numpy(src), "dst": _numpy(dst)}
    for name, end in ends.items():
        if end.ndim != 1:
            raise ValueError(f"{where}, {name}: shape {end.shape}: expected one dimension")
        if not end.size:
            continue
        if end.dtype.kind not in "iu":
            raise ValueError(f"{where}, {name}: values of type {end.dtype}: expected integers")
        if end.min() < 0 or end.max() >= n_nodes:
            bad = _first(end, (end < 0) | (end >= n_nodes))
            raise ValueError(f"{where}, {name}: node {bad}: expected 0 to {n_nodes - 1} (n_nodes={n_nodes})")
    if ends["src"].size != ends["dst"].size:
        raise ValueError(f"{where}: {ends['src'].size} sources but {ends['dst'].size} destinations")
    return tuple(end.astype(np.int64) for end in ends.values())


def _convert_split(name, parts):
    """The parts of a split as int64 arrays, each graph at most once."""
    if not re.fullmatch(r"[\w-]+", name) or not all(re.fullmatch(r"\w+", part) for part in parts) or not parts:
        raise ValueError(f"split {name!r}, parts {list(parts)}: expected names of letters, digits and _")
    owner, converted = {}, {}
    for part, indices in parts.items():
        indices = _numpy(indices)
        if indices.ndim != 1 or (indices.size and indices.dtype.kind not in "iu"):
            found = f"{indices.dtype}, shape {indices.shape}"
            raise ValueError(f"split {name}, {part}: {found}: expected a list of integers")
        converted[part] = indices.astype(np.int64)
        for index in converted[part].tolist():
            if index in owner:
                raise ValueError(f"split {name}: graph {index} is in {owner[index]} and again in {part}")
            owner[index] = part
    return converted


def _convert_array(name, values):
    """An array that belongs to no single graph, as it is written; the name must not be that of a split."""
    values = _numpy(values)
    if not re.fullmatch(r"\w+(\.\w+)*", name) or name.split(".")[0] == "split":
        raise ValueError(f"array {name!r}: expected words of letters, digits and _ joined by dots, the first not split")
    if values.ndim == 0 or values.dtype.name not in DTYPES or 0 in values.shape[1:]:
        found = f"{values.dtype}, shape {values.shape}"
        raise ValueError(f"array {name}: {found}: expected rows of one of the types {', '.join(DTYPES)}")
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ValueError(f"array {name}: {_first(values, ~np.isfinite(values))}: expected finite values")
    return values.copy()  # the caller may change its own before the store is finished


# --------------------------------------------------------------------------------------------------------------------
# Writing


class _NpyWriter:
    """A `.npy` file that grows row by row; its header has room for the final number of rows."""

    def __init__(self, folder, name, dtype, shape=()):
        self.path, self.dtype, self.shape, self.rows = folder / f"{name}.npy", np.dtype(dtype), tuple(shape), 0
        self.offset = len(self._header())
        self.file = open(self.path, "wb", buffering=BUFFER)  # noqa: SIM115, closed by close()
        self.file.write(self._header())

    def _header(self):
        text = io.BytesIO()
        content = {"descr": self.dtype.str, "fortran_order": False, "shape": (self.rows, *self.shape)}
        np.lib.format.write_array_header_1_0(text, content)
        return text.getvalue()

    def append(self, rows):
        self.file.write(np.ascontiguousarray(rows, self.dtype))
        self.rows += len(rows)

    def finish(self):
        header = self._header()
        if len(header) != self.offset:  # numpy pads the header for growth, so this needs a very odd number of rows
            raise StoreError(f"{self.path}: {self.rows} rows do not fit into the space kept for the header")
        self.file.seek(0)
        self.file.write(header)
        _sync(self.file)
        self.close()

    def close(self):
        self.file.close()

    def entry(self, level, field=None):
        """What header.json says of this array, hashes still missing."""
        entry = {"file": self.path.name, "level": level, "dtype": self.dtype.name, "shape": [self.rows, *self.shape]}
        entry |= {"offset": self.offset, "bytes": self.path.stat().st_size}
        return entry | ({"n_types": field.n_types, "finite": field.finite} if field else {})


def _sync(file):
    file.flush()
    os.fsync(file.fileno())


def _sync_folder(path):
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _new_folder(target):
    """A temporary folder that becomes `target` when the block ends well, and disappears when it does not."""
    _refuse_existing(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    _remove_abandoned(target)
    folder = target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
    folder.mkdir()
    alive = folder / "writing.lock"  # held while this process lives: tells a folder in use from an abandoned one
    try:
        with FileLock(alive):
            yield folder
            alive.unlink()
            _sync_folder(folder)
            try:
                folder.rename(target)
            except OSError:
                _refuse_existing(target)  # somebody else was faster
                raise
            _sync_folder(target.parent)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _refuse_existing(target):
    if target.is_dir() and not any(target.iterdir()):
        return
    if target.exists():
        raise StoreError(f"{target} exists and is not overwritten: open it with Packed(path), or delete it first")


def _remove_abandoned(target):
    """Delete what killed processes left behind while they wrote `target`."""
    for lock in target.parent.glob(f".{glob.escape(target.name)}.*.tmp/writing.lock"):
        with contextlib.suppress(Timeout, FileNotFoundError), FileLock(lock, timeout=0):
            shutil.rmtree(lock.parent, ignore_errors=True)


def _canonical(content):
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def fingerprint(content):
    """SHA-256 (hex) of plain JSON content, whatever the order of its keys."""
    return hashlib.sha256(_canonical(content)).hexdigest()


def _plain_json(content, what):
    """A copy of `content` as it will be read back from JSON."""
    try:
        return json.loads(_canonical(content))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what} must be plain JSON (numbers, strings, lists, dicts): {error}") from error


def _hash_file(path, bar=None):
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


def _hash_bar(arrays):
    n_bytes = sum(entry["bytes"] for entry in arrays.values())
    # None: no bar where stderr is not a terminal; small stores are done before a bar could be read
    return tqdm(total=n_bytes, desc="hashing", unit="B", unit_scale=True, disable=True if n_bytes < 1 << 28 else None)


def _seal(folder, header):
    """Hash the finished arrays (a second pass, so that writing stays a plain stream), then write the header."""
    checksums, n_blocks = _NpyWriter(folder, CHECKSUMS.removesuffix(".npy"), np.uint32), 0
    with contextlib.closing(checksums), _hash_bar(header["arrays"]) as bar:
        for entry in header["arrays"].values():
            entry["sha256"], blocks = _hash_file(folder / entry["file"], bar)
            entry["first_block"] = n_blocks
            n_blocks += len(blocks)
            checksums.append(np.array(blocks, np.uint32))
        checksums.finish()
    header["checksums"] = checksums.entry("free") | {"sha256": _hash_file(checksums.path)[0]}
    if header["format"] == FORMAT:
        header["hash"] = fingerprint(_identity(header))
    header["sha256"] = fingerprint(header)
    with open(folder / HEADER, "w") as file:
        json.dump(header, file, indent=2)
        _sync(file)


def _identity(header):
    hashes = {name: entry["sha256"] for name, entry in header["arrays"].items()}
    return {"name": header["name"], "generator": header["generator"], "arrays": hashes}


class PackedWriter:
    """Write a store graph by graph, in constant memory; used with `with`, the store appears when the block ends.

    path       folder of the store; it must not exist
    fields     the arrays of the dataset; `add` wants all of them for each graph
    generator  what made the data (JSON): parameters, seed, versions, hashes of the raw files
    ids        type of node and edge numbers in a batch, int32 or int64
    total      number of graphs, if known: for the progress bar, and checked at the end
    """

    def __init__(self, path, name, fields, generator=None, ids="int32", total=None):
        self.path, self.name, self.ids, self.total = Path(path).absolute(), name, ids, total
        self.fields = {field.key: field for field in fields}
        self.generator = _plain_json(generator or {}, "generator")
        self._keys = {level: {f.name for f in fields if f.level == level} for level in LEVELS}
        self._splits, self._free = {}, {}
        self._n_rows = dict.fromkeys(RAGGED, 0)
        self._extremes = dict.fromkeys(RAGGED, (math.inf, -math.inf))
        self.n_graphs = 0
        _check_names(fields)
        if ids not in ("int32", "int64"):
            raise ValueError(f"ids={ids!r}: expected int32 or int64")

    def __enter__(self):
        arrays = {IN_DEGREE: (self.ids, ()), EDGE_SRC: (self.ids, ())}
        arrays |= {f"{level}_offsets": (np.int64, ()) for level in RAGGED}
        arrays |= {key: (field.dtype, field.shape) for key, field in self.fields.items()}
        with contextlib.ExitStack() as stack:
            self._folder = stack.enter_context(_new_folder(self.path))
            self._files = {}
            for name, (dtype, shape) in arrays.items():
                file = _NpyWriter(self._folder, name, dtype, shape)
                self._files[name] = stack.enter_context(contextlib.closing(file))
            self._bar = stack.enter_context(tqdm(total=self.total, desc=self.name, unit=" graphs", disable=None))
            stack.push(self._finish)  # last in, first out: runs before the files close and the folder is renamed
            self._stack = stack.pop_all()
        for level in RAGGED:
            self._files[f"{level}_offsets"].append(np.zeros(1, np.int64))
        return self

    def __exit__(self, *error):
        return self._stack.__exit__(*error)

    def add(self, n_nodes, src, dst, node=None, edge=None, graph=None):
        """Append a graph: edges src[k] -> dst[k], and {name: rows} of the declared fields of each level."""
        where = f"graph {self.n_graphs}"
        src, dst = _convert_edges(n_nodes, src, dst, where)
        n_rows = {"graph": 1, "node": int(n_nodes), "edge": len(src)}
        self._check_ids(n_rows, where)
        given = {"graph": graph or {}, "node": node or {}, "edge": edge or {}}
        for level, names in self._keys.items():
            if given[level].keys() != names:
                raise ValueError(f"{where}: {level} fields {sorted(given[level])}: expected {sorted(names)}")
        rows = {}
        for key, field in self.fields.items():
            rows[key] = _convert(field, given[field.level][field.name], n_rows[field.level], where)
        rows[EDGE_SRC] = src
        order = np.argsort(dst, kind="stable")
        for key in rows:
            if key.startswith("edge."):
                rows[key] = rows[key][order]
        rows[IN_DEGREE] = np.bincount(dst, minlength=n_rows["node"])
        self._append(rows, n_rows)  # everything is checked by now, so that a graph is added as a whole or not at all

    def _check_ids(self, n_rows, where):
        limit = LIMITS[self.ids][1]
        for level in RAGGED:
            if n_rows[level] > limit:
                raise ValueError(f"{where}: {n_rows[level]} {level}s: at most {limit} fit ids={self.ids}; use int64")

    def _append(self, rows, n_rows):
        for key, values in rows.items():
            self._files[key].append(values[None] if key.startswith("graph.") else values)
        for level in RAGGED:
            self._n_rows[level] += n_rows[level]
            self._files[f"{level}_offsets"].append(np.array([self._n_rows[level]], np.int64))
            low, high = self._extremes[level]
            self._extremes[level] = (min(low, n_rows[level]), max(high, n_rows[level]))
        self.n_graphs += 1
        self._bar.update()

    def add_split(self, name, **parts):
        """Name the graphs of train=, val=, test= (or other parts); before or after the graphs are added."""
        if name in self._splits:
            raise ValueError(f"split {name} is given twice")
        self._splits[name] = _convert_split(name, parts)

    def add_array(self, name, values):
        """Keep an array that belongs to no single graph, such as pairs of nodes; read it with column("free.NAME")."""
        if name in self._free:
            raise ValueError(f"array {name} is given twice")
        self._free[name] = _convert_array(name, values)

    def _finish(self, kind, error, trace):
        if kind is not None:
            return
        if not self.n_graphs:
            raise ValueError(f"{self.path}: no graph was added")
        if self.total is not None and self.n_graphs != self.total:
            raise ValueError(f"{self.path}: {self.n_graphs} graphs were added, but total={self.total} were announced")
        self._bar.close()
        entries = self._write_splits()
        for name, values in self._free.items():
            entries[f"free.{name}"] = self._write_free(f"free.{name}", values)
        for name, file in self._files.items():
            file.finish()
            level = "free" if "." not in name else name.split(".")[0]
            entries[name] = file.entry(level, self.fields.get(name))
        counts = {"graphs": self.n_graphs}
        for level in RAGGED:
            low, high = self._extremes[level]
            counts |= {f"{level}s": self._n_rows[level], f"min_{level}s": low, f"max_{level}s": high}
        header = {"format": FORMAT, "version": VERSION, "name": self.name, "generator": self.generator}
        splits = {name: list(parts) for name, parts in self._splits.items()}
        _seal(self._folder, header | {"ids": self.ids, "counts": counts, "splits": splits, "arrays": entries})

    def _write_splits(self):
        entries = {}
        for name, parts in self._splits.items():
            for part, indices in parts.items():
                wrong = indices[(indices < 0) | (indices >= self.n_graphs)]
                if wrong.size:
                    raise ValueError(f"split {name}, {part}: graph {wrong[0]}: expected 0 to {self.n_graphs - 1}")
                key = f"free.split.{name}.{part}"
                entries[key] = self._write_free(key, indices)
        return entries

    def _write_free(self, key, values):
        with contextlib.closing(_NpyWriter(self._folder, key, values.dtype, values.shape[1:])) as file:
            file.append(values)
            file.finish()
        return file.entry("free")


# --------------------------------------------------------------------------------------------------------------------
# Reading


def _expand(starts, counts):
    """starts[0], starts[0] + 1, … (counts[0] numbers), then starts[1], …: all row numbers of some ranges."""
    before = np.cumsum(counts) - counts
    return np.repeat(starts - before, counts) + np.arange(counts.sum())


class _Rows:
    """The rows of the graphs of a batch at one level, in the order of the batch."""

    def __init__(self, starts, stops):
        self.starts, self.stops, self.counts = starts, stops, stops - starts
        self.total = int(self.counts.sum())

    @cached_property
    def runs(self):
        """(starts, stops) with neighbouring ranges joined: graphs in their order of storage are one run."""
        apart = self.starts[1:] != self.stops[:-1]
        return self.starts[np.append(True, apart)], self.stops[np.append(apart, True)]

    @cached_property
    def numbers(self):
        return _expand(self.starts, self.counts)

    def take(self, values, dtype):
        """A fresh array of these rows of `values`, converted to dtype."""
        starts, stops = self.runs
        if self.total < LONG_RUN * len(starts):
            return values.take(self.numbers, axis=0).astype(dtype, copy=False)
        runs = [values[start:stop] for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)]
        # the values of unsigned arrays were checked to fit when they were written
        return np.concatenate(runs, dtype=dtype, casting="unsafe")


class _MappedArray:
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
            blocks = np.concatenate([first, last]) if short else _expand(first, last - first + 1)
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


class _Folder:
    """An opened folder: its header, and its arrays by name."""

    def __init__(self, path, expected_format):
        self.path = path
        self.header = _read_header(path, expected_format)
        self.arrays = {name: _MappedArray(self, entry) for name, entry in self.header["arrays"].items()}
        _MappedArray(self, self.header["checksums"])  # is it there, and as long as it should be?

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
                fields[key] = Field(level, name, entry["dtype"], entry["shape"][1:], entry["n_types"], entry["finite"])
        return fields

    def verify(self):
        files = self.header["arrays"] | {"checksums": self.header["checksums"]}
        with _hash_bar(files) as bar:
            for entry in files.values():
                path = self.path / entry["file"]
                if _hash_file(path, bar)[0] != entry["sha256"]:
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


class Packed:
    """A dataset opened for reading; opening reads the header only, whatever the number of graphs.

    Pickling sends the path, so that loader workers map the same pages instead of copying the data.
    """

    def __init__(self, path):
        self.path = Path(path).absolute()
        self._folder = _Folder(self.path, FORMAT)
        self._arrays = dict(self._folder.arrays)
        self._derived = {}  # folder name -> _Folder
        self.fields = self._folder.fields

    # What is in it

    @property
    def header(self):
        return self._folder.header

    @property
    def name(self):
        return self.header["name"]

    @property
    def hash(self):
        """SHA-256 over name, generator parameters and the arrays; derived arrays do not change it."""
        return self.header["hash"]

    @property
    def n_graphs(self):
        return self.header["counts"]["graphs"]

    @property
    def n_nodes(self):
        return self.header["counts"]["nodes"]

    @property
    def n_edges(self):
        return self.header["counts"]["edges"]

    @property
    def splits(self):
        return list(self.header["splits"])

    def __len__(self):
        return self.n_graphs

    def __repr__(self):
        counts = f"{self.n_graphs} graphs, {self.n_nodes} nodes, {self.n_edges} edges"
        return f"Packed({self.name}: {counts}; {', '.join(self.fields)})"

    def split(self, name):
        """{part: graph numbers (int64)} of one split."""
        if name not in self.header["splits"]:
            raise KeyError(f"split {name!r}: expected one of {', '.join(self.splits) or '(the store has none)'}")
        return {part: self.column(f"free.split.{name}.{part}").copy() for part in self.header["splits"][name]}

    # Arrays as they are stored

    def column(self, key):
        """A whole array such as "graph.label" as a read-only numpy array; of integers, in their type on disk."""
        return self._array(key).all()

    def rows(self, key, i):
        """The rows of graph i of one array: read-only, in stored order; at level graph, its one row."""
        level = self._array(key).entry["level"]
        if level == "free":
            raise KeyError(f"{key!r} does not belong to single graphs; use column()")
        rows = self._rows(level, self._graph_numbers([i]))
        values = self._array(key).rows(rows.starts, rows.stops)[rows.starts[0] : rows.stops[0]]
        return values[0] if level == "graph" else values

    def edges(self, i):
        """(src, dst) of graph i, sorted by dst: the order of all edge rows."""
        in_degree = self.rows(IN_DEGREE, i)
        return self.rows(EDGE_SRC, i), np.repeat(np.arange(len(in_degree), dtype=in_degree.dtype), in_degree)

    def _array(self, key):
        if key not in self._arrays:
            raise KeyError(f"{key!r}: expected one of {', '.join(self._arrays)}")
        return self._arrays[key]

    # Batches

    def batch(self, indices):
        """(g, labels): the graphs as one DGLGraph, as `dgl.batch` would join them, and the rows of the field `label`.

        g has the node and edge fields in ndata and edata; integers are int64. labels is None without such a field.
        """
        graphs = self._graph_numbers(indices)
        rows = {level: self._rows(level, graphs) for level in LEVELS}
        self._check_ids(rows, graphs)
        g, labels = self._structure(rows), None
        frames = {"node": g.ndata, "edge": g.edata}
        for key, field in self.fields.items():
            if field.name == "label":
                labels = self._take(key, rows)
            elif field.level in frames:
                frames[field.level][field.name] = self._take(key, rows)
        return g, labels

    def graph(self, i):
        return self.batch([i])[0]

    def _graph_numbers(self, indices):
        graphs = _numpy(indices)
        if graphs.ndim != 1 or not graphs.size:
            raise ValueError(f"graph numbers of shape {graphs.shape}: expected a list of at least one number")
        if graphs.dtype.kind not in "iu":
            raise ValueError(f"graph numbers {graphs[:3]}… of type {graphs.dtype}: expected integers")
        wrong = (graphs < 0) | (graphs >= self.n_graphs)
        if wrong.any():
            raise IndexError(f"graph {_first(graphs, wrong)}: expected 0 to {self.n_graphs - 1}")
        return graphs.astype(np.int64)

    def _rows(self, level, graphs):
        if level == "graph":
            return _Rows(graphs, graphs + 1)
        offsets = self._array(f"{level}_offsets").rows(graphs, graphs + 2)
        return _Rows(offsets[graphs], offsets[graphs + 1])

    def _check_ids(self, rows, graphs):
        limit = LIMITS[self.header["ids"]][1]
        for level in RAGGED:
            if rows[level].total > limit:
                text = f"a batch of {len(graphs)} graphs has {rows[level].total} {level}s, more than int32 can number"
                raise ValueError(f"{text} ({limit}): take smaller batches, or build the store with ids='int64'")

    def _structure(self, rows):
        """The DGLGraph without features, in CSC form: the in-edges of node v are indptr[v] to indptr[v + 1] - 1."""
        ids = np.dtype(self.header["ids"])
        n_nodes = rows["node"].total
        indptr = np.zeros(n_nodes + 1, ids)
        np.cumsum(self._values(IN_DEGREE, rows, ids), out=indptr[1:])
        src = torch.from_numpy(self._values(EDGE_SRC, rows, ids))
        # edge k of the CSC form has number k; written out, because float32 sums over edges of dgl 1.1.3 fail without
        number = torch.arange(len(src), dtype=src.dtype)
        g = dgl.graph(("csc", (torch.from_numpy(indptr), src, number)), num_nodes=n_nodes)
        g.set_batch_num_nodes(torch.from_numpy(rows["node"].counts))
        g.set_batch_num_edges(torch.from_numpy(rows["edge"].counts))
        return g

    def _take(self, key, rows):
        dtype = self._array(key).dtype
        return torch.from_numpy(self._values(key, rows, np.int64 if dtype.kind in "iu" else dtype))

    def _values(self, key, rows, dtype):
        """The rows of one array for a batch; node numbers are shifted to the place of their graph in it."""
        array = self._array(key)
        wanted = rows[array.entry["level"]]
        values = wanted.take(array.rows(wanted.starts, wanted.stops), dtype)
        if key in NODE_IDS:
            n_nodes = rows["node"].counts
            values += np.repeat((np.cumsum(n_nodes) - n_nodes).astype(dtype), wanted.counts)
        return values

    # Views

    def _view(self):
        """Another object on the same mappings (copy.copy would open the store again, as unpickling does)."""
        view = object.__new__(type(self))
        view.__dict__.update(self.__dict__)
        return view

    def with_fields(self, *keys):
        """The same store with only these fields on its batches; the others are not even read."""
        for key in keys:
            if key not in self.fields:
                raise KeyError(f"{key!r}: expected one of {', '.join(self.fields)}")
        view = self._view()
        view.fields = {key: self.fields[key] for key in keys}
        return view

    def _with_derived(self, name):
        folder = _Folder(self.path / "derived" / name, DERIVED_FORMAT)
        if folder.header["store"] != self.hash:
            raise StoreError(f"{folder.path} was computed from another store: {REMEDY.format(folder.path)}")
        view = self._view()
        view._derived = self._derived | {name: folder}
        view._arrays = self._arrays | folder.arrays
        view.fields = self.fields | folder.fields
        return view

    def __reduce__(self):
        return _reopen, (self.path, self.hash, tuple(self._derived), tuple(self.fields))

    # Derived arrays

    def derive(
        self, name, *, level, dtype, shape=(), parameters, compute, description="", n_types=None, finite=True, workers=1
    ):
        """This store with a further field, computed once and kept in STORE/derived.

        compute(i) gives the rows of graph i (edges in the order of `edges(i)`); with more than one of `workers` (None: all
        cores) it must be picklable. The result is found again by the hash of the store, the field and `parameters`, which
        must hold all that the values depend on.
        """
        field = Field(level, name, dtype, shape, n_types, finite)
        _check_names([*self.fields.values(), field])
        parameters = _plain_json(parameters, "parameters")
        source = [self.hash, level, name, dtype, list(field.shape), n_types, finite, parameters]
        target = self.path / "derived" / f"{name}-{fingerprint(source)[:16]}"
        header = {"format": DERIVED_FORMAT, "version": VERSION, "store": self.hash, "name": name}
        header |= {"parameters": parameters, "description": description}
        _build_once(target, lambda _: self._write_derived(target, field, header, compute, workers))
        return self._with_derived(target.name)

    def _write_derived(self, target, field, header, compute, workers):
        n_rows = np.ones(len(self), int) if field.level == "graph" else np.diff(self.column(f"{field.level}_offsets"))
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(_new_folder(target))
            file = stack.enter_context(contextlib.closing(_NpyWriter(folder, field.key, field.dtype, field.shape)))
            results = parallel_map(compute, range(len(self)), f"{self.name} {field.name}", workers=workers)
            for i, values in enumerate(results):
                rows = _convert(field, values, int(n_rows[i]), f"graph {i}")
                file.append(rows[None] if field.level == "graph" else rows)
            file.finish()
            _seal(folder, header | {"arrays": {field.key: file.entry(field.level, field)}})

    def verify(self):
        """Compare every file, derived ones too, with its SHA-256; StoreError names the first that is damaged."""
        self._folder.verify()
        for header in sorted(self.path.glob(f"derived/*/{HEADER}")):
            _Folder(header.parent, DERIVED_FORMAT).verify()


def _reopen(path, expected_hash, derived, fields):
    store = Packed(path)
    if store.hash != expected_hash:
        raise StoreError(f"{path} was built anew (hash {store.hash}, was {expected_hash}): open the new one")
    for name in derived:
        store = store._with_derived(name)
    return store.with_fields(*fields)


def _build_once(target, build):
    """Call build(target) unless the folder is complete; of several processes one builds and the others wait."""
    if (target / HEADER).exists():
        return
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError, FileNotFoundError) as error:
        raise StoreError(
            f"{target.parent}: no folder can be made there ({error.strerror}): choose another one"
        ) from error
    lock = FileLock(f"{target}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        print(f"{target}: another process is building it, waiting", file=sys.stderr, flush=True)
        lock.acquire()
    try:
        if not (target / HEADER).exists():
            build(target)
        if not (target / HEADER).exists():
            raise StoreError(f"{target}: the build ended without writing a store there")
    finally:
        lock.release()


def open_or_build(path, build):
    """The store at `path`; when there is none, build(path) is called first, by one process only."""
    _build_once(Path(path).absolute(), build)
    return Packed(path)


# --------------------------------------------------------------------------------------------------------------------
# Command line


def _describe(store):
    counts = store.header["counts"]
    lines = [f"{store.name}: {store.path}", f"format {FORMAT} {VERSION}, ids {store.header['ids']}, hash {store.hash}"]
    lines.append(f"generator {json.dumps(store.header['generator'])}")
    lines.append(f"{counts['graphs']} graphs")
    for level in RAGGED:
        total, low, high = (counts[key] for key in (f"{level}s", f"min_{level}s", f"max_{level}s"))
        lines.append(
            f"{total} {level}s; a graph has {low} to {high}, on average {total / max(counts['graphs'], 1):.2f}"
        )
    for key, entry in store.header["arrays"].items():
        if not key.startswith("free.split."):
            types = f", {entry['n_types']} types" if entry.get("n_types") else ""
            lines.append(f"  {key:20} {entry['dtype']} {tuple(entry['shape'])}{types}, {entry['bytes']:,} bytes")
    for name, parts in store.header["splits"].items():
        sizes = (f"{part} {store.header['arrays'][f'free.split.{name}.{part}']['shape'][0]}" for part in parts)
        lines.append(f"  split {name}: {', '.join(sizes)}")
    for path in sorted(store.path.glob(f"derived/*/{HEADER}")):
        header = _Folder(path.parent, DERIVED_FORMAT).header
        lines.append(f"  derived {path.parent.name}: {header['description']} {json.dumps(header['parameters'])}")
    return "\n".join(lines)


def main(argv=None):
    parser = argparse.ArgumentParser(prog="python -m data.packed", description="Look at a packed dataset store.")
    parser.add_argument("command", choices=("info", "verify"), help="info: summary; verify: compare all SHA-256")
    parser.add_argument("path", type=Path, help="folder of the store")
    arguments = parser.parse_args(argv)
    try:
        store = Packed(arguments.path)
        if arguments.command == "verify":
            store.verify()
        print(_describe(store) if arguments.command == "info" else f"{store.path}: all files match their SHA-256")
    except StoreError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
