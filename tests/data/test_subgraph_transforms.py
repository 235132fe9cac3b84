"""What the nets of BREC read of a graph beside its edges: small values by hand, and of the original programs."""

import networkx as nx
import numpy as np

from data.transforms.distances import distances
from tests.exact.graphs import arrays
from tests.nets.brec import GRAPHS


def test_distances():
    """A path of four nodes and a node alone: longer than the cap and not connected are the same."""
    n, src, dst = arrays(nx.disjoint_union(nx.path_graph(4), nx.empty_graph(1)))
    seen = distances(n, src, dst, cap=2)
    assert seen.dtype == np.int64
    assert seen.tolist() == [[0, 1, 2, 2, 2], [1, 0, 1, 2, 2], [2, 1, 0, 1, 2], [2, 2, 1, 0, 2], [2, 2, 2, 2, 0]]
    by_networkx = dict(nx.all_pairs_shortest_path_length(GRAPHS["T4"]))
    seen = distances(*arrays(GRAPHS["T4"]), cap=9)
    assert seen.tolist() == [[by_networkx[i][j] for j in range(6)] for i in range(6)]
    assert distances(1, src[:0], dst[:0], cap=3).tolist() == [[0]]
