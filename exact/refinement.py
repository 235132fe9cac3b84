"""Colour refinement (appendix C of BREC): 1-WL, and k-WL and k-FWL on k-tuples of nodes.

(k+1)-WL and k-FWL tell the same graphs apart (fact 3 there), though not in the same number of iterations: 3-WL in BREC's tables is
2-FWL. Memory: there are 2 n^k colours, and k-FWL keeps a row of n numbers for each different one; both have a limit below.
"""

import itertools

import numpy as np

from exact.colours import n_colours, number_rows, number_tuples, numbering, refine

MAX_TUPLES = 20_000_000  # of a graph, about 3 GB in use: k = 2 up to 4472 nodes, k = 3 up to 271, k = 4 up to 66
MAX_ROW_BYTES = 4 * 10**9  # of the different rows of k-FWL
CHUNK = 4_000_000  # numbers that k-FWL sorts at a time


def wl(g, h, initial=None, edge_colours=None, iterations=None):
    """1-WL: c'(v) = (c(v), {{(edge colour, c(u)) : u -> v}}); (2, n) colours. It starts from `initial` (2, n); edge_colours are
    one array per graph; both are integers >= 0."""
    n = g[0]
    colours = np.zeros((2, n), dtype=np.int64) if initial is None else number_tuples(initial)
    # the pair as one graph of 2n nodes
    src, dst = (np.concatenate([g[end], h[end] + n]) for end in (1, 2))
    edge_colours = 0 if edge_colours is None else np.concatenate(edge_colours)
    return refine(wl_step(2 * n, src, dst, edge_colours), colours, iterations)


def wl_step(n, src, dst, edge_colours=0):
    """One iteration of 1-WL on the nodes 0, ..., n-1, as a function of their colours, which may have any shape."""
    messages = received(n, src, dst, edge_colours)

    def step(colours):
        return number_rows(np.concatenate([colours.reshape(-1, 1), messages(colours)], axis=1)).reshape(colours.shape)

    return step


def closed_step(n, src, dst):
    """The same without the own colour beside: c'(v) = {{c(u) : u -> v or u = v}}, as in a GIN whose epsilon is 0."""
    loops = np.arange(n)
    messages = received(n, np.concatenate([src, loops]), np.concatenate([dst, loops]))
    return lambda colours: number_rows(messages(colours)).reshape(colours.shape)


def received(n, src, dst, edge_colours=0):
    """{{(edge colour, c(u)) : u -> v}} of v = 0, ..., n-1 as sorted rows, filled up with -1: a function of the colours c, of any
    shape and >= 0, that src counts."""
    degree = np.bincount(dst, minlength=n)
    order = np.argsort(dst, kind="stable")
    column = np.arange(len(dst)) - np.repeat(np.cumsum(degree) - degree, degree)  # 0, 1, ... of the edges of each dst

    def messages(colours):
        rows = np.full((n, degree.max(initial=0)), -1)  # -1: no neighbour
        rows[dst[order], column] = (edge_colours * n_colours(colours) + colours.ravel()[src])[order]
        return np.sort(rows, axis=1)

    return messages


def k_wl(g, h, k, iterations=None):
    """k-WL: c'(v) = (c(v), {{c(v[1/w]) : w}}, ..., {{c(v[k/w]) : w}}), where v[i/w] is v with node w in place i."""

    def step(colours):
        multisets = []
        for place in range(1, k + 1):
            # {{c(v[i/w]) : w}} does not depend on v_i: one row for all tuples that differ only there
            rows = np.sort(np.moveaxis(colours, place, -1), axis=-1)
            numbers = number_rows(rows.reshape(-1, rows.shape[-1])).reshape(rows.shape[:-1])
            multisets.append(np.expand_dims(numbers, place))
        return number_tuples(colours, *multisets)

    return refine(step, atomic_types(g, h, k), iterations)


def k_fwl(g, h, k, iterations=None):
    """k-FWL: c'(v) = (c(v), {{(c(v[1/w]), ..., c(v[k/w])) : w}})."""

    def step(colours):
        known, refined = numbering(), np.empty_like(colours)
        for one, result in zip(colours, refined, strict=True):
            for first in chunks(len(one), CHUNK // one.size + 1):
                rows = np.sort(tuples_of_colours(one, first, n_colours(colours)).reshape(-1, len(one)), axis=1)
                rows = np.concatenate([one[first].reshape(-1, 1).astype(rows.dtype), rows], axis=1)
                result[first] = number_rows(rows, known).reshape(result[first].shape)
                if len(known) * rows[0].nbytes > MAX_ROW_BYTES:
                    raise MemoryError(
                        f"{k}-FWL on {len(one)} nodes: more than {len(known):,} colours, whose rows exceed MAX_ROW_BYTES = "
                        f"{MAX_ROW_BYTES:,} of exact/refinement.py. Choose a smaller k, or raise it if there is memory"
                    )
        return refined

    return refine(step, atomic_types(g, h, k), iterations)


def chunks(n, width):
    return [slice(start, start + width) for start in range(0, n, width)]


def tuples_of_colours(colours, first, base):
    """(c(v[1/w]), ..., c(v[k/w])) as one number, for all v whose first node is in the slice `first` and all w (the last axis)."""
    k, most = colours.ndim, base**colours.ndim
    if most > np.iinfo(np.int64).max:
        raise ValueError(f"{k}-FWL: {base:,} colours, {k} of them do not fit into 64 bits. Choose a smaller k")
    colours = colours.astype(np.int32 if most <= np.iinfo(np.int32).max else np.int64)
    key = 0
    for place in range(k):
        # w takes the place of v_i: its axis becomes the last one, and is 1 (the same for all v_i) where it was
        replaced = np.expand_dims(np.moveaxis(colours, place, -1), place)
        key = key * base + (replaced if place == 0 else replaced[first])
    return key


def atomic_types(g, h, k):
    """The first colours (2, n, ..., n) of the k-tuples: which of their nodes are equal, and which are joined by an edge."""
    n = g[0]
    if k < 2:
        raise ValueError(f"k={k}: tuples have at least two nodes; 1-WL is exact.refinement.wl")
    if n**k > MAX_TUPLES:
        raise ValueError(
            f"a graph of {n} nodes has {n**k:,} {k}-tuples, more than MAX_TUPLES = {MAX_TUPLES:,} of exact/refinement.py. "
            "Choose a smaller k, or raise it if there is memory"
        )
    relation = np.zeros((2, n, n), dtype=np.int64)
    for one, (_, src, dst) in zip(relation, (g, h), strict=True):
        one[src, dst] = 1
        np.fill_diagonal(one, 2)
    types = np.zeros((2, *[n] * k), dtype=np.int64)
    for i, j in itertools.combinations(range(k), 2):
        types = types * 3 + relation.reshape(2, *[n if place in (i, j) else 1 for place in range(k)])
    return number_tuples(types)
