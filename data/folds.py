"""Folds: one division of a dataset into training, validation and test, and the batches of each part.

A batch is (g, of, y): the graph, what is asked of it, and the labels (data/store, Batch). `share` (k, n) asks a loader for
the k-th of n parts of each batch, where that has several graphs.
"""

from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
import torch

from data.errors import DataError, WrongValue
from data.loader import Loader
from data.store import Batch, Packed

EVALUATION_PAIRS = 1 << 18  # scored at once; each time the whole graph is passed through the net


class GraphFold(NamedTuple):
    """One division of a dataset into training, validation and test graphs."""

    name: str
    store: Packed
    parts: dict

    def loader(self, part, batch_size, shuffle=False, generator=None, workers=0, share=(0, 1)):
        return Loader(self.store, items_of(self, part), batch_size, shuffle, generator, workers, share)


@dataclass
class NodeFold:
    """The division of the nodes of one graph: all of it is seen in training, the labels of the training nodes alone are."""

    name: str
    store: Packed
    parts: dict

    @cached_property
    def batch(self):
        """The graph with all labels, the same object in every pass."""
        return self.store.batch([0])

    def loader(self, part, batch_size, shuffle=False, generator=None, workers=0, share=(0, 1)):
        """The one batch of a part: the graph, the part's nodes and their labels. All nodes at once, whatever `batch_size`."""
        nodes = torch.from_numpy(items_of(self, part))
        refuse_share(self, share)
        return [Batch(self.batch.g, nodes, self.batch.y[nodes])]


def items_of(fold, part):
    if len(fold.parts[part]) == 0:
        raise WrongValue(f"{fold.store.name}, {fold.name}: the {part} part is empty")
    return fold.parts[part]


def refuse_share(fold, share):
    if share != (0, 1):
        raise DataError(f"{fold.store.name} is one graph, which processes cannot share: start one, without torchrun")


# Pairs of nodes in batches


def random_pairs(n_nodes, n_pairs, generator=None):
    """(n_pairs, 2) ordered pairs of different nodes, each equally likely."""
    src = torch.randint(n_nodes, (n_pairs,), generator=generator)
    step = torch.randint(1, n_nodes, (n_pairs,), generator=generator)
    return torch.stack([src, (src + step) % n_nodes], dim=1)


def labelled(positive, negative):
    """(pairs, y): pairs (2, P) and y (P,), 1 for the positive pairs, which come first, and 0 for the negative ones."""
    y = torch.cat([torch.ones(len(positive)), torch.zeros(len(negative))])
    return torch.cat([positive, negative]).T, y


