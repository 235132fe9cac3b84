"""CSL, circular skip links (A.6): graphs that ordinary message passing cannot tell apart.

Graph G(41, C) is a cycle of 41 nodes in which every node is also joined to the node C steps ahead. The ten skip lengths C give ten
classes of 4-regular graphs, no two of them isomorphic; a class has 15 graphs, copies with their nodes renumbered at random. All
nodes look alike to their neighbours, so nets that only pass messages stay at chance (10 %) unless nodes carry a position.

CSL-published has the copies and the folds that were published, CSL has its own.
"""

import numpy as np

from data.dataset import Declared, GraphDataset, Target
from data.download import RawFile, find, reading
from data.errors import DataError, StoreError
from data.readers.unpack import read_indices
from data.splits import PARTS, read_folds, stratified_folds
from data.store import Field, PackedWriter


def skip_link_edges(n_nodes, skip):
    """Both directions of the cycle's edges i - i+1 and the skip links i - i+skip: (src, dst)."""
    i = np.arange(n_nodes)
    a = np.concatenate([i, i])
    b = np.concatenate([(i + 1) % n_nodes, (i + skip) % n_nodes])
    return np.concatenate([a, b]), np.concatenate([b, a])


def index_file(part):
    """The graphs that one part has in each fold, as published."""
    url = f"https://raw.githubusercontent.com/graphdeeplearning/benchmarking-gnns/master/data/CSL/CSL_{part}.index"
    return RawFile(f"splits/benchmarking-gnns/CSL/CSL_{part}.index", (url,))


class CSL(GraphDataset):
    name = "CSL"
    version = 1
    licence = "generated here; none"
    declared = Declared(None, None, Target("classes", "graph", 10), n_folds=5)
    counts = (150, 6150, 150 * 164)  # Tables 1 and 5: graphs, nodes and directed edges
    parameters = {  # noqa: RUF012 - read only
        "n_nodes": 41,
        "skips": [2, 3, 4, 5, 6, 9, 11, 12, 13, 16],
        "graphs_per_class": 15,
        "n_folds": 5,
        "seed": 41,
    }

    def build(self, path):
        p = self.parameters
        # RandomState, not Generator: its stream is frozen, so every numpy gives the same graphs and the same folds
        random = np.random.RandomState(p["seed"])
        labels = np.repeat(np.arange(len(p["skips"])), p["graphs_per_class"])
        fields = [Field("graph", "label", "int64", n_types=len(p["skips"]))]
        with PackedWriter(path, self.name, fields, {"version": self.version, **p}, total=len(labels)) as writer:
            for label in labels:
                src, dst = skip_link_edges(p["n_nodes"], p["skips"][label])
                number = random.permutation(p["n_nodes"])
                writer.add(p["n_nodes"], number[src], number[dst], graph={"label": label})
            for f, parts in enumerate(stratified_folds(labels, p["n_folds"], random)):
                writer.add_split(f"fold{f}", **parts)

    def check(self, store):
        """A dataset that is published has known counts; one of your own needs no check."""
        seen = (store.n_graphs, store.n_nodes, store.n_edges)
        if seen != self.counts:
            raise StoreError(
                f"{store.path}: graphs, nodes, edges are {seen}, and `counts` of {type(self).__name__} is {self.counts}: correct "
                "that, or delete the folder: it is built again"
            )


class PublishedCSL(CSL):
    """The published graphs, from arrays, and the published folds.

    The arrays: `edge` with the edges of all graphs one after the other, `edge_ptr`, `num_nodes` and `y`. Edges go both ways, and
    every node has a loop; the original program takes the loops out, and so does this.
    """

    name = "CSL-published"
    licence = "MIT (published with the paper's program)"
    parameters = {"files": "csl_published.npz with index files"}  # noqa: RUF012 - read only
    raw_files = (RawFile("CSL/csl_published.npz"), *map(index_file, PARTS))

    def build(self, path):
        source, *index = (find(file, self.config) for file in self.raw_files)
        graphs = list(self.graphs(source))
        fields = [Field("graph", "label", "int64", n_types=self.target.n_out)]
        generator = {"version": self.version, **self.parameters}
        with PackedWriter(path, self.name, fields, generator, total=len(graphs)) as writer:
            for n_nodes, (src, dst), label in graphs:
                with reading(source):
                    writer.add(n_nodes, src, dst, graph={"label": label})
            for f, parts in enumerate(read_folds(index, len(graphs))):
                writer.add_split(f"fold{f}", **parts)

    def graphs(self, source):
        """(number of nodes, (src, dst), label) of each graph, without loops."""
        arrays = read_indices(source, edge=2, edge_ptr=1, num_nodes=1, y=1)
        pointer, label = arrays["edge_ptr"], arrays["y"]
        if len(pointer) != len(label) + 1 or len(label) != len(arrays["num_nodes"]):
            raise DataError(
                f"{source}: {len(label)} labels, {len(pointer)} pointers, {len(arrays['num_nodes'])} sizes: damaged"
            )
        for i in range(len(label)):
            src, dst = arrays["edge"][pointer[i] : pointer[i + 1]].T
            kept = src != dst
            if kept.sum() != 164:  # Table 5
                raise DataError(f"{source}, graph {i}: {kept.sum()} edges without loops, expected 164: it is not CSL")
            yield int(arrays["num_nodes"][i]), (src[kept], dst[kept]), label[i]
