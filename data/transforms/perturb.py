"""Perturbations: a graph with other features or other edges, section 2 of the Taxonomy of Benchmarks.

Each is a small section of the configuration, as {"kind": "Frag", "k": 2}, with a function Graph -> Graph. A dataset applies those
of `data.transforms` one after the other to every graph, before it is divided, and keeps the result beside its store, found again
by the hash of the source and the parameters. What is random comes from a generator per graph. To add one, write its class and
add it to `AnyPerturbation`. Names are those of the paper's figures.
"""

from functools import partial
from typing import Annotated, ClassVar, Literal, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg
from pydantic import Field as Key
from scipy.sparse.csgraph import connected_components

from data.errors import DataError
from data.section import Section
from data.store.fields import Field
from data.store.replaced import replaced

DENSE_UP_TO = 1500  # nodes; of larger graphs one eigenvector is found by Lanczos iterations


class Graph(NamedTuple):
    """One graph on its way between two stores: edges src[k] -> dst[k], and the features of the nodes, (n, d)."""

    n: int
    src: np.ndarray
    dst: np.ndarray
    x: np.ndarray | None = None


class Perturbation(Section):
    """What all have: `apply(graph, random, facts)` gives the new graph; `facts` is what `survey` found in the whole dataset."""

    version: ClassVar[int] = 1  # raised when what is computed changes
    changes: ClassVar[str] = "edges"  # or "features"
    is_random: ClassVar[bool] = False

    @property
    def label(self):
        """Its name in the figures."""
        return self.kind

    def survey(self, store):
        return None

    def field(self, field, facts):
        """The field of the new features."""
        return Field("node", "feat", "float32", (width_of(field),))

    def generator(self, seed, i):
        """The random numbers of graph i."""
        return np.random.default_rng([seed, i])


def width_of(field):
    """Columns of a feature as numbers: categories become one-hot vectors."""
    if field is None:
        raise DataError("data.transforms: the dataset has no node features to filter: leave that perturbation out")
    if field.n_types is None:
        return field.shape[-1] if field.shape else 1
    return sum(field.n_types) if isinstance(field.n_types, tuple) else field.n_types


def as_numbers(field, x):
    """(n, d) float64: numbers as they are, a category as a one-hot vector, several side by side."""
    if field.n_types is None:
        return x.reshape(len(x), -1).astype(np.float64)
    n_types = field.n_types if isinstance(field.n_types, tuple) else (field.n_types,)
    columns = x.reshape(len(x), -1).T.astype(np.int64)
    return np.concatenate([np.eye(n)[column] for n, column in zip(n_types, columns, strict=True)], axis=1)


# --------------------------------------------------------------------------------------------------------------------
# Features


class NoNodeFtrs(Perturbation):
    """Every node has the one feature 1."""

    kind: Literal["NoNodeFtrs"] = Key("NoNodeFtrs", description="kind of perturbation")
    changes: ClassVar[str] = "features"

    def field(self, field, facts):
        return Field("node", "feat", "float32", (1,))

    def apply(self, graph, random=None, facts=None):
        return graph._replace(x=np.ones((graph.n, 1), np.float32))


class NodeDeg(Perturbation):
    """The number of out-edges as a category.

    columns="largest" (many graphs): one for each degree from 0 to the largest of the dataset. columns="distinct" (one graph): one
    for each degree that occurs, ascending, as one-hot vectors; the program counts up to the last node that has an out-edge, and
    the nodes after it have a row of zeros.
    """

    kind: Literal["NodeDeg"] = Key("NodeDeg", description="kind of perturbation")
    columns: Literal["largest", "distinct"] = Key(
        "largest", description="a column for each degree up to the largest, or for each that occurs"
    )
    changes: ClassVar[str] = "features"

    def survey(self, store):
        degrees = [np.bincount(store.edges(i)[0]) for i in range(len(store))]
        if self.columns == "largest":
            return max((int(d.max()) for d in degrees if len(d)), default=0)
        return np.unique(np.concatenate(degrees)).tolist() or [0]

    def field(self, field, facts):
        if self.columns == "largest":
            return Field("node", "feat", "int32", n_types=facts + 1)
        return Field("node", "feat", "float32", (len(facts),))

    def apply(self, graph, random=None, facts=None):
        if self.columns == "largest":
            return graph._replace(x=np.bincount(graph.src, minlength=graph.n).astype(np.int32))
        degree = np.bincount(graph.src)
        x = np.zeros((graph.n, len(facts)), np.float32)
        x[np.arange(len(degree)), np.searchsorted(facts, degree)] = 1
        return graph._replace(x=x)


