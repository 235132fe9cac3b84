"""Small-world and Scale-free: 256 random graphs of 64 nodes; how long are their shortest paths on average?

A node has two features, its clustering coefficient and its PageRank (damping 0.85). The class is the bin of the graph's average
shortest path among five bins with the same number of graphs. Small-world are rewired rings (Watts and Strogatz), Scale-free grows
by preferential attachment with triangles (Holme and Kim); parameters are drawn until every cell of a grid over average clustering
(0.3 to 0.6) and average path (1.8 to 3.0) has four graphs. The published graphs are read from plain arrays; NAME-generated draws
others in the same way, NAME-10 has ten bins.

Deviation: the text says ten bins, the configurations of the Taxonomy's program say five; NAME has five.
"""

import networkx as nx
import numpy as np
from scipy.sparse.csgraph import shortest_path

from data.dataset import Declared, GraphDataset, Target, numbers
from data.download import RawFile, find
from data.errors import REMEDY, DataError, StoreError
from data.readers.ogb_raw import check_range, check_shape
from data.readers.unpack import check_pointer, read_indices
from data.splits import scikit_folds
from data.store import Field, PackedWriter

N_NODES, N_GRAPHS, PER_CELL = 64, 256, 4
CLUSTERING, PATHS = np.arange(0.3, 0.6001, 0.05), np.arange(1.8, 3.001, 0.2)  # borders of the 8 x 8 cells
DAMPING = 0.85
MOST_DRAWS = 1_000_000  # of the generator


def clustering(A):
    """The share of pairs of neighbours that are joined, (n,); 0 with fewer than two neighbours."""
    degree = A.sum(1)
    pairs = degree * (degree - 1)
    return (A @ A * A).sum(1) / np.maximum(pairs, 1)


def page_rank(A):
    """The stationary distribution of a walk that restarts anywhere with probability 0.15, (n,)."""
    n = len(A)
    step = np.where(A.sum(1, keepdims=True) > 0, A / np.maximum(A.sum(1, keepdims=True), 1), 1 / n)
    return np.linalg.solve(np.eye(n) - DAMPING * step.T, np.full(n, (1 - DAMPING) / n))


def average_path(A):
    n = len(A)
    return shortest_path(A, unweighted=True).sum() / (n * (n - 1))


def cell_of(A):
    """The cell of a graph in the grid over clustering and path; what lies outside the borders belongs to the outermost cells."""
    return int(np.searchsorted(CLUSTERING, clustering(A).mean())), int(np.searchsorted(PATHS, average_path(A)))


