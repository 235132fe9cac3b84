"""TSP (A.3): which edges belong to the travelling salesman's shortest tour? One yes or no per edge.

A graph is 50 to 500 cities at random in the unit square, each joined to its 25 nearest others: edge i -> j if j is one of the 25
nearest of i. A node knows its coordinates, an edge its length. An edge's label is 1 if the tour goes along it, in either direction.
The tours come from a solver (data/solvers), which takes hours for all 12,000 graphs: found tours are kept while the others
are looked for, so that an interrupted build goes on where it stopped.
"""

import functools
import itertools
import os
import shutil
import sys
from pathlib import Path

import numpy as np

from data.dataset import Declared, GraphDataset, Target, numbers
from data.download import find, reading
from data.draw import draw_tour
from data.errors import REMEDY, DataError, StoreError
from data.parallel import parallel_map
from data.readers.published import published_file, published_parts
from data.readers.unpack import read_npz
from data.solvers.tsp_solvers import ELKAI, LK_VERSION, SCALE, SOLVERS, check_tour, distances
from data.splits import PARTS, consecutive
from data.store import Field, PackedWriter

# tours in one file of the unfinished ones: so many are lost at most, for each process, when the build is killed
CHUNK = 16

FIELDS = [
    Field("node", "feat", "float32", (2,)),
    Field("edge", "feat", "float32", (1,)),
    Field("edge", "label", "uint8", n_types=2),
]
DAMAGE = (OSError, ValueError, DataError)  # of a file of tours


def instance(parameters, part, i):
    """The cities (n, 2) of graph i of a part, float32. One seed per graph: the first graphs are the same however many follow."""
    # RandomState, not Generator: its stream is frozen, so every numpy gives the same cities
    random = np.random.RandomState([parameters["seed"], PARTS.index(part), i])
    n = random.randint(parameters["min_nodes"], parameters["max_nodes"] + 1, dtype=np.int64)
    return random.random_sample((n, 2)).astype(np.float32)


def nearest_neighbours(d, k):
    """The k nearest others of each city, nearest first: (n, k)."""
    d = d.copy()
    np.fill_diagonal(d, np.inf)
    return np.argsort(d, axis=1, kind="stable")[:, :k]


def tour_graph(points, tour, k):
    """(src, dst, length, label) of the edges from each city to its k nearest others."""
    n, d = len(points), distances(points)
    src, dst = np.repeat(np.arange(n), k), nearest_neighbours(d, k).ravel()
    following = np.empty(n, np.int64)
    following[tour] = np.roll(tour, -1)
    on_tour = (following[src] == dst) | (following[dst] == src)
    return src, dst, d[src, dst].astype(np.float32)[:, None], on_tour.astype(np.int64)


def find_tour(parameters, number):
    """The tour of one graph, number = (part, i), as the parameters' solver finds it."""
    part, i = number
    points = instance(parameters, part, i)
    solve = SOLVERS[parameters["solver"]][0]
    return check_tour(solve(points, i, **parameters["effort"]), len(points), parameters["solver"])


class FoundTours:
    """The tours of an unfinished build: a folder with one file per CHUNK of graphs, written when all of them are found."""

    def __init__(self, folder, parameters, numbers):
        self.folder, self.parameters = folder, parameters
        self.chunks = [numbers[start : start + CHUNK] for start in range(0, len(numbers), CHUNK)]

    def path(self, c):
        return self.folder / f"tours-{c:05d}.npz"

    def write(self, c, tours):
        temporary = self.path(c).with_suffix(".tmp")
        with open(temporary, "wb") as file:
            np.savez(file, **{str(k): tour.astype(np.int32) for k, tour in enumerate(tours)})
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, self.path(c))

    def read(self, c):
        """The tours of a chunk, or None if they are not there. A damaged file is not there; zip files have checksums."""
        try:
            tours = list(read_npz(self.path(c), *map(str, range(len(self.chunks[c])))).values())
            for (part, i), tour in zip(self.chunks[c], tours, strict=True):
                check_tour(tour, len(instance(self.parameters, part, i)), self.path(c))
        except FileNotFoundError:
            return None
        except DAMAGE as error:
            print(f"{self.path(c)}: damaged ({error}), these tours are looked for again", file=sys.stderr, flush=True)
            return None
        return tours

    def find_missing(self, name, workers):
        missing = [c for c in range(len(self.chunks)) if self.read(c) is None]
        if not missing:
            return
        total, wanted = sum(map(len, self.chunks)), [(c, number) for c in missing for number in self.chunks[c]]
        print(
            f"{name}: {len(wanted)} of {total} tours to be found by {self.parameters['solver']}. "
            "It can be stopped at any time, and goes on when started again.",
            file=sys.stderr,
            flush=True,
        )
        find = functools.partial(find_tour, self.parameters)
        tours = parallel_map(find, [number for _, number in wanted], f"{name}: tours", chunk=CHUNK, workers=workers)
        for c, group in itertools.groupby(zip(wanted, tours, strict=True), key=lambda item: item[0][0]):
            self.write(c, [tour for _, tour in group])


