"""What is computed from a graph: rows of a new node field, each a plain function of one graph (n_nodes, src, dst).

A net's encodings say which transforms they need; a dataset computes them once and keeps them beside its store. To add one,
write its function and add a line to `TRANSFORMS`.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from data.transforms import kron, laplacian, random_walk


class Transform(NamedTuple):
    """`compute(n_nodes, src, dst, **parameters)` gives (n_nodes, k) numbers, or (n_nodes, k, …) if it has a `shape`; a new version
    computes them again."""

    compute: Callable
    version: int
    description: str
    shape: tuple = ()  # of each of the k
    finite: bool = True  # False: NaN where a graph has fewer than k


TRANSFORMS = {
    "kron": Transform(kron.kron_nodes, kron.VERSION, "nodes that remain after Kron reductions"),
    "laplacian": Transform(laplacian.laplacian_eigenvectors, laplacian.VERSION, "Laplacian eigenvectors"),
    "spectrum": Transform(
        laplacian.laplacian_spectrum,
        laplacian.SPECTRUM_VERSION,
        "Laplacian eigenvectors and eigenvalues",
        shape=(2,),
        finite=False,
    ),
    "walk_returns": Transform(
        random_walk.random_walk_returns, random_walk.VERSION, "return probabilities of random walks"
    ),
}


CLIQUES = (
    "cliques"  # needed by a net that has a closed form for complete graphs: their edges are left out of its batches
)


def with_transforms(store, needs, workers=1):
    """The same store with a node field for each needed transform, {name: parameters}, from the cache or computed with a
    progress bar."""
    for name, parameters in (needs or {}).items():
        if name == CLIQUES:
            store = store.with_cliques("marked")
            continue
        transform = TRANSFORMS[name]
        store = store.derive(
            name,
            level="node",
            dtype="float32",
            shape=(parameters["k"], *transform.shape),
            finite=transform.finite,
            parameters={"kind": name, **parameters, "version": transform.version},
            compute=partial(_rows, store, name, parameters),
            description=transform.description,
            workers=workers,
        )
    return store


def _rows(store, name, parameters, i):
    return TRANSFORMS[name].compute(len(store.rows("node.in_degree", i)), *store.edges(i), **parameters)
