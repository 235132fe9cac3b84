"""The papers' metrics, computed over a whole split: what is added up batch by batch is exact, so batch size does not matter.

A metric says in `measures` what it gives: name, direction, digits, range. `update` adds a batch, `compute` gives all values,
{name: value}. Of several metrics of a task the first measure selects; the others are further numbers for the result. `sums` names
what `update` adds to, so that processes that each see a part of every batch can put together what they have.
"""

from itertools import zip_longest

import torch

from data.errors import DataError
from runs import measures
from runs.measures import ACCURACY, AP, F1, MACRO_F1, hits, ranking


class Metric:
    """A subclass says in `add` what it keeps of a batch, and in `compute` what that makes."""

    measures, sums = (), ()

    def update(self, scores, y, g=None, of=None):
        """Add a batch; g and of are read by metrics that rank inside graphs."""
        self.add(finite(scores), y)

    def state(self):
        """What was added so far."""
        if not self.sums:
            raise DataError(f"{type(self).__name__} does not name its `sums`: use one process, or name them")
        return {name: getattr(self, name) for name in self.sums}

    def join(self, states):
        """Take what all processes added in the place of what this one did."""
        for name in self.sums:
            setattr(self, name, joined([state[name] for state in states]))


def joined(values):
    """The sum of numbers; of lists with an entry for each batch, in the order in which one process would have made them."""
    if not isinstance(values[0], list):
        return sum(values)
    return [entry for batch in zip_longest(*values) for entry in batch if entry is not None]


def finite(scores):
    if not torch.isfinite(scores).all():
        raise FloatingPointError("the scores hold NaN or infinite values: a metric of them would mean nothing")
    return scores.detach()


class Metrics(Metric):
    """Several metrics as one."""

    def __init__(self, *metrics):
        self.metrics = metrics
        self.measures = tuple(measure for metric in metrics for measure in metric.measures)
        names = [measure.name for measure in self.measures]
        if len(set(names)) < len(names):
            raise ValueError(f"metrics {', '.join(names)}: expected different names")

    def update(self, scores, y, g=None, of=None):
        for metric in self.metrics:
            metric.update(scores, y, g, of)

    def compute(self):
        return {name: value for metric in self.metrics for name, value in metric.compute().items()}

    def state(self):
        return [metric.state() for metric in self.metrics]

    def join(self, states):
        for metric, of_metric in zip(self.metrics, zip(*states, strict=True), strict=True):
            metric.join(of_metric)


# --------------------------------------------------------------------------------------------------------------------
# One class per item


def predicted(scores):
    """The class with the highest score; the first of equal ones."""
    if scores.ndim != 2 or scores.shape[1] < 2:
        raise ValueError(f"scores of shape {tuple(scores.shape)}: expected one for each of at least two classes")
    return scores.argmax(dim=1)


class Accuracy(Metric):
    """Share of items whose highest score is at the right class, in per cent."""

    measures = (ACCURACY,)
    sums = ("right", "total")

    def __init__(self):
        self.right = self.total = 0

    def add(self, scores, y):
        self.right += int((predicted(scores) == y).sum())
        self.total += len(y)

    def compute(self):
        return {"accuracy": 100 * self.right / self.total}


class Counts(Metric):
    """Of each class the number of items that are predicted as such, that are such, and both."""

    sums = ("predicted", "actual", "right")

    def __init__(self):
        self.predicted = self.actual = self.right = 0

    def add(self, scores, y):
        found, n_classes = predicted(scores), scores.shape[1]
        self.predicted += torch.bincount(found, minlength=n_classes).cpu()
        self.actual += torch.bincount(y, minlength=n_classes).cpu()
        self.right += torch.bincount(y[found == y], minlength=n_classes).cpu()


class WeightedAccuracy(Counts):
    """Mean over the classes of the share of their items that are recognised, in per cent (SBM datasets).

    The mean runs over the classes that occur in the split; a class that does not occur has no accuracy.
    """

    measures = (ACCURACY,)

    def compute(self):
        seen = self.actual > 0
        return {"accuracy": 100 * float((self.right[seen].double() / self.actual[seen]).mean())}