class Filter(Perturbation):
    """The part of the features that is smooth over the graph, that which changes from neighbour to neighbour, or what is between.

    filter="bands" (many graphs): X := V_b V_b^T X, where the columns of V are the eigenvectors of the symmetric normalised
    Laplacian in ascending order and b is the first third of them, the second, or the rest. A graph without edges, or so small that
    a third is empty, stays as it is. filter="wavelets" (one graph): with T = (I + D^-1/2 A D^-1/2)/2,

        HighPass X - T X        MidPass T X - T² X        LowPass T² X

    A has no self-loops; D is the out-degree, at least 1. In a directed graph T averages over the out-neighbours.
    """

    filter: Literal["bands", "wavelets"] = Key(
        "bands", description="thirds of the Laplacian's spectrum, or differences of powers of a lazy random walk"
    )
    changes: ClassVar[str] = "features"
    band: ClassVar[int]

    def apply(self, graph, random=None, facts=None):
        x = bands(graph, self.band) if self.filter == "bands" else wavelets(graph, self.band)
        return graph._replace(x=x.astype(np.float32))


class LowPass(Filter):
    kind: Literal["LowPass"] = Key("LowPass", description="kind of perturbation")
    band: ClassVar[int] = 0


class MidPass(Filter):
    kind: Literal["MidPass"] = Key("MidPass", description="kind of perturbation")
    band: ClassVar[int] = 1


class HighPass(Filter):
    kind: Literal["HighPass"] = Key("HighPass", description="kind of perturbation")
    band: ClassVar[int] = 2


def bands(graph, band):
    """The features (n, d) projected on a third of the Laplacian's eigenvectors."""
    third = graph.n // 3
    chosen = slice(band * third, (band + 1) * third if band < 2 else graph.n)
    i, j = simple_edges(graph)
    if not len(i) or chosen.start == chosen.stop:
        return graph.x
    A = np.zeros((graph.n, graph.n))
    A[i, j] = A[j, i] = 1
    degree = A.sum(1)
    scale = np.where(degree > 0, 1 / np.sqrt(np.maximum(degree, 1)), 0)
    V = np.linalg.eigh(np.diag(degree > 0) - scale[:, None] * A * scale)[1][:, chosen]
    return V @ (V.T @ graph.x)


def wavelets(graph, band):
    """T² X, T X - T² X or X - T X."""
    keep = graph.src != graph.dst
    src, dst = graph.src[keep], graph.dst[keep]
    scale = 1 / np.sqrt(np.maximum(np.bincount(src, minlength=graph.n), 1))
    A = scipy.sparse.coo_array((scale[src] * scale[dst], (src, dst)), shape=(graph.n, graph.n)).tocsr()

    def T(x):
        return (x + A @ x) / 2

    once = T(graph.x)
    if band == 2:
        return graph.x - once
    return T(once) if band == 0 else once - T(once)


class RandomNodeFeatures(Perturbation):
    """A number drawn from [-1, 1) per node. (Of a later edition of the program.)

    Deviation: the program begins with the same seed at every graph, so all graphs have the same numbers; here each has its own.
    """

    kind: Literal["RandomNodeFeatures"] = Key("RandomNodeFeatures", description="kind of perturbation")
    changes: ClassVar[str] = "features"
    is_random: ClassVar[bool] = True

    def field(self, field, facts):
        return Field("node", "feat", "float32", (1,))

    def apply(self, graph, random, facts=None):
        return graph._replace(x=random.uniform(-1, 1, (graph.n, 1)).astype(np.float32))


# --------------------------------------------------------------------------------------------------------------------
# Edges


class NoEdges(Perturbation):
    kind: Literal["NoEdges"] = Key("NoEdges", description="kind of perturbation")

    def apply(self, graph, random=None, facts=None):
        return without_edges(graph)


class FullyConn(Perturbation):
    """Every node is joined to every other one. The edges are never stored: a batch makes them, or a net that knows a closed form is
    told (data/store, `cliques`)."""

    kind: Literal["FullyConn"] = Key("FullyConn", description="kind of perturbation")

    def apply(self, graph, random=None, facts=None):
        return without_edges(graph)


