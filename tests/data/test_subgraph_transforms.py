"""What the nets of BREC read of a graph beside its edges: small values by hand, and of the original programs."""

from itertools import combinations, permutations

import networkx as nx
import numpy as np
import pytest

from data.transforms.distances import distances
from data.transforms.edge_numbers import edge_numbers
from data.transforms.i2_labels import i2_labels
from data.transforms.node_sets import node_sets
from data.transforms.orbits import EDGE_ORBITS, NODE_ORBITS, edge_orbits, node_orbits, vocabulary
from data.transforms.peripheral import peripheral_counts
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


RANDOM = [nx.gnp_random_graph(n, p, seed=n) for n, p in ((1, 0.5), (2, 0.5), (8, 0.2), (9, 0.35), (10, 0.6))]
RANDOM.append(nx.path_graph(7))


def lengths(graph, start):
    return nx.single_source_shortest_path_length(graph, start)


# I2-GNN


def test_i2_labels_of_the_program():
    """T4, root 0 and neighbour 1: nodes in the order of their distance to the root. Then an edge and a node alone."""
    root, z = i2_labels(*arrays(GRAPHS["T4"]), radius=8)
    assert len(root) == 14 and (z[:, :, 0] > 0).sum() == 84
    assert z[0].tolist() == [
        [1, 0, 13, 11],
        [2, 0, 12, 11],
        [2, 0, 13, 11],
        [3, 0, 14, 14],
        [3, 0, 13, 11],
        [4, 0, 14, 11],
    ]
    root, z = i2_labels(*arrays(nx.disjoint_union(nx.path_graph(2), nx.empty_graph(1))), radius=8)
    assert root.tolist() == [0, 1, 2]
    assert z[0].tolist() == [[1, 0, 13, 11], [2, 0, 12, 11], [0, 0, 0, 0]]
    assert z[1].tolist() == [[2, 0, 12, 11], [1, 0, 13, 11], [0, 0, 0, 0]]
    assert z[2].tolist() == [[0, 0, 0, 0], [0, 0, 0, 0], [1, 0, 1, 0]]


@pytest.mark.parametrize("radius", [1, 2, 8])
@pytest.mark.parametrize("graph", RANDOM, ids=str)
def test_i2_labels_by_their_definition(graph, radius):
    root, z = i2_labels(*arrays(graph), radius=radius)
    p = 0
    for i in graph:
        from_i = {v: d for v, d in lengths(graph, i).items() if d <= radius}
        inside = graph.subgraph(from_i)
        for j in sorted(graph[i]):
            expected = np.zeros((len(graph), 4), dtype=int)
            for v in inside:
                for column, (start, shift) in enumerate([(i, 0), (j, radius + 3)]):
                    D = lengths(inside, start)
                    n_ways = sum(D[u] == D[v] - 1 for u in inside[v])
                    expected[v, 2 * column : 2 * column + 2] = D[v] + 1 + shift, (n_ways > 1) * (D[v] + 1) + shift
            assert root[p] == i and z[p].tolist() == expected.tolist()
            p += 1
        p += not graph[i]
    assert len(root) == len(z) == p and z.max() < 2 * radius + 6


# KP-GNN


def test_peripheral_counts_of_the_program():
    T4 = peripheral_counts(*arrays(GRAPHS["T4"]), K=3)
    assert T4[:, :, 0].tolist() == [[2, 2, 0], [2, 0, 0], [2, 0, 0], [0, 2, 0], [0, 2, 0], [0, 0, 2]]
    assert (T4[:, :, 2] == T4[:, :, 0]).all() and not T4[:, :, [1, 3, 4, 5]].any()
    wheel = peripheral_counts(*arrays(nx.wheel_graph(7)), K=2)
    assert wheel[0].tolist() == [[12, 0, 12, 12, 6, 0], [0] * 6]
    assert wheel[1:].tolist() == [[[4, 0, 4, 2, 0, 0], [4, 0, 4, 2, 0, 0]]] * 6


