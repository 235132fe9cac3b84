"""One graph whose nodes are classified, the transductive setting: what the datasets of this kind have in common.

All of the graph is seen in training; a split divides its nodes. It is published with the data, or drawn anew for each seed:
80 % of the nodes for training, 10 % for validation, 10 % for the test, not stratified, as the Taxonomy of Benchmarks does.
"""

from typing import NamedTuple

import numpy as np

from data.dataset import Declared, GraphDataset, Target, numbers
from data.download import reading
from data.errors import DataError, StoreError, WrongValue
from data.folds import NodeFold
from data.readers.unpack import without_fraction
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
        file = self.raw_files[0].path if self.raw_files else self.name
        nodes = checked_nodes(self.read(), file)
        n, n_classes = len(nodes.label), int(nodes.label.max()) + 1
        fields = [
            Field("node", "feat", "float32", (nodes.x.shape[1],)),
            Field("node", "label", "int64", n_types=n_classes),
        ]
        generator = {"version": self.version, **self.parameters}
        with reading(file), PackedWriter(path, self.name, fields, generator, total=1) as writer:
            writer.add(n, *nodes.edges.T, node={"feat": nodes.x, "label": nodes.label})
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


def checked_nodes(nodes, where):
    """The same with labels and edges as int64; they and the features must fit each other."""
    x, label = np.asarray(nodes.x), without_fraction(nodes.label, f"{where}, labels")
    edges = without_fraction(nodes.edges, f"{where}, edges")
    n = len(label) if label.ndim == 1 else 0
    if x.ndim != 2 or 0 in x.shape or not n or label.min() < 0 or edges.ndim != 2 or edges.shape[1] != 2:
        raise DataError(
            f"{where}: features of shape {x.shape}, labels of shape {label.shape}, edges of shape {edges.shape}: expected (nodes, "
            "features), (nodes,) from 0 on, (edges, 2): it is damaged"
        )
    if len(x) != n or edges.max(initial=-1) >= n:
        raise DataError(
            f"{where}: {n} labels, features of {len(x)} nodes, edges up to node {edges.max(initial=0)}: the files do not belong "
            "together"
        )
    return Nodes(x, label, edges, nodes.splits)


def of_masks(*masks):
    """{part: node numbers} of three arrays of truth values, of the same length; a node is in one of them at most."""
    masks = [np.asarray(mask) for mask in masks]
    if any(mask.ndim != 1 or len(mask) != len(masks[0]) or not np.isin(mask, (0, 1)).all() for mask in masks):
        shapes = ", ".join(str(mask.shape) for mask in masks)
        raise ValueError(f"masks of shape {shapes}: expected three of one length, with 0 or 1 per node")
    return dict(zip(PARTS, map(np.flatnonzero, masks), strict=True))


def pairs(edges):
    """Edges as an array (E, 2) of int64."""
    edges = without_fraction(edges, "edges")
    if edges.size and (edges.ndim != 2 or edges.shape[1] != 2):
        raise WrongValue(f"edges of shape {edges.shape}: expected two nodes each")
    return edges.reshape(-1, 2)


def distinct(edges):
    """Each edge (source, destination) once, sorted."""
    return np.unique(pairs(edges), axis=0)


def undirected(edges):
    """Both directions of each edge once, without self-loops."""
    edges = pairs(edges)
    edges = edges[edges[:, 0] != edges[:, 1]]
    return distinct(np.concatenate([edges, edges[:, ::-1]]))
