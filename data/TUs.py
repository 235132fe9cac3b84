"""ENZYMES, DD, PROTEINS (Table 6) and every other dataset of the TU collection: classify graphs, ten-fold cross-validation.

The files are plain text, in NAME.zip or a folder NAME: `NAME_A.txt` with an edge "row, column" per line (nodes of all graphs
numbered from 1), `NAME_graph_indicator.txt` with the graph of each node, `NAME_graph_labels.txt`, and where there are any
`NAME_node_attributes.txt` and `NAME_node_labels.txt`. Node features are the attributes, else the labels one-hot, else a 1.
"""

import contextlib
import re
from pathlib import Path
from typing import ClassVar

import numpy as np

from data.dataset import Declared, GraphDataset, Target, numbers
from data.download import RawFile, find, present, reading
from data.errors import DataError, StoreError
from data.readers.unpack import TABLE, Zip, lines, open_file, read_table
from data.splits import PARTS, nested_folds, read_folds, read_nested_folds, scikit_folds, stratified_folds
from data.store import Field, PackedWriter

URL = "https://www.chrsmrrs.com/graphkerneldatasets/{}.zip"
FAIR_URL = "https://raw.githubusercontent.com/diningphil/gnn-comparison/master/data_splits/{}"
INDEX_URL = "https://raw.githubusercontent.com/graphdeeplearning/benchmarking-gnns/master/data/TUs/{}.index"
# the paper's PROTEINS is the variant with 29 node attributes
FILES = {"PROTEINS": "PROTEINS_full"}
# Table 5: graphs, classes, node features, and the averages of nodes and undirected edges
TABLE_5 = {
    "ENZYMES": (600, 6, 18, 32.63, 62.14),
    "DD": (1178, 2, 89, 284.32, 715.66),
    "PROTEINS": (1113, 2, 29, 39.06, 72.82),
}
# Table 5 of the Fair Comparison, by the name of the files: graphs, classes, nodes and undirected edges. Its two misprints are
# corrected: 64.14 edges of ENZYMES, 508.82 nodes of REDDIT-MULTI-5K
FAIR_TABLE_5 = {
    "DD": (1178, 2, 284.32, 715.66),
    "ENZYMES": (600, 6, 32.63, 62.14),
    "NCI1": (4110, 2, 29.87, 32.30),
    "PROTEINS_full": (1113, 2, 39.06, 72.82),
    "COLLAB": (5000, 3, 74.49, 2457.78),
    "IMDB-BINARY": (1000, 2, 19.77, 96.53),
    "IMDB-MULTI": (1500, 3, 13.00, 65.94),
    "REDDIT-BINARY": (2000, 2, 429.63, 497.75),
    "REDDIT-MULTI-5K": (4999, 5, 508.52, 594.87),
}
FAIR_LOOPS = {"COLLAB": 2837}  # self-loops in all: stored once, where any other edge is stored in both directions
PAPER_SPLITS = "-paper-splits"
CHEMICAL = ("NCI1", "DD", "ENZYMES", "PROTEINS_full")  # of the Fair Comparison; the others are social
DECLARED = {  # what nets know of them before the data is there
    name: Declared(numbers("node", n_features), None, Target("classes", "graph", n_classes), n_folds=10)
    for table_name, (_, n_classes, n_features, _, _) in TABLE_5.items()
    for name in (table_name, table_name + PAPER_SPLITS)
}
PREFIX = "TU/"  # of any other dataset of the collection: its COLLAB is not OGB's
NAMES = (*TABLE_5, *(name + PAPER_SPLITS for name in TABLE_5))
TAXONOMY_BELOW = 3500  # nodes: the Taxonomy leaves out the two larger graphs of DD
MOST_LABELS = 10_000  # numbers from the smallest to the largest node label


