"""BREC (sections 3 and K of the BREC paper): 400 pairs of graphs that are not isomorphic and that 1-WL cannot tell apart.

There are no classes and no splits: a method is asked of each pair whether it tells the two graphs apart. There are seven
kinds of pairs, reported in four categories; Regular is made of four of the kinds. Nodes and edges have no features. Copies with
their nodes renumbered at random, which the paired comparisons of section 4 need, are drawn from a seed and never stored.
"""

import csv
from typing import NamedTuple

import dgl
import numpy as np
import torch
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import shortest_path

from data.dataset import ROOT, Declared, GraphDataset, Target
from data.download import RawFile, find, reading
from data.errors import DataError, StoreError
from data.readers.graph6 import decode
from data.readers.unpack import open_file, read_npy
from data.store import Field, PackedWriter

# the commit, so that the files stay those that were read here; the branch, if that should be gone
URLS = tuple(
    f"https://raw.githubusercontent.com/GraphPKU/BREC/{version}/customize/Data/raw/{{}}.npy"
    for version in ("d45190961b86548c626e5bc29ded4c67f5fa4f24", "Release")
)
TABLE_1 = ROOT / "paper_tables" / "brec" / "table1_dataset_statistics.csv"


class Kind(NamedTuple):
    """One of the seven kinds: its name, the category it is reported in, its file and its number of pairs."""

    name: str
    category: str
    file: str
    n_pairs: int


KINDS = (  # in the order of the benchmark: pair 0 is the first of the first kind
    Kind("basic", "Basic", "basic", 60),
    Kind("simple regular", "Regular", "regular", 50),
    Kind("strongly regular", "Regular", "str", 50),
    Kind("extension", "Extension", "extension", 100),
    Kind("CFI", "CFI", "cfi", 100),
    Kind("4-vertex condition", "Regular", "4vtx", 20),
    Kind("distance regular", "Regular", "dr", 20),
)
MOST_BYTES = 1 << 26  # of a part; the largest has 600 kB
CATEGORIES = ("Basic", "Regular", "Extension", "CFI")
COPIES, RELIABILITY = 0, 1  # streams of random numbers of a pair


class Pair(NamedTuple):
    """Pair `index` of the benchmark, 0 to 399: graphs g and h (DGLGraphs without features), its category and its kind."""

    index: int
    g: dgl.DGLGraph
    h: dgl.DGLGraph
    category: str
    part: str


