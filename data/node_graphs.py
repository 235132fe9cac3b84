"""One graph whose nodes are classified, the transductive setting: what the datasets of this kind have in common.

All of the graph is seen in training; a split divides its nodes. It is published with the data, or drawn anew for each seed:
80 % of the nodes for training, 10 % for validation, 10 % for the test, not stratified, as the Taxonomy of Benchmarks does.
"""

from typing import NamedTuple

import numpy as np

from data.dataset import Declared, GraphDataset, Target, numbers
from data.errors import DataError, StoreError
from data.folds import NodeFold
from data.splits import PARTS, evenly_spaced, random_split
from data.store import Field, PackedWriter


class Nodes(NamedTuple):
    """What is read: features (n, d), labels (n,), edges (E, 2) from source to destination, and published splits, if any."""

    x: np.ndarray
    label: np.ndarray
    edges: np.ndarray
    splits: tuple = ()  # of {part: node numbers}


class NodeGraph(GraphDataset):
    """Subclasses define `read`, which gives Nodes. `counts`: nodes, directed edges, features, classes, as the store must have."""

    version = 1
    counts: tuple

    def __init_subclass__(cls):
        if hasattr(cls, "counts"):
            _, _, width, n_classes = cls.counts
            cls.declared = Declared(numbers("node", width), None, Target("classes", "node", n_classes))

    def read(self):
        raise TypeError(f"{type(self).__name__} does not say how it is read: define read")

    def build(self, path):
        nodes = self.read()
        n, n_classes = len(nodes.label), int(nodes.label.max()) + 1
        if len(nodes.x) != n or (len(nodes.edges) and int(nodes.edges.max()) >= n):
            raise DataError(
                f"{self.raw_files[0].path}: {n} labels, features of {len(nodes.x)} nodes, edges up to node "
                f"{int(nodes.edges.max(initial=0))}: the files do not belong together"
            )
        fields = [
            Field("node", "feat", "float32", (nodes.x.shape[1],)),
            Field("node", "label", "int64", n_types=n_classes),
        ]
        with PackedWriter(path, self.name, fields, {"version": self.version, **self.parameters}, total=1) as writer:
            writer.add(n, *nodes.edges.T, node={"feat": nodes.x.astype(np.float32), "label": nodes.label})
            for i, parts in enumerate(nodes.splits):
                writer.add_split(f"split{i}", "node", **parts)
            if not nodes.splits:
                writer.add_split(DRAWN.format(0), "node", **random_split(n, 0))

    def check(self, store):
        feat, label = store.fields["node.feat"], store.fields["node.label"]
        seen = (store.n_nodes, store.n_edges, feat.shape[0], label.n_types)
        if seen != self.counts:
            raise StoreError(
                f"{store.path}: nodes, edges, features and classes are {seen}, of {self.name} {self.counts}: it was built from "
                "other files: delete the folder, and get the right ones"
            )

    def fold(self, i):
        """The published split number i, or the one drawn from config.seed (0 if it is not given)."""
        if self.store.splits != [DRAWN.format(0)]:
            return super().fold(i)
        seed = self.config.seed or 0
        parts = random_split(self.store.n_nodes, seed)
        if self.config.limit:
            parts = {part: evenly_spaced(nodes, self.config.limit) for part, nodes in parts.items()}
        return NodeFold(DRAWN.format(seed), self.store, parts)


DRAWN = "seed{}"  # the name of a split that is drawn


def of_masks(*masks):
    """{part: node numbers} of three arrays of truth values; a node is in one of them at most."""
    return dict(zip(PARTS, (np.flatnonzero(mask) for mask in masks), strict=True))


def distinct(edges):
    """Each edge (source, destination) once, sorted."""
    return np.unique(np.asarray(edges, dtype=np.int64).reshape(-1, 2), axis=0)


def undirected(edges):
    """Both directions of each edge once, without self-loops."""
    edges = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    edges = edges[edges[:, 0] != edges[:, 1]]
    return distinct(np.concatenate([edges, edges[:, ::-1]]))
