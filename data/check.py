"""What is wrong with a dataset of your own: a packed store, or files in TU text format (a folder or a zip archive).

    python -m data.check PATH        prints errors and warnings, and ends with 1 if there is an error

An error means that training would fail or mislead; a warning, that you should know.
"""

import argparse
import hashlib
import sys
import tempfile
from pathlib import Path

import numpy as np
from tqdm import tqdm

from data.dataset import wrong_feature, wrong_label
from data.errors import DataError, StoreError
from data.splits import NO_SPLIT, PARTS
from data.store import HEADER, Packed, PackedWriter
from data.TUs import TextFiles, add_graphs, fields_of, read_graphs

SHOWN = 3  # examples of graphs with a problem


def check_path(path):
    """[(kind, text)] of everything found in the dataset at `path`; kind is error, warning or note."""
    path = Path(path)
    if not path.exists():
        raise DataError(f"{path}: no such file or folder")
    if (path / HEADER).exists():
        store = Packed(path)
        store.verify()
        return check_store(store)
    if path.suffix == ".zip" or path.is_dir():
        with tempfile.TemporaryDirectory() as folder:
            return [*check_store(from_text(path, Path(folder) / "store"), splits=False)]
    raise DataError(
        f"{path}: neither a packed store (a folder with {HEADER}) nor TU text files (a folder or a zip archive)"
    )


def from_text(path, target):
    """TU text files as a store without folds. The name is that of the archive or folder."""
    path = path.resolve()  # "." has no name
    graphs = read_graphs(TextFiles(path, path.name.removesuffix(".zip")))
    with PackedWriter(target, path.stem, fields_of(graphs)) as writer:
        add_graphs(writer, graphs, path)
    return Packed(target)


def check_store(store, splits=True):
    yield (
        "note",
        f"{len(store)} graphs, {store.n_nodes} nodes, {store.n_edges} edges; fields {', '.join(store.fields) or 'none'}",
    )
    label = next((field for field in store.fields.values() if field.name == "label"), None)
    if len(store) == 0:
        yield "error", "there is no graph"
        return
    # pairs of nodes are predicted, or pairs of graphs compared: neither label nor split of graphs
    pairs = {"free.pairs.train", "free.pairs"} & store.header["arrays"].keys()
    if label is None and not pairs and "pair.of" not in store.fields:
        yield "error", "no field is called label: declare one at the level that is predicted (graph, node or edge)"
    if label is not None and (wrong := wrong_label(label)):
        yield "error", wrong
        label = None
    yield from check_features(store)
    yield from check_graphs(store)
    if label is not None and label.n_types:
        yield from check_classes(store, label)
    if "free.pairs" in pairs:
        yield from check_pairs(store)
    if splits and not pairs:
        yield from check_splits(store, label)


def check_features(store):
    for key, field in store.fields.items():
        values = store.column(key)
        if field.name != "feat" or not len(values):
            continue
        if field.level in ("node", "edge") and (wrong := wrong_feature(field)):
            yield "error", wrong
            continue
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            yield "error", f"{key} holds NaN or infinite values"
            continue
        columns = values.reshape(len(values), -1)
        constant = np.flatnonzero((columns == columns[0]).all(0))
        if len(constant):
            yield "warning", f"{key}: {len(constant)} of {columns.shape[1]} columns are the same everywhere"
        if values.dtype.kind == "f" and (spread := columns.std(0, dtype=np.float64)).max() > 1e3 * max(
            np.median(spread), 1e-12
        ):
            yield (
                "warning",
                f"{key}: column {spread.argmax()} varies over 1000 times more than most: think of scaling it",
            )


