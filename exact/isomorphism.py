"""Isomorphism types of graphs: canonical forms by individualisation and refinement.

One node of a cell (the nodes of one colour) is marked, 1-WL spreads the news, and so on until every node has a colour of its own: a
leaf. Its colours number the nodes; the graph in this numbering is its drawing. Many subgraphs of one graph are worked on at once: a
row of `colours` (b, n) is one of them, with colour 0 for the nodes outside.

Colours here are hashes of 64 bits, but no answer rests on them: a hash follows from the structure alone, so isomorphic graphs have
the same ones, and two graphs are called isomorphic only if their drawings are equal edge by edge. Collisions could but cost time.
"""

from collections import defaultdict

import numpy as np
from scipy.sparse import csr_array

from exact.colours import numbering

ROUNDS = 4  # of 1-WL after each mark: with fewer of them cells are larger, which costs time and changes no answer
FACTORS = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1342543DE82EF95)  # odd, and without a pattern
SHIFT, ONE = np.uint64(30), np.uint64(1)


def isomorphism_types(graphs, subsets):
    """[(b,)]: a number for the isomorphism type of the subgraph of each graph on each row of its array of subsets (b, n).

    Subgraphs with different histograms are not isomorphic, those with one drawing are. Only where subgraphs of one histogram have
    several drawings, canonical forms decide.
    """
    keys, drawn = [], defaultdict(dict)  # (histogram, drawing) of each subgraph; {histogram: {drawing: (graph, row)}}
    for i, (g, inside) in enumerate(zip(graphs, subsets, strict=True)):
        A, colours = sparse(g), first_colours(g, inside)
        keys.append(list(zip(histograms(colours), drawings(A, inside, leaves(A, colours)), strict=True)))
        for row, (histogram, drawing) in enumerate(keys[i]):
            drawn[histogram].setdefault(drawing, (i, row))
    unclear = [place for same in drawn.values() if len(same) > 1 for place in same.values()]
    forms, number = {}, numbering()
    for i, (g, inside) in enumerate(zip(graphs, subsets, strict=True)):
        rows = [row for graph, row in unclear if graph == i]
        forms.update(zip([keys[i][row] for row in rows], canonical_forms(g, inside[rows]), strict=True))
    types = [[number[forms.get(key, key[0])] for key in of_graph] for of_graph in keys]
    return [np.array(of_graph, dtype=np.int64) for of_graph in types]


def histogram_types(graphs, subsets):
    """As isomorphism_types, but some types that are different may have the same number; fast."""
    number = numbering()
    found = [histograms(first_colours(g, inside)) for g, inside in zip(graphs, subsets, strict=True)]
    return [np.array([number[key] for key in keys], dtype=np.int64) for keys in found]


def canonical_form(g):
    """Equal for isomorphic graphs and for no others."""
    return canonical_forms(g, np.ones((1, g[0]), dtype=bool))[0]


def canonical_forms(g, inside):
    """The canonical form of the subgraph of g on each row of `inside` (b, n): the smallest drawing among some leaves.

    All nodes of the smallest cell are marked in turn. The results with the smallest histogram go on, and of these one is enough
    where leaves have the same drawing, since an automorphism then maps one to the other.
    """
    A, colours, owner, forms = sparse(g), first_colours(g, inside), np.arange(len(inside)), {}
    while len(owner):
        cell, size = smallest_cells(colours)
        leaf = size == 0
        for i, drawing in zip(owner[leaf].tolist(), drawings(A, colours[leaf] > 0, colours[leaf]), strict=True):
            forms[i] = min(drawing, forms.get(i, drawing))
        row, node = np.nonzero((colours == cell[:, None]) & ~leaf[:, None])
        colours, owner = marked(A, colours[row], node), owner[row]
        kept = smallest(owner.tolist(), histograms(colours))
        colours, owner = colours[kept], owner[kept]
        drawn = drawings(A, colours, leaves(A, colours))
        kept = list({key: k for k, key in enumerate(zip(owner.tolist(), drawn, strict=True))}.values())
        colours, owner = colours[kept], owner[kept]
    return [forms[i] for i in range(len(inside))]


