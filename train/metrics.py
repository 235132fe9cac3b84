"""The papers' metrics, computed over a whole split: what is added up batch by batch is exact, so batch size does not matter.

A metric says in `measures` what it gives: name, direction, digits, range. The first one selects; the others are further
numbers for the result. `compute` gives all of them, {name: value}.
"""

import torch

from runs import measures
from runs.measures import ACCURACY, F1, hits


def _finite(scores):
    if not torch.isfinite(scores).all():
        raise ValueError("the scores hold NaN or infinite values: a metric of them would mean nothing")
    return scores.detach()


class Accuracy:
    """Share of items whose highest score is at the right class, in per cent."""

    measures = (ACCURACY,)

    def __init__(self):
        self.right = self.total = 0

    def update(self, scores, y):
        self.right += int((_finite(scores).argmax(dim=1) == y).sum())
        self.total += len(y)

    def compute(self):
        return {"accuracy": 100 * self.right / self.total}


class WeightedAccuracy:
    """Mean over the classes of the share of their items that are recognised, in per cent (SBM datasets).

    The mean runs over the classes that occur in the split; a class that does not occur has no accuracy.
    """

    measures = (ACCURACY,)

    def __init__(self, n_classes):
        self.right = torch.zeros(n_classes, dtype=torch.int64)
        self.total = torch.zeros(n_classes, dtype=torch.int64)

    def update(self, scores, y):
        right = y[_finite(scores).argmax(dim=1) == y]
        self.right += torch.bincount(right, minlength=len(self.right)).cpu()
        self.total += torch.bincount(y, minlength=len(self.total)).cpu()

    def compute(self):
        seen = self.total > 0
        return {"accuracy": 100 * float((self.right[seen].double() / self.total[seen]).mean())}


class BinaryF1:
    """F1 score of class 1 (TSP: edges of the tour); 0 when there is neither a positive item nor a positive prediction."""

    measures = (F1,)

    def __init__(self):
        self.hits = self.predicted = self.actual = 0

    def update(self, scores, y):
        positive = _finite(scores).argmax(dim=1) == 1
        self.hits += int((positive & (y == 1)).sum())
        self.predicted += int(positive.sum())
        self.actual += int((y == 1).sum())

    def compute(self):
        total = self.predicted + self.actual
        return {"F1": 2 * self.hits / total if total else 0.0}


class MAE:
    """Mean absolute error over all targets (ZINC). Targets (B,) and scores (B, 1) are the same numbers."""

    measures = (measures.MAE,)

    def __init__(self):
        self.error, self.total = 0.0, 0

    def update(self, scores, y):
        self.error += float((_finite(scores).double() - y.view_as(scores).double()).abs().sum())
        self.total += y.numel()

    def compute(self):
        return {"MAE": self.error / self.total}


class HitsAtK:
    """Hits@K in per cent, OGB's protocol: the share of the positive pairs that score strictly higher than the K-th highest of all
    negative pairs (COLLAB). With fewer than K negatives every positive pair is a hit.

    Beside it: the same for other K, and `Hits@K_paper`. Deviation: the paper's program compares with the first negatives only, as
    many as there are positives. That is easier (in COLLAB's test 46,329 of 100,000) and what Tables 2, 4, 7 and 8 print; the
    metric itself is the one that others report. (For training pairs, of which there are more than negatives, both are the same;
    there the program takes as many negatives as validation has positives.)
    """

    def __init__(self, K=50, other_K=(10, 100)):
        self.K, self.other_K, self.name = K, other_K, f"Hits@{K}"
        names = (self.name, *(f"Hits@{k}" for k in other_K), f"{self.name}_paper")
        self.measures = tuple(map(hits, dict.fromkeys(names)))
        self.positive, self.negative = [], []

    def update(self, scores, y):
        scores, y = _finite(scores).reshape(-1).cpu(), y.reshape(-1).cpu()
        self.positive.append(scores[y == 1])
        self.negative.append(scores[y == 0])

    def compute(self):
        values = {f"Hits@{k}": self._hits(k) for k in (self.K, *self.other_K)}
        return values | {f"{self.name}_paper": self._hits(self.K, sum(map(len, self.positive)))}

    def _hits(self, K, n_negative=None):
        positive, negative = torch.cat(self.positive), torch.cat(self.negative)[:n_negative]
        if not len(positive):
            raise ValueError(f"{self.name}: there is no positive pair to rank")
        if len(negative) < K:
            return 100.0
        return 100 * float((positive > negative.topk(K).values[-1]).double().mean())