class MacroF1(Counts):
    """Mean over the classes of their F1 score (PascalVOC-SP, COCO-SP). A class that is neither in the labels nor in the predictions
    has none."""

    measures = (MACRO_F1,)

    def compute(self):
        total = self.predicted + self.actual
        seen = total > 0
        return {"macro_F1": float((2 * self.right[seen].double() / total[seen]).mean())}


class BinaryF1(Metric):
    """F1 score of class 1 (TSP: edges of the tour); 0 when there is neither a positive item nor a positive prediction."""

    measures = (F1,)
    sums = ("hits", "predicted", "actual")

    def __init__(self):
        self.hits = self.predicted = self.actual = 0

    def add(self, scores, y):
        positive = predicted(scores) == 1
        self.hits += int((positive & (y == 1)).sum())
        self.predicted += int(positive.sum())
        self.actual += int((y == 1).sum())

    def compute(self):
        total = self.predicted + self.actual
        return {"F1": 2 * self.hits / total if total else 0.0}


# --------------------------------------------------------------------------------------------------------------------
# Numbers


class MAE(Metric):
    """Mean absolute error over all targets (ZINC). Targets (B,) and scores (B, 1) are the same numbers."""

    measures = (measures.MAE,)
    sums = ("error", "total")

    def __init__(self):
        self.error, self.total = 0.0, 0

    def add(self, scores, y):
        self.error += float((scores.double() - y.view_as(scores).double()).abs().sum())
        self.total += y.numel()

    def compute(self):
        return {"MAE": self.error / self.total}


class Collected(Metric):
    """A metric of all scores at once: they are kept until the split is complete."""

    sums = ("scores", "y")

    def __init__(self):
        self.scores, self.y = [], []

    def add(self, scores, y):
        self.scores.append(scores.cpu())
        self.y.append(y.cpu())

    def all(self):
        return torch.cat(self.scores), torch.cat(self.y)


class R2(Collected):
    """Coefficient of determination, 1 - Σ (y - ŷ)² / Σ (y - ȳ)², mean over the targets (Peptides-struct).

    A target that is the same everywhere has 1 if it is predicted exactly and 0 otherwise, as in scikit-learn.
    """

    measures = (measures.R2,)

    def compute(self):
        scores, y = (x.double().flatten(1) if x.ndim > 1 else x.double()[:, None] for x in self.all())
        rest, total = (y - scores).square().sum(0), (y - y.mean(0)).square().sum(0)
        constant = (y == y[0]).all(0)
        value = torch.where(constant, (rest == 0).double(), 1 - rest / total.where(~constant, torch.ones_like(total)))
        return {"R2": float(value.mean())}


# --------------------------------------------------------------------------------------------------------------------
# Areas under curves


class Curves(Collected):
    """A metric that is the mean of an area over columns: over the classes, each against the rest, or over several labels.

    Scores (N, C) and labels (N,) are C classes; two are one column, the difference of the scores. Labels of the scores' shape are
    0, 1 or NaN (missing; left out). A column without a positive or without a negative item has no area and is skipped, as in OGB.
    """

    def columns(self):
        """(scores, whether positive) of each column that has both kinds."""
        scores, y = self.all()
        scores = scores.double()
        if is_one_against_rest(scores, y):
            pairs = [(s, y == c) for c, s in enumerate(torch.log_softmax(scores, 1).unbind(1))]
        elif scores.ndim == 2 and scores.shape[1] == 2 and y.ndim == 1:
            pairs = [(scores[:, 1] - scores[:, 0], y == 1)]
        else:
            scores, y = scores.reshape(len(scores), -1), y.reshape(len(scores), -1)
            labelled = ~torch.isnan(y)
            pairs = [(s[m], t[m] == 1) for s, t, m in zip(scores.T, y.T, labelled.T, strict=True)]
        found = [(s, positive) for s, positive in pairs if positive.any() and not positive.all()]
        if not found:
            name = self.measures[0].name
            raise DataError(f"{name}: no class has items inside and outside it ({len(y)} items): use larger splits")
        return found

    def compute(self):
        areas = [self.area(scores, positive) for scores, positive in self.columns()]
        return {self.measures[0].name: sum(areas) / len(areas)}


