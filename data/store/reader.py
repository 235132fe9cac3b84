"""Reads a store: a batch is one block-diagonal DGLGraph, cut out of the arrays without making the single graphs."""

import contextlib
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import dgl
import numpy as np
import torch

from data.errors import StoreError
from data.parallel import parallel_map
from data.store.checksums import (
    DERIVED_FORMAT,
    FORMAT,
    HEADER,
    REMEDY,
    VERSION,
    Folder,
    expand,
    fingerprint,
    plain_json,
)
from data.store.fields import (
    EDGE_SRC,
    IN_DEGREE,
    LIMITS,
    RAGGED,
    Field,
    check_names,
    convert,
    first,
    to_numpy,
)
from data.store.writer import NpyWriter, build_once, new_folder, seal

# Mean rows of a run of adjacent rows from which copying run by run is faster than gathering row by row; measured with
# benchmarks/batching.py --threshold.
LONG_RUN = 192


class Batch(NamedTuple):
    """Graphs as one DGLGraph, what is asked of them, and the labels.

    of   None: all graphs, nodes or edges of g; (M,) node numbers; or (2, M) pairs of nodes, sources and destinations
    y    a label for each of them; None where there are none
    """

    g: dgl.DGLGraph
    of: torch.Tensor | None
    y: torch.Tensor | None

    def to(self, device):
        return Batch(*(part if part is None else part.to(device) for part in self))


class Rows:
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
        return expand(self.starts, self.counts)

    def take(self, values, dtype):
        """A fresh array of these rows of `values`, converted to dtype."""
        starts, stops = self.runs
        if self.total < LONG_RUN * len(starts):
            return values.take(self.numbers, axis=0).astype(dtype, copy=False)
        runs = [values[start:stop] for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)]
        # the values of unsigned arrays were checked to fit when they were written
        return np.concatenate(runs, dtype=dtype, casting="unsafe")


