"""Writes a store graph by graph, in constant memory. A folder gets its final name only when it is complete."""

import contextlib
import io
import json
import math
import os
import shutil
import sys
from pathlib import Path

import numpy as np
from filelock import FileLock, Timeout
from tqdm import tqdm

from data.errors import StoreError, WrongValue
from data.store.checksums import (
    BUFFER,
    CHECKSUMS,
    FORMAT,
    HEADER,
    VERSION,
    fingerprint,
    hash_bar,
    hash_file,
    plain_json,
)
from data.store.fields import (
    EDGE_SRC,
    IN_DEGREE,
    LEVELS,
    LIMITS,
    RAGGED,
    check_names,
    convert,
    convert_array,
    convert_edges,
    convert_split,
)


class NpyWriter:
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
        if field:
            entry |= {"n_types": field.n_types, "finite": field.finite}
            entry |= {"refers_to": field.refers_to} if field.refers_to else {}
        return entry


def _sync(file):
    file.flush()
    os.fsync(file.fileno())


def _sync_folder(path):
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


IN_USE = set()  # temporary folders of this process, which holds their locks as often as it likes


@contextlib.contextmanager
def new_folder(target):
    """A temporary folder that becomes `target` when the block ends well, and disappears when it does not.

    One process at a time writes a target. So what lies at the temporary place was left by one that was killed, and goes.
    """
    _refuse_existing(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        folder = target.with_name(f".{target.name}.tmp")
        try:
            stack.enter_context(writing(target).acquire(timeout=0))
            if folder in IN_USE:
                raise Timeout(str(folder))
        except Timeout:
            raise StoreError(f"{target}: another writer is at work on it; wait for it or stop it") from None
        IN_USE.add(folder)
        stack.callback(IN_USE.discard, folder)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        try:
            yield folder
            _sync_folder(folder)
            _refuse_existing(target)
            folder.rename(target)
            _sync_folder(target.parent)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise


def writing(target):
    """The lock that a process holds while it writes `target`. It may take it again: a build holds it around the writer."""
    return FileLock(f"{target}.lock", is_singleton=True)


def _refuse_existing(target):
    if target.is_dir() and not any(target.iterdir()):
        return
    if target.exists():
        raise StoreError(f"{target} exists and is not overwritten: open it with Packed(path), or delete it first")


def build_once(target, build):
    """Call build(target) unless the folder is complete; of several processes one builds and the others wait."""
    if (target / HEADER).exists():
        return
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError, FileNotFoundError) as error:
        raise StoreError(
            f"{target.parent}: no folder can be made there ({error.strerror}): choose another one"
        ) from error
    lock = writing(target)
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


