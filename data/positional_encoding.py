"""Laplacian positional encodings, section D: the smallest non-trivial eigenvectors of each graph.

Computed once for a dataset and cached beside its store, keyed by the dataset's hash and the number of eigenvectors.
"""

import numpy as np

VERSION = 1


def laplacian_eigenvectors(n_nodes, src, dst, k):
    """Eigenvectors 2 to k+1 of the symmetric normalised Laplacian I - D^(-1/2) A D^(-1/2), (n_nodes, k), float32.

    The first eigenvector, of eigenvalue 0, carries no position and is left out. A graph with fewer than k+1 nodes has fewer
    eigenvectors: the missing columns are zero. Nodes without edges count as having degree 1. Edges are given in both
    directions; a graph that is not symmetric is an error, because its Laplacian has no such eigenvectors.
    """
    A = np.zeros((n_nodes, n_nodes))
    np.add.at(A, (dst, src), 1.0)
    if not np.array_equal(A, A.T):
        raise ValueError(f"a graph of {n_nodes} nodes has an edge in one direction only: add the reverse edges")
    scale = 1 / np.sqrt(np.maximum(A.sum(axis=1), 1))
    # the symmetric solver: real, orthonormal, sorted, and equal on each call
    _, vectors = np.linalg.eigh(np.eye(n_nodes) - scale[:, None] * A * scale[None, :])
    encoding = np.zeros((n_nodes, k), dtype=np.float32)
    encoding[:, : max(n_nodes - 1, 0)] = vectors[:, 1 : k + 1]
    return encoding


def with_laplacian_encoding(store, k):
    """The same store with the node field `pos_enc`, (N, k), from the cache or computed under a progress bar."""

    def encode(i):
        return laplacian_eigenvectors(len(store.rows("node.in_degree", i)), *store.edges(i), k)

    return store.derive(
        "pos_enc",
        level="node",
        dtype="float32",
        shape=(k,),
        parameters={"kind": "laplacian", "k": k, "version": VERSION},
        compute=encode,
        description="Laplacian eigenvectors",
    )
