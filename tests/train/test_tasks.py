"""Losses: equal to loops written from their formulas and to the papers' programs; which of them depend on the batches."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from data.dataset import Target
from data.errors import DataError
from data.registry import DATASETS, declared
from data.store import Field
from train.metrics import AUROC, MacroF1
from train.tasks import (
    Classification,
    EdgeClassification,
    GraphClassification,
    GraphRegression,
    LinkPrediction,
    MultiLabel,
    NodeClassification,
    Regression,
    auroc_task,
    task_of,
)

GOLDEN = Path(__file__).resolve().parents[3] / "shared" / "facts" / "golden_lrgb.json"


@pytest.fixture(scope="module")
def golden():
    if not GOLDEN.exists():
        pytest.skip(f"no {GOLDEN}")
    return json.loads(GOLDEN.read_text())


def test_what_a_task_says():
    found = {
        type(task).__name__: (task.level, task.n_out, [measure.name for measure in task.metric().measures][:1])
        for task in (
            *(GraphClassification(3), NodeClassification(4), EdgeClassification(), LinkPrediction()),
            *(GraphRegression(11), MultiLabel("graph", 10)),
        )
    }
    assert found == {
        "GraphClassification": ("graph", 3, ["accuracy"]),
        "NodeClassification": ("node", 4, ["accuracy"]),
        "EdgeClassification": ("edge", 2, ["F1"]),
        "LinkPrediction": ("pair", 1, ["Hits@50"]),
        "GraphRegression": ("graph", 11, ["MAE"]),
        "MultiLabel": ("graph", 10, ["AP"]),
    }


def test_the_task_that_a_dataset_states():
    def task(*target):
        return task_of(SimpleNamespace(target=Target(*target)))

    def seen(task):
        return type(task), task.level, task.n_out, [measure.name for measure in task.metric().measures]

    assert seen(task("classes", "graph", 10)) == (Classification, "graph", 10, ["accuracy"])
    assert seen(task("numbers", "graph", 11, ("MAE", "R2"))) == (Regression, "graph", 11, ["MAE", "R2"])
    assert seen(task("labels", "pair", 1, ("HitsAtK",))) == (MultiLabel, *seen(LinkPrediction())[1:])
    sbm = task("classes", "node", 6, ("WeightedAccuracy",), True)
    scores, y = torch.randn(50, 6), (torch.arange(50) ** 2) % 5
    assert sbm.loss(scores, y) == NodeClassification(6).loss(scores, y) != Classification("node", 6).loss(scores, y)


@pytest.mark.parametrize("name", [name for name in DATASETS if declared(name)])
def test_every_declared_dataset_has_a_task(name):
    target = declared(name).target
    task = task_of(SimpleNamespace(target=target))
    assert (task.level, task.n_out) == (target.level, target.n_out) and task.metric().measures


def test_a_dataset_that_declares_nothing_asks_what_its_label_says():
    assert Target.of_label(Field("node", "label", "uint8", n_types=7)) == Target("classes", "node", 7)
    assert Target.of_label(Field("graph", "label", "float32", (11,))) == Target("numbers", "graph", 11)
    assert Target.of_label(Field("edge", "label", "float32")) == Target("numbers", "edge", 1)


def test_a_task_may_have_several_metrics_and_the_first_selects():
    task = Classification("node", 3, metrics=(MacroF1, AUROC))
    assert [measure.name for measure in task.metric().measures] == ["macro_F1", "AUROC"]
    assert task.metric() is not task.metric()


# Losses


def slow_weighted(scores, y):
    """Σ_i w_{y_i} (-log p_i) / Σ_i w_{y_i} with w_c = (V - n_c)/V for the classes of the batch."""
    weight = {c: (len(y) - y.count(c)) / len(y) for c in set(y)}
    if len(weight) == 1:
        weight = dict.fromkeys(weight, 1.0)
    terms = [-weight[c] * torch.log_softmax(s, 0)[c].item() for s, c in zip(scores, y, strict=True)]
    return sum(terms) / sum(weight[c] for c in y)


@given(st.integers(1, 30), st.integers(1, 5), st.integers(0, 2**31))
def test_weighted_cross_entropy(n, n_present, seed):
    random = np.random.RandomState(seed)
    scores, y = torch.from_numpy(random.randn(n, 5)), torch.from_numpy(random.randint(0, n_present, n))
    loss = NodeClassification(5).loss(scores, y)
    assert loss.item() == pytest.approx(slow_weighted(scores, y.tolist()))
    plain = NodeClassification(5, weighted=False).loss(scores, y)
    assert plain.item() == pytest.approx(-torch.log_softmax(scores, 1)[range(n), y].mean().item())


def test_the_program_of_lrgb_on_weighted_cross_entropy(golden):
    case = golden["weighted_cross_entropy"]
    i, c = np.mgrid[:10, :5]
    scores, y = torch.from_numpy(2 * np.sin(0.7 * i + 1.1 * c)), torch.tensor(case["labels"])
    task = NodeClassification(5)
    assert task.loss(scores, y).item() == pytest.approx(case["loss"], abs=1e-7)
    assert task._weight(task.sizes(y), len(y)).tolist() == pytest.approx(case["class_weights"])


@given(st.integers(1, 12), st.integers(1, 4), st.integers(0, 2**31))
def test_binary_cross_entropy_leaves_gaps_out(n, n_labels, seed):
    random = np.random.RandomState(seed)
    scores, y = random.randn(n, n_labels), random.choice([0, 1, np.nan], (n, n_labels))
    task = MultiLabel("graph", n_labels)
    known = ~np.isnan(y)
    p = 1 / (1 + np.exp(-scores))
    terms = -np.where(y == 1, np.log(p), np.log(1 - p))
    tensor = torch.from_numpy(scores).requires_grad_()
    loss = task.loss(tensor, torch.from_numpy(y))
    loss.backward()
    assert task.count(torch.from_numpy(y)) == known.sum()
    assert loss.item() == pytest.approx(terms[known].mean() if known.any() else 0.0)
    assert np.all((tensor.grad.numpy() != 0) == known)


def test_the_program_of_lrgb_on_binary_cross_entropy(golden):
    case = golden["multilabel_bce"]
    scores = torch.sin(0.9 * torch.arange(12, dtype=torch.float64)).view(4, 3)
    y = torch.tensor([[np.nan if v is None else v for v in row] for row in case["labels"]], dtype=torch.float64)
    assert MultiLabel("graph", 3).loss(scores, y).item() == pytest.approx(case["loss"], abs=1e-8)  # float32 there


def test_weighted_binary_cross_entropy():
    """The Taxonomy's PATTERN: weight (V - n_c)/V of the class of each node, plain mean."""
    scores, y = torch.tensor([[0.5], [-1.0], [2.0], [0.0]]).double(), torch.tensor([1, 0, 0, 0])
    p = torch.sigmoid(scores[:, 0]).tolist()
    expected = (-np.log(p[0]) * 3 / 4 - sum(np.log(1 - q) for q in p[1:]) * 1 / 4) / 4
    task = MultiLabel("node", 1, weighted=True)
    assert task.loss(scores, y).item() == pytest.approx(expected)
    gaps = torch.cat([y.double(), torch.full((3,), torch.nan)])
    assert task.loss(torch.cat([scores, torch.randn(3, 1).double()]), gaps).item() == pytest.approx(expected)


