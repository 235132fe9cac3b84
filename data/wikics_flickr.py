"""WikiCS and Flickr: articles of computer science and photographs with their links; classify the nodes.

    wikics/data.json    features, labels, links (those of each node), train_masks, val_masks, stopping_masks (20 each), test_mask
    flickr/adj_full.npz, feats.npy, class_map.json, role.json    the links as a matrix in CSR form, features, classes, the split

Links keep the direction in which they are stored. Of WikiCS the Taxonomy of Benchmarks trains on the training and the validation
nodes of the first of the twenty splits and validates on its stopping nodes; data.splits=all has all twenty.
"""

from typing import ClassVar

import numpy as np

from data.citation import csr
from data.download import RawFile, find, reading
from data.node_graphs import NodeGraph, Nodes, distinct, of_masks
from data.readers.unpack import TABLE, open_file, parse_json, read_npy, read_npz, without_fraction
from data.splits import PARTS

N_SPLITS = 20


def read_json(path):
    with reading(path), open_file(path, TABLE) as file:
        return parse_json(file.read(), path)


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
            masks = [content[f"{k}_masks"] for k in ("train", "val", "stopping")]
            splits = []
            for i in range(self.parameters["n_splits"]):
                train, val, stopping = (of_mask(mask[i]) for mask in masks)
                splits.append(of_masks(train | val, stopping, of_mask(content["test_mask"])))
            return Nodes(np.array(content["features"]), np.array(content["labels"]), distinct(edges), tuple(splits))


def of_mask(listed):
    """Truth values as an array."""
    mask = without_fraction(listed, "mask")
    if mask.ndim != 1 or not np.isin(mask, (0, 1)).all():
        raise ValueError("a mask that is not a list of truth values")
    return mask.astype(bool)


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
            class_of = {int(node): label for node, label in read_json(classes).items()}
            if sorted(class_of) != list(range(len(class_of))):
                raise ValueError("the nodes are not numbered from 0 on")
            label = np.array([class_of[i] for i in range(len(class_of))])
        role = read_json(roles)
        with reading(roles):
            keys = dict(zip(PARTS, ("tr", "va", "te"), strict=True))
            split = {part: np.sort(without_fraction(role[key], key)) for part, key in keys.items()}
        return Nodes(x, label, np.stack(adjacency.nonzero(), 1), (split,))


DATASETS = {d.name: d for d in (WikiCS, Flickr)}
