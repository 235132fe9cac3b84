"""The node sets of KC-SetGNN: small sets of nodes that fall into few components, and which of them contain which."""

from itertools import combinations
from typing import NamedTuple

import numpy as np

MAX_K = 3  # of up to three nodes the number of components follows from the number of edges


class NodeSets(NamedTuple):
    """M sets of nodes, the smaller ones first, and the I inclusions of a set in another with one node more.

    size, components    (M,) number of nodes, and of components of the subgraph that they induce
    small, large        (I,) numbers of the two sets of an inclusion
    row_set             (r,) the connected sets again, a row for each of their nodes: number of the set
    row_src, row_dst    (e,) edges between rows of one set, both directions: the induced subgraphs
    """

    size: np.ndarray
    components: np.ndarray
    small: np.ndarray
    large: np.ndarray
    row_set: np.ndarray
    row_src: np.ndarray
    row_dst: np.ndarray


def node_sets(n, src, dst, k=3, c=2):
    """The sets of 1 to k nodes, k at most 3, whose induced subgraphs have at most c components: NodeSets of int64 arrays."""
    if k not in range(1, MAX_K + 1):
        raise ValueError(f"node sets with k={k}: expected 1 to {MAX_K}")
    A = np.zeros((n, n), dtype=bool)
    A[src, dst] = True
    sets, components = zip(*(_sets_of_size(s, A, c) for s in range(1, k + 1)), strict=True)
    first = np.cumsum([0, *map(len, sets)])
    parts = [_inclusions(sets[i], sets[i + 1], n) + first[i : i + 2, None] for i in range(k - 1)]
    small, large = np.concatenate([np.zeros((2, 0), dtype=np.int64), *parts], axis=1)
    size = np.repeat(np.arange(1, k + 1), np.diff(first))
    return NodeSets(size, np.concatenate(components), small, large, *_induced(sets, components, first, A))


def _sets_of_size(s, A, c):
    """(m, s) nodes in ascending order, and (m,) components."""
    n = len(A)
    sets = np.arange(n)[:, None]
    for _ in range(s - 1):
        row, node = np.nonzero(sets[:, -1:] < np.arange(n))
        sets = np.concatenate([sets[row], node[:, None]], axis=1)
    n_edges = sum(
        (A[sets[:, p], sets[:, q]] for p, q in combinations(range(s), 2)), np.zeros(len(sets), dtype=np.int64)
    )
    components = np.maximum(1, s - n_edges)
    return sets[components <= c], components[components <= c]


def _inclusions(small, large, n):
    """(2, I): number of a set among the small ones, and of one among the large ones that contains it."""
    digits = n ** np.arange(small.shape[1])[::-1]
    codes = small @ digits  # ascending, as the sets are
    pairs = []
    for left_out in range(large.shape[1]):
        code = np.delete(large, left_out, axis=1) @ digits
        place = np.searchsorted(codes, code)
        found = codes[np.minimum(place, len(codes) - 1)] == code if len(codes) else np.zeros(len(code), dtype=bool)
        pairs.append([place[found], np.flatnonzero(found)])
    return np.concatenate([np.array(p, dtype=np.int64) for p in pairs], axis=1)


def _induced(sets, components, first, A):
    """(row_set, row_src, row_dst) of the connected sets."""
    row_set, src, dst, n_rows = [], [], [], 0
    for members, parts, start in zip(sets, components, first[:-1], strict=True):
        connected = np.flatnonzero(parts == 1)
        members, s = members[connected], members.shape[1]
        i, p, q = np.nonzero(A[members[:, :, None], members[:, None, :]])
        row_set.append(np.repeat(start + connected, s))
        src.append(n_rows + i * s + p)
        dst.append(n_rows + i * s + q)
        n_rows += len(connected) * s
    return np.concatenate(row_set), np.concatenate(src), np.concatenate(dst)