class TUDataset(GraphDataset):
    """One of Table 6 by its name, any other of the collection as TU/NAME; NAME-paper-splits takes the published folds instead of
    ours. `data.splits` names those of other papers: fair and fair-degree are the files of the Fair Comparison, nested draws such
    folds from `data.seed`; with taxonomy, self-loops and the two largest graphs of DD are left out too."""

    version = 1
    choices: ClassVar[dict] = {
        "features": ("labels", "attributes", "labels+attributes", "attributes+labels", "degree", "constant"),
        "splits": ("fair", "fair-degree", "nested", "taxonomy"),
    }

    def __init__(self, name, config=None, needs=None):
        self.name, self.paper_splits = name, name.endswith(PAPER_SPLITS)
        self.table_name = name.removesuffix(PAPER_SPLITS)
        self.file_name = FILES.get(self.table_name, self.table_name).removeprefix(PREFIX)
        if name not in NAMES and not re.fullmatch(PREFIX + r"[\w-]+", name):
            raise DataError(
                f"dataset={name!r}: expected {', '.join(NAMES)}, or TU/NAME for any other of the TU collection"
            )
        self.raw_files = [RawFile(f"TU/{self.file_name}.zip", (URL.format(self.file_name),))]
        folds = {"n_folds": 10, "seed": 41}
        if self.paper_splits:
            folds = {"folds": "published"}
            names = [f"{self.file_name}_{part}" for part in PARTS]
            self.raw_files += [
                RawFile(f"splits/benchmarking-gnns/TUs/{n}.index", (INDEX_URL.format(n),)) for n in names
            ]
        splits = getattr(config, "splits", None)
        if splits == "nested":
            folds["seed"] = 41 if config.seed is None else config.seed
        elif splits is not None:
            folds = {}  # `splits` itself is the parameter
            self.raw_files += [] if splits == "taxonomy" else [self.fair_splits(splits)]
        self.parameters = {"file": self.file_name, **folds}
        super().__init__(config, needs)

    def fair_splits(self, splits):
        """The file of the Fair Comparison with ten outer folds. Its two settings of the social datasets are divided differently."""
        if splits == "fair-degree":
            folder = "COLLABORATIVE_DEGREE"
        else:
            folder = "CHEMICAL" if self.file_name in CHEMICAL else "COLLABORATIVE_1"
        name = f"{folder}/{self.file_name}_splits.json"
        return RawFile(f"splits/gnn-comparison/{name}", (FAIR_URL.format(name),))

    def build(self, path):
        folder = present(f"TU/{self.file_name}", self.config)
        lists = present(f"TU/{self.file_name}_gin.zip", self.config)
        if folder is None and lists and present(self.raw_files[0].path, self.config) is None:
            source = NeighbourLists(lists)
        else:
            source = TextFiles(folder or find(self.raw_files[0], self.config), self.file_name)
        of_taxonomy = self.config.splits == "taxonomy"
        graphs = read_graphs(source, self.parameters.get("features"), loops=not of_taxonomy)
        if of_taxonomy and self.file_name == "DD":
            graphs = small_graphs(graphs, TAXONOMY_BELOW)
        labels, n = graphs["label"], len(graphs["label"])
        with PackedWriter(
            path, self.name, fields_of(graphs), {"version": self.version, **self.parameters}, total=n
        ) as writer:
            add_graphs(writer, graphs, source.path)
            for f, parts in enumerate(self.make_folds(labels)):
                with reading(self.raw_files[-1].path):
                    writer.add_split(f"fold{f}", **parts)

    def make_folds(self, labels):
        if self.config.splits == "nested":
            return nested_folds(labels, self.parameters["n_folds"], np.random.RandomState(self.parameters["seed"]))
        if self.config.splits == "taxonomy":
            return scikit_folds(labels, 10, 123)
        if self.config.splits is not None:
            return read_nested_folds(find(self.raw_files[-1], self.config), len(labels))
        if not self.paper_splits:
            return stratified_folds(labels, self.parameters["n_folds"], np.random.RandomState(self.parameters["seed"]))
        return read_folds([find(file, self.config) for file in self.raw_files[1:]], len(labels))

    def check(self, store):
        """The figures of Table 5, for the datasets in it; of the Fair Comparison's where the features are chosen. The Taxonomy
        leaves graphs out."""
        if self.config.splits == "taxonomy":
            return
        n, n_features = len(store), store.fields["node.feat"].shape[0]
        seen = (n, store.fields["graph.label"].n_types)
        means = (round(store.n_nodes / n, 2), edges_per_graph(store.n_edges, n, self.file_name))
        if self.table_name in TABLE_5 and "features" not in self.parameters:
            seen, wanted = (*seen, n_features, *means), TABLE_5[self.table_name]
            what = "graphs, classes, features, nodes and edges per graph"
        else:
            seen, wanted = (*seen, *means), FAIR_TABLE_5.get(self.file_name)
            what = "graphs, classes, nodes and edges per graph"
        if wanted and seen != wanted:
            raise StoreError(
                f"{store.path}: {what} are {seen}, in Table 5 {wanted}: delete the folder and get the right files"
            )


