"""Splits: which graphs are for training, validation and test. Drawn here, or read from published index files."""

import numpy as np

from data.download import reading
from data.errors import REMEDY, DataError
from data.readers.unpack import parse_json, without_fraction

PARTS = ("train", "val", "test")
NO_SPLIT = "there is no split: call add_split(name, train=…, val=…, test=…) before the writer closes"


def check_parts(name, parts):
    """Raise if a part of a split is missing, or is called otherwise."""
    if not set(PARTS) <= set(parts):
        raise DataError(f"split {name} has the parts {', '.join(parts)}: expected {', '.join(PARTS)}")


def consecutive(sizes):
    """The split of graphs that are stored part by part. `sizes`: {part: number of graphs}, in that order."""
    ends = np.cumsum(list(sizes.values()))
    return {part: np.arange(end - size, end) for (part, size), end in zip(sizes.items(), ends, strict=True)}


def stratified_parts(labels, n_parts, random):
    """The part of each graph, drawn so that all parts have the same class proportions."""
    part = np.empty(len(labels), dtype=np.int64)
    for label in np.unique(labels):
        members = random.permutation(np.flatnonzero(labels == label))
        part[members] = np.arange(len(members)) % n_parts
    return part


def stratified_folds(labels, n_folds, random):
    """Cross-validation with the same class proportions everywhere: fold f is tested on part f, validated on part f+1 and trained
    on the rest; 5 folds give 3:1:1."""
    part = stratified_parts(labels, n_folds, random)
    return folds_of_parts(part, n_folds)


def folds_of_parts(part, n_folds):
    """Fold f is tested on part f, validated on part f+1 and trained on the rest."""
    for f in range(n_folds):
        test, val = part == f, part == (f + 1) % n_folds
        yield dict(zip(PARTS, map(np.flatnonzero, (~test & ~val, val, test)), strict=True))


def scikit_folds(labels, n_folds, seed):
    """The same kind of folds, with the parts of scikit-learn's StratifiedKFold(n_folds, shuffle=True, random_state=seed)."""
    random = np.random.RandomState(seed)
    _, first, label = np.unique(labels, return_index=True, return_inverse=True)
    order = np.argsort(np.argsort(first))[label]  # classes numbered as they occur
    part, in_order = np.empty(len(labels), dtype=np.int64), np.sort(order)
    sizes = np.array([np.bincount(in_order[f::n_folds], minlength=len(first)) for f in range(n_folds)])
    for c in range(len(first)):
        parts = np.repeat(np.arange(n_folds), sizes[:, c])
        random.shuffle(parts)
        part[order == c] = parts
    return folds_of_parts(part, n_folds)


def random_split(n, seed, train=0.8, val=0.1):
    """n items divided at random, as by scikit-learn's ShuffleSplit(train_size=0.8, random_state=seed), and the rest once more."""

    def halves(n, share):
        order, size = np.random.RandomState(seed).permutation(n), int(share * n)
        return order[n - size :], order[: n - size]

    first, rest = halves(n, train)
    second, third = halves(len(rest), val / (1 - train))
    return dict(zip(PARTS, (first, rest[second], rest[third]), strict=True))


def read_folds(paths, n_graphs):
    """The folds of published index files, [{"train": graphs, "val": graphs, "test": graphs}]. `paths`: one file per part."""
    lines = [read_lines(path, n_graphs) for path in paths]
    if len({len(folds) for folds in lines}) != 1:
        counts = ", ".join(f"{path} {len(folds)}" for path, folds in zip(paths, lines, strict=True))
        raise DataError(f"numbers of folds differ: {counts}: the files do not belong together")
    return [dict(zip(PARTS, fold, strict=True)) for fold in zip(*lines, strict=True)]


def read_lines(path, n_graphs):
    """An array of graph numbers per line, which are separated by commas."""
    with reading(path):
        lines = [np.array([int(word) for word in line.split(",")]) for line in path.read_text().split()]
    if not lines:
        raise DataError(f"{path}: no line of graph numbers: {REMEDY}")
    for k, graphs in enumerate(lines):
        if graphs.min() < 0 or graphs.max() >= n_graphs:
            raise DataError(
                f"{path}, line {k + 1}: expected graph numbers from 0 to {n_graphs - 1}, found {graphs.min()} to {graphs.max()}"
            )
    return lines


def evenly_spaced(graphs, limit):
    """At most `limit` of the graphs, spread evenly: files are often sorted by class."""
    return graphs if len(graphs) <= limit else graphs[np.linspace(0, len(graphs) - 1, limit).round().astype(int)]


def nested_folds(labels, n_folds, random):
    """Outer folds, and in each a tenth of what is not tested held out for validation; all with the same class proportions."""
    part = stratified_parts(labels, n_folds, random)
    for f in range(n_folds):
        rest = np.flatnonzero(part != f)
        held_out = stratified_parts(labels[rest], 10, random) == 0
        yield {"train": rest[~held_out], "val": rest[held_out], "test": np.flatnonzero(part == f)}


def read_nested_folds(path, n_graphs):
    """The outer folds of a file of the Fair Comparison, each with its one inner division into train and val."""
    with reading(path):
        made = []
        for fold in parse_json(path.read_text(), path):
            (inner,) = fold["model_selection"]
            parts = {"train": inner["train"], "val": inner["validation"], "test": fold["test"]}
            made.append({part: without_fraction(graphs, f"fold {len(made)}, {part}") for part, graphs in parts.items()})
        numbers_of = [np.concatenate(list(parts.values())) for parts in made]
        if not made:
            raise ValueError("no folds")
    for f, numbers in enumerate(numbers_of):
        if len(np.unique(numbers)) < len(numbers) or not numbers.size or numbers.min() < 0 or numbers.max() >= n_graphs:
            raise DataError(f"{path}, fold {f}: expected different graphs from 0 to {n_graphs - 1}")
    return made
