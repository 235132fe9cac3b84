"""What the refinements of BREC (section 2, appendix C) share: colours of a pair of graphs, and when they tell the two apart.

Colours are integers 0, 1, 2, ... given to both graphs of a pair at once, so that a colour means the same in both. An array
of colours has the graph as its first axis, of length 2. Equal things, and no others, get the same colour: they are sorted, or
compared byte by byte; nothing rests on a hash being without collisions.
"""

import itertools
from collections import defaultdict

import numpy as np


def numbering():
    """A dictionary that gives 0, 1, 2, ... to new keys."""
    return defaultdict(itertools.count().__next__)


def number_rows(rows, known=None):
    """The colour of each row of integers, (N, m) -> (N,). `known`, a `numbering`, goes on from rows of an earlier call."""
    known = numbering() if known is None else known
    rows = np.ascontiguousarray(rows)
    # each row as one bytes object; a dictionary compares its keys in full and keeps only one row of each colour in memory
    width = rows.shape[1] * rows.itemsize
    keys = rows.view(np.dtype((np.void, width))).ravel().tolist() if width else [b""] * len(rows)
    return np.fromiter(map(known.__getitem__, keys), dtype=np.int64, count=len(keys))


def number_tuples(*columns):
    """The colour of each tuple (a, b, ...) of integers >= 0 at the same place of the arrays `columns`."""
    key, size = columns[0], n_colours(columns[0])
    for column in columns[1:]:
        base = n_colours(column)
        if size * base > np.iinfo(np.int64).max:
            key = _number(key)
            size = n_colours(key)
        key, size = key * base + column, size * base
    return _number(key)


def _number(key):
    return np.unique(key, return_inverse=True)[1].reshape(key.shape)


def n_colours(colours):
    return int(colours.max(initial=-1)) + 1


def differ(colours):
    """Do the two graphs have different histograms of colours?"""
    first, second = (np.bincount(part.ravel(), minlength=n_colours(colours)) for part in colours)
    return not np.array_equal(first, second)


def refine(step, colours, iterations=None):
    """The colours after `step` has been applied until the graphs differ, no colour is divided any more, or `iterations` times.
    There must be no gap in the first ones: they are counted by the largest."""
    rounds = 0
    while not differ(colours) and rounds != iterations:
        refined = step(colours)
        if n_colours(refined) == n_colours(colours):
            break  # stable: a step divides colours and never joins them
        colours, rounds = refined, rounds + 1
    return colours
