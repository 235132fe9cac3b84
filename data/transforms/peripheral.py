"""The peripheral subgraphs of KP-GNN: how the nodes at distance k of a node are joined among themselves."""

import numpy as np

from data.transforms.distances import distances

RINGS = 4  # distances inside a peripheral subgraph that are counted


def peripheral_counts(n, src, dst, K, cap=1000):
    """(n, K, 6) int64: for node v and k = 1 … K six numbers of the subgraph on the nodes at distance k of v, each at most `cap`.

        0        its edges, in both directions
        1        twice the sum, over its nodes j and h = 1 … 4, of the edges (in both directions) among the nodes at distance h of j
        2 … 5    its ordered pairs of nodes at distance 1 … 4

    Distances to j are measured inside the subgraph. All six are 0 where it has no edge.
    """
    A = np.zeros((n, n), dtype=np.float32)
    A[src, dst] = 1
    D = distances(n, src, dst, cap=K + 1)
    on_ring = D[:, None, :] == np.arange(1, K + 1)[:, None]  # (v, k, u)
    counts = np.zeros((n, K, 6), dtype=np.int64)
    n_edges = ((on_ring @ A) * on_ring).sum(2)
    for size in np.unique(on_ring.sum(2)[n_edges > 0]):  # subgraphs of one size at a time
        v, k = np.nonzero((on_ring.sum(2) == size) & (n_edges > 0))
        nodes = np.nonzero(on_ring[v, k])[1].reshape(-1, size)
        counts[v, k] = _count(A[nodes[:, :, None], nodes[:, None, :]])
    return np.minimum(counts, cap)


def _count(A):
    """(P, 6) of P graphs of one size, (P, s, s) adjacency matrices."""
    total = np.zeros((len(A), 2 + RINGS))
    total[:, 0] = A.sum((1, 2))
    ring = np.broadcast_to(np.eye(A.shape[1], dtype=np.float32), A.shape)  # (P, j, u): u is at distance h of j
    unseen = ring == 0
    for h in range(1, RINGS + 1):
        ring = ((ring @ A > 0) & unseen).astype(np.float32)
        unseen = unseen & (ring == 0)
        total[:, 1] += 2 * ((ring @ A) * ring).sum((1, 2))
        total[:, 1 + h] = ring.sum((1, 2))
    return np.rint(total).astype(np.int64)
