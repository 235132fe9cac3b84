"""Twitch, GitHub, Facebook pages, LastFM and Deezer: users and pages with their contacts; classify the nodes.

NAME has the features that the Taxonomy of Benchmarks uses, 128 numbers per node, from an .npz file with `features`, `edges` and
`target`: edges in both directions, as stored; Twitch has a self-loop per node. NAME-raw is made from the files that these were
made from, a zip file with edges.csv (each edge once), target.csv and features.json (node -> numbers of its features, which become
columns of 0 and 1): other features, so its numbers cannot be compared with the paper's. Of GitHub, LastFM and Deezer the features
are not public in this form: every node has the feature 1. Splits are drawn from the seed.
"""

import csv

import numpy as np

from data.download import RawFile, find, reading
from data.errors import REMEDY, DataError
from data.node_graphs import NodeGraph, Nodes, pairs, undirected
from data.readers.unpack import TABLE, Zip, lines, parse_json, read_npz, without_fraction

URL = "https://graphmining.ai/datasets/ptg/{}.npz"


class Reduced(NodeGraph):
    """128 numbers per node."""

    file: str

    def __init__(self, config=None, needs=None):
        self.raw_files = [RawFile(f"node/ptg/{self.file}.npz", (URL.format(self.file),))]
        self.parameters = {"file": self.file}
        super().__init__(config, needs)

    def read(self):
        path = find(self.raw_files[0], self.config)
        arrays = read_npz(path, "features", "edges", "target")
        return Nodes(arrays["features"], arrays["target"], arrays["edges"])


class Raw(NodeGraph):
    """What the 128 numbers were made from. `column` has the class, `number` the number of the node."""

    file: str
    column: str
    number = "id"
    loops = False  # one per node

    def __init__(self, config=None, needs=None):
        self.raw_files = [RawFile(f"node/musae/{self.file}.zip")]
        self.parameters = {"file": self.file}
        super().__init__(config, needs)

    def read(self):
        path = find(self.raw_files[0], self.config)
        with Zip(path) as archive, reading(path):
            edges = read_columns(archive, "edges.csv")
            edges = pairs([[int(word) for word in row] for row in edges[1:]])
            heading, *rows = read_columns(archive, "target.csv")
            number, column = heading.index(self.number), heading.index(self.column)
            n, edges = int(edges.max()) + 1, undirected(edges)
            label_of = {
                int(row[number]): row[column] for row in rows if int(row[number]) < n
            }  # Twitch-FR has two too many
            if sorted(label_of) != list(range(len(label_of))) or len(label_of) != n:
                raise DataError(
                    f"{path}, target.csv: {len(label_of)} nodes, edges.csv has them up to {n - 1}: {REMEDY}"
                )
            classes = sorted(set(label_of.values()), key=lambda c: (len(c), c) if c.isdigit() else (0, c))
            label = np.array([classes.index(label_of[i]) for i in range(n)])
            x = self.features(archive, n)
        own = np.repeat(np.arange(n)[:, None], 2, axis=1)
        return Nodes(x, label, np.concatenate([edges, own]) if self.loops else edges)

    def features(self, archive, n):
        if "features.json" not in archive.sizes:
            return np.ones((n, 1), np.float32)
        where, width = f"{archive.where}, features.json", self.counts[2]
        listed = parse_json(archive.read("features.json", TABLE), where)
        x, last = np.zeros((n, width), np.float32), -1
        for node, columns in listed.items():
            columns, i = without_fraction(columns, f"features of node {node}"), int(node)
            if not 0 <= i < n or columns.min(initial=0) < 0 or columns.max(initial=0) >= width:
                raise DataError(f"{where}, node {node}: expected nodes below {n} with features below {width}: {REMEDY}")
            x[i, columns], last = 1, max(last, columns.max(initial=-1))
        if last != width - 1:
            raise DataError(f"{where}: features up to {last}, expected {width - 1}: {REMEDY}")
        return x


def read_columns(archive, name):
    """The rows of a csv file in the archive, its heading first."""
    with archive.open(name, TABLE) as file:
        return list(csv.reader(lines(file, f"{archive.where}, {name}")))


# {name: (file of the 128 numbers, raw file, column of the class, nodes, directed edges, those of the raw file, classes, raw
# features)}
# Of Facebook's pages 179 self-loops stand twice among the edges, which the raw version drops.
SETS = {
    "Twitch-EN": ("twitch/EN", "twitch_EN", "mature", 7126, 77774, 77774, 2, 3170),
    "Twitch-ES": ("twitch/ES", "twitch_ES", "mature", 4648, 123412, 123412, 2, 3170),
    "Twitch-DE": ("twitch/DE", "twitch_DE", "mature", 9498, 315774, 315774, 2, 3170),
    "Twitch-PT": ("twitch/PT", "twitch_PT", "mature", 1912, 64510, 64510, 2, 3169),
    "Github": ("github", "github", "ml_target", 37700, 578006, 578006, 2, 1),
    "FBPP": ("facebook", "facebook", "page_type", 22470, 342004, 341646, 4, 4714),
    "LFMA": ("lastfm_asia", "lastfm_asia", "target", 7624, 55612, 55612, 18, 1),
    "DzEu": ("deezer_europe", "deezer_europe", "target", 28281, 185504, 185504, 2, 1),
}


def make_pair(name, reduced, raw, column, n, n_edges, n_raw_edges, n_classes, width):
    """The classes of NAME and NAME-raw."""
    keys = {"name": name, "file": reduced, "counts": (n, n_edges, 128, n_classes)}
    raw_keys = {"name": f"{name}-raw", "file": raw, "counts": (n, n_raw_edges, width, n_classes), "column": column}
    raw_keys |= {"number": "new_id", "loops": True} if name.startswith("Twitch") else {}
    return type(name, (Reduced,), keys), type(f"{name}-raw", (Raw,), raw_keys)


DATASETS = {d.name: d for name, entry in SETS.items() for d in make_pair(name, *entry)}
