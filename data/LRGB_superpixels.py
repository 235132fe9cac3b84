"""PascalVOC-SP and COCO-SP of the Long Range Graph Benchmark: which object does each superpixel of a photograph belong to?

The published graphs of 11,355 and 123,286 photographs with 21 and 81 classes (0: background). Both come in six versions: graphs
of touching superpixels (rag) or of the nearest ones (coo, coo-feat), and compactness 30 or 10 of the superpixels. The plain names
are rag and 30, the others PascalVOC-SP-coo-slic10 and so on. How an image becomes a graph is said in data/LRGB_images.py.
"""

import numpy as np

from data.dataset import GraphDataset
from data.download import RawFile, find, reading
from data.draw import draw_labelled_regions
from data.LRGB_declared import COMPACTNESS, EDGE_DIM, N_CLASSES, NODE_DIM, superpixels, version_name
from data.LRGB_statistics import check_totals, statistics
from data.readers.images import COCO_CATEGORIES, coco_labels
from data.readers.published_lists import node_labels, published_graphs
from data.splits import PARTS, consecutive
from data.store import Field, PackedWriter

CLASSES = {
    "PascalVOC-SP": (
        "background", "aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow", "dining table",
        "dog", "horse", "motorbike", "person", "potted plant", "sheep", "sofa", "train", "tv/monitor",
    ),
    "COCO-SP": tuple("background" if i == 0 else f"category {i}" for i in COCO_CATEGORIES),
}  # fmt: skip


class LongRangeSuperpixels(GraphDataset):
    """What all of them share. `paper`: the dataset of the paper; `graph` and `compactness`: which of its versions."""

    version = 1
    draw = draw_labelled_regions
    paper: str
    graph, compactness = "rag", 30

    @property
    def paper_name(self):
        return version_name(self.paper, self.graph, self.compactness)

    @property
    def fields(self):
        return [
            Field("node", "feat", "float16", (NODE_DIM,)),
            Field("edge", "feat", "float32" if self.graph == "rag" else "float16", (EDGE_DIM[self.graph],)),
            Field("node", "label", "uint8", n_types=N_CLASSES[self.paper]),
        ]

    def write(self, path, sizes, graphs, **made_with):
        """A store of graphs (feat, src, dst, edge features, labels, name) that come part by part; `sizes`: {part: number}."""
        generator = {"version": self.version, **self.parameters, **made_with}
        with PackedWriter(path, self.name, self.fields, generator, total=sum(sizes.values())) as writer:
            for feat, src, dst, edge, label, name in graphs:
                with reading(name):
                    writer.add(len(feat), src, dst, node={"feat": feat, "label": label}, edge={"feat": edge})
            writer.add_split("split", **consecutive(sizes))

    def statistics(self):
        return statistics(self.store, self.paper_name if self.is_papers else None)

    is_papers = False

    def summary(self):
        """Share of the nodes of each class, the ten most frequent ones."""
        counts = np.bincount(self.store.column("node.label"), minlength=N_CLASSES[self.paper])
        names = CLASSES[self.paper]
        lines = [f"{names[c]:14} {100 * counts[c] / counts.sum():5.2f} %" for c in np.argsort(-counts)[:10]]
        return [f"superpixels of the most frequent classes ({(counts > 0).sum()} of {len(counts)} occur):", *lines]


def versions(base):
    """{name: class} of the six versions of a dataset."""
    made = {}
    for compactness in COMPACTNESS:
        for graph in EDGE_DIM:
            name = version_name(base.name, graph, compactness)
            declared = superpixels(N_CLASSES[base.paper], graph)
            parameters = base.parameters | {"graph": graph, "compactness": compactness}
            keys = {"name": name, "graph": graph, "compactness": compactness, "parameters": parameters}
            keys |= {"__doc__": base.__doc__, "__module__": base.__module__, "declared": declared}
            if hasattr(base, "addresses"):
                keys["raw_files"] = (base.archive(graph, compactness),)
            made[name] = type(base.__name__, (base,), keys)
    return made


# --------------------------------------------------------------------------------------------------------------------
# As published

FORMATS = {"rag": "edge_wt_region_boundary", "coo": "edge_wt_only_coord", "coo-feat": "edge_wt_coord_feat"}


class PublishedRegions(LongRangeSuperpixels):
    """From an archive of train.pickle, val.pickle and test.pickle, read graph by graph: the paper's own graphs.

    Deviation: node features are kept in half precision, as they are published; the edges of coo and coo-feat too.
    """

    is_papers = True
    parameters = {"files": "published"}  # noqa: RUF012 - read only
    sizes: dict
    addresses: dict

    @classmethod
    def archive(cls, graph, compactness):
        name = f"{cls.prefix}_superpixels_{FORMATS[graph]}.zip"
        address = f"https://www.dropbox.com/s/{cls.addresses[compactness][graph]}/{name}?dl=1"
        return RawFile(f"LRGB/slic{compactness}/{name}", (address,))

    def build(self, path):
        also = (f"LRGB/{self.also}",) if (self.graph, self.compactness) == ("rag", 30) else ()
        archive = find(self.raw_files[0], self.config, also=also)
        self.write(path, self.sizes, self.graphs(archive))

    def graphs(self, archive):
        for part in PARTS:
            keys = ("x", "edge_attr", "edge_index", "y")
            for graph in published_graphs(archive, part, keys, NODE_DIM, EDGE_DIM[self.graph]):
                label = self.labels(node_labels(graph), graph["at"])
                yield graph["x"], *graph["edge_index"], graph["edge_attr"], label, graph["at"]

    def labels(self, values, where):
        return values

    def check(self, store):
        check_totals(store, self.paper_name)


class PascalVOC(PublishedRegions):
    name = paper = "PascalVOC-SP"
    licence = "custom (terms of Pascal VOC and Flickr)"
    prefix, also = "voc", "pascalvocsp.zip"
    sizes = {"train": 8_498, "val": 1_428, "test": 1_429}  # noqa: RUF012 - read only
    addresses = {  # noqa: RUF012
        30: {"coo": "toqulkdpb1jrswk", "coo-feat": "xywki8ysj63584d", "rag": "8x722ai272wqwl4"},
        10: {"coo": "rk6pfnuh7tq3t37", "coo-feat": "2a53nmfp6llqg8y", "rag": "6pfz2mccfbkj7r3"},
    }


class COCO(PublishedRegions):
    name = paper = "COCO-SP"
    licence = "CC BY 4.0"
    prefix, also = "coco", "cocosp.zip"
    sizes = {"train": 113_286, "val": 5_000, "test": 5_000}  # noqa: RUF012 - read only
    addresses = {  # noqa: RUF012
        30: {"coo": "hrbfkxmc5z9lsaz", "coo-feat": "4rfa2d5ij1gfu9b", "rag": "r6ihg1f4pmyjjy0"},
        10: {"coo": "prqizdep8gk0ndk", "coo-feat": "zftoyln1pkcshcg", "rag": "fhihfcyx2y978u8"},
    }

    def labels(self, values, where):
        """The published labels are COCO's categories."""
        return coco_labels(values, where)


DATASETS = versions(PascalVOC) | versions(COCO)
