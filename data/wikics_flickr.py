"""WikiCS and Flickr: articles of computer science and photographs with their links; classify the nodes.

    wikics/data.json    features, labels, links (those of each node), train_masks, val_masks, stopping_masks (20 each), test_mask
    flickr/adj_full.npz, feats.npy, class_map.json, role.json    the links as a matrix in CSR form, features, classes, the split

Links keep the direction in which they are stored. Of WikiCS the Taxonomy of Benchmarks trains on the training and the validation
nodes of the first of the twenty splits and validates on its stopping nodes; data.splits=all has all twenty.
"""

import json
from typing import ClassVar

import numpy as np

from data.citation import csr
from data.download import RawFile, find, reading
from data.node_graphs import NodeGraph, Nodes, distinct, of_masks
from data.readers.unpack import TABLE, open_file, read_npy, read_npz
from data.splits import PARTS

N_SPLITS = 20


def read_json(path):
    with reading(path), open_file(path, TABLE) as file:
        return json.loads(file.read())


class WikiCS(NodeGraph):
    name, counts = "WikiCS", (11701, 297110, 300, 10)
    choices: ClassVar[dict] = {"splits": ("all",)}
    raw_files = (
        RawFile("node/wikics/data.json", ("https://github.com/pmernyei/wiki-cs-dataset/raw/master/dataset/data.json",)),
    )
    licence = "MIT"

    def __init__(self, config=None, needs=None):
        n_splits = N_SPLITS if getattr(config, "splits", None) == "all" else 1
        self.parameters = {"file": "data.json", "n_splits": n_splits}
        super().__init__(config, needs)

    def read(self):
        path = find(self.raw_files[0], self.config)
        content = read_json(path)
        with reading(path):
            edges = [(i, j) for i, others in enumerate(content["links"]) for j in others]
            train, val, stopping = (np.array(content[f"{k}_masks"], bool) for k in ("train", "val", "stopping"))
            test = np.array(content["test_mask"], bool)
            splits = [of_masks(train[i] | val[i], stopping[i], test) for i in range(self.parameters["n_splits"])]
            x, label = np.array(content["features"], np.float32), np.array(content["labels"], np.int64)
        return Nodes(x, label, distinct(edges), tuple(splits))


class Flickr(NodeGraph):
    name, counts, parameters = "Flickr", (89250, 899756, 500, 7), {"files": "adj_full.npz"}
    raw_files = tuple(
        RawFile(f"node/flickr/{name}") for name in ("adj_full.npz", "feats.npy", "class_map.json", "role.json")
    )

    def read(self):
        links, features, classes, roles = (find(file, self.config) for file in self.raw_files)
        adjacency = csr(*read_npz(links, "data", "indices", "indptr", "shape").values(), links)
        with open_file(features) as file:
            x = read_npy(file, features)
        with reading(classes):
            class_of = {int(node): int(label) for node, label in read_json(classes).items()}
            label = np.array([class_of[i] for i in range(len(class_of))])
        role = read_json(roles)
        with reading(roles):
            split = {
                part: np.sort(np.array(role[key], np.int64))
                for part, key in zip(PARTS, ("tr", "va", "te"), strict=True)
            }
        return Nodes(x, label, np.stack(adjacency.nonzero(), 1), (split,))


DATASETS = {d.name: d for d in (WikiCS, Flickr)}