def smallest(owner, values):
    """The places of the smallest value of each owner, all of them where it occurs several times."""
    least = {}
    for i, value in zip(owner, values, strict=True):
        least[i] = min(value, least.get(i, value))
    return [k for k, (i, value) in enumerate(zip(owner, values, strict=True)) if value == least[i]]


# --------------------------------------------------------------------------------------------------------------------
# Colours as hashes


def sparse(g):
    n, src, dst = g
    return csr_array((np.ones(len(src), dtype=np.uint64), (dst, src)), shape=(n, n))


def first_colours(g, inside):
    return refined(sparse(g), inside.astype(np.uint64))


def refined(A, colours):
    """ROUNDS of 1-WL: c'(v) = hash(c(v), sum of hash(c(u)) over the neighbours u inside)."""
    inside = colours > 0
    for _ in range(ROUNDS):
        hashed = scrambled(colours)
        colours = (hashed * FACTORS[0] + (A @ hashed.T).T | ONE) * inside  # | 1: not 0, which means outside
    return colours


def scrambled(colours):
    """Another number for each number; 0 stays 0."""
    colours = colours * FACTORS[0]
    return (colours ^ (colours >> SHIFT)) * FACTORS[1]


def marked(A, colours, node):
    """The colours after node[i] of row i is marked."""
    rows = np.arange(len(colours))
    colours[rows, node] = scrambled(colours[rows, node] + ONE) | ONE
    return refined(A, colours)


def smallest_cells(colours):
    """(colour, size) of the smallest cell of two nodes or more of each row, of the smallest colour if several are as small; size 0
    where there is none."""
    b, n = colours.shape
    ordered = np.sort(colours, axis=1)
    start = np.ones((b, n), dtype=bool)  # of a cell, in the order of the colours
    start[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    size = np.zeros((b, n), dtype=np.int64)
    size[start] = np.diff(np.flatnonzero(start), append=b * n)
    size[(size < 2) | (ordered == 0)] = n + 1
    first = size.argmin(axis=1)[:, None]
    cell, size = (np.take_along_axis(values, first, axis=1)[:, 0] for values in (ordered, size))
    return cell, np.where(size > n, 0, size)


def histograms(colours):
    """The colours of each row in order, without those of the nodes outside."""
    return [row[row > 0].tobytes() for row in np.sort(colours, axis=1)]


def leaves(A, colours):
    """A leaf of each row of colours, by any node of the smallest cell at a time."""
    colours, rows = colours.copy(), np.arange(len(colours))
    while len(rows):
        cell, size = smallest_cells(colours[rows])
        rows, cell = rows[size > 0], cell[size > 0]
        node = (colours[rows] == cell[:, None]).argmax(axis=1)
        colours[rows] = marked(A, colours[rows], node)
    return colours


def drawings(A, colours, leaf):
    """Of each row the number of its nodes, and in the numbering of its leaf their `colours` and the edges between them."""
    n = A.shape[0]
    dst, src = np.repeat(np.arange(n), np.diff(A.indptr)), A.indices
    order = np.argsort(leaf, axis=1)  # nodes outside, of colour 0, come first
    size = (leaf > 0).sum(axis=1, keepdims=True)
    rank = np.argsort(order, axis=1) - (n - size)
    both = (rank[:, src] >= 0) & (rank[:, dst] >= 0)
    edges = np.sort(np.where(both, rank[:, src] * size + rank[:, dst], -1), axis=1)
    parts = zip(size[:, 0], np.take_along_axis(colours, order, axis=1), edges, both.sum(axis=1), strict=True)
    return [(int(s), c[n - s :].tobytes(), e[len(e) - m :].tobytes()) for s, c, e, m in parts]
