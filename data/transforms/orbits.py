"""How often each edge, and each node, plays each role in the small induced subgraphs around it: the ids of GSN.

Roles are the orbits of the connected graphs of three and four nodes: an edge of a path of four nodes is an end or the middle.
Nothing is enumerated. Two further nodes x and y beside an edge a - b are each a neighbour of both, of a, of b or of none, and
adjacent or not: this says which graph the four make. So the counts follow from the numbers of edges between those four classes.
"""

import numpy as np

EDGE_ORBITS = (
    "P3", "K3", "P4 end", "P4 middle", "star", "C4",
    "paw pendant", "paw near", "paw far", "diamond rim", "diamond chord", "K4",
)  # fmt: skip
NODE_ORBITS = (
    "P3 end", "P3 centre", "K3", "P4 end", "P4 middle", "star leaf", "star centre", "C4",
    "paw pendant", "paw near", "paw far", "diamond rim", "diamond chord", "K4",
)  # fmt: skip


def edge_orbits(n, src, dst, k=4):
    """(E, columns) int64: in how many connected induced subgraphs of 3 to k nodes an edge has each role of EDGE_ORBITS.

    k is 3 or 4; with 3 there are only the first two columns.
    """
    c = Classes(n, src, dst, k)
    counts = [c.n["a"] + c.n["b"], c.n["ab"]]
    if k == 4:
        counts += [
            c.edges("b", "none") + c.edges("a", "none"),
            c.gaps("a", "b"),
            c.gaps("a", "a") + c.gaps("b", "b"),
            c.edges("a", "b"),
            c.edges("a", "a") + c.edges("b", "b"),
            c.gaps("ab", "a") + c.gaps("ab", "b"),
            c.edges("ab", "none"),
            c.edges("ab", "a") + c.edges("ab", "b"),
            c.gaps("ab", "ab"),
            c.edges("ab", "ab"),
        ]
    return np.stack(counts, axis=1)


def node_orbits(n, src, dst, k=4):
    """(n, columns) int64: the same for nodes and NODE_ORBITS.

    Each count is a sum over the edges a - b of node a; a subgraph with d such edges at a is counted d times and divided by it.
    """
    c = Classes(n, src, dst, k)
    counts = [(c.n["b"], 1), (c.n["a"], 2), (c.n["ab"], 2)]
    if k == 4:
        counts += [
            (c.edges("b", "none"), 1),
            (c.gaps("a", "b"), 1),
            (c.gaps("b", "b"), 1),
            (c.gaps("a", "a"), 3),
            (c.edges("a", "b"), 2),
            (c.edges("b", "b"), 1),
            (c.edges("a", "a"), 1),
            (c.edges("ab", "none"), 1),
            (c.edges("ab", "b"), 2),
            (c.gaps("ab", "ab"), 1),
            (c.edges("ab", "ab"), 3),
        ]
    totals = [np.bincount(src, of_edge, n) / times for of_edge, times in counts]
    return np.rint(np.stack(totals, axis=1)).astype(np.int64)


def vocabulary(counts):
    """For each column the values that occur, ascending: list of arrays. `counts` are (rows, columns) arrays of several graphs."""
    return [np.unique(column) for column in np.concatenate(list(counts)).T]


class Classes:
    """The other nodes beside each edge a -> b (src, dst), in classes: neighbours of both, of a only, of b only, of none."""

    def __init__(self, n, src, dst, k):
        if k not in (3, 4):
            raise ValueError(f"orbits with k={k}: expected 3 or 4")
        A = np.zeros((n, n), dtype=np.float32)
        A[src, dst] = 1
        rows, a, b = np.arange(len(src)), A[src] > 0, A[dst] > 0
        other = np.ones((len(src), n), dtype=bool)
        other[rows, src] = other[rows, dst] = False
        masks = {"ab": a & b, "a": a & ~b & other, "b": b & ~a & other, "none": ~a & ~b & other}
        self.masks = {name: mask.astype(np.float32) for name, mask in masks.items()}
        self.n = {name: mask.sum(1) for name, mask in masks.items()}
        self.neighbours = {name: self.masks[name] @ A for name in ("ab", "a", "b") if k == 4}

    def edges(self, x, y):
        """(E,) adjacent pairs of a node of class x and one of class y."""
        n_pairs = (self.neighbours[x] * self.masks[y]).sum(1)
        return np.rint(n_pairs / (2 if x == y else 1)).astype(np.int64)

    def gaps(self, x, y):
        """(E,) pairs that are not adjacent."""
        n_x, n_y = self.n[x], self.n[y]
        return (n_x * (n_x - 1) // 2 if x == y else n_x * n_y) - self.edges(x, y)
