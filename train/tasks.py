"""What is predicted, how it is trained and how it is measured, B.1.3: the small object the loop works with.

A task says at which level the net predicts (graph, node, edge, or pair of nodes) and how many numbers (`level`, `n_out`), gives
the `loss` of a batch, the number of labels that it is a mean of (`count`), and a fresh `metric` for a pass over a split. A
dataset states its own (`target`); to train it on another, make one here and hand it to `fit`. To add a kind, write a class
with these five; a loss that is no plain mean over the labels says in `sizes` and `part` how it is divided among processes.
"""

import torch
import torch.nn.functional as F

from data.errors import DataError
from train import metrics
from train.metrics import AUROC, MAE, Accuracy, AveragePrecision, BinaryF1, HitsAtK, Metrics, WeightedAccuracy


class Task:
    """`metrics`: functions that make a metric, such as its class; what the first one measures first selects."""

    def __init__(self, level, n_out, metrics):
        self.level, self.n_out, self.metrics = level, n_out, metrics

    def count(self, y):
        """How many labels the loss of a batch is a mean of: the loss of an epoch is weighted by it."""
        return len(y)

    def metric(self):
        return Metrics(*(make() for make in self.metrics))

    def sizes(self, y):
        """Further numbers of the labels that the loss of a batch depends on; those of its parts add up to those of the batch."""
        return y.new_zeros(0)

    def part(self, scores, y, n, sizes):
        """What some items contribute to the loss of a batch of `n` labels with these `sizes`."""
        return self.loss(scores, y) * (self.count(y) / n)


class Classification(Task):
    """Cross-entropy; one of n_classes for each graph, node or edge.

    `weighted`: class c of a batch of V labels weighs w_c = 1 - |c|/V, and 0 when it is absent; the loss is
    Σ_i w_{y_i} (-log p_i) / Σ_i w_{y_i}. So it depends on how the items are divided into batches, by definition, and a schedule
    that listens to the validation loss sees that: the same scores of graphs with few classes each, as images have, give 2.901,
    3.023 and 3.028 in batches of 1, 20 and 400 (tests/train/test_tasks.py); on CLUSTER it is the fourth digit. A batch of one
    class would be 0/0; its weight is 1.
    """

    def __init__(self, level, n_classes, weighted=False, metrics=(Accuracy,)):
        super().__init__(level, n_classes, metrics)
        self.weighted = weighted

    def loss(self, scores, y):
        weight = self._weight(self.sizes(y), len(y)).to(scores.dtype) if self.weighted else None
        return F.cross_entropy(scores, y, weight=weight)

    def sizes(self, y):
        """Of each class, how many items have it."""
        return torch.bincount(y.long(), minlength=self.n_out)

    def part(self, scores, y, n, sizes):
        if not self.weighted:
            return super().part(scores, y, n, sizes)
        weight = self._weight(sizes, n)
        total = F.cross_entropy(scores, y, weight=weight.to(scores), reduction="sum")
        return total / float((weight * sizes).sum())

    @staticmethod
    def _weight(size, n):
        weight = (1 - size / n) * (size > 0)
        return weight if (size > 0).sum() > 1 else size > 0


class GraphClassification(Classification):
    """One label per graph; accuracy."""

    def __init__(self, n_classes, metrics=(Accuracy,)):
        super().__init__("graph", n_classes, metrics=metrics)


class NodeClassification(Classification):
    """One label per node, weighted by class size; mean of the classes' accuracies (PATTERN, CLUSTER)."""

    def __init__(self, n_classes, weighted=True, metrics=(WeightedAccuracy,)):
        super().__init__("node", n_classes, weighted, metrics)


class EdgeClassification(Classification):
    """One label per edge; F1 score of class 1 (TSP)."""

    def __init__(self, n_classes=2, metrics=(BinaryF1,)):
        super().__init__("edge", n_classes, metrics=metrics)