def edges_per_graph(n_rows, n_graphs, file_name):
    """As Table 5 counts them: undirected, and a self-loop like any other."""
    return round((n_rows + FAIR_LOOPS.get(file_name, 0)) / 2 / n_graphs, 2)


class TextFiles:
    """NAME_A.txt and so on, in a zip archive or a folder."""

    def __init__(self, path, name):
        self.path, self.name = Path(path), name

    def read(self, kind, dtype, columns=None, optional=False):
        """The numbers of NAME_kind.txt, (lines, columns); None if the file need not be there and is not."""
        file = f"{self.name}_{kind}.txt"
        with contextlib.ExitStack() as stack:
            stream = self._open(file, stack)
            if stream is None:
                if optional:
                    return None
                raise DataError(f"{self.path}: {file} is missing: it is not the dataset {self.name} in TU format")
            numbers = read_table(stream, f"{self.path}, {file}", dtype)
        if columns is not None and numbers.shape[1] != columns:
            raise DataError(f"{self.path}, {file}: {numbers.shape[1]} numbers per line, expected {columns}")
        if not np.isfinite(numbers).all():
            raise DataError(f"{self.path}, {file}: it holds NaN or infinite values")
        return numbers

    def _open(self, file, stack):
        """The stream of a file, closed with the stack; None if it is not there."""
        if self.path.is_dir():
            path = self.path / file
            return stack.enter_context(open_file(path, TABLE)) if path.exists() else None
        archive = stack.enter_context(Zip(self.path))
        # some archives have a doubled slash in their names
        names = [name for name in archive.sizes if name.rsplit("/", 1)[-1] == file]
        return stack.enter_context(archive.open(names[0], TABLE)) if names else None


class NeighbourLists:
    """The same numbers from the other usual format, one text file in an archive: the number of graphs, then for each graph a line
    "nodes label" and per node a line "tag degree neighbour neighbour …", nodes numbered from 0 in each graph."""

    def __init__(self, path):
        self.path = Path(path)
        with reading(self.path), Zip(self.path) as archive, archive.open(next(iter(archive.sizes), ""), TABLE) as file:
            words = (int(word) for line in lines(file, self.path) for word in line.split())
            self.columns = self._columns(np.fromiter(words, np.int64))

    def _columns(self, numbers):
        at, first = 1, 0
        src, dst, sizes, labels, tags = [], [], [], [], []
        for _ in range(numbers[0]):
            n, label = numbers[at : at + 2]
            at += 2
            for node in range(first, first + n):
                tag, degree = numbers[at : at + 2]
                others = numbers[at + 2 : at + 2 + degree]
                if len(others) != degree or (degree and not 0 <= others.min() <= others.max() < n):
                    raise ValueError(f"node {node}: {degree} neighbours below {n} were promised")
                src.append(np.full(degree, node))
                dst.append(first + others)
                tags.append(tag)
                at += 2 + degree
            sizes.append(n)
            labels.append(label)
            first += n
        if at != len(numbers):
            raise ValueError(f"{len(numbers) - at} numbers stand behind the last graph")
        columns = {
            "A": np.stack([np.concatenate(src), np.concatenate(dst)], 1) + 1,
            "graph_indicator": np.repeat(np.arange(len(sizes)), sizes)[:, None] + 1,
            "graph_labels": np.array(labels)[:, None],
        }
        if len(set(tags)) > 1:  # without node labels the format has a 0 in their place
            columns["node_labels"] = np.array(tags)[:, None]
        return columns

    def read(self, kind, dtype, columns=None, optional=False):
        return self.columns.get(kind)


