"""WebKB, Actor and WikiNet: web pages, actors and articles with their links, in the text format of Geom-GCN; classify the nodes.

    new_data/NAME/out1_graph_edges.txt           a heading, then "source<tab>destination" per line
    new_data/NAME/out1_node_feature_label.txt    a heading, then "node<tab>feature,feature,…<tab>label"; of film the numbers of the
                                                 features that are 1
    splits/NAME_split_0.6_0.2_{0..9}.npz         train_mask, val_mask, test_mask

Edges keep their direction and their self-loops; duplicates are dropped. The Taxonomy of Benchmarks uses the first of the ten
splits; data.splits=all has all ten.

Of chameleon and squirrel the node files are in .npz files (node_features, node_labels) with the nodes in the same order.
Deviation: the node file of cornell is that of texas, byte by byte: features and labels are those of texas, on the edges of cornell.
WebKB-Cor is this pair, which the original program gets too; WebKB-Cor-true has cornell's own features and labels.
"""

from typing import ClassVar

import numpy as np

from data.download import RawFile, find, reading
from data.errors import DataError
from data.node_graphs import NodeGraph, Nodes, distinct, of_masks
from data.readers.unpack import TABLE, lines, open_file, read_indices, read_npz

URL = "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/{}"
NPZ_URL = "https://raw.githubusercontent.com/yandex-research/heterophilous-graphs/main/data/{}.npz"
N_SPLITS = 10


def text_file(name, kind):
    return RawFile(f"node/geom-gcn/new_data/{name}/out1_{kind}.txt", (URL.format(f"new_data/{name}/out1_{kind}.txt"),))


class GeomGCN(NodeGraph):
    """One of them. `file` is its name in the files, `node_file` that of an .npz file with features and labels, if it has one."""

    choices: ClassVar[dict] = {"splits": ("all",)}
    file: str
    node_file: str | None = None
    width: int | None = None  # of features that are listed by number

    def __init__(self, config=None, needs=None):
        n_splits = N_SPLITS if getattr(config, "splits", None) == "all" else 1
        self.edge_file = text_file(self.file, "graph_edges")
        self.label_file = text_file(self.file, "node_feature_label")
        if self.node_file:
            self.label_file = RawFile(
                f"node/heterophilous-graphs/{self.node_file}.npz", (NPZ_URL.format(self.node_file),)
            )
        names = [f"{self.file}_split_0.6_0.2_{i}.npz" for i in range(n_splits)]
        self.split_files = [RawFile(f"node/geom-gcn/splits/{name}", (URL.format(f"splits/{name}"),)) for name in names]
        self.raw_files = [self.edge_file, self.label_file, *self.split_files]
        self.parameters = {"file": self.file, "node_file": self.node_file, "n_splits": n_splits}
        super().__init__(config, needs)

    def read(self):
        x, label = self.read_nodes()
        return Nodes(x, label, self.read_edges(), tuple(map(self.read_split, self.split_files)))

    def read_edges(self):
        rows = rows_of(self.found(self.edge_file), 2)
        with reading(self.edge_file.path):
            return distinct([[int(word) for word in row] for row in rows])

    def read_nodes(self):
        """(features (n, d), labels (n,)), nodes in the order of their numbers."""
        path = self.found(self.label_file)
        if self.node_file:
            return read_npz(path, "node_features")["node_features"], read_indices(path, node_labels=1)["node_labels"]
        rows = rows_of(path, 3)
        with reading(path):
            number, label = (np.array([int(row[k]) for row in rows]) for k in (0, 2))
            features = [np.array(row[1].split(","), dtype=np.int64) for row in rows]
            if self.width is None:
                x = np.stack(features)
            else:
                x = np.zeros((len(rows), self.width), np.float32)
                for i, columns in enumerate(features):
                    x[i, columns] = 1
        if not np.array_equal(np.sort(number), np.arange(len(rows))):
            raise DataError(f"{path}: the nodes are not numbered from 0 to {len(rows) - 1}: it is damaged")
        order = np.argsort(number)
        return x[order], label[order]

    def read_split(self, file):
        path = self.found(file)
        masks = read_npz(path, "train_mask", "val_mask", "test_mask")
        with reading(path):
            return of_masks(*masks.values())

    def found(self, file):
        return find(file, self.config, also=(f"{file.path}.gz",))


def rows_of(path, n_columns):
    """The lines of a text file after its heading, cut at the tabs."""
    with reading(path), open_file(path, TABLE) as file:
        rows = [line.rstrip("\n").split("\t") for line in lines(file, path)][1:]
    if wrong := [i for i, row in enumerate(rows) if len(row) != n_columns]:
        raise DataError(
            f"{path}, line {wrong[0] + 2}: {len(rows[wrong[0]])} columns, expected {n_columns}: it is damaged"
        )
    return rows


class WebKBCor(GeomGCN):
    name, file = "WebKB-Cor", "cornell"
    counts = (183, 298, 1703, 5)


class TrueWebKBCor(GeomGCN):
    name, file, node_file = "WebKB-Cor-true", "cornell", "cornell"
    counts = (183, 298, 1703, 5)


class WebKBWis(GeomGCN):
    name, file = "WebKB-Wis", "wisconsin"
    counts = (251, 515, 1703, 5)


class WebKBTeX(GeomGCN):
    name, file = "WebKB-TeX", "texas"
    counts = (183, 325, 1703, 5)


class Actor(GeomGCN):
    name, file, width = "Actor", "film", 932
    counts = (7600, 30019, 932, 5)


class WikiNetCham(GeomGCN):
    name, file, node_file = "WikiNet-cham", "chameleon", "chameleon"
    counts = (2277, 36101, 2325, 5)


class WikiNetSquir(GeomGCN):
    name, file, node_file = "WikiNet-squir", "squirrel", "squirrel"
    counts = (5201, 217073, 2089, 5)


DATASETS = {d.name: d for d in (WebKBCor, TrueWebKBCor, WebKBWis, WebKBTeX, Actor, WikiNetCham, WikiNetSquir)}