def is_one_against_rest(scores, y):
    return scores.ndim == 2 and scores.shape[1] > 2 and y.ndim == 1


class AveragePrecision(Curves):
    """Σ_t (R_t - R_{t-1}) P_t, precision P and recall R of the items that score at least t, over all scores t, mean over the labels
    (Peptides-func)."""

    measures = (AP,)

    @staticmethod
    def area(scores, positive):
        order = scores.argsort(descending=True, stable=True)
        scores, positive = scores[order], positive[order]
        last = torch.cat([scores[1:] != scores[:-1], torch.tensor([True])])  # of each group of equal scores
        hits, n = positive.cumsum(0)[last].double(), torch.arange(1, len(scores) + 1)[last]
        return float((hits.diff(prepend=hits.new_zeros(1)) * hits / n).sum() / hits[-1])


class AUROC(Curves):
    """Area under the ROC curve: the share of pairs of a positive and a negative item in which the positive one scores higher; equal
    scores count half (mid-ranks).

    Deviation: the Taxonomy's program sorts the items of more than two classes with an unstable sort and takes equal scores as they
    come, so that a constant score need not have 0.5. ties="program" is that, as `AUROC_program`, with a stable sort: of equal
    scores that of the later item counts as higher.
    """

    def __init__(self, ties="half"):
        super().__init__()
        if ties not in ("half", "program"):
            raise ValueError(f"ties={ties!r}: expected half or program")
        self.ties = ties
        self.measures = (measures.AUROC if ties == "half" else measures.AUROC._replace(name="AUROC_program"),)

    def area(self, scores, positive):
        as_they_come = self.ties == "program" and is_one_against_rest(self.scores[0], self.y[0])
        rank = by_order(scores) if as_they_come else mid_ranks(scores)
        n = int(positive.sum())
        return float(rank[positive].sum() - n * (n + 1) / 2) / (n * (len(scores) - n))


def mid_ranks(scores):
    """1 for the lowest score; equal ones share the mean of their ranks."""
    _, place, counts = torch.unique(scores, return_inverse=True, return_counts=True)
    return (counts.cumsum(0) - (counts - 1) / 2).double()[place]


def by_order(scores):
    """1 for the lowest score; of equal ones the first is the lowest."""
    rank = torch.empty(len(scores), dtype=torch.float64)
    rank[scores.argsort(stable=True)] = torch.arange(1, len(scores) + 1, dtype=torch.float64)
    return rank


# --------------------------------------------------------------------------------------------------------------------
# Ranks


class HitsAtK(Collected):
    """Hits@K in per cent, OGB's protocol: the share of the positive pairs that score strictly higher than the K-th highest of all
    negative pairs (COLLAB). With fewer than K negatives every positive pair is a hit.

    Beside it: the same for other K, and `Hits@K_paper`. Deviation: the paper's program compares with the first negatives only, as
    many as there are positives. That is easier (in COLLAB's test 46,329 of 100,000) and what Tables 2, 4, 7 and 8 print; the
    metric itself is the one that others report. (For training pairs, of which there are more than negatives, both are the same;
    there the program takes as many negatives as validation has positives.)
    """

    def __init__(self, K=50, other_K=(10, 100)):
        super().__init__()
        self.K, self.other_K, self.name = K, other_K, f"Hits@{K}"
        names = (self.name, *(f"Hits@{k}" for k in other_K), f"{self.name}_paper")
        self.measures = tuple(map(hits, dict.fromkeys(names)))

    def compute(self):
        scores, y = (x.reshape(-1) for x in self.all())
        positive, negative = scores[y == 1], scores[y == 0]
        if not len(positive):
            raise DataError(f"{self.name}: there is no positive pair to rank")
        values = {f"Hits@{k}": self._hits(positive, negative, k) for k in (self.K, *self.other_K)}
        return values | {f"{self.name}_paper": self._hits(positive, negative[: len(positive)], self.K)}

    @staticmethod
    def _hits(positive, negative, K):
        if len(negative) < K:
            return 100.0
        return 100 * float((positive > negative.topk(K).values[-1]).double().mean())


