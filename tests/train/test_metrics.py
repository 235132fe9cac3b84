"""Every metric equals scikit-learn's over the whole split, whatever the batches."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk

from train.metrics import MAE, Accuracy, BinaryF1, WeightedAccuracy


def in_batches(metric, scores, y, cuts):
    for a, b in zip([0, *cuts], [*cuts, len(y)], strict=True):
        metric.update(scores[a:b], y[a:b])
    return metric.compute()


@st.composite
def classification(draw, n_classes=4):
    n = draw(st.integers(1, 40))
    random = np.random.RandomState(draw(st.integers(0, 2**31)))
    y = torch.from_numpy(random.randint(0, draw(st.integers(1, n_classes)), n))  # classes may be absent
    scores = torch.from_numpy(random.randn(n, n_classes))
    return scores, y, sorted(draw(st.lists(st.integers(0, n), max_size=5)))


@given(classification())
def test_accuracy_is_scikit_learns(case):
    scores, y, cuts = case
    assert in_batches(Accuracy(), scores, y, cuts) == pytest.approx(100 * sk.accuracy_score(y, scores.argmax(1)))


@given(classification())
def test_weighted_accuracy_is_the_mean_recall_of_the_classes_that_occur(case):
    scores, y, cuts = case
    expected = sk.recall_score(y, scores.argmax(1), labels=np.unique(y), average="macro")
    assert in_batches(WeightedAccuracy(4), scores, y, cuts) == pytest.approx(100 * expected)


@given(classification(n_classes=2))
def test_f1_is_scikit_learns(case):
    scores, y, cuts = case
    expected = sk.f1_score(y, scores.argmax(1), zero_division=0)
    assert in_batches(BinaryF1(), scores, y, cuts) == pytest.approx(expected)


@given(st.integers(1, 40), st.integers(0, 2**31), st.integers(1, 3))
def test_mae_is_scikit_learns(n, seed, n_targets):
    random = np.random.RandomState(seed)
    y, scores = torch.from_numpy(random.randn(n, n_targets)), torch.from_numpy(random.randn(n, n_targets))
    assert in_batches(MAE(), scores, y, [n // 2]) == pytest.approx(sk.mean_absolute_error(y, scores))


def test_mae_of_a_flat_target_is_not_broadcast():
    metric = MAE()
    metric.update(torch.tensor([[1.0], [2.0]]), torch.tensor([1.0, 4.0]))
    assert metric.compute() == 1.0  # broadcasting (2, 1) against (2,) would give 1.5


def test_by_hand():
    # 3 of class 0 (2 recognised), 1 of class 1 (recognised): plain accuracy 75, mean of the classes 83.33
    scores, y = torch.eye(2)[[0, 0, 1, 1]], torch.tensor([0, 0, 0, 1])
    assert in_batches(Accuracy(), scores, y, []) == 75
    assert in_batches(WeightedAccuracy(2), scores, y, []) == pytest.approx(100 * (2 / 3 + 1) / 2)
    assert in_batches(BinaryF1(), scores, y, []) == pytest.approx(2 / 3)


@pytest.mark.parametrize("metric", [Accuracy(), WeightedAccuracy(2), BinaryF1(), MAE()])
def test_nan_scores_are_refused(metric):
    with pytest.raises(ValueError, match="NaN"):
        metric.update(torch.tensor([[float("nan"), 0.0]]), torch.tensor([[0, 0]]))