def seal(folder, header):
    """Hash the finished arrays (a second pass, so that writing stays a plain stream), then write the header."""
    checksums, n_blocks = NpyWriter(folder, CHECKSUMS.removesuffix(".npy"), np.uint32), 0
    with contextlib.closing(checksums), hash_bar(header["arrays"]) as bar:
        for entry in header["arrays"].values():
            entry["sha256"], blocks = hash_file(folder / entry["file"], bar)
            entry["first_block"] = n_blocks
            n_blocks += len(blocks)
            checksums.append(np.array(blocks, np.uint32))
        checksums.finish()
    header["checksums"] = checksums.entry("free") | {"sha256": hash_file(checksums.path)[0]}
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
        self.generator = plain_json(generator or {}, "generator")
        self._keys = {level: {f.name for f in fields if f.level == level} for level in LEVELS}
        self._splits, self._split_levels, self._free = {}, {}, {}
        self._ragged = [level for level in RAGGED if level != "pair" or self._keys["pair"]]
        self._n_rows = dict.fromkeys(self._ragged, 0)
        self._extremes = dict.fromkeys(self._ragged, (math.inf, -math.inf))
        self.n_graphs = 0
        check_names(fields)
        if ids not in ("int32", "int64"):
            raise WrongValue(f"ids={ids!r}: expected int32 or int64")

    def __enter__(self):
        arrays = {IN_DEGREE: (self.ids, ()), EDGE_SRC: (self.ids, ())}
        arrays |= {f"{level}_offsets": (np.int64, ()) for level in self._ragged}
        arrays |= {key: (field.dtype, field.shape) for key, field in self.fields.items()}
        with contextlib.ExitStack() as stack:
            self._folder = stack.enter_context(new_folder(self.path))
            self._files = {}
            for name, (dtype, shape) in arrays.items():
                file = NpyWriter(self._folder, name, dtype, shape)
                self._files[name] = stack.enter_context(contextlib.closing(file))
            self._bar = stack.enter_context(tqdm(total=self.total, desc=self.name, unit=" graphs", disable=None))
            stack.push(self._finish)  # last in, first out: runs before the files close and the folder is renamed
            self._stack = stack.pop_all()
        for level in self._ragged:
            self._files[f"{level}_offsets"].append(np.zeros(1, np.int64))
        return self

    def __exit__(self, *error):
        return self._stack.__exit__(*error)

    def add(self, n_nodes, src, dst, node=None, edge=None, graph=None, pair=None):
        """Append a graph: edges src[k] -> dst[k], and {name: rows} of the declared fields of each level."""
        where = f"graph {self.n_graphs}"
        src, dst = convert_edges(n_nodes, src, dst, where)
        given = {"graph": graph or {}, "node": node or {}, "edge": edge or {}, "pair": pair or {}}
        for level, names in self._keys.items():
            if given[level].keys() != names:
                raise WrongValue(f"{where}: {level} fields {sorted(given[level])}: expected {sorted(names)}")
        n_pairs = len(next(iter(given["pair"].values()), ()))
        n_rows = {"graph": 1, "node": int(n_nodes), "edge": len(src), "pair": n_pairs}
        self._check_ids(n_rows, where)
        rows = {}
        for key, field in self.fields.items():
            rows[key] = convert(field, given[field.level][field.name], n_rows[field.level], where, n_rows["node"])
        rows[EDGE_SRC] = src
        order = np.argsort(dst, kind="stable")
        for key in rows:
            if key.startswith("edge."):
                rows[key] = rows[key][order]
        rows[IN_DEGREE] = np.bincount(dst, minlength=n_rows["node"])
        self._append(rows, n_rows)  # everything is checked by now, so that a graph is added as a whole or not at all

    def _check_ids(self, n_rows, where):
        limit = LIMITS[self.ids][1]
        for level in ("node", "edge"):
            if n_rows[level] > limit:
                raise WrongValue(f"{where}: {n_rows[level]} {level}s: at most {limit} fit ids={self.ids}; use int64")

    def _append(self, rows, n_rows):
        for key, values in rows.items():
            self._files[key].append(values[None] if key.startswith("graph.") else values)
        for level in self._ragged:
            self._n_rows[level] += n_rows[level]
            self._files[f"{level}_offsets"].append(np.array([self._n_rows[level]], np.int64))
            low, high = self._extremes[level]
            self._extremes[level] = (min(low, n_rows[level]), max(high, n_rows[level]))
        self.n_graphs += 1
        self._bar.update()

    def add_split(self, name, level="graph", **parts):
        """Name the graphs of train=, val=, test= (or other parts); before or after the graphs are added.

        With level="node" the nodes of the one graph are divided (transductive learning).
        """
        if name in self._splits:
            raise WrongValue(f"split {name} is given twice")
        self._splits[name] = convert_split(name, level, parts)
        if level != "graph":
            self._split_levels[name] = level

    def add_array(self, name, values):
        """Keep an array that belongs to no single graph, such as pairs of nodes; read it with column("free.NAME")."""
        if name in self._free:
            raise WrongValue(f"array {name} is given twice")
        self._free[name] = convert_array(name, values)

    def _finish(self, kind, error, trace):
        if kind is not None:
            return
        if not self.n_graphs:
            raise WrongValue(f"{self.path}: no graph was added")
        if self.total is not None and self.n_graphs != self.total:
            raise WrongValue(f"{self.path}: {self.n_graphs} graphs were added, but total={self.total} were announced")
        self._bar.close()
        entries = self._write_splits()
        for name, values in self._free.items():
            entries[f"free.{name}"] = self._write_free(f"free.{name}", values)
        for name, file in self._files.items():
            file.finish()
            level = "free" if "." not in name else name.split(".")[0]
            entries[name] = file.entry(level, self.fields.get(name))
        counts = {"graphs": self.n_graphs}
        for level in self._ragged:
            low, high = self._extremes[level]
            counts |= {f"{level}s": self._n_rows[level], f"min_{level}s": low, f"max_{level}s": high}
        header = {"format": FORMAT, "version": VERSION, "name": self.name, "generator": self.generator}
        header |= {"ids": self.ids, "counts": counts}
        header |= {"splits": {name: list(parts) for name, parts in self._splits.items()}}
        header |= {"split_levels": self._split_levels} if self._split_levels else {}
        seal(self._folder, header | {"arrays": entries})

    def _write_splits(self):
        entries = {}
        for name, parts in self._splits.items():
            level = self._split_levels.get(name, "graph")
            if level == "node" and self.n_graphs > 1:
                raise WrongValue(f"split {name}: level='node' needs a store of one graph, this one has {self.n_graphs}")
            n_items = self.n_graphs if level == "graph" else self._n_rows["node"]
            for part, indices in parts.items():
                wrong = indices[(indices < 0) | (indices >= n_items)]
                if wrong.size:
                    raise WrongValue(f"split {name}, {part}: {level} {wrong[0]}: expected 0 to {n_items - 1}")
                key = f"free.split.{name}.{part}"
                entries[key] = self._write_free(key, indices)
        return entries

    def _write_free(self, key, values):
        with contextlib.closing(NpyWriter(self._folder, key, values.dtype, values.shape[1:])) as file:
            file.append(values)
            file.finish()
        return file.entry("free")
