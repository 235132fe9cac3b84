"""CitationFull, Amazon and Coauthor: papers, products and authors with their words, in one .npz file each; classify the nodes.

    adj_data, adj_indices, adj_indptr, adj_shape        the links, a matrix in CSR form
    attr_data, attr_indices, attr_indptr, attr_shape    the words, in the same form
    labels                                              the class of each node

As in the original loader, links are taken in both directions without self-loops, and every positive feature becomes 1. Splits are
drawn from the seed. CF-PubMed-rebuilt is the same graph from the eight files of Planetoid (ind.pubmed.x, …), where the nodes have
another order.
"""

import numpy as np
import scipy.sparse

from data.download import RawFile, find, reading
from data.errors import REMEDY, DataError
from data.node_graphs import NodeGraph, Nodes, undirected
from data.readers.unpack import open_file, read_npz, without_fraction
from data.readers.unpickle import load_pickle

GAUSS = "https://github.com/abojchevski/graph2gauss/raw/master/data/{}.npz"
SHCHUR = "https://github.com/shchur/gnn-benchmark/raw/master/data/npz/{}.npz"
PLANETOID = "https://raw.githubusercontent.com/kimiyoung/planetoid/master/data/{}"

SUMS = {  # SHA-256 of files of Planetoid
    "ind.pubmed.allx": "508e538e2abdccdd54c4d3e9f49d638b4af7107d85845f66ddea5a5152658b7e",
    "ind.pubmed.tx": "4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d",
    "ind.pubmed.ally": "0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e",
    "ind.pubmed.ty": "ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd",
    "ind.pubmed.graph": "5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9",
    "ind.pubmed.test.index": "b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5",
}


class Documents(NodeGraph):
    """One of them. `file` is its name here, `source` the address it can be had from."""

    file: str
    source: str

    def __init__(self, config=None, needs=None):
        self.raw_files = [RawFile(f"node/npz/{self.file}.npz", (self.source,))]
        self.parameters = {"file": self.file}
        super().__init__(config, needs)

    def read(self):
        path = find(self.raw_files[0], self.config)
        adjacency, words = read_csr(path, "adj"), read_csr(path, "attr")
        if words.shape != (self.counts[0], self.counts[2]):  # before memory is taken
            raise DataError(
                f"{path}, attr: shape {words.shape}, of {self.name} {(self.counts[0], self.counts[2])}: {REMEDY}"
            )
        label = read_npz(path, "labels")["labels"]
        return Nodes((words.toarray() > 0).astype(np.float32), label, undirected(np.stack(adjacency.nonzero(), 1)))


def read_csr(path, prefix):
    """The sparse matrix whose arrays begin with `prefix`."""
    arrays = read_npz(path, *(f"{prefix}_{part}" for part in ("data", "indices", "indptr", "shape")))
    data, indices, indptr, shape = arrays.values()
    return csr(data, indices, indptr, shape, f"{path}, {prefix}")


def csr(data, indices, indptr, shape, where):
    with reading(where):
        if (data := np.asarray(data)).dtype.kind not in "biuf":
            raise ValueError(f"values of type {data.dtype}, expected numbers")
        indices, indptr, shape = (without_fraction(values, "a place") for values in (indices, indptr, shape))
        if indptr.ndim != 1 or (np.diff(indptr, prepend=0, append=len(indices)) < 0).any():
            # of a matrix without numbers scipy does not look at them
            raise ValueError("its rows do not follow each other")
        matrix = scipy.sparse.csr_array((data, indices, indptr), shape=tuple(shape.tolist()))
        matrix.check_format(full_check=True)
    return matrix


class CFCora(Documents):
    name, file, source = "CF-Cora", "cora", GAUSS.format("cora")
    counts = (19793, 126842, 8710, 70)


class CFCoraML(Documents):
    name, file, source = "CF-CoraML", "cora_ml", GAUSS.format("cora_ml")
    counts = (2995, 16316, 2879, 7)


class CFCiteSeer(Documents):
    name, file, source = "CF-CiteSeer", "citeseer_full", GAUSS.format("citeseer")
    counts = (4230, 10674, 602, 6)


class CFDBLP(Documents):
    name, file, source = "CF-DBLP", "dblp", GAUSS.format("dblp")
    counts = (17716, 105734, 1639, 4)