def test_the_loss_of_link_prediction_is_half_of_the_papers():
    """mean(-log σ(pos)) + mean(-log(1 - σ(neg))), with as many pairs of each kind."""
    random = torch.Generator().manual_seed(0)
    positive, negative = (torch.randn(50, 1, generator=random, dtype=torch.float64) for _ in range(2))
    papers = -torch.log(torch.sigmoid(positive)).mean() - torch.log(1 - torch.sigmoid(negative)).mean()
    y = torch.cat([torch.ones(50), torch.zeros(50)])
    assert torch.allclose(LinkPrediction().loss(torch.cat([positive, negative]), y), papers / 2)


def test_regression_is_the_mean_over_all_targets():
    scores, y = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[1.0, 0.0], [0.0, 4.0]])
    assert Regression("node", 2).loss(scores, y) == 5 / 4
    assert Regression("graph").loss(scores[:, :1], y[:, 0]) == 3 / 2  # (2, 1) against (2,) is not broadcast


# Batches


def epoch_loss(task, scores, y, batch_size):
    """As the loop adds it up."""
    total = n_labels = 0
    for start in range(0, len(y), batch_size):
        part = slice(start, start + batch_size)
        total += task.loss(scores[part], y[part]).item() * task.count(y[part])
        n_labels += task.count(y[part])
    return total / n_labels