class MultiLabel(Task):
    """Binary cross-entropy; n_labels times yes (1) or no (0), mean over all that are known: NaN is a missing label.

    One label is binary classification with one output. `weighted`: a label of value c weighs 1 - |c|/V, the share of the V known
    labels of its column in the batch that have the other value (the Taxonomy's PATTERN); the sum is divided by the number of
    labels, not by the weights, and depends on the batches as that of Classification does.
    """

    def __init__(self, level, n_labels, weighted=False, metrics=(AveragePrecision,)):
        super().__init__(level, n_labels, metrics)
        self.weighted = weighted

    def count(self, y):
        return int((~torch.isnan(y)).sum())

    def loss(self, scores, y):
        y = y.view_as(scores).to(scores.dtype)
        known = ~torch.isnan(y)
        if not known.any():
            return 0 * scores.sum()
        weight = self._weight(y, *self.sizes(y))[known] if self.weighted else None
        return F.binary_cross_entropy_with_logits(scores[known], y[known], weight)

    def sizes(self, y):
        """Of each column the ones, and the labels that are known."""
        y = y.view(-1, self.n_out)
        return torch.stack([y.nan_to_num().sum(0), (~torch.isnan(y)).sum(0)])

    def part(self, scores, y, n, sizes):
        y = y.view_as(scores).to(scores.dtype)
        known = ~torch.isnan(y)
        weight = self._weight(y, *sizes.view(2, -1).to(y))[known] if self.weighted else None
        return F.binary_cross_entropy_with_logits(scores[known], y[known], weight, reduction="sum") / n

    @staticmethod
    def _weight(y, ones, known):
        share = ones / known  # of the ones in each column
        return torch.where(y == 1, 1 - share, share)


class LinkPrediction(MultiLabel):
    """A score for each pair of nodes, label 1 for a link, 0 for none, NaN for a pair that is ranked and not trained on; Hits@50.

    With as many pairs of each kind, as in training, the cross-entropy over all pairs is half of the paper's loss
    mean(-log σ(pos)) + mean(-log(1 - σ(neg))): Adam takes the same steps. Unlike that sum it can be averaged over any batches.
    The metrics of a training pass, shown while training, rank against the random pairs of that pass and are not those of the
    result, which come from an evaluation of all parts.
    """

    def __init__(self, metrics=(HitsAtK,)):
        super().__init__("pair", 1, metrics=metrics)


class Regression(Task):
    """L1 loss, mean absolute error; n_targets numbers for each graph, node or edge."""

    def __init__(self, level, n_targets=1, metrics=(MAE,)):
        super().__init__(level, n_targets, metrics)

    def loss(self, scores, y):
        return F.l1_loss(scores, y.view_as(scores))


class GraphRegression(Regression):
    """n_targets numbers per graph (ZINC)."""

    def __init__(self, n_targets=1, metrics=(MAE,)):
        super().__init__("graph", n_targets, metrics)


class GraphEmbedding:
    """Embeddings of two graphs pushed apart, eq. (1) of the BREC paper: max(0, cos(f(G), f(H)) - margin). No label, no metric."""

    level = "graph"

    def __init__(self, dim, margin=0.0):
        self.n_out, self.margin = dim, margin

    def loss(self, x, y):
        return F.cosine_embedding_loss(x, y, -torch.ones(len(x), device=x.device), self.margin)


KINDS = {"classes": Classification, "labels": MultiLabel, "numbers": Regression}


def auroc_task(dataset):
    """What a dataset asks, measured by AUROC: classes by cross-entropy, two of them as one output (the Taxonomy)."""
    target = dataset.target
    if target.kind == "numbers" or target.level not in ("graph", "node"):
        raise DataError(
            f"{dataset.name} asks for {target.kind} per {target.level}: AUROC needs classes or labels per graph or node"
        )
    if target.kind == "classes" and target.n_out > 2:
        return Classification(target.level, target.n_out, target.weighted, metrics=(AUROC,))
    return MultiLabel(target.level, 1 if target.kind == "classes" else target.n_out, target.weighted, metrics=(AUROC,))


def task_of(dataset):
    """The task that a dataset states (data/dataset.py, Target)."""
    target = dataset.target
    options = {"weighted": True} if target.weighted else {}
    if target.metrics:
        options["metrics"] = tuple(getattr(metrics, name) for name in target.metrics)
    return KINDS[target.kind](target.level, target.n_out, **options)