def bins(values, n_bins):
    """The number of order statistics floor(n j / n_bins), j = 0, 1, …, that are at most each value, minus 1."""
    cuts = np.sort(values)[len(values) * np.arange(n_bins) // n_bins]
    return np.searchsorted(cuts, values, side="right") - 1


class SyntheticGraphs(GraphDataset):
    """`n_bins` is the number of classes, `file` has the published graphs."""

    version = 1
    file: str
    n_bins = 5
    mean_edges: float  # undirected, of the published graphs
    licence = "MIT (published with GraphGym)"

    def __init_subclass__(cls):
        if hasattr(cls, "name"):
            cls.declared = Declared(numbers("node", 2), None, Target("classes", "graph", cls.n_bins), n_folds=10)
            cls.raw_files = (RawFile(f"synthetic/{cls.file}.npz"),)
            cls.parameters = {"file": cls.file, "n_bins": cls.n_bins}

    def graphs(self):
        """Yields the adjacency matrices."""
        path = find(self.raw_files[0], self.config)
        arrays = read_indices(path, node_ptr=1, edge_ptr=1, edge=2)
        n, first = np.diff(arrays["node_ptr"]), arrays["edge_ptr"]
        check_pointer(first, len(n), len(arrays["edge"]), f"{path}: edge_ptr")
        if not len(n) or (n != N_NODES).any():
            wrong = n[n != N_NODES][0] if len(n) else "no"
            raise DataError(f"{path}: a graph of {wrong} nodes, expected {N_NODES}: {REMEDY}")
        check_range(arrays["edge"], 0, N_NODES - 1, f"{path}, edge")
        check_shape(arrays["edge"], (None, 2), f"{path}, edge")
        for g in range(len(n)):
            i, j = arrays["edge"][first[g] : first[g + 1]].T
            A = np.zeros((N_NODES, N_NODES))
            A[i, j] = A[j, i] = 1
            yield A

    def build(self, path):
        graphs = list(self.graphs())
        label = bins(np.array([average_path(A) for A in graphs]), self.n_bins)
        fields = [Field("node", "feat", "float32", (2,)), Field("graph", "label", "int64", n_types=self.n_bins)]
        generator = {"version": self.version, **self.parameters}
        with PackedWriter(path, self.name, fields, generator, total=len(graphs)) as writer:
            for A, y in zip(graphs, label, strict=True):
                feat = np.stack([clustering(A), page_rank(A)], 1)
                writer.add(len(A), *np.nonzero(A), node={"feat": feat}, graph={"label": y})
            for f, parts in enumerate(scikit_folds(label, 10, 123)):
                writer.add_split(f"fold{f}", **parts)

    def check(self, store):
        seen = (len(store), store.n_edges / 2 / len(store))
        if seen != (N_GRAPHS, self.mean_edges):
            raise StoreError(
                f"{store.path}: graphs and edges per graph are {seen}, of {self.name} {(N_GRAPHS, self.mean_edges)}: "
                "delete the folder, and get the right file"
            )


class GeneratedGraphs(SyntheticGraphs):
    """The same, drawn anew from a seed: all of them, as the classes are bins of all."""

    licence = "generated here; none"

    def __init_subclass__(cls):
        super().__init_subclass__()
        if hasattr(cls, "name"):
            cls.raw_files, cls.parameters = (), {"n_bins": cls.n_bins, "seed": 0}

    def graphs(self):
        """Rejection: a drawn graph stays if its cell has fewer than four. The rarest cells need some ten thousand draws."""
        random, cells = np.random.default_rng(self.parameters["seed"]), np.zeros((8, 8), int)
        for _ in range(MOST_DRAWS):
            drawn = self.draw(random)
            if not nx.is_connected(drawn):
                continue
            A = nx.to_numpy_array(drawn)
            cell = cell_of(A)
            if cells[cell] < PER_CELL:
                cells[cell] += 1
                yield A
            if cells.min() == PER_CELL:
                return
        raise DataError(
            f"{self.name}: {MOST_DRAWS} graphs were drawn, and {(cells < PER_CELL).sum()} of 64 cells are not full"
        )

    def check(self, store):
        if len(store) != N_GRAPHS:
            raise StoreError(f"{store.path}: {len(store)} graphs, not {N_GRAPHS}: delete the folder, it is built again")


def small_world(random):
    k, p = 2 * int(random.integers(2, 12)), random.integers(0, 101) / 100
    return nx.watts_strogatz_graph(N_NODES, k, p, seed=int(random.integers(2**31)))


def scale_free(random):
    m, p = int(random.integers(2, 12)), random.integers(0, 101) / 100
    return nx.powerlaw_cluster_graph(N_NODES, m, p, seed=int(random.integers(2**31)))


class SmallWorld(SyntheticGraphs):
    name, file, mean_edges = "Small-world", "smallworld", 347.0


class SmallWorld10(SmallWorld):
    name, n_bins = "Small-world-10", 10


class ScaleFree(SyntheticGraphs):
    name, file, mean_edges = "Scale-free", "scalefree", 250.78125


class ScaleFree10(ScaleFree):
    name, n_bins = "Scale-free-10", 10


class GeneratedSmallWorld(GeneratedGraphs):
    name, file, draw = "Small-world-generated", "smallworld", staticmethod(small_world)


class GeneratedScaleFree(GeneratedGraphs):
    name, file, draw = "Scale-free-generated", "scalefree", staticmethod(scale_free)


ALL = (SmallWorld, SmallWorld10, ScaleFree, ScaleFree10, GeneratedSmallWorld, GeneratedScaleFree)
DATASETS: dict = {d.name: d for d in ALL}