def labels_of(task, random, n):
    if isinstance(task, Classification):
        return torch.from_numpy(random.randint(0, task.n_out, n))
    if isinstance(task, MultiLabel):
        return torch.from_numpy(random.choice([0, 1, np.nan], (n, task.n_out), p=[0.5, 0.2, 0.3]))
    return torch.from_numpy(random.randn(n, task.n_out))


@pytest.mark.parametrize("batch_size", [1, 7, 100])
@pytest.mark.parametrize(
    "task",
    [
        *(GraphClassification(3), NodeClassification(3, weighted=False), EdgeClassification()),
        *(MultiLabel("graph", 4), LinkPrediction(), GraphRegression(11)),
    ],
    ids=lambda task: type(task).__name__,
)
def test_the_loss_of_an_epoch_does_not_depend_on_the_batches(task, batch_size):
    random = np.random.RandomState(0)
    scores, y = torch.from_numpy(random.randn(100, task.n_out)), labels_of(task, random, 100)
    assert epoch_loss(task, scores, y, batch_size) == pytest.approx(task.loss(scores, y).item())


def test_the_loss_weighted_by_the_classes_of_a_batch_does():
    """By definition (docs/deviations). 400 graphs of 100 nodes, 70 of the background and 30 of one of 20 other classes."""
    random = np.random.RandomState(0)
    graphs = [random.permutation([0] * 70 + [1 + random.randint(20)] * 30) for _ in range(400)]
    y = torch.from_numpy(np.concatenate(graphs))
    scores = torch.from_numpy(random.randn(len(y), 21))
    scores[:, 0] += 1.5
    found = [epoch_loss(NodeClassification(21), scores, y, 100 * n_graphs) for n_graphs in (1, 20, 100, 400)]
    assert found == pytest.approx([2.901, 3.023, 3.027, 3.028], abs=5e-4)


def test_so_does_the_weighted_loss_of_one_label():
    random, task = np.random.RandomState(0), MultiLabel("node", 1, weighted=True)
    scores, y = torch.from_numpy(random.randn(100, 1)), torch.arange(100) // 90
    assert abs(epoch_loss(task, scores, y, 10) - task.loss(scores, y).item()) > 0.02


def test_the_auroc_of_what_a_dataset_asks():
    """Two classes are one output; more are one each; weights stay; numbers and edges are refused."""

    def task(*target, **keys):
        return auroc_task(SimpleNamespace(name="X", target=Target(*target, **keys)))

    two, three, labels = (
        task("classes", "graph", 2),
        task("classes", "node", 3, weighted=True),
        task("labels", "graph", 12),
    )
    assert (two.n_out, three.n_out, labels.n_out) == (1, 3, 12) and three.weighted and not two.weighted
    assert all([m.name for m in t.metric().measures] == ["AUROC"] for t in (two, three, labels))
    y = torch.tensor([0, 1, 1, 0])
    scores = torch.tensor([[-1.0], [2.0], [0.5], [-3.0]])
    expected = torch.nn.functional.binary_cross_entropy_with_logits(scores[:, 0], y.float())
    assert torch.equal(two.loss(scores, y), expected) and two.count(y) == 4
    metric = two.metric()
    metric.update(scores, y)
    assert metric.compute() == {"AUROC": 1.0}
    for wrong in (("numbers", "graph", 1), ("classes", "edge", 2)):
        with pytest.raises(DataError, match="AUROC needs classes or labels per graph or node"):
            task(*wrong)