class TSP(GraphDataset):
    """The paper's size, by our own solver."""

    name = "TSP"
    version = 1
    generated = True
    licence = "generated here"
    declared = Declared(numbers("node", 2), numbers("edge", 1), Target("classes", "edge", 2, ("BinaryF1",)))
    draw = draw_tour
    parameters = {  # noqa: RUF012 - read only
        "graphs": {"train": 10_000, "val": 1_000, "test": 1_000},
        "min_nodes": 50,
        "max_nodes": 500,
        "neighbours": 25,
        "seed": 41,
        "solver": "lk",
        "solver_version": LK_VERSION,
        "effort": {"iterations_per_city": 100},
    }

    def __init__(self, config=None, needs=None):
        super().__init__(config, needs)
        # here, not in build: that may be killed as soon as its store is there
        shutil.rmtree(unfinished(self.store.path), ignore_errors=True)

    def build(self, path):
        p = self.parameters
        SOLVERS[p["solver"]][1]()  # is the solver there?
        sizes = {part: min(size, p.get("limit", size)) for part, size in p["graphs"].items()}
        numbers = [(part, i) for part in PARTS for i in range(sizes[part])]
        folder = unfinished(path)
        folder.mkdir(parents=True, exist_ok=True)
        found = FoundTours(folder, p, numbers)
        found.find_missing(self.name, self.config.workers)
        generator = {"version": self.version, **p}
        with PackedWriter(path, self.name, FIELDS, generator, total=len(numbers)) as writer:
            for c, chunk in enumerate(found.chunks):
                tours = found.read(c)
                if tours is None:
                    raise StoreError(
                        f"{found.path(c)}: the tours just found cannot be read: is the disk full? Start again"
                    )
                for (part, i), tour in zip(chunk, tours, strict=True):
                    points = instance(p, part, i)
                    src, dst, length, label = tour_graph(points, tour, p["neighbours"])
                    writer.add(len(points), src, dst, node={"feat": points}, edge={"feat": length, "label": label})
            writer.add_split("split", **consecutive(sizes))

    def check(self, store):
        """Tables 1 and 5: 275.76 nodes per graph, here as near as chance allows, and 25 edges per node."""
        p = self.parameters
        n_graphs = sum(min(size, p.get("limit", size)) for size in p["graphs"].values())
        low, high = p["min_nodes"], p["max_nodes"]
        deviation = np.sqrt(((high - low + 1) ** 2 - 1) / 12 / n_graphs)  # of the mean of uniform whole numbers
        mean = store.n_nodes / max(store.n_graphs, 1)
        if (
            store.n_graphs != n_graphs
            or store.n_edges != p["neighbours"] * store.n_nodes
            or abs(mean - (low + high) / 2) > 6 * deviation
        ):
            raise StoreError(
                f"{store.path}: {store.n_graphs} graphs, {mean:.2f} nodes per graph, {store.n_edges} edges "
                f"are not those of {self.name}: delete the folder, it is built again"
            )


class TSPSmall(TSP):
    """For a first try: built in less than half a minute."""

    name = "TSP-small"
    parameters = TSP.parameters | {
        "graphs": {"train": 200, "val": 50, "test": 50},
        "max_nodes": 100,
        "effort": {"iterations_per_city": 10},
    }


class TSPConcorde(TSP):
    """The paper's size and the paper's solver."""

    name = "TSP-concorde"
    parameters = TSP.parameters | {"solver": "concorde", "solver_version": "any", "scale": SCALE, "effort": {}}


class TSPElkai(TSP):
    """The paper's size, by LKH in the package elkai."""

    name = "TSP-elkai"
    parameters = TSP.parameters | {"solver": "elkai", "solver_version": ELKAI, "scale": SCALE, "effort": {"runs": 10}}


class PublishedTSP(TSP):
    """The published graphs, with Concorde's tours under a rounded metric."""

    name = "TSP-published"
    generated = False
    licence = "MIT (published with the paper's program)"
    parameters = {  # noqa: RUF012 - read only
        "file": "TSP_v2",
        "graphs": TSP.parameters["graphs"],
        "min_nodes": 50,
        "max_nodes": 500,
        "neighbours": 25,
    }
    raw_files = (published_file("TSP_v2"),)

    def build(self, path):
        file, sizes = find(self.raw_files[0], self.config), self.parameters["graphs"]
        generator, parts = {"version": self.version, **self.parameters}, {}
        with PackedWriter(path, self.name, FIELDS, generator, total=sum(sizes.values())) as writer:
            for part, n_graphs, graphs in published_parts(file, node_dim=2, label="edge", edge_dim=1):
                if n_graphs != sizes[part]:
                    raise DataError(f"{file}: {n_graphs} graphs in {part}, expected {sizes[part]}: {REMEDY}")
                parts[part] = np.arange(writer.n_graphs, writer.n_graphs + n_graphs)
                for graph in graphs:
                    edge = {"feat": graph["edge_attr"], "label": graph["y"]}
                    with reading(file):
                        writer.add(len(graph["x"]), *graph["edge_index"], node={"feat": graph["x"]}, edge=edge)
            writer.add_split("split", **parts)


DATASETS = {dataset.name: dataset for dataset in (TSP, TSPSmall, TSPConcorde, TSPElkai, PublishedTSP)}


def unfinished(path):
    """The folder of the tours found while the store at `path` is not complete."""
    path = Path(path)
    return path.with_name(f".{path.name}.solving")
