"""What Tables 2 and A.1 of the Long Range Graph Benchmark say of its datasets, and the same of a store."""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import shortest_path

from data.errors import StoreError
from data.LRGB_declared import version_name
from data.splits import evenly_spaced

MOST_GRAPHS = 100  # whose paths are measured for a card


class Totals(NamedTuple):
    """Of all graphs: numbers, and mean and deviation over the graphs of the mean shortest path and of the diameter."""

    graphs: int
    nodes: int
    edges: int  # directed
    path: tuple[float, float]
    diameter: tuple[float, float]


def versions(name, slic10, slic30):
    """The rows of Table A.1. Those of coo-feat are those of coo: the numbers of paths too, though the graphs differ."""
    return {
        version_name(name, graph, compactness): totals
        for compactness, (coo, rag) in ((10, slic10), (30, slic30))
        for graph, totals in (("coo", coo), ("coo-feat", coo), ("rag", rag))
    }


PEPTIDES = Totals(15_535, 2_344_859, 4_773_974, (20.89, 9.79), (56.99, 28.72))
PRINTED = {
    "Peptides-func": PEPTIDES,
    "Peptides-struct": PEPTIDES,
    "PCQM-Contact": Totals(529_434, 15_955_687, 32_341_644, (4.63, 0.63), (9.86, 1.79)),
    **versions(
        "PascalVOC-SP",
        (
            Totals(11_355, 4_747_374, 37_978_992, (7.50, 0.76), (17.89, 2.10)),
            Totals(11_355, 4_747_374, 26_659_158, (9.08, 1.23), (22.99, 3.70)),
        ),
        (
            Totals(11_355, 5_443_545, 43_548_360, (8.05, 0.18), (19.40, 0.65)),
            Totals(11_355, 5_443_545, 30_777_444, (10.74, 0.51), (27.62, 2.13)),
        ),
    ),
    **versions(
        "COCO-SP",
        (
            Totals(123_286, 49_732_322, 397_858_524, (7.39, 0.77), (17.61, 2.12)),
            Totals(123_286, 49_732_322, 278_816_918, (8.85, 1.23), (22.40, 3.70)),
        ),
        (
            Totals(123_286, 58_793_216, 470_345_728, (8.06, 0.18), (19.42, 0.70)),
            Totals(123_286, 58_793_216, 332_091_902, (10.66, 0.55), (27.39, 2.14)),
        ),
    ),
}


def check_totals(store, name):
    """Raise if the store has not exactly the graphs, nodes and edges that are printed for this dataset."""
    seen = (len(store), store.n_nodes, store.n_edges)
    if seen != PRINTED[name][:3]:
        raise StoreError(
            f"{store.path}: graphs, nodes, edges are {seen}, of {name} {PRINTED[name][:3]}: it was built from other files: "
            "delete the folder, and get the right ones"
        )


def path_lengths(n_nodes, src, dst):
    """(mean shortest path, diameter) of the graph with its edges in both directions; None if it is not connected."""
    adjacency = csr_matrix((np.ones(len(src), np.int8), (src, dst)), shape=(n_nodes, n_nodes))
    length = shortest_path(adjacency, unweighted=True, directed=False)
    return (length.sum() / max(n_nodes * (n_nodes - 1), 1), length.max()) if np.isfinite(length).all() else None


def path_statistics(store, graphs):
    """((mean, deviation) of the mean shortest path, (mean, deviation) of the diameter) over those of these graphs that are
    connected. So it was printed: of the peptides 15,375 are connected, with 20.89 ± 9.79 and 56.99 ± 28.72."""
    lengths = [path_lengths(len(store.rows("node.in_degree", i)), *store.edges(i)) for i in graphs]
    lengths = np.array([pair for pair in lengths if pair is not None] or [(np.nan, np.nan)])
    return tuple(zip(lengths.mean(axis=0).tolist(), lengths.std(axis=0).tolist(), strict=True))


def statistics(store, name):
    """[(what, printed, in the store)] as texts, for the card; `name` is that of the paper's dataset, or None."""
    printed, n = PRINTED.get(name), len(store)
    graphs = evenly_spaced(np.arange(n), MOST_GRAPHS)
    path, diameter = path_statistics(store, graphs)
    some = "" if len(graphs) == n else f", here of {len(graphs)} graphs"
    ours = Totals(n, store.n_nodes, store.n_edges, path, diameter)
    columns = [totals_texts(totals) if totals else ["-"] * 8 for totals in (printed, ours)]
    names = ("graphs", "nodes", "edges", "nodes per graph", "mean degree", "edges per graph")
    names += (f"mean shortest path{some}", f"diameter{some}")
    return list(zip(names, *columns, strict=True))


def totals_texts(totals):
    graphs, nodes, edges, path, diameter = totals
    means = (nodes / graphs, edges / nodes, edges / graphs)
    spreads = (f"{mean:.2f} ± {deviation:.2f}" for mean, deviation in (path, diameter))
    return [f"{graphs:,}", f"{nodes:,}", f"{edges:,}", *(f"{mean:,.2f}" for mean in means), *spreads]