@dataclass
class TrainingPairs:
    """Batches (g, of, y): `batch_size` positive pairs in an order drawn from `generator`, and as many random pairs with label 0,
    drawn anew for each batch. A random pair may be a link by chance: about 1 in 30,000 at COLLAB."""

    g: object
    positive: torch.Tensor
    batch_size: int
    generator: torch.Generator | None

    def __len__(self):
        return -(-len(self.positive) // self.batch_size)

    def __iter__(self):
        order = torch.randperm(len(self.positive), generator=self.generator)
        for chosen in order.split(self.batch_size):
            negative = random_pairs(self.g.num_nodes(), len(chosen), self.generator)
            yield Batch(self.g, *labelled(self.positive[chosen], negative))


@dataclass
class EvaluationPairs:
    """Batches (g, of, y): all positive, then all negative pairs, in stored order."""

    g: object
    positive: torch.Tensor
    negative: torch.Tensor
    batch_size: int

    def __len__(self):
        return -(-(len(self.positive) + len(self.negative)) // self.batch_size)

    def __iter__(self):
        pairs, y = labelled(self.positive, self.negative)
        for start in range(0, len(y), self.batch_size):
            batch = slice(start, start + self.batch_size)
            yield Batch(self.g, pairs[:, batch], y[batch])


@dataclass
class LinkFold:
    """The division of the links of one graph: `parts` has the positive pairs, `negatives` what they are ranked against."""

    name: str
    store: Packed
    parts: dict
    negatives: dict

    @cached_property
    def g(self):
        """The message graph, the same object in every batch: all of it is passed through the net each time."""
        return self.store.graph(0)

    def loader(self, part, batch_size, shuffle=False, generator=None, workers=0, share=(0, 1)):
        """With `shuffle` the batches of training, otherwise those that evaluate a part. `workers` is ignored: the graph is one."""
        refuse_share(self, share)
        positive = pairs_tensor(self.parts[part])
        if shuffle:
            return TrainingPairs(self.g, positive, batch_size, generator)
        return EvaluationPairs(self.g, positive, pairs_tensor(self.negatives[part]), max(batch_size, EVALUATION_PAIRS))


# --------------------------------------------------------------------------------------------------------------------
# Pairs of nodes inside many graphs


@dataclass
class PairFold:
    """One division of graphs whose field `pair.of` names the true pairs of their nodes (PCQM-Contact)."""

    name: str
    store: Packed
    parts: dict

    def loader(self, part, batch_size, shuffle=False, generator=None, workers=0, share=(0, 1)):
        """With `shuffle` the batches of training, otherwise those that evaluate a part."""
        return PairLoader(self.store, items_of(self, part), batch_size, shuffle, generator, workers, share)


class PairLoader(Loader):
    """Batches (g, of, y). In training, `of` has the true pairs (label 1) and for each of them two others with the same head (label
    0). In evaluation it has all ordered pairs of each graph, a node with itself too: those that are neither true nor drawn have
    the label NaN and are ranked only.

    What is drawn for a graph depends on its number and the pass alone, not on its batch. In training each pass draws anew; in
    evaluation all draw the same, so that losses can be compared.
    """

    def cutter(self):
        seed = int(torch.randint(2**62, (), generator=self.generator)) if self.shuffle else 0
        return partial(pair_batch, self.store, self.shuffle, seed)


def pair_batch(store, training, seed, graphs):
    """The batch of these graphs in the pass with this seed."""
    g, true, _ = store.batch(graphs)
    true, sizes = true.numpy(), g.batch_num_nodes().numpy().astype(np.int64)
    false = false_pairs(true, sizes, [np.random.default_rng([seed, i]) for i in graphs])
    if training:
        return Batch(g, *labelled(torch.from_numpy(true.T), torch.from_numpy(false.T)))
    return Batch(g, *all_pairs(true, false, sizes))


def false_pairs(true, sizes, generators, per_pair=2, rounds=10):
    """(2, M) pairs (h, x): for each true pair (h, t) `per_pair` nodes x of its graph, each equally likely, drawn from the generator
    of the graph. The true pairs stand graph by graph.

    A pair that is true or was drawn before is drawn again, in up to `rounds` rounds; what is still wrong then is left out.
    """
    head = np.repeat(true[0], per_pair)
    graph = np.searchsorted(np.cumsum(sizes), head, side="right")
    start, n = (np.cumsum(sizes) - sizes)[graph], sizes[graph]
    counts = np.bincount(graph, minlength=len(sizes))
    drawn = [random.random((count, rounds)) for random, count in zip(generators, counts, strict=True)]
    tails = start[:, None] + (np.concatenate(drawn) * n[:, None]).astype(np.int64)
    n_nodes = sizes.sum()
    known, tail = true[0] * n_nodes + true[1], tails[:, 0]
    for k in range(1, rounds + 1):
        codes = head * n_nodes + tail
        wrong = np.isin(codes, known)
        wrong[np.setdiff1d(np.arange(len(codes)), np.unique(codes, return_index=True)[1])] = True
        if k < rounds:
            tail = np.where(wrong, tails[:, k], tail)
    return np.stack([head, tail])[:, ~wrong]


def all_pairs(true, false, sizes):
    """(of, y): all ordered pairs inside each graph, and 1 for the true ones, 0 for the false ones, NaN for the others."""
    start, first = np.cumsum(sizes) - sizes, np.cumsum(sizes**2) - sizes**2
    graph = np.repeat(np.arange(len(sizes)), sizes**2)
    place = np.arange(len(graph)) - first[graph]
    of = np.stack([place // sizes[graph], place % sizes[graph]]) + start[graph]
    y = np.full(len(graph), np.nan, dtype=np.float32)
    for (head, tail), label in ((false, 0), (true, 1)):
        i = np.searchsorted(np.cumsum(sizes), head, side="right")
        y[first[i] + (head - start[i]) * sizes[i] + tail - start[i]] = label
    return torch.from_numpy(of), torch.from_numpy(y)


def pairs_tensor(pairs):
    return torch.from_numpy(pairs.astype(np.int64))