class Frag(Perturbation):
    """Random neighbourhoods, cut out of what is left of the graph one after another; only edges inside them stay.

    A seed is drawn among the nodes that are left; it and those of them within k steps of it, through such nodes, are the next
    fragment. Edges are followed and kept in both directions, without self-loops. directions="descending" takes only those that the
    graph has from a node to one with a smaller number, which makes a difference if it is directed.

    Deviation: the text says nodes at a distance less than k; the program takes those within k. It takes all edges; the published
    scores of directed graphs fit the descending ones, which a conversion in its library of that time left over.
    draws="program" gives every graph the same random numbers, as the program does; "own" gives each its own.
    """

    kind: Literal["Frag"] = Key("Frag", description="kind of perturbation")
    k: int = Key(gt=0, description="largest distance from the seed of a fragment")
    draws: Literal["program", "own"] = Key(
        "program", description="random numbers: the same for every graph, or each graph's own"
    )
    directions: Literal["both", "descending"] = Key(
        "both", description="edges that are followed and kept: all, or those from a node to one with a smaller number"
    )
    is_random: ClassVar[bool] = True

    @property
    def label(self):
        return f"Frag-k{self.k}"

    def generator(self, seed, i):
        return np.random.RandomState(seed) if self.draws == "program" else super().generator(seed, i)

    def apply(self, graph, random, facts=None):
        taken = graph.src > graph.dst if self.directions == "descending" else slice(None)
        i, j = simple_edges(graph._replace(src=graph.src[taken], dst=graph.dst[taken]))
        if not len(i):
            return graph if self.directions == "both" else without_edges(graph)
        return with_edges_inside(graph, i, j, fragments(graph.n, i, j, self.k, random))


def fragments(n, i, j, k, random):
    """The number of the fragment of each node, (n,)."""
    neighbours = [[] for _ in range(n)]
    for a, b in zip(i.tolist(), j.tolist(), strict=True):
        neighbours[a].append(b)
        neighbours[b].append(a)
    fragment = np.full(n, -1)
    left, number = np.arange(n), 0  # the nodes that are left, ascending
    while len(left):
        front = [int(random.choice(left))]
        fragment[front] = number
        for _ in range(k):
            front = list({b for a in front for b in neighbours[a] if fragment[b] < 0})
            if not front:
                break
            fragment[front] = number
        left, number = left[fragment[left] < 0], number + 1
    return fragment


class FiedlerFrag(Perturbation):
    """The largest component is cut in two by the signs of an eigenvector, again and again, until it has fewer than max_size nodes.

    Each half falls into its components. matrix="laplacian": the eigenvector of the second smallest eigenvalue of D - A, which cuts
    few edges (the text). Deviation: the program takes that of A itself (matrix="adjacency", the default), which alternates along
    the edges and cuts most of them; and 10 iterations, the text has 200.
    """

    kind: Literal["FiedlerFrag"] = Key("FiedlerFrag", description="kind of perturbation")
    matrix: Literal["adjacency", "laplacian"] = Key("adjacency", description="whose eigenvector cuts")
    iterations: int = Key(10, gt=0, description="most cuts per graph")
    max_size: int = Key(20, gt=1, description="components of fewer nodes are not cut")

    def apply(self, graph, random=None, facts=None):
        i, j = simple_edges(graph)
        if not len(i):
            return graph
        values = np.ones(2 * len(i))
        A = scipy.sparse.coo_array((values, (np.r_[i, j], np.r_[j, i])), shape=(graph.n, graph.n)).tocsr()
        parts = sorted(components(A, np.arange(graph.n)), key=len)
        for _ in range(self.iterations):
            if len(parts[-1]) < self.max_size:
                break
            nodes = parts.pop()
            positive = second_eigenvector(A[nodes][:, nodes], self.matrix) > 0
            parts += components(A, nodes[positive]) + components(A, nodes[~positive])
            parts.sort(key=len)
        part_of = np.empty(graph.n, np.int64)
        for number, nodes in enumerate(parts):
            part_of[nodes] = number
        return with_edges_inside(graph, i, j, part_of)


def components(A, nodes):
    """The components of the subgraph of these nodes, by their smallest node."""
    if not len(nodes):
        return []
    n, number = connected_components(A[nodes][:, nodes], directed=False)
    return [nodes[number == c] for c in range(n)]


def second_eigenvector(A, matrix):
    """That of the second smallest eigenvalue of A or of D - A, (n,); A is symmetric and sparse."""
    degree = A.sum(axis=1)
    if A.shape[0] <= DENSE_UP_TO:
        M = A.toarray()
        M = np.diag(degree) - M if matrix == "laplacian" else M
        return scipy.linalg.eigh(M, subset_by_index=(1, 1))[1][:, 0]
    start = np.random.RandomState(0).uniform(-1, 1, A.shape[0])  # fixed: equal on each call
    if matrix == "adjacency":
        values, vectors = scipy.sparse.linalg.eigsh(A, 2, which="SA", v0=start, tol=1e-8)
    else:
        L = (scipy.sparse.diags_array(degree) - A).tocsc()
        values, vectors = scipy.sparse.linalg.eigsh(L, 2, sigma=-1e-3, which="LM", v0=start)
    return vectors[:, np.argsort(values)[1]]


