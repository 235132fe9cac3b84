"""Graphs published as one torch file: a list of three lists (train, val, test) of dictionaries of tensors.

The benchmark's own MNIST, CIFAR10, PATTERN, CLUSTER and TSP graphs can be had in this form. Nothing in a file is trusted: it
is loaded without running any code of it, and every graph is checked before it is handed out.
"""

import contextlib
import shutil
import tempfile
import zipfile

import numpy as np

from data.download import RawFile
from data.errors import REMEDY, DataError
from data.readers.unpack import Zip, damage
from data.readers.unpickle import UnpickleError, load_torch
from data.splits import PARTS

MOST_BYTES = 16 << 30  # that a file may unpack to; the largest is that of TSP, of about 2 GB
LEVELS = ("graph", "node", "edge")


def published_file(name):
    """The zip of one of the published datasets, as "MNIST_v2"."""
    address = f"https://data.pyg.org/datasets/benchmarking-gnns/{name}.zip"
    return RawFile(f"benchmarking-gnns/{name}.zip", (address,))


def published_parts(path, *, node_dim, label, edge_dim=0, with_pos=False):
    """(part, n_graphs, graphs) for train, val and test, where graphs yields a dictionary of numpy arrays for each graph:

        x           (n, node_dim) numbers of the nodes
        edge_index  (2, E) source and destination of each edge
        y           int64: a number, (n,) or (E,), as `label` is "graph", "node" or "edge"
        edge_attr   (E, edge_dim), if edge_dim is not 0
        pos         (n, 2), if with_pos

    `path` is the torch file, or a zip that holds it as its only file ending in .pt. Other keys of a graph are not looked at.
    """
    if label not in LEVELS:
        raise ValueError(f"label={label!r}: expected one of {', '.join(LEVELS)}")
    content = _load(path)
    if not isinstance(content, list | tuple) or len(content) != len(PARTS):
        found = f"{len(content)} parts" if isinstance(content, list | tuple) else type(content).__name__
        raise DataError(f"{path}: {found}: expected a list of the three lists {', '.join(PARTS)}: {REMEDY}")
    for part, graphs in zip(PARTS, content, strict=True):
        if not isinstance(graphs, list | tuple) or not graphs:
            found = "an empty list" if graphs in ([], ()) else type(graphs).__name__
            raise DataError(f"{path}, {part}: {found}: expected a list of graphs: {REMEDY}")
        yield part, len(graphs), _checked(graphs, f"{path}, {part}", node_dim, label, edge_dim, with_pos)


def _load(path):
    try:
        with _torch_file(path) as file:
            return load_torch(file, path, MOST_BYTES)
    except UnpickleError as error:
        raise DataError(f"{path}: cannot be read as a torch file of tensors ({error}): {REMEDY}") from error


@contextlib.contextmanager
def _torch_file(path):
    """The torch file, itself or unpacked from a zip. (A torch file is a zip too, but holds no .pt.)"""
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(open(path, "rb"))
        with damage(path):
            is_zip = zipfile.is_zipfile(path)
        if is_zip:
            archive = stack.enter_context(Zip(path))
            members = [name for name in archive.sizes if name.endswith(".pt")]
            if len(members) > 1:
                raise DataError(f"{path}: holds {', '.join(members)}: expected one .pt file: {REMEDY}")
            if members:
                file = stack.enter_context(tempfile.TemporaryFile())
                shutil.copyfileobj(stack.enter_context(archive.open(members[0], MOST_BYTES)), file)
                file.seek(0)
        yield file


def _checked(graphs, where, node_dim, label, edge_dim, with_pos):
    for i, graph in enumerate(graphs):
        at = f"{where}, graph {i}"
        if not isinstance(graph, dict):
            raise DataError(f"{at}: {type(graph).__name__}: expected a dictionary of tensors: {REMEDY}")
        checked = checked_graph(graph, at, node_dim, edge_dim)
        n_nodes, n_edges = len(checked["x"]), checked["edge_index"].shape[1]
        n_labels = {"graph": 1, "node": n_nodes, "edge": n_edges}[label]
        y = checked_rows(checked_integers(graph, "y", at), n_labels, 1, at, "y")[:, 0]
        checked["y"] = y[0] if label == "graph" else y
        if with_pos:
            checked["pos"] = checked_rows(checked_numbers(graph, "pos", at), n_nodes, 2, at, "pos")
        yield checked


def checked_graph(graph, at, node_dim, edge_dim=0):
    """{"x", "edge_index", "edge_attr"} of a dictionary of arrays that is not trusted; `at` names it in errors."""
    x = checked_numbers(graph, "x", at)
    if x.ndim != 2 or x.shape[1] != node_dim or not len(x):
        raise DataError(f"{at}, x: shape {x.shape}: expected (nodes, {node_dim}): {REMEDY}")
    ends = checked_nodes(graph, "edge_index", at, len(x))
    checked = {"x": x, "edge_index": ends}
    if edge_dim:
        values = checked_numbers(graph, "edge_attr", at)
        checked["edge_attr"] = checked_rows(values, ends.shape[1], edge_dim, at, "edge_attr")
    return checked


def checked_nodes(graph, key, at, n_nodes):
    """(2, m) pairs of nodes of a graph of n_nodes nodes."""
    ends = checked_integers(graph, key, at)
    if ends.ndim != 2 or len(ends) != 2:
        raise DataError(f"{at}, {key}: shape {ends.shape}: expected (2, edges): {REMEDY}")
    if ends.size and (ends.min() < 0 or ends.max() >= n_nodes):
        bad = ends[(ends < 0) | (ends >= n_nodes)][0]
        raise DataError(f"{at}, {key}: node {bad}: expected 0 to {n_nodes - 1}: {REMEDY}")
    return ends


def checked_numbers(graph, key, at):
    """The tensor of that key as an array of finite numbers."""
    if not isinstance(graph.get(key), np.ndarray):
        found = type(graph[key]).__name__ if key in graph else f"only {', '.join(map(str, graph)) or 'nothing'}"
        raise DataError(f"{at}: {key} is missing, or no tensor (found {found}): {REMEDY}")
    values = graph[key]
    if values.dtype.kind not in "biuf":
        raise DataError(f"{at}, {key}: values of type {values.dtype}: expected numbers: {REMEDY}")
    if not np.isfinite(values).all():
        raise DataError(f"{at}, {key}: {values[~np.isfinite(values)][0]}: expected finite values: {REMEDY}")
    return values


def checked_integers(graph, key, at):
    values = checked_numbers(graph, key, at)
    whole = values.astype(np.int64)
    if (whole != values).any():
        raise DataError(f"{at}, {key}: {values[whole != values][0]}: expected integers: {REMEDY}")
    return whole


def checked_rows(values, n_rows, dim, at, key):
    """One row per item: a flat array of one number per item becomes a column."""
    if dim == 1 and values.ndim <= 1:
        values = values.reshape(-1, 1)
    if values.shape != (n_rows, dim):
        raise DataError(f"{at}, {key}: shape {values.shape}: expected {(n_rows, dim)}: {REMEDY}")
    return values
