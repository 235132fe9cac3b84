"""Laplacian positional encodings, section D: the smallest non-trivial eigenvectors of each graph.

Computed once for a dataset and cached beside its store, keyed by the dataset's hash and the number of eigenvectors.
"""

from functools import partial

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

VERSION = 1


DENSE_UP_TO = 2000  # nodes; above, only the eigenvectors that are wanted are computed


def laplacian_eigenvectors(n_nodes, src, dst, k):
    """Eigenvectors 2 to k+1 of the symmetric normalised Laplacian I - D^(-1/2) A D^(-1/2), (n_nodes, k), float32.

    The first eigenvector, of eigenvalue 0, carries no position and is left out. A graph with fewer than k+1 nodes has fewer
    eigenvectors: the missing columns are zero. Nodes without edges count as having degree 1. Edges are given in both
    directions; a graph that is not symmetric is an error, because its Laplacian has no such eigenvectors.
    """
    A = scipy.sparse.coo_array((np.ones(len(src)), (dst, src)), shape=(n_nodes, n_nodes)).tocsr()
    if (A != A.T).nnz:
        raise ValueError(f"a graph of {n_nodes} nodes has an edge in one direction only: add the reverse edges")
    scale = scipy.sparse.diags_array(1 / np.sqrt(np.maximum(A.sum(axis=1), 1)))
    vectors = _smallest(scale @ A @ scale, k + 1)
    encoding = np.zeros((n_nodes, k), dtype=np.float32)
    encoding[:, : max(n_nodes - 1, 0)] = vectors[:, 1 : k + 1]
    return encoding


def _smallest(A, k):
    """Eigenvectors of I - A in the order of its eigenvalues, at least the k smallest. A is symmetric."""
    n_nodes = A.shape[0]
    if n_nodes <= max(DENSE_UP_TO, k + 1):
        # the symmetric solver: real, orthonormal, sorted, and equal on each call
        return np.linalg.eigh(np.eye(n_nodes) - A.toarray())[1]
    start = np.random.RandomState(0).uniform(-1, 1, n_nodes)  # fixed: equal on each call
    values, vectors = scipy.sparse.linalg.eigsh(A, k, which="LA", v0=start, tol=1e-6)  # largest of A: smallest of I - A
    return vectors[:, np.argsort(-values)]


def _encode(store, k, i):
    return laplacian_eigenvectors(len(store.rows("node.in_degree", i)), *store.edges(i), k)


def with_laplacian_encoding(store, k, workers=1):
    """The same store with the node field `pos_enc`, (N, k), from the cache or computed under a progress bar."""
    return store.derive(
        "pos_enc",
        level="node",
        dtype="float32",
        shape=(k,),
        parameters={"kind": "laplacian", "k": k, "version": VERSION},
        compute=partial(_encode, store, k),
        description="Laplacian eigenvectors",
        workers=workers,
    )
