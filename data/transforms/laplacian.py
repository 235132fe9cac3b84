"""Laplacian positional encodings: the smallest eigenvectors of each graph, of Benchmarking GNNs (section D) without and of the Long
Range Graph Benchmark with their eigenvalues.

They are computed once for a dataset and cached beside its store, keyed by the dataset's hash and the parameters.
"""

import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.csgraph
import scipy.sparse.linalg

from data.errors import WrongValue

VERSION = 2
SPECTRUM_VERSION = 1
DENSE_UP_TO = 2000  # nodes; above, only the eigenvectors that are wanted are computed


def laplacian_eigenvectors(n_nodes, src, dst, k, solver="symmetric"):
    """Eigenvectors 2 to k+1 of the symmetric normalised Laplacian I - D^(-1/2) A D^(-1/2), (n_nodes, k), float32.

    The first eigenvector, of eigenvalue 0, carries no position and is left out. A graph with fewer than k+1 nodes has fewer
    eigenvectors: the missing columns are zero. Nodes without edges count as having degree 1. Edges are given in both
    directions; a graph that is not symmetric is an error, because its Laplacian has no such eigenvectors.

    Deviation: of a large graph (COLLAB) all eigenvectors of eigenvalue 0 are left out, one for each of its connected components,
    which only name the component. With more than k components there would be no others, and Lanczos iterations find them
    incompletely and by chance. A connected graph has the same encoding either way.

    Deviation: solver="symmetric" gives vectors at right angles, equal on each call. The program's solver is for any matrix,
    "general": several vectors of one eigenvalue, as CSL has, stand at any angle or are the real parts of complex ones. Which they
    are depends on the library and the processor.
    """
    encoding = np.zeros((n_nodes, k), dtype=np.float32)
    if n_nodes > max(DENSE_UP_TO, k + 1):
        if solver == "general":
            raise WrongValue(
                f"solver={solver}: a graph of {n_nodes} nodes is too large, {DENSE_UP_TO} is the most: use symmetric"
            )
        A = scipy.sparse.coo_array((np.ones(len(src)), (dst, src)), shape=(n_nodes, n_nodes)).tocsr()
        refuse_directed((A != A.T).nnz, n_nodes)
        degree = A.sum(axis=1)
        scale = scipy.sparse.diags_array(1 / np.sqrt(np.maximum(degree, 1)))
        encoding[:] = _smallest_nonzero((scale @ A @ scale).tocsr(), degree, k)
        return encoding
    pairs = np.asarray(dst, dtype=np.int64) * n_nodes + np.asarray(src, dtype=np.int64)
    A = np.bincount(pairs, minlength=n_nodes * n_nodes).reshape(n_nodes, n_nodes)
    refuse_directed(not np.array_equal(A, A.T), n_nodes)
    scale = 1 / np.sqrt(np.maximum(A.sum(axis=1), 1))
    L = np.eye(n_nodes) - scale[:, None] * A * scale[None, :]
    if solver == "general":
        values, vectors = np.linalg.eig(L)
        vectors = vectors[:, np.argsort(values.real, kind="stable")].real
    else:
        vectors = np.linalg.eigh(L)[1]  # real, orthonormal, sorted, and equal on each call
    encoding[:, : max(n_nodes - 1, 0)] = vectors[:, 1 : k + 1]
    return encoding


def refuse_directed(is_directed, n_nodes):
    if is_directed:
        raise WrongValue(f"a graph of {n_nodes} nodes has an edge in one direction only: add the reverse edges")


