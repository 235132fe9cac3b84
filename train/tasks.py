"""What is predicted, how it is trained and how it is measured, B.1.3: the small object the loop works with.

A task says at which level the net predicts and how many numbers (`level`, `n_out`), gives the `loss` of a batch, and a fresh
`metric` for a pass over a split. To add one, write a class with these four and hand it to `fit`.
"""

import torch
import torch.nn.functional as F

from train.metrics import MAE, Accuracy, BinaryF1, HitsAtK, WeightedAccuracy


class GraphClassification:
    """Cross-entropy, accuracy; one label a graph."""

    level = "graph"

    def __init__(self, n_classes):
        self.n_out = n_classes

    def loss(self, scores, y):
        return F.cross_entropy(scores, y)

    def metric(self):
        return Accuracy()


class GraphRegression:
    """L1 loss, mean absolute error; n_targets numbers a graph."""

    level = "graph"

    def __init__(self, n_targets=1):
        self.n_out = n_targets

    def loss(self, scores, y):
        return F.l1_loss(scores, y.view_as(scores))

    def metric(self):
        return MAE()


class NodeClassification:
    """Cross-entropy weighted inversely by class size, mean of the classes' accuracies; one label a node.

    Class c of a batch of V labelled nodes weighs 1 - |c|/V, and 0 when it is absent.
    """

    level = "node"

    def __init__(self, n_classes):
        self.n_out = n_classes

    def loss(self, scores, y):
        size = torch.bincount(y, minlength=self.n_out)
        weight = (1 - size / len(y)) * (size > 0)
        if (size > 0).sum() == 1:  # one class only: its weight would be 0 and the loss 0/0
            weight = (size > 0).to(scores.dtype)
        return F.cross_entropy(scores, y, weight=weight.to(scores.dtype))

    def metric(self):
        return WeightedAccuracy(self.n_out)


class EdgeClassification:
    """Cross-entropy, F1 score of class 1; one label an edge."""

    level = "edge"

    def __init__(self, n_classes=2):
        self.n_out = n_classes

    def loss(self, scores, y):
        return F.cross_entropy(scores, y)

    def metric(self):
        return BinaryF1()


class LinkPrediction:
    """Binary cross-entropy, Hits@50; a score for each pair of nodes, label 1 where there is a link and 0 where there is none.

    With as many pairs of each kind, as in training, the cross-entropy over all pairs is half of the paper's loss
    mean(-log σ(pos)) + mean(-log(1 - σ(neg))): Adam takes the same steps. Unlike that sum it can be averaged over any batches.
    The Hits@50 of a training pass, shown while training, rank against the random pairs of that pass and are not those of the
    result, which come from an evaluation of all parts.
    """

    level, n_out = "pair", 1

    def loss(self, scores, y):
        return F.binary_cross_entropy_with_logits(scores, y.view_as(scores).to(scores.dtype))

    def metric(self):
        return HitsAtK(50)


class GraphEmbedding:
    """Embeddings of two graphs pushed apart, eq. (1) of the BREC paper: max(0, cos(f(G), f(H)) - margin). No label, no metric."""

    level = "graph"

    def __init__(self, dim, margin=0.0):
        self.n_out, self.margin = dim, margin

    def loss(self, x, y):
        return F.cosine_embedding_loss(x, y, -torch.ones(len(x), device=x.device), self.margin)