class PairRanks(Metric):
    r"""Ranks of the true tails t of a head h among the pairs (h, x) that are asked of, inside each graph (PCQM-Contact).

        rank(h, t) = 1 + |{x : s(h, x) > s(h, t)}|        MRR = mean 1 / rank        Hits@k = mean [rank ≤ k]

    over all x (raw), without the other true tails of h (filtered), and without these and h itself (filtered_noself). A mean is
    over the true pairs of a graph, then over the graphs that have any. Pairs with the label 1 are true; a pair that has
    another label, or none (NaN), is ranked against. Each pair is asked once.

    Deviation: LRGB's program averages over the graphs of a batch, then over the batches, weighted by their labelled pairs; here
    every graph counts the same, whatever the batches. Of equal scores the true pair ranks first; there the sort decides.
    """

    SETTINGS = ("raw", "filtered", "filtered_noself")
    sums = ("total", "n_graphs")

    def __init__(self, ks=(1, 3, 10), settings=SETTINGS):
        if wrong := [setting for setting in settings if setting not in self.SETTINGS]:
            raise ValueError(f"settings={wrong[0]!r}: expected some of {', '.join(self.SETTINGS)}")
        self.ks, self.settings = ks, settings
        names = ["MRR", *(f"Hits@{k}" for k in ks)]
        suffixes = {setting: "" if setting == "raw" else f"_{setting}" for setting in settings}
        self.measures = tuple(ranking(name + suffix) for suffix in suffixes.values() for name in names)
        self.total, self.n_graphs = 0, 0

    def update(self, scores, y, g=None, of=None):
        if of is None or of.ndim != 2:
            raise ValueError("ranks inside graphs need pairs of nodes: batches whose `of` has two rows")
        (head, tail), true = of, y.reshape(-1) == 1
        above = Above(head, finite(scores).reshape(-1), true)
        others, known = above.count(torch.ones_like(true)), above.count(true)
        own = above.count((head == tail) & ~true)
        ranks = {"raw": others, "filtered": others - known, "filtered_noself": others - known - own}
        values = []
        for setting in self.settings:
            rank = 1 + ranks[setting]
            values += [1 / rank.double(), *((rank <= k).double() for k in self.ks)]
        self._add_graphs(graph_of_nodes(g, head[true]), torch.stack(values, 1))

    def _add_graphs(self, graph, values):
        """The means of the rows of `values` over each graph."""
        n = torch.bincount(graph)
        sums = values.new_zeros(len(n), values.shape[1]).index_add_(0, graph, values)
        self.total += (sums[n > 0] / n[n > 0, None]).sum(0).cpu()
        self.n_graphs += int((n > 0).sum())

    def compute(self):
        if not self.n_graphs:
            raise DataError(f"{self.measures[0].name}: there is no true pair to rank")
        return {m.name: float(value) for m, value in zip(self.measures, self.total / self.n_graphs, strict=True)}


class Above:
    """count(among): for each wanted item the number of items of `among` in its group that score strictly higher."""

    def __init__(self, group, scores, wanted):
        level = torch.unique(scores, return_inverse=True)[1]
        n = len(scores) + 1
        key = group * n - level  # groups apart, and in a group the highest score first
        ordered, self.order = key.sort()
        self.here = torch.searchsorted(ordered, key[wanted])
        self.start = torch.searchsorted(ordered, (group[wanted] - 1) * n, right=True)

    def count(self, among):
        before = torch.cat([torch.zeros(1, dtype=torch.int64, device=among.device), among[self.order].cumsum(0)])
        return before[self.here] - before[self.start]


def graph_of_nodes(g, nodes):
    """The graph of each of these nodes of a batch."""
    return torch.searchsorted(g.batch_num_nodes().to(nodes).cumsum(0), nodes, right=True)