def _smallest_nonzero(A, degree, k):
    """Eigenvectors of I - A to the k smallest eigenvalues that are not 0, in their order. A is symmetric and normalised.

    Component C has the eigenvector D^(1/2) 1_C of eigenvalue 1 of A. All of them are known and do not overlap, so they are
    subtracted from A, and its largest eigenvalues are then those that are wanted. Of an eigenvalue that occurs several times for
    reasons of symmetry (in a cycle, or in two equal components) Lanczos iterations may find fewer vectors than there are.
    """
    n_nodes = A.shape[0]
    if A.nnz == 0:  # no edges: every vector is an eigenvector, and Lanczos iterations have no start
        return np.eye(n_nodes, k)
    n_components, component = scipy.sparse.csgraph.connected_components(A, directed=False)
    volume = np.bincount(component, degree, n_components)
    trivial = np.sqrt(degree / np.maximum(volume, 1)[component])  # all D^(1/2) 1_C in one array, each of length 1

    def multiply(x):
        x = x.reshape(-1)
        return A @ x - trivial * np.bincount(component, trivial * x, n_components)[component]

    operator = scipy.sparse.linalg.LinearOperator(A.shape, multiply, dtype=A.dtype)
    start = np.random.RandomState(0).uniform(-1, 1, n_nodes)  # fixed: equal on each call
    # Tight, for eigenvalues lie close together: at 1e-3 one of 20 was missed in a graph of 20,000 nodes.
    values, vectors = scipy.sparse.linalg.eigsh(
        operator, k, which="LA", v0=start, tol=1e-6, ncv=min(n_nodes, max(4 * k, 20))
    )
    return vectors[:, np.argsort(-values)]


def laplacian_spectrum(n_nodes, src, dst, k, norm="sym", trivial=False):
    """The k smallest eigenvalues λ of the Laplacian L and their eigenvectors v of length 1: (n_nodes, k, 2) float32. Row i has the
    pairs (v_i, λ) in ascending order of λ.

        L = I - D^(-1/2) A D^(-1/2)   norm="sym"; the row of a node without edges is that of I
        L = D - A                     norm="none"

    `trivial` keeps the first pair, of λ = 0. A graph with fewer pairs than k has NaN in place of the missing ones. Loops do not
    count, and an edge in one direction counts as one in both. The sign of v is arbitrary.

    Deviation: the program of LRGB solves in float32, and adds reverse edges only if one of the first ten graphs of a dataset lacks
    some. Here in float64, and every graph by itself.
    """
    pairs, skipped = np.full((n_nodes, k, 2), np.nan, dtype=np.float32), int(not trivial)
    n_found = min(n_nodes - skipped, k)
    if n_found <= 0:
        return pairs
    L = _laplacian(n_nodes, src, dst, norm)
    if n_nodes > max(DENSE_UP_TO, k + 1):
        values, vectors = _smallest(L, k + skipped)
    else:
        values, vectors = scipy.linalg.eigh(L.toarray(), subset_by_index=[skipped, skipped + n_found - 1])
    pairs[:, :n_found, 0] = vectors[:, -n_found:]
    pairs[:, :n_found, 1] = np.maximum(values[-n_found:], 0)  # 0 comes out as a tiny negative number
    return pairs


def _laplacian(n_nodes, src, dst, norm):
    """Sparse; an edge that stands twice counts once."""
    src, dst = np.asarray(src, dtype=np.int64), np.asarray(dst, dtype=np.int64)
    proper, node = src != dst, np.arange(n_nodes)
    src, dst = src[proper], dst[proper]
    i, j = divmod(np.unique(np.concatenate([dst * n_nodes + src, src * n_nodes + dst])), n_nodes)
    degree = np.bincount(i, minlength=n_nodes)
    scale = 1 / np.sqrt(np.maximum(degree, 1)) if norm == "sym" else np.ones(n_nodes)
    diagonal = np.ones(n_nodes) if norm == "sym" else degree
    entries = np.append(-scale[i] * scale[j], diagonal), (np.append(i, node), np.append(j, node))
    return scipy.sparse.coo_array(entries, shape=(n_nodes, n_nodes))


def _smallest(L, k):
    """The k smallest eigenvalues of a large sparse L, ascending, and their eigenvectors: Lanczos iterations with (L + εI)^-1, whose
    largest eigenvalues they are. Of an eigenvalue that occurs several times, as 0 does with several components, they may find fewer
    vectors than there are."""
    start = np.random.RandomState(0).uniform(-1, 1, L.shape[0])  # fixed: equal on each call
    values, vectors = scipy.sparse.linalg.eigsh(L.tocsc(), k, sigma=-1e-2, which="LM", v0=start)
    order = np.argsort(values)
    return values[order], vectors[:, order]