def read_graphs(source, features=None, loops=True):
    """All graphs: label (n,), feat (N, d), edges (E, 2) sorted by graph, first_node and first_edge (n + 1,). `loops`: with
    self-loops, where there are any."""
    graph_of_node = source.read("graph_indicator", np.int64, 1)[:, 0] - 1
    labels = source.read("graph_labels", np.int64, 1)[:, 0]
    n, n_nodes = len(labels), len(graph_of_node)
    if graph_of_node[0] != 0 or graph_of_node[-1] != n - 1 or not np.isin(np.diff(graph_of_node), (0, 1)).all():
        raise DataError(f"{source.path}: the graph indicator does not run from 1 to {n} without gaps: it is damaged")
    edges = source.read("A", np.int64, 2) - 1
    outside = (edges < 0) | (edges >= n_nodes)
    if outside.any():
        raise DataError(f"{source.path}: edge with node {edges[outside][0] + 1}: expected 1 to {n_nodes}")
    keys = np.unique(edges[:, 0] * n_nodes + edges[:, 1])  # some files list edges twice
    edges = np.stack([keys // n_nodes, keys % n_nodes], 1)
    edges = edges if loops else edges[edges[:, 0] != edges[:, 1]]
    if (graph_of_node[edges[:, 0]] != graph_of_node[edges[:, 1]]).any():
        a, b = edges[graph_of_node[edges[:, 0]] != graph_of_node[edges[:, 1]]][0] + 1
        raise DataError(f"{source.path}: the edge {a}, {b} joins two graphs: the files do not belong together")
    return {
        "label": np.unique(labels, return_inverse=True)[1],
        "feat": node_features(source, n_nodes, edges, features),
        "edges": edges,
        "first_node": np.searchsorted(graph_of_node, np.arange(n + 1)),
        "first_edge": np.searchsorted(graph_of_node[edges[:, 0]], np.arange(n + 1)),
    }


def small_graphs(graphs, limit):
    """Those of fewer than `limit` nodes. The arrays of all graphs stay; `graphs` says which ones are used."""
    kept = np.flatnonzero(np.diff(graphs["first_node"]) < limit)
    return graphs | {"label": graphs["label"][kept], "graphs": kept}


def fields_of(graphs):
    """The fields of a store of these graphs, as `read_graphs` gives them."""
    return [
        Field("node", "feat", "float32", (graphs["feat"].shape[1],)),
        Field("graph", "label", "int64", n_types=int(graphs["label"].max()) + 1),
    ]


def add_graphs(writer, graphs, path):
    """Hand all graphs to the writer; errors name the file they come from."""
    for i, label in zip(graphs.get("graphs", range(len(graphs["label"]))), graphs["label"], strict=True):
        nodes = slice(*graphs["first_node"][i : i + 2])
        src, dst = graphs["edges"][slice(*graphs["first_edge"][i : i + 2])].T - nodes.start
        feat = graphs["feat"][nodes]
        with reading(path):
            writer.add(len(feat), src, dst, node={"feat": feat}, graph={"label": label})


def node_features(source, n_nodes, edges, features=None):
    """(N, d): what `features` names, or the attributes, else the labels one-hot, else a 1."""
    if features == "degree":
        return np.bincount(edges[:, 0], minlength=n_nodes).astype(np.float32)[:, None]
    wanted = features.split("+") if features else ["attributes", "labels", "constant"]
    found = []
    for kind in wanted:
        feat = np.ones((n_nodes, 1), np.float32) if kind == "constant" else read_features(source, kind, n_nodes)
        if feat is None and features:
            raise DataError(f"data.features={features!r}: {source.path} has no node {kind}: choose others")
        if feat is not None:
            found.append(feat)
            if not features:  # the first that there is
                break
    return np.concatenate(found, 1)


def read_features(source, kind, n_nodes):
    """Attributes as they are, labels one-hot; None where there are none."""
    attributes = kind == "attributes"
    feat = source.read("node_attributes", np.float32, optional=True) if attributes else one_hot_labels(source)
    if feat is not None and len(feat) != n_nodes:
        raise DataError(f"{source.path}: features of {len(feat)} nodes, but there are {n_nodes}: it is damaged")
    return feat


def one_hot_labels(source):
    labels = source.read("node_labels", np.int64, optional=True)
    if labels is None:
        return None
    if (n_types := np.ptp(labels[:, 0]) + 1) > MOST_LABELS:
        raise DataError(f"{source.path}: node labels spread over {n_types} numbers, too many for a one-hot vector")
    return np.eye(n_types, dtype=np.float32)[labels[:, 0] - labels[:, 0].min()]