@pytest.mark.parametrize("graph", [*RANDOM, nx.complete_graph(6)], ids=str)
def test_peripheral_counts_by_their_definition(graph):
    seen = peripheral_counts(*arrays(graph), K=3, cap=50)
    for v in graph:
        for k in (1, 2, 3):
            ring = graph.subgraph(u for u, d in lengths(graph, v).items() if d == k)
            counts = [2 * ring.number_of_edges()] + [0] * 5
            for j in ring:
                at = {h: [u for u, d in lengths(ring, j).items() if d == h] for h in (1, 2, 3, 4)}
                counts[1] += 2 * sum(2 * ring.subgraph(nodes).number_of_edges() for nodes in at.values())
                counts[2:] = [count + len(at[h]) for h, count in enumerate(counts[2:], 1)]
            assert seen[v, k - 1].tolist() == ([min(c, 50) for c in counts] if counts[0] else [0] * 6)


# KC-SetGNN


@pytest.mark.parametrize(
    "name, n_sets, components, inclusions, rows",
    [("T4", [6, 15, 18], [22, 17], [30, 54], 47), ("prism", [6, 15, 20], [29, 12], [30, 60], 66)],
)
def test_node_sets_of_the_program(name, n_sets, components, inclusions, rows):
    sets = node_sets(*arrays(GRAPHS[name]))
    assert np.bincount(sets.size)[1:].tolist() == n_sets and np.bincount(sets.components)[1:].tolist() == components
    assert np.bincount(sets.size[sets.large])[2:].tolist() == inclusions and len(sets.row_set) == rows


@pytest.mark.parametrize("c", [1, 2, 3])
@pytest.mark.parametrize("graph", RANDOM, ids=str)
def test_node_sets_by_their_definition(graph, c):
    sets = node_sets(*arrays(graph), k=3, c=c)
    of_size = [combinations(range(len(graph)), size) for size in (1, 2, 3)]
    expected = [S for some in of_size for S in some if nx.number_connected_components(graph.subgraph(S)) <= c]
    parts = [nx.number_connected_components(graph.subgraph(S)) for S in expected]
    assert sets.size.tolist() == [len(S) for S in expected] and sets.components.tolist() == parts
    inclusions = {(i, j) for i, S in enumerate(expected) for j, T in enumerate(expected)
                  if set(S) < set(T) and len(T) == len(S) + 1}  # fmt: skip
    seen = list(zip(sets.small.tolist(), sets.large.tolist(), strict=True))
    assert len(seen) == len(inclusions) and set(seen) == inclusions
    rows = [(i, v) for i, S in enumerate(expected) if parts[i] == 1 for v in S]
    edges = {(a, b) for a, b in permutations(range(len(rows)), 2)
             if rows[a][0] == rows[b][0] and graph.has_edge(rows[a][1], rows[b][1])}  # fmt: skip
    assert sets.row_set.tolist() == [i for i, _ in rows]
    seen = list(zip(sets.row_src.tolist(), sets.row_dst.tolist(), strict=True))
    assert len(seen) == len(edges) and set(seen) == edges


def test_larger_sets_are_refused():
    with pytest.raises(ValueError, match="node sets with k=4: expected 1 to 3"):
        node_sets(*arrays(GRAPHS["T4"]), k=4)


# GSN


def test_edge_orbits_of_the_program():
    n, src, dst = arrays(GRAPHS["T4"])
    counts = {
        (a, b): row for a, b, row in zip(src.tolist(), dst.tolist(), edge_orbits(n, src, dst).tolist(), strict=True)
    }
    assert counts[0, 1] == counts[1, 0] == [1, 1, 2, 0, 0, 0, 0, 1, 1, 0, 0, 0]
    assert counts[1, 2] == [2, 1, 1, 0, 0, 1, 0, 2, 0, 0, 0, 0]
    assert counts[1, 4] == [4, 0, 0, 3, 1, 1, 1, 0, 0, 0, 0, 0]
    assert counts[4, 5] == [2, 0, 3, 0, 1, 0, 0, 0, 0, 0, 0, 0]
    tailed_K4 = nx.Graph([*combinations(range(4), 2), (3, 4)])
    n, src, dst = arrays(tailed_K4)
    counts = {
        (a, b): row for a, b, row in zip(src.tolist(), dst.tolist(), edge_orbits(n, src, dst).tolist(), strict=True)
    }
    assert counts[0, 1] == [0, 2, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1]
    assert counts[0, 3] == [1, 2, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1]
    assert counts[3, 4] == [3, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0]