class CFPubMed(Documents):
    name, file, source = "CF-PubMed", "pubmed", GAUSS.format("pubmed")
    counts = (19717, 88648, 500, 3)


class AmComp(Documents):
    name, file, source = "Am-Comp", "amazon_computers", SHCHUR.format("amazon_electronics_computers")
    counts = (13752, 491722, 767, 10)


class AmPhot(Documents):
    name, file, source = "Am-Phot", "amazon_photo", SHCHUR.format("amazon_electronics_photo")
    counts = (7650, 238162, 745, 8)


class CoauCS(Documents):
    name, file, source = "Coau-CS", "coauthor_cs", SHCHUR.format("ms_academic_cs")
    counts = (18333, 163788, 6805, 15)


class CoauPhy(Documents):
    name, file, source = "Coau-Phy", "coauthor_physics", SHCHUR.format("ms_academic_phy")
    counts = (34493, 495924, 8415, 5)


class Planetoid(NodeGraph):
    """The eight files of Planetoid, pickles that are read by an interpreter of our own: the nodes of allx, then those of tx, whose
    places test.index says. Places without a row (CiteSeer has some) have no feature and class 0."""

    file: str

    def __init__(self, config=None, needs=None):
        names = [f"ind.{self.file}.{part}" for part in ("allx", "tx", "ally", "ty", "graph", "test.index")]
        self.raw_files = [
            RawFile(f"node/planetoid/{name}", (PLANETOID.format(name),), SUMS.get(name)) for name in names
        ]
        self.parameters = {"file": f"ind.{self.file}"}
        super().__init__(config, needs)

    def read(self):
        allx, tx, ally, ty, graph = (self.unpickled(file) for file in self.raw_files[:5])
        path, (n, _, width, n_classes) = find(self.raw_files[5], self.config), self.counts
        with reading(path):
            place = without_fraction([int(word) for word in path.read_text().split()], "a place")
        allx, tx = (to_csr(matrix, self.raw_files[k].path) for k, matrix in enumerate((allx, tx)))
        seen = [getattr(part, "shape", None) for part in (allx, tx, ally, ty)]
        n_all, n_test = allx.shape[0], len(place)
        if seen != [(n_all, width), (n_test, width), (n_all, n_classes), (n_test, n_classes)]:
            raise DataError(
                f"{path}: {n_test} places, allx, tx, ally and ty of shapes {seen}: they do not belong together"
            )
        if not isinstance(graph, dict) or n_all > n or place.min(initial=0) < 0 or place.max(initial=0) >= n:
            raise DataError(
                f"{path}: {n_all} rows of allx, places up to {place.max(initial=0)}, expected {n} nodes: {REMEDY}"
            )
        x, y = np.zeros((n, width), np.float32), np.zeros((n, n_classes))
        with reading(path):
            x[:n_all], y[:n_all] = allx.toarray() > 0, without_fraction(ally, "ally")
            x[place], y[place] = tx.toarray() > 0, without_fraction(ty, "ty")
        with reading(self.raw_files[4].path):
            return Nodes(x, y.argmax(1), undirected([(a, b) for a, others in graph.items() for b in others]))

    def unpickled(self, file):
        path = find(file, self.config, also=(f"{file.path}.gz",))
        with reading(path), open_file(path) as stream:
            return load_pickle(stream)


def to_csr(state, where):
    """A sparse matrix from what its pickle holds."""
    if not isinstance(state, dict) or not {"data", "indices", "indptr"} <= set(state):
        found = ", ".join(map(str, state)) if isinstance(state, dict) else type(state).__name__
        raise DataError(f"{where}: it holds {found[:200]}: expected a sparse matrix")
    return csr(state["data"], state["indices"], state["indptr"], state.get("_shape", state.get("shape")), where)


class RebuiltCFPubMed(Planetoid):
    name, file = "CF-PubMed-rebuilt", "pubmed"
    counts = (19717, 88648, 500, 3)
    licence = "MIT"


DATASETS = {
    d.name: d
    for d in (CFCora, CFCoraML, CFCiteSeer, CFDBLP, CFPubMed, RebuiltCFPubMed, AmComp, AmPhot, CoauCS, CoauPhy)
}
