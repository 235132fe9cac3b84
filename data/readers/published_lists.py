"""Graphs published as one list per part: train.pickle (or train.pt), val and test, in a zip file or a folder.

The graphs of LRGB can be had in this form, each a tuple such as (x, edge_attr, edge_index, y). Nothing in a file is run. A
pickle is read graph by graph: the largest, of COCO-SP, would not fit into the memory of many machines.
"""

import contextlib
import shutil
import tempfile
from pathlib import Path

from data.errors import REMEDY, DataError
from data.readers.published import checked_graph, checked_integers, checked_nodes, checked_numbers, checked_rows
from data.readers.unpack import Zip, open_file
from data.readers.unpickle import UnpickleError, load_torch, stream_pickle

MOST_BYTES = 64 << 30  # that a part may unpack to: the training graphs of COCO-SP take about 10 GB
MOST_AT_ONCE = 8 << 30  # that the graphs of a pickle take at once; those of a file of torch.save are all there


def published_graphs(path, part, keys, node_dim, edge_dim):
    """Yields a dictionary of checked arrays for each graph of a part. `keys` names the entries of the tuples, among them

    x           (n, node_dim)
    edge_attr   (E, edge_dim)
    edge_index  (2, E) source and destination of each edge

    and others, which are handed on as arrays of numbers, and "at", what errors call the graph.
    """
    for i, entries in enumerate(_entries(Path(path), part)):
        at = f"{path}, {part}, graph {i}"
        if not isinstance(entries, tuple | list) or len(entries) != len(keys):
            found = f"{len(entries)} entries" if isinstance(entries, tuple | list) else type(entries).__name__
            raise DataError(f"{at}: {found}: expected ({', '.join(keys)}): {REMEDY}")
        graph = dict(zip(keys, entries, strict=True))
        others = {key: checked_numbers(graph, key, at) for key in keys if key not in ("x", "edge_attr", "edge_index")}
        yield {"at": at, **others, **checked_graph(graph, at, node_dim, edge_dim)}


def node_labels(graph):
    """(n,) whole numbers of the nodes."""
    n_nodes, at = len(graph["x"]), graph["at"]
    return checked_rows(checked_integers(graph, "y", at), n_nodes, 1, at, "y")[:, 0]


def graph_numbers(graph, dim):
    """(dim,) numbers of the graph, which may be published as (1, dim)."""
    return checked_rows(graph["y"].reshape(1, -1), 1, dim, graph["at"], "y")[0]


def true_pairs(graph):
    """(m, 2) pairs of nodes whose label is 1: negatives, if there are any, are not taken."""
    at = graph["at"]
    pairs = checked_nodes(graph, "pairs", at, len(graph["x"]))
    label = checked_rows(checked_integers(graph, "pair_label", at), pairs.shape[1], 1, at, "pair_label")[:, 0]
    return pairs.T[label == 1]


def _entries(path, part):
    """The tuples of a part, unchecked."""
    try:
        with contextlib.ExitStack() as stack:
            kind, file = _open(path, part, stack)
            if kind == "pickle":
                yield from stream_pickle(file, MOST_AT_ONCE)
                return
            copy = stack.enter_context(tempfile.TemporaryFile())  # a file of torch.save is searched, not read in order
            shutil.copyfileobj(file, copy)
            copy.seek(0)
            content = load_torch(copy, f"{path}, {part}", MOST_BYTES)
            if not isinstance(content, list | tuple):
                raise DataError(f"{path}, {part}: {type(content).__name__}: expected a list of graphs: {REMEDY}")
            yield from content
    except UnpickleError as error:
        raise DataError(f"{path}, {part}: cannot be read as a list of graphs ({error}): {REMEDY}") from error


def _open(path, part, stack):
    """(pickle or pt, the stream) of a part."""
    names = (f"{part}.pickle", f"{part}.pt")
    if path.is_dir():
        found = [file for file in sorted(path.rglob(f"{part}.*")) if file.name in names]
    else:
        archive = stack.enter_context(Zip(path))
        found = [Path(name) for name in archive.sizes if name.rsplit("/", 1)[-1] in names]
    if len(found) != 1:
        raise DataError(f"{path}: {len(found)} files {' or '.join(names)}, expected 1: {REMEDY}")
    kind = found[0].suffix[1:]
    if path.is_dir():
        return kind, stack.enter_context(open_file(found[0], MOST_BYTES))
    return kind, stack.enter_context(archive.open(str(found[0]), MOST_BYTES))