# name and number of each role, by the degrees of the subgraph and then by those of the ends of the edge, or of the node
EDGE_ROLES = {
    (1, 1, 2): {(1, 2): 0}, (2, 2, 2): {(2, 2): 1}, (1, 1, 2, 2): {(1, 2): 2, (2, 2): 3}, (1, 1, 1, 3): {(1, 3): 4},
    (2, 2, 2, 2): {(2, 2): 5}, (1, 2, 2, 3): {(1, 3): 6, (2, 3): 7, (2, 2): 8},
    (2, 2, 3, 3): {(2, 3): 9, (3, 3): 10}, (3, 3, 3, 3): {(3, 3): 11},
}  # fmt: skip
NODE_ROLES = {
    (1, 1, 2): {1: 0, 2: 1}, (2, 2, 2): {2: 2}, (1, 1, 2, 2): {1: 3, 2: 4}, (1, 1, 1, 3): {1: 5, 3: 6},
    (2, 2, 2, 2): {2: 7}, (1, 2, 2, 3): {1: 8, 3: 9, 2: 10}, (2, 2, 3, 3): {2: 11, 3: 12}, (3, 3, 3, 3): {3: 13},
}  # fmt: skip


@pytest.mark.parametrize("graph", [*RANDOM, nx.gnp_random_graph(9, 0.8, seed=4), GRAPHS["prism"]], ids=str)
def test_orbits_by_enumeration(graph):
    n, src, dst = arrays(graph)
    edges, nodes = np.zeros((n, n, 12), dtype=int), np.zeros((n, 14), dtype=int)
    for members in (S for size in (3, 4) for S in combinations(range(n), size)):
        inside = graph.subgraph(members)
        if not nx.is_connected(inside):
            continue
        degree = dict(inside.degree)
        kind = tuple(sorted(degree.values()))
        for a, b in inside.edges:
            role = EDGE_ROLES[kind][tuple(sorted((degree[a], degree[b])))]
            edges[a, b, role] += 1
            edges[b, a, role] += 1
        for v in inside:
            nodes[v, NODE_ROLES[kind][degree[v]]] += 1
    assert edge_orbits(n, src, dst).tolist() == edges[src, dst].tolist()
    assert node_orbits(n, src, dst).tolist() == nodes.tolist()
    assert edge_orbits(n, src, dst, k=3).tolist() == edges[src, dst, :2].tolist()
    assert node_orbits(n, src, dst, k=3).tolist() == nodes[:, :3].tolist()
    assert len(EDGE_ORBITS) == 12 and len(NODE_ORBITS) == 14


def test_other_sizes_are_refused():
    with pytest.raises(ValueError, match="orbits with k=5: expected 3 or 4"):
        edge_orbits(*arrays(GRAPHS["T4"]), k=5)


def test_a_vocabulary_has_the_values_that_occur():
    seen = vocabulary([np.array([[3, 0], [1, 0]]), np.array([[3, 7]])])
    assert [v.tolist() for v in seen] == [[1, 3], [0, 7]]


# OSAN


def test_edge_numbers():
    """0 - 2 and 0 - 10 come before 1 - 2, whatever the order and direction of the edges."""
    src, dst = np.array([2, 10, 1, 0, 2, 0]), np.array([1, 0, 2, 10, 0, 2])
    assert edge_numbers(11, src, dst).tolist() == [2, 1, 2, 1, 0, 0]
    assert edge_numbers(3, src[:0], dst[:0]).tolist() == []