class BREC(GraphDataset):
    """`dataset[i]` is a Pair. With config.limit there are only the first so many pairs of each kind: i still counts from 0,
    Pair.index stays the number in the benchmark, and the copies stay those of that pair."""

    name = "BREC"
    version = 1
    licence = "MIT (GraphPKU/BREC)"
    declared = Declared(None, None, Target("numbers", "graph", 16))
    parameters = {"files": [kind.file for kind in KINDS]}  # noqa: RUF012 - read only
    raw_files = tuple(RawFile(f"BREC/{kind.file}.npy", tuple(url.format(kind.file) for url in URLS)) for kind in KINDS)
    # Deviation: Table 1 prints 10 to 198 nodes and 800 different graphs; in the published files the smallest have 7 nodes, and two
    # graphs occur twice (docs/deviations/brec.md)
    sizes = (800, 27804, 2 * 114752, 7, 198)  # graphs, nodes, directed edges, fewest and most nodes of a graph

    def __init__(self, config=None, needs=None):
        if needs:  # positional encodings depend on the numbering, so each copy must get its own
            raise DataError(f"BREC: its store has no transforms: asked for {', '.join(needs)}")
        super().__init__(config)
        first = np.cumsum([0, *(kind.n_pairs for kind in KINDS)])
        limits = [min(kind.n_pairs, self.config.limit or kind.n_pairs) for kind in KINDS]
        self.indices = np.concatenate([start + np.arange(n) for start, n in zip(first, limits, strict=False)])

    def only(self, categories):
        """The dataset with the pairs of these categories alone, as "Basic,CFI"; None: all."""
        if categories is not None:
            chosen = [self.kind_of(index).category in categories.split(",") for index in self.indices]
            self.indices = self.indices[chosen]
        return self

    def build(self, path):
        pairs = [(k, *pair) for k in range(len(KINDS)) for pair in self.read(k)]
        fields = [Field("graph", "part", "uint8", n_types=len(KINDS))]
        generator = {"version": self.version, **self.parameters}
        with PackedWriter(path, self.name, fields, generator, total=2 * len(pairs)) as writer:
            for k, *pair in pairs:
                for n, a, b in pair:
                    writer.add(n, np.concatenate([a, b]), np.concatenate([b, a]), graph={"part": np.uint8(k)})
            writer.add_array("pairs", np.arange(2 * len(pairs)).reshape(-1, 2))

    def read(self, k):
        """The pairs of kind k as decoded graphs, each edge once: [((n, a, b), (n, a, b))]."""
        kind, path = KINDS[k], find(self.raw_files[k], self.config)
        with open_file(path, MOST_BYTES) as file:
            words = read_npy(file, path, MOST_BYTES)
        if words.dtype.kind not in "US" or words.size != 2 * kind.n_pairs:
            found = f"array of {words.dtype}, shape {words.shape}"
            raise DataError(f"{path}: {found}: expected the {2 * kind.n_pairs} graph6 strings of BREC, {kind.name}")
        pairs = []
        for i, row in enumerate(words.reshape(-1, 2)):  # a flat file has the two graphs of a pair one after the other
            with reading(f"{path}, pair {i}"):
                pairs.append(tuple(decode(word) for word in row))
        return pairs

    def check(self, store):
        """Section 3.1: 800 graphs; the counts of nodes and edges are those of the published files."""
        counts = store.header["counts"]
        seen = tuple(counts[key] for key in ("graphs", "nodes", "edges", "min_nodes", "max_nodes"))
        if seen != self.sizes:
            raise StoreError(
                f"{store.path}: graphs, nodes, edges, fewest and most nodes are {seen}, not {self.sizes} as published: "
                "delete the folder and get the right files"
            )

    # Pairs

    def __len__(self):
        return len(self.indices)

    def __getitem__(self, i):
        index = self._index(i)
        kind = self.kind_of(index)
        return Pair(index, self.store.graph(2 * index), self.store.graph(2 * index + 1), kind.category, kind.name)

    def kind_of(self, index):
        """Which of the seven kinds pair `index` of the benchmark is of."""
        return KINDS[self.store.rows("graph.part", 2 * index)]

    def _index(self, i):
        if not 0 <= i < len(self):
            raise IndexError(f"pair {i}: expected 0 to {len(self) - 1}")
        return int(self.indices[i])

    def edges(self, i):
        """((n, src, dst), (n, src, dst)) of g and h: int64 arrays, both directions of each edge, sorted by dst."""
        index = self._index(i)
        return self._edges(2 * index), self._edges(2 * index + 1)

    def _edges(self, graph):
        src, dst = self.store.edges(graph)
        return len(self.store.rows("node.in_degree", graph)), src.astype(np.int64), dst.astype(np.int64)

    # Copies

    def copies(self, i, q, seed):
        """(batch_g, batch_h): q copies each of g and h with their nodes renumbered at random, one DGLGraph of q blocks each.

        Deviation: the first copy of the published file keeps the numbering; here none does.
        """
        random = np.random.default_rng([seed, self._index(i), COPIES])
        g, h = self.edges(i)
        return renumbered(*g, q, random), renumbered(*h, q, random)

    def reliability_copies(self, i, q, seed):
        """(batch_a, batch_b): q and q copies of the same graph, g or h by chance, for the reliability check."""
        random = np.random.default_rng([seed, self._index(i), RELIABILITY])
        graph = self.edges(i)[random.integers(2)]
        return renumbered(*graph, q, random), renumbered(*graph, q, random)

    # The card

    def statistics(self):
        """[(what, in Table 1 of the paper, in the store)]."""
        with open(TABLE_1, newline="") as file:
            paper = next(row for row in csv.DictReader(file) if row["dataset"] == "BREC")
        counts = self.store.header["counts"]
        return [
            ("graphs", paper["n_graphs"], str(len(self.store))),
            ("nodes per graph, from - to", paper["n_nodes"], f"{counts['min_nodes']}-{counts['max_nodes']}"),
            ("hardness", paper["hardness"], "-"),
        ]

    def summary(self):
        """What appendix D shows as a figure, in numbers: lines of the range and mean of each category and kind."""
        measured = np.array([measures(*self._edges(i)) for i in range(len(self.store))])
        kind_of_graph = self.store.column("graph.part")
        groups = [(f"{c} (all)", [k.category == c for k in KINDS]) for c in CATEGORIES]
        groups += [(kind.name, [k is kind for k in KINDS]) for kind in KINDS if kind.category == "Regular"]
        rows = [("", "graphs", "nodes", "edges", "mean degree", "diameter", "not connected")]
        for name, of_kind in groups:
            values = measured[np.array(of_kind)[kind_of_graph]]
            rows.append((name, str(len(values)), *map(spread, values[:, :4].T), str(int(values[:, 4].sum()))))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(text.ljust(w) for text, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        return ["least - most (mean); edges are counted once, the diameter is that of the largest component", *lines]


def renumbered(n, src, dst, q, random):
    """q copies of a graph with their nodes renumbered at random, as one DGLGraph of q blocks.

    Edges are ordered by their new numbers: nothing of the first numbering is left, not even in the order in which a net adds
    up messages.
    """
    if q < 1:
        raise ValueError(f"q={q}: expected one copy or more")
    number = random.permuted(np.tile(np.arange(n), (q, 1)), axis=1) + n * np.arange(q)[:, None]
    code = np.sort(number[:, dst].reshape(-1) * (q * n) + number[:, src].reshape(-1))
    dst, src = np.divmod(code, q * n)
    g = dgl.graph((torch.from_numpy(src.astype(np.int32)), torch.from_numpy(dst.astype(np.int32))), num_nodes=q * n)
    g.set_batch_num_nodes(torch.full((q,), n, dtype=g.idtype))
    g.set_batch_num_edges(torch.full((q,), len(src) // q, dtype=g.idtype))
    return g


def measures(n, src, dst):
    """Nodes, edges, mean degree, diameter of the largest component, and whether there are several components."""
    distance = shortest_path(csr_matrix((np.ones(len(src)), (src, dst)), (n, n)), unweighted=True)
    reached = np.isfinite(distance)
    largest = reached.sum(1).argmax()
    inside = distance[reached[largest]][:, reached[largest]]
    return n, len(src) / 2, len(src) / n, inside.max(), not reached.all()


def spread(values):
    low, high, mean = values.min(), values.max(), values.mean()
    return f"{low:.3g} - {high:.3g} ({mean:.2f})" if low < high else f"{low:.3g}"
