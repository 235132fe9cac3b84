"""The papers' metrics, computed over a whole split: what is added up batch by batch is exact, so batch size does not matter.

Each metric has a name, a direction (which way is better) and the format of the paper's tables.
"""

import torch


def _finite(scores):
    if not torch.isfinite(scores).all():
        raise ValueError("the scores hold NaN or infinite values: a metric of them would mean nothing")
    return scores.detach()


class Accuracy:
    """Share of items whose highest score is at the right class, in per cent."""

    name, direction = "accuracy", "max"

    def __init__(self):
        self.right = self.total = 0

    def update(self, scores, y):
        self.right += int((_finite(scores).argmax(dim=1) == y).sum())
        self.total += len(y)

    def compute(self):
        return 100 * self.right / self.total


class WeightedAccuracy:
    """Mean over the classes of the share of their items that are recognised, in per cent (SBM datasets).

    The mean runs over the classes that occur in the split; a class that does not occur has no accuracy.
    """

    name, direction = "accuracy", "max"

    def __init__(self, n_classes):
        self.right = torch.zeros(n_classes, dtype=torch.int64)
        self.total = torch.zeros(n_classes, dtype=torch.int64)

    def update(self, scores, y):
        right = y[_finite(scores).argmax(dim=1) == y]
        self.right += torch.bincount(right, minlength=len(self.right)).cpu()
        self.total += torch.bincount(y, minlength=len(self.total)).cpu()

    def compute(self):
        seen = self.total > 0
        return 100 * float((self.right[seen].double() / self.total[seen]).mean())


class BinaryF1:
    """F1 score of class 1 (TSP: edges of the tour); 0 when there is neither a positive item nor a positive prediction."""

    name, direction = "F1", "max"

    def __init__(self):
        self.hits = self.predicted = self.actual = 0

    def update(self, scores, y):
        positive = _finite(scores).argmax(dim=1) == 1
        self.hits += int((positive & (y == 1)).sum())
        self.predicted += int(positive.sum())
        self.actual += int((y == 1).sum())

    def compute(self):
        return 2 * self.hits / (self.predicted + self.actual) if self.predicted + self.actual else 0.0


class MAE:
    """Mean absolute error over all targets (ZINC). Targets (B,) and scores (B, 1) are the same numbers."""

    name, direction = "MAE", "min"

    def __init__(self):
        self.error, self.total = 0.0, 0

    def update(self, scores, y):
        self.error += float((_finite(scores).double() - y.view_as(scores).double()).abs().sum())
        self.total += y.numel()

    def compute(self):
        return self.error / self.total
