"""MalNet-Tiny: function call graphs of 5,000 Android programs; benign, or one of four kinds of malicious ones?

Edges go from the caller to the called function. As in the original loader, functions without a call to or from another are left
out. A node has five features, its local degree profile: the number of its calls, and of those of the functions that it calls
the smallest, the largest, the mean and the standard deviation. Ten folds, as the Taxonomy of Benchmarks draws them.

The graphs are read from one file of plain arrays: num_nodes, edge_ptr, dst, label, and src_step, whose cumulative sums within a
graph are the sources.
"""

import numpy as np

from data.dataset import Declared, GraphDataset, Target, numbers
from data.download import RawFile, find, reading
from data.errors import StoreError
from data.readers.unpack import check_pointer, read_indices
from data.splits import scikit_folds
from data.store import Field, PackedWriter


def without_isolated(src, dst):
    """(n, src, dst) without the nodes that have no edge to or from another; the others are numbered anew in their order."""
    joined = np.unique([src[src != dst], dst[src != dst]])
    kept = np.isin(src, joined) & np.isin(dst, joined)
    return len(joined), np.searchsorted(joined, src[kept]), np.searchsorted(joined, dst[kept])


def degree_profile(n, src, dst):
    """(n, 5): out-degree; minimum, maximum, mean and standard deviation (n - 1) of the out-degrees of the out-neighbours, or 0."""
    degree = np.bincount(src, minlength=n)
    low, high = np.full(n, np.inf), np.zeros(n)
    np.minimum.at(low, src, degree[dst])
    np.maximum.at(high, src, degree[dst])
    mean = np.bincount(src, degree[dst], n) / np.maximum(degree, 1)
    square = np.bincount(src, (degree[dst] - mean[src]) ** 2, n) / np.maximum(degree - 1, 1)
    return np.stack([degree, np.where(degree > 0, low, 0), high, mean, np.sqrt(square)], 1).astype(np.float32)


def smallest(sizes, label, limit):
    """About `limit` graphs in order: the smallest of each class, at least the ten that ten folds need."""
    order, classes = np.argsort(sizes, kind="stable"), np.unique(label)
    n_each = max(10, limit // len(classes))
    return np.sort(np.concatenate([order[label[order] == y][:n_each] for y in classes]))


class MalNetTiny(GraphDataset):
    """With a limit the smallest graphs of each class are read: a Laplacian of 5,000 nodes takes long for a first try."""

    name, version, parameters = "MalNet-Tiny", 1, {"features": "degree profile"}
    raw_files = (RawFile("MalNet/malnet_tiny.npz"),)
    declared = Declared(numbers("node", 5), None, Target("classes", "graph", 5), n_folds=10)
    licence = "CC-BY"
    generated = True

    def build(self, path):
        file = find(self.raw_files[0], self.config)
        arrays = read_indices(file, edge_ptr=1, src_step=1, dst=1, label=1)
        label, first = arrays["label"], arrays["edge_ptr"]
        for name in ("src_step", "dst"):
            check_pointer(first, len(label), len(arrays[name]), f"{file}: edge_ptr into {name}")
        fields = [Field("node", "feat", "float32", (5,)), Field("graph", "label", "int64", n_types=5)]
        generator = {"version": self.version, **self.parameters}
        limit = self.config.limit
        chosen = smallest(np.diff(first), label, limit) if limit else np.arange(len(label))
        with PackedWriter(path, self.name, fields, generator, total=len(chosen)) as writer:
            for i in chosen:
                edges = slice(first[i], first[i + 1])
                src, dst = np.cumsum(arrays["src_step"][edges]), arrays["dst"][edges]
                with reading(f"{file}, graph {i}"):
                    if min(src.min(), dst.min()) < 0:
                        raise ValueError(f"node {min(src.min(), dst.min())}, expected 0 or more")
                    n, src, dst = without_isolated(src, dst)
                    writer.add(n, src, dst, node={"feat": degree_profile(n, src, dst)}, graph={"label": label[i]})
            for f, parts in enumerate(scikit_folds(label[chosen], 10, 123)):
                writer.add_split(f"fold{f}", **parts)

    def check(self, store):
        """Table C.1 of the Taxonomy: 5,000 graphs, 1,410.3 nodes and 2,859.94 edges per graph."""
        if self.config.limit:
            return
        seen = (len(store), round(store.n_nodes / len(store), 1), round(store.n_edges / len(store), 2))
        if seen != (5000, 1410.3, 2859.94):
            raise StoreError(
                f"{store.path}: graphs, nodes and edges per graph are {seen}, of MalNet-Tiny (5000, 1410.3, 2859.94): delete "
                "the folder, and get the right file"
            )


DATASETS: dict = {MalNetTiny.name: MalNetTiny}