def check_graphs(store):
    """Structure, graph by graph."""
    found = {
        "no node": [],
        "no edge": [],
        "an edge in one direction only (no Laplacian encodings for them)": [],
        "an edge twice": [],
        "self-loops": [],
        "isolated nodes": [],
    }
    for i in tqdm(range(len(store)), desc="checking", unit=" graphs", disable=None):
        n = len(store.rows("node.in_degree", i))
        src, dst = (end.astype(np.int64) for end in store.edges(i))
        codes = src * n + dst
        problems = (
            n == 0,
            len(src) == 0,
            not np.array_equal(np.unique(codes), np.unique(dst * n + src)),
            len(np.unique(codes)) < len(codes),
            bool((src == dst).any()),
            len(src) > 0 and len(np.union1d(src, dst)) < n,
        )
        for numbers, is_so in zip(found.values(), problems, strict=True):
            if is_so:
                numbers.append(i)
    for text, numbers in found.items():
        if numbers:
            kind = "error" if "no node" in text else "warning"
            have = "graph has" if len(numbers) == 1 else "graphs have"
            yield kind, f"{len(numbers)} {have} {text}: {examples(numbers)}"


def examples(numbers):
    return ", ".join(map(str, numbers[:SHOWN])) + (" …" if len(numbers) > SHOWN else "")


def check_classes(store, label):
    counts = np.bincount(store.column(label.key).reshape(-1), minlength=label.n_types)
    if (counts == 0).any():
        yield "warning", f"classes {examples(np.flatnonzero(counts == 0).tolist())} of {label.n_types} never occur"
    if counts.max() > 20 * max(counts[counts > 0].min(), 1):
        yield (
            "warning",
            f"class {counts.argmax()} is {counts.max() / counts[counts > 0].min():.0f} times as frequent as the rarest",
        )


def check_pairs(store):
    """Pairs of graphs to be told apart: the same graph twice, in the same numbering, cannot be."""
    same = [k for k, (g, h) in enumerate(store.column("free.pairs").tolist()) if digest(store, g) == digest(store, h)]
    if same:
        are = "pair is" if len(same) == 1 else "pairs are"
        yield "error", f"{len(same)} {are} the same graph twice: {examples(same)}"


def check_splits(store, label):
    if not store.splits:
        yield "error", NO_SPLIT
    digests = None
    for name in store.splits:
        parts = store.split(name)
        missing = [part for part in PARTS if len(parts.get(part, ())) == 0]
        if missing:
            yield "error", f"split {name}: {', '.join(missing)} is missing or empty"
            continue
        level = store.split_level(name)
        n_items = len(store) if level == "graph" else store.n_nodes
        outside = [i for part in parts.values() for i in part.tolist() if not 0 <= i < n_items]
        if outside:
            yield "error", f"split {name}: {level}s {examples(outside)} do not exist"
            continue
        if label is not None and label.level == level and label.n_types:
            values = store.column(label.key)
            unseen = set(values[parts["test"]].tolist()) - set(values[parts["train"]].tolist())
            if unseen:
                yield "error", f"split {name}: classes {examples(sorted(unseen))} are tested but never trained"
        if level == "node":
            continue
        digests = digests if digests is not None else [digest(store, i) for i in range(len(store))]
        train = {digests[i] for i in parts["train"]}
        copies = [int(i) for part in ("val", "test") for i in parts[part] if digests[i] in train]
        if copies:
            have = "graph of val and test has" if len(copies) == 1 else "graphs of val and test have"
            yield "warning", f"split {name}: {len(copies)} {have} an identical copy in train: {examples(copies)}"


def digest(store, i):
    """Equal for graphs with the same edges, features and labels, node by node."""
    content = hashlib.sha256()
    for key in ("node.in_degree", "edge.src", *store.fields):
        content.update(np.ascontiguousarray(store.rows(key, i)).tobytes())
    return content.digest()


def main(argv=None):
    parser = argparse.ArgumentParser(prog="python -m data.check", description=__doc__.split("\n\n")[0])
    parser.add_argument("path", type=Path, help="folder of a packed store, or TU text files in a folder or zip archive")
    arguments = parser.parse_args(argv)
    try:
        found = list(check_path(arguments.path))
    except (DataError, StoreError, OSError) as error:
        found = [("error", str(error))]
    for kind, text in found:
        print(f"{kind}: {text}")
    counts = {word: sum(kind == word for kind, _ in found) for word in ("error", "warning")}
    print(", ".join(f"{n} {word}{'s' * (n != 1)}" for word, n in counts.items()))
    return 1 if counts["error"] else 0


if __name__ == "__main__":
    sys.exit(main())