class RandomEdgeRewire(Perturbation):
    """Ends of edges exchanged, two edges at a time: (a, b), (c, d) become (a, c), (b, d) or (a, d), (b, c). No edge is drawn twice.

    Degrees stay, if multiple edges and self-loops, which can come about, are counted. (Of a later edition of the program.)
    Deviation: an edge is drawn among those that are left; the program draws among all, up to 1000 times, and then takes one again.
    """

    kind: Literal["RandomEdgeRewire"] = Key("RandomEdgeRewire", description="kind of perturbation")
    share: float = Key(0.5, gt=0, le=1, description="share of the edges that are drawn")
    is_random: ClassVar[bool] = True

    def apply(self, graph, random, facts=None):
        edges = np.stack(simple_edges(graph), axis=1)
        first, second = random.permutation(len(edges))[: 2 * int(self.share * len(edges) / 2)].reshape(2, -1)
        other = edges[second]
        flip = random.random(len(second)) < 0.5
        other[flip] = other[flip][:, ::-1]
        edges[first], edges[second] = (
            np.stack([edges[first][:, 0], other[:, 0]], 1),
            np.stack([edges[first][:, 1], other[:, 1]], 1),
        )
        return with_edges(graph, *edges.T)


def simple_edges(graph):
    """(i, j), i < j: the edges without direction, self-loops and duplicates."""
    low, high = np.minimum(graph.src, graph.dst).astype(np.int64), np.maximum(graph.src, graph.dst).astype(np.int64)
    codes = np.unique((low * graph.n + high)[low < high])
    return codes // graph.n, codes % graph.n


def with_edges(graph, i, j):
    """The graph with these edges in both directions, and no others."""
    return graph._replace(src=np.concatenate([i, j]), dst=np.concatenate([j, i]))


def with_edges_inside(graph, i, j, part_of):
    """The graph with those of the edges i - j that lie inside a part."""
    inside = part_of[i] == part_of[j]
    return with_edges(graph, i[inside], j[inside])


def without_edges(graph):
    nothing = np.zeros(0, np.int64)
    return graph._replace(src=nothing, dst=nothing)


AnyPerturbation = Annotated[
    NoNodeFtrs
    | NodeDeg
    | LowPass
    | MidPass
    | HighPass
    | NoEdges
    | FullyConn
    | Frag
    | FiedlerFrag
    | RandomNodeFeatures
    | RandomEdgeRewire,
    Key(discriminator="kind"),
]


# --------------------------------------------------------------------------------------------------------------------
# Whole stores


def perturbed(store, transforms, seed=0, workers=1):
    """The store with all graphs perturbed, by one perturbation after the other; from the cache, or computed with a progress bar."""
    for perturbation in transforms:
        store = _perturbed(store, perturbation, seed, workers)
    return store


def _perturbed(store, perturbation, seed, workers):
    if perturbation.changes == "edges" and "edge.label" in store.fields:
        raise DataError(
            f"data.transforms: {perturbation.label} replaces the edges of {store.name}, but these are what is predicted: "
            "choose one that changes features"
        )
    parameters = {**perturbation.model_dump(), "version": perturbation.version}
    if perturbation.is_random:
        parameters["seed"] = seed

    def plan():
        facts = perturbation.survey(store)
        source = store.fields.get("node.feat")
        fields = [perturbation.field(source, facts)] if perturbation.changes == "features" else []
        return fields, partial(_graph, store, perturbation, seed, facts)

    edges, cliques = perturbation.changes == "edges", isinstance(perturbation, FullyConn)
    return replaced(
        store, perturbation.label, parameters=parameters, plan=plan, edges=edges, cliques=cliques, workers=workers
    )


def _graph(store, perturbation, seed, facts, i):
    """Graph i as it becomes: (src, dst, {field: rows})."""
    src, dst = store.edges(i)
    x = None
    if isinstance(perturbation, Filter):
        x = as_numbers(store.fields["node.feat"], store.rows("node.feat", i))
    graph = Graph(len(store.rows("node.in_degree", i)), src, dst, x)
    new = perturbation.apply(graph, perturbation.generator(seed, i), facts)
    return new.src, new.dst, {} if new.x is None else {"node.feat": new.x}
