"""Rows of subgraphs of which many are equal to the bit, in the first layers of a net: each of them is computed once.

A row starts from one of few vectors, by its distance to the root. Its closed sum depends on its own vector and on those of its
neighbours, in their order: rows where these agree have equal sums, with the same rounding errors. There are few such kinds of rows
after one layer, more after two, and soon as many as rows.
"""

from functools import cached_property

import numpy as np
import torch

from layers import fused

MOST = 0.6  # kinds per row, beyond which they are not worth it


class FewRows:
    """table[kinds.index]: (R, c) numbers, of which table (T, c) has the different rows.

    >>> from layers.subgraphs import EgoNets
    >>> s = EgoNets(dgl.graph(([0, 1], [1, 0])), [[[0, 1], [1, 0]]])
    >>> FewRows(torch.eye(2), Kinds(s.distance, 2, exact=True)).all().tolist()[:2]
    [[1.0, 0.0], [0.0, 1.0]]
    """

    def __init__(self, table, kinds):
        self.table, self.kinds = table, kinds

    def all(self):
        """(R, c)."""
        return fused.add_rows(self.table, self.kinds.rows)

    def map(self, f):
        """The rows of f, a function of single rows."""
        return FewRows(f(self.table), self.kinds)

    def closed_sum(self, s):
        """x_sv + Σ_{u ∈ N_s(v)} x_su; None where there are too many kinds of sums."""
        kinds, members = self.kinds.sums(s)
        return None if kinds is None else FewRows(fused.add_rows(self.table, members), kinds)


def all_rows(x):
    """(R, c), whichever way they are given."""
    return x.all() if isinstance(x, FewRows) else x


class Kinds:
    """Which rows of subgraphs are equal: the number of its kind for each row, index (R,), of T.

    `exact` says that the vectors of the kinds are whole numbers: their sums have no rounding errors, in whichever order.
    """

    def __init__(self, index, T, exact=False):
        self.index, self.T, self.exact, self._sums = index, T, exact, None

    @cached_property
    def rows(self):
        """The kind of each row, as a list of one."""
        return fused.RowLists(torch.arange(len(self.index) + 1), self.index, self.T)

    def sums(self, s):
        """Of the closed sums in s: their Kinds, and which kinds are added up, the own one last; None twice where there are too
        many."""
        if self._sums is None:
            self._sums = self._find_sums(s)
        return self._sums

    def _find_sums(self, s):
        index = np.append(self.index.cpu().numpy(), self.T)
        around = index[s.neighbour_rows()]  # a row -1 stands for none
        if self.exact:
            around.sort(axis=1)
        columns = np.column_stack([around, index[:-1]])
        first, number = distinct_rows(columns, self.T + 1)
        if len(first) > MOST * len(number):
            return None, None
        members, is_any = columns[first], columns[first] < self.T
        ends = np.append(0, is_any.sum(1).cumsum())
        kinds = Kinds(self._tensor(number), len(first))
        return kinds, fused.RowLists(self._tensor(ends), self._tensor(members[is_any]), self.T)

    def _tensor(self, array):
        return torch.from_numpy(array).to(self.index.device)


def distinct_rows(x, base):
    """Rows of x (R, n), whole numbers from 0 to base - 1: the first of each kind, and the kind of each."""
    key, size = np.zeros(len(x), dtype=np.int64), 1
    for column in x.T:
        if size * base >= 2**62:
            values, key = np.unique(key, return_inverse=True)
            size = len(values)
        key, size = key * base + column, size * base
    _, first, number = np.unique(key, return_index=True, return_inverse=True)
    return first, number.reshape(-1)