class Packed:
    """A dataset opened for reading; opening reads the header only, whatever the number of graphs.

    Pickling sends the path, so that loader workers map the same pages instead of copying the data.
    """

    def __init__(self, path):
        self.path = Path(path).absolute()
        self._folder = Folder(self.path, FORMAT)
        self._arrays = dict(self._folder.arrays)
        self._derived = {}  # folder name -> Folder
        self.fields = self._folder.fields
        self.header = self._folder.header
        self.cliques = None  # of a store whose graphs are complete: "edges" or "marked" (`with_cliques`)

    # What is in it

    @property
    def name(self):
        return self.header["name"]

    @property
    def hash(self):
        """SHA-256 over name, generator parameters and the arrays; further fields that are derived do not change it."""
        return self.header["hash"]

    @property
    def source_hash(self):
        """That of the store itself, whatever was perturbed since."""
        return self._folder.header["hash"]

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

    def split_level(self, name):
        """What a split divides: "graph", or "node" in a store of one graph."""
        return self.header.get("split_levels", {}).get(name, "graph")

    def split(self, name):
        """{part: graph numbers (int64), or node numbers} of one split."""
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
        if self.cliques:
            return clique_edges(np.array([len(in_degree)]), in_degree.dtype)
        return self.rows(EDGE_SRC, i), np.repeat(np.arange(len(in_degree), dtype=in_degree.dtype), in_degree)

    def _array(self, key):
        if key not in self._arrays:
            raise KeyError(f"{key!r}: expected one of {', '.join(self._arrays)}")
        return self._arrays[key]

    # Batches

    def batch(self, indices):
        """Batch(g, of, y): the graphs as one DGLGraph, as `dgl.batch` would join them, and the rows of the fields `of` and `label`.

        g has the node and edge fields in ndata and edata; integers are int64, numbers at least float32. of and y are None
        without such a field.
        """
        graphs = self._graph_numbers(indices)
        levels = ("graph", *(level for level in RAGGED if f"{level}_offsets" in self._arrays))
        rows = {level: self._rows(level, graphs) for level in levels}
        if self.cliques == "edges":
            n = rows["node"].counts
            rows["edge"] = Rows(np.zeros_like(n), n * (n - 1))
        self._check_ids(rows, graphs)
        g, asked = self._structure(rows), {"of": None, "label": None}
        if self.cliques == "marked":
            g.ndata["clique"] = torch.ones(g.num_nodes(), dtype=torch.bool)
        frames = {"node": g.ndata, "edge": g.edata}
        for key, field in self.fields.items():
            if field.name in asked:
                asked[field.name] = self._take(key, rows)
            elif field.level in frames:
                frames[field.level][field.name] = self._take(key, rows)
        of = asked["of"]
        return Batch(g, of if of is None else of.t(), asked["label"])

    def graph(self, i):
        return self.batch([i]).g

    def _graph_numbers(self, indices):
        graphs = to_numpy(indices)
        if graphs.ndim != 1 or not graphs.size:
            raise ValueError(f"graph numbers of shape {graphs.shape}: expected a list of at least one number")
        if graphs.dtype.kind not in "iu":
            raise ValueError(f"graph numbers {graphs[:3]}… of type {graphs.dtype}: expected integers")
        wrong = (graphs < 0) | (graphs >= self.n_graphs)
        if wrong.any():
            raise IndexError(f"graph {first(graphs, wrong)}: expected 0 to {self.n_graphs - 1}")
        return graphs.astype(np.int64)

    def _rows(self, level, graphs):
        if level == "graph":
            return Rows(graphs, graphs + 1)
        offsets = self._array(f"{level}_offsets").rows(graphs, graphs + 2)
        return Rows(offsets[graphs], offsets[graphs + 1])

    def _check_ids(self, rows, graphs):
        limit = LIMITS[self.header["ids"]][1]
        for level in ("node", "edge"):
            if rows[level].total > limit:
                text = f"a batch of {len(graphs)} graphs has {rows[level].total} {level}s, more than int32 can number"
                raise ValueError(f"{text} ({limit}): take smaller batches, or build the store with ids='int64'")

    def _structure(self, rows):
        """The DGLGraph without features, in CSC form: the in-edges of node v are indptr[v] to indptr[v + 1] - 1."""
        ids = np.dtype(self.header["ids"])
        n_nodes = rows["node"].total
        indptr = np.zeros(n_nodes + 1, ids)
        if self.cliques == "edges":
            src, dst = clique_edges(rows["node"].counts, ids)
            in_degree = np.bincount(dst, minlength=n_nodes)
        else:
            src, in_degree = self._values(EDGE_SRC, rows, ids), self._values(IN_DEGREE, rows, ids)
        np.cumsum(in_degree, out=indptr[1:])
        src = torch.from_numpy(src)
        # edge k of the CSC form has number k; written out, because float32 sums over edges of dgl 1.1.3 fail without
        number = torch.arange(len(src), dtype=src.dtype)
        g = dgl.graph(("csc", (torch.from_numpy(indptr), src, number)), num_nodes=n_nodes)
        g.set_batch_num_nodes(torch.from_numpy(rows["node"].counts.astype(ids)))
        g.set_batch_num_edges(torch.from_numpy(rows["edge"].counts.astype(ids)))
        return g

    def _take(self, key, rows):
        dtype = self._array(key).dtype
        wide = np.int64 if dtype.kind in "iu" else np.float32 if dtype == np.float16 else dtype
        return torch.from_numpy(self._values(key, rows, wide))

    def _values(self, key, rows, dtype):
        """The rows of one array for a batch; node numbers are shifted to the place of their graph in it."""
        array = self._array(key)
        wanted = rows[array.entry["level"]]
        values = wanted.take(array.rows(wanted.starts, wanted.stops), dtype)
        if key == EDGE_SRC or array.entry.get("refers_to"):
            n_nodes = rows["node"].counts
            shift = np.repeat((np.cumsum(n_nodes) - n_nodes).astype(dtype), wanted.counts)
            values += shift.reshape(-1, *[1] * (values.ndim - 1))
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

    def with_derived(self, name):
        """The store with what the folder STORE/derived/NAME holds: further fields, or others in the place of its own."""
        folder = Folder(self.path / "derived" / name, DERIVED_FORMAT)
        if folder.header["store"] != self.hash:
            raise StoreError(f"{folder.path} was computed from another store: {REMEDY.format(folder.path)}")
        view = self._view()
        view._derived = self._derived | {name: folder}
        if (replaces := folder.header.get("replaces")) is not None:
            view._take_the_place(folder, **replaces)
        view._arrays = view._arrays | folder.arrays
        view.fields = view.fields | folder.fields
        return view

    def _take_the_place(self, folder, edges, cliques):
        """Become the store of `folder` (data/store/replaced.py). Fields of edges go with the edges; the hash is its own."""
        if edges:
            self.fields = {key: field for key, field in self.fields.items() if field.level != "edge"}
            self._arrays = {key: array for key, array in self._arrays.items() if not key.startswith("edge.")}
            self.cliques = "edges" if cliques else None
        counts = self.header["counts"] | folder.header.get("counts", {})
        arrays = {key: entry["sha256"] for key, entry in folder.header["arrays"].items()}
        own = {"hash": fingerprint([self.hash, folder.header["parameters"], folder.header["replaces"], arrays])}
        self.header = self.header | {"counts": counts, "name": f"{self.name}+{folder.header['name']}"} | own

    def with_cliques(self, how):
        """Of a store whose graphs are complete: whether a batch has their edges ("edges") or a node field `clique` ("marked")."""
        view = self._view()
        view.cliques = how if self.cliques else None
        return view

    def __reduce__(self):
        base = self._folder.header["hash"]
        return _reopen, (self.path, base, tuple(self._derived), tuple(self.fields), self.cliques)

    # Derived arrays

    def derive(
        self,
        name,
        *,
        level,
        dtype,
        shape=(),
        parameters,
        compute,
        description="",
        n_types=None,
        finite=True,
        refers_to=None,
        workers=1,
    ):
        """This store with a further field, computed once and kept in STORE/derived.

        compute(i) gives the rows of graph i (edges in the order of `edges(i)`); with more than one of `workers` (None: all
        cores) it must be picklable. The result is found again by the hash of the store, the field and `parameters`, which
        must hold all that the values depend on.
        """
        field = Field(level, name, dtype, shape, n_types, finite, refers_to)
        check_names([*self.fields.values(), field])
        if level != "graph" and f"{level}_offsets" not in self._arrays:
            raise ValueError(f"{field.key}: the store has no level {level}")
        parameters = plain_json(parameters, "parameters")
        source = [self.hash, level, name, dtype, list(field.shape), n_types, finite, parameters]
        source += [refers_to] if refers_to else []
        target = self.path / "derived" / f"{name}-{fingerprint(source)[:16]}"
        header = {"format": DERIVED_FORMAT, "version": VERSION, "store": self.hash, "name": name}
        header |= {"parameters": parameters, "description": description}
        build_once(target, lambda _: self._write_derived(target, field, header, compute, workers))
        return self.with_derived(target.name)

    def _write_derived(self, target, field, header, compute, workers):
        n_rows = np.ones(len(self), int) if field.level == "graph" else np.diff(self.column(f"{field.level}_offsets"))
        n_nodes = np.diff(self.column("node_offsets"))
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(new_folder(target))
            file = stack.enter_context(contextlib.closing(NpyWriter(folder, field.key, field.dtype, field.shape)))
            results = parallel_map(compute, range(len(self)), f"{self.name} {field.name}", workers=workers)
            for i, values in enumerate(results):
                rows = convert(field, values, int(n_rows[i]), f"graph {i}", int(n_nodes[i]))
                file.append(rows[None] if field.level == "graph" else rows)
            file.finish()
            seal(folder, header | {"arrays": {field.key: file.entry(field.level, field)}})

    def verify(self):
        """Compare every file, derived ones too, with its SHA-256; StoreError names the first that is damaged."""
        self._folder.verify()
        for header in sorted(self.path.glob(f"derived/*/{HEADER}")):
            Folder(header.parent, DERIVED_FORMAT).verify()


def _reopen(path, expected_hash, derived, fields, cliques=None):
    store = Packed(path)
    if store.hash != expected_hash:
        raise StoreError(f"{path} was built anew (hash {store.hash}, was {expected_hash}): open the new one")
    for name in derived:
        store = store.with_derived(name)
    return store.with_fields(*fields).with_cliques(cliques)


def clique_edges(sizes, dtype):
    """(src, dst) of all pairs of different nodes of graphs of these sizes, one after the other, sorted by dst."""
    counts = sizes * (sizes - 1)
    shift = np.repeat(np.cumsum(sizes) - sizes, counts)
    others = np.repeat(sizes - 1, counts)
    place = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    dst, src = np.divmod(place, others)
    src += src >= dst
    return (src + shift).astype(dtype), (dst + shift).astype(dtype)


def open_or_build(path, build):
    """The store at `path`; when there is none, build(path) is called first, by one process only."""
    build_once(Path(path).absolute(), build)
    return Packed(path)
