"""Every metric equals scikit-learn's or OGB's over the whole split, whatever the batches; golden values of the papers' programs."""

import json
import sys
import warnings
from pathlib import Path

import dgl
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk

from data.errors import DataError
from train.metrics import (
    AUROC,
    MAE,
    R2,
    Accuracy,
    AveragePrecision,
    BinaryF1,
    HitsAtK,
    MacroF1,
    Metrics,
    PairRanks,
    WeightedAccuracy,
)

FACTS = Path(__file__).resolve().parents[3] / "shared" / "facts"


def golden(name):
    path = FACTS / f"golden_{name}.json"
    if not path.exists():
        pytest.skip(f"no {path}")
    return json.loads(path.read_text())


def all_values(metric, scores, y, cuts=()):
    for a, b in zip([0, *cuts], [*cuts, len(y)], strict=True):
        metric.update(scores[a:b], y[a:b])
    values = metric.compute()
    assert list(values) == [measure.name for measure in metric.measures]
    assert all(measure.allows(values[measure.name]) for measure in metric.measures)
    return values


def value_of(metric, scores, y, cuts=()):
    """The first value, which selects."""
    return all_values(metric, scores, y, cuts)[metric.measures[0].name]


cuts_of = st.lists(st.integers(0, 40), max_size=4)


def clipped(cuts, n):
    return sorted(min(cut, n) for cut in cuts)


@st.composite
def classification(draw, n_classes=4):
    """Scores (n, C), with many ties or none, and labels of which some classes may be absent."""
    n = draw(st.integers(1, 40))
    random = np.random.RandomState(draw(st.integers(0, 2**31)))
    y = torch.from_numpy(random.randint(0, draw(st.integers(1, n_classes)), n))
    scores = random.randint(-2, 3, (n, n_classes)) if draw(st.booleans()) else random.randn(n, n_classes)
    return torch.from_numpy(scores).double(), y, clipped(draw(cuts_of), n)


@st.composite
def labels_with_gaps(draw, most=4):
    """Scores (n, T) with ties, labels 0, 1 and NaN; at least one column has both."""
    n, n_labels = draw(st.integers(2, 40)), draw(st.integers(1, most))
    random = np.random.RandomState(draw(st.integers(0, 2**31)))
    levels = draw(st.integers(1, 60))
    scores = torch.from_numpy(random.randint(-levels, levels, (n, n_labels)) / 7.0)
    y = random.choice(
        [0.0, 1.0, np.nan], (n, n_labels), p=draw(st.sampled_from([(0.4, 0.4, 0.2), (0.9, 0.1, 0.0), (0.1, 0.1, 0.8)]))
    )
    y[:2, random.randint(n_labels)] = [0, 1]
    return scores, torch.from_numpy(y), clipped(draw(cuts_of), n)


# One class per item


@given(classification())
def test_accuracy_is_scikit_learns(case):
    scores, y, cuts = case
    assert value_of(Accuracy(), scores, y, cuts) == pytest.approx(100 * sk.accuracy_score(y, scores.argmax(1)))


@given(classification())
def test_weighted_accuracy_is_the_mean_recall_of_the_classes_that_occur(case):
    scores, y, cuts = case
    expected = sk.recall_score(y, scores.argmax(1), labels=np.unique(y), average="macro")
    assert value_of(WeightedAccuracy(), scores, y, cuts) == pytest.approx(100 * expected)


@given(classification())
def test_macro_f1_is_scikit_learns_over_the_classes_that_occur(case):
    scores, y, cuts = case
    expected = sk.f1_score(y, scores.argmax(1), average="macro", zero_division=0)
    assert value_of(MacroF1(), scores, y, cuts) == pytest.approx(expected)


@given(classification(n_classes=2))
def test_f1_is_scikit_learns(case):
    scores, y, cuts = case
    expected = sk.f1_score(y, scores.argmax(1), zero_division=0)
    assert value_of(BinaryF1(), scores, y, cuts) == pytest.approx(expected)


def test_by_hand():
    # 3 of class 0 (2 recognised), 1 of class 1 (recognised): plain accuracy 75, mean of the classes 83.33
    scores, y = torch.eye(2)[[0, 0, 1, 1]], torch.tensor([0, 0, 0, 1])
    assert value_of(Accuracy(), scores, y) == 75
    assert value_of(WeightedAccuracy(), scores, y) == pytest.approx(100 * (2 / 3 + 1) / 2)
    assert value_of(BinaryF1(), scores, y) == pytest.approx(2 / 3)
    assert value_of(MacroF1(), scores, y) == pytest.approx((4 / 5 + 2 / 3) / 2)


@pytest.mark.parametrize("metric", [Accuracy, WeightedAccuracy, MacroF1, BinaryF1])
def test_one_score_per_item_is_no_class(metric):
    with pytest.raises(ValueError, match="at least two classes"):
        metric().update(torch.zeros(3, 1), torch.tensor([0, 1, 0]))


def test_the_program_of_lrgb_on_macro_f1():
    case = golden("lrgb")["macro_f1"]
    scores = torch.eye(5)[case["pred"]]
    assert value_of(MacroF1(), scores, torch.tensor(case["labels"]), [3]) == pytest.approx(case["macro_f1"], abs=1e-10)


# Numbers


@given(st.integers(1, 40), st.integers(0, 2**31), st.integers(1, 3))
def test_mae_is_scikit_learns(n, seed, n_targets):
    random = np.random.RandomState(seed)
    y, scores = torch.from_numpy(random.randn(n, n_targets)), torch.from_numpy(random.randn(n, n_targets))
    assert value_of(MAE(), scores, y, [n // 2]) == pytest.approx(sk.mean_absolute_error(y, scores))


def test_a_flat_target_is_not_broadcast():
    scores, y = torch.tensor([[1.0], [2.0]]), torch.tensor([1.0, 4.0])
    assert value_of(MAE(), scores, y) == 1.0  # broadcasting (2, 1) against (2,) would give 1.5
    assert value_of(R2(), scores, y) == pytest.approx(sk.r2_score(y, scores[:, 0]))


@given(st.integers(2, 40), st.integers(0, 2**31), st.integers(1, 4), st.sampled_from([0.0, 0.1, 1.0]))
def test_r2_is_scikit_learns_with_constant_targets_too(n, seed, n_targets, noise):
    random = np.random.RandomState(seed)
    y = random.randn(n, n_targets)
    y[:, 0] = 0.25
    scores = y + noise * random.randn(n, n_targets)
    found = value_of(R2(), torch.from_numpy(scores), torch.from_numpy(y), [n // 2])
    assert found == pytest.approx(sk.r2_score(y, scores))


def test_r2_of_a_single_item_is_that_of_a_constant():
    assert value_of(R2(), torch.tensor([[1.0, 2.0]]), torch.tensor([[1.0, 3.0]])) == 0.5


def test_the_program_of_lrgb_on_regression():
    case, k = golden("lrgb")["regression"], torch.arange(30, dtype=torch.float64)
    y = torch.sin(0.8 * k).view(10, 3)
    scores = y + 0.2 * torch.cos(1.7 * k).view(10, 3)
    assert value_of(MAE(), scores, y, [4]) == pytest.approx(case["mae"], abs=1e-10)
    assert value_of(R2(), scores, y, [4]) == pytest.approx(case["r2"], abs=1e-10)


# Areas


def mean_over_columns(area, scores, y):
    """Of the columns with both kinds of labels, gaps left out: OGB's rule."""
    values = []
    for s, t in zip(scores.numpy().T, y.numpy().T, strict=True):
        known = ~np.isnan(t)
        if len(np.unique(t[known])) == 2:
            values.append(area(t[known], s[known]))
    return np.mean(values)


@given(labels_with_gaps())
def test_areas_of_several_labels_are_scikit_learns_with_ties_and_gaps(case):
    scores, y, cuts = case
    expected = mean_over_columns(sk.roc_auc_score, scores, y)
    assert value_of(AUROC(), scores, y, cuts) == pytest.approx(expected)
    expected = mean_over_columns(sk.average_precision_score, scores, y)
    assert value_of(AveragePrecision(), scores, y, cuts) == pytest.approx(expected)


@given(labels_with_gaps(most=1))
def test_one_label_may_be_flat_or_two_classes(case):
    scores, y, _ = case
    scores, y = scores[~y.isnan()], y[~y.isnan()]
    expected = value_of(AUROC(), scores[:, None], y[:, None])
    assert value_of(AUROC(), scores[:, None], y) == expected == pytest.approx(sk.roc_auc_score(y, scores))
    assert value_of(AUROC(), torch.stack([1 - scores, 1 + scores], 1), y.long()) == pytest.approx(expected)


@given(classification(n_classes=4))
def test_area_of_more_classes_is_one_against_rest_without_absent_ones(case):
    scores, y, cuts = case
    present = [c for c in range(4) if 0 < (y == c).sum() < len(y)]
    if not present:
        with pytest.raises(DataError, match="AUROC: no class"):
            value_of(AUROC(), scores, y, cuts)
        return
    p = torch.log_softmax(scores, 1)
    expected = np.mean([sk.roc_auc_score(y == c, p[:, c]) for c in present])
    assert value_of(AUROC(), scores, y, cuts) == pytest.approx(expected)
    expected = np.mean([sk.average_precision_score(y == c, p[:, c]) for c in present])
    assert value_of(AveragePrecision(), scores, y, cuts) == pytest.approx(expected)


@pytest.mark.parametrize("metric", [AUROC, AveragePrecision])
def test_an_area_of_one_item_is_refused(metric):
    with pytest.raises(DataError, match="use larger splits"):
        value_of(metric(), torch.zeros(1, 1), torch.ones(1))


def test_the_program_of_lrgb_on_average_precision():
    case = golden("lrgb")["average_precision"]
    scores = torch.sin(1.3 * torch.arange(48, dtype=torch.float64)).view(12, 4)
    y = torch.tensor([[np.nan if v is None else v for v in row] for row in case["labels"]], dtype=torch.float64)
    assert value_of(AveragePrecision(), scores, y, [5]) == pytest.approx(case["ap"], abs=1e-9)
    for column, expected in enumerate(case["per_class"]):
        assert value_of(AveragePrecision(), scores[:, column], y[:, column]) == pytest.approx(expected, abs=1e-9)
    y[:, 3] = 0
    assert value_of(AveragePrecision(), scores, y) == pytest.approx(
        case["ap_when_column3_all_zero"], abs=1e-7
    )  # float32 there


def areas(metric, scores, y):
    """The area of each class of these scores, as they are."""
    metric.update(scores, y)
    return [metric.area(s, y == c) for c, s in enumerate(scores.double().T)]


def test_the_program_of_the_taxonomy_on_ties():
    """Without ties both rules agree. Constant scores give 0.267, 0.6 and 0.667 with the program, 0.5 with mid-ranks. Of class 1,
    items 3 (positive) and 6 (negative) are tied: 12 of 15 pairs are right if the first is taken for higher, as numpy's sort has
    it on some processors, 11 if the later is, as here."""
    case = golden("taxonomy")["auroc"]
    y, constant = torch.tensor(case["labels"]), torch.zeros(8, 3)
    distinct, tied = (torch.tensor(case[f"{name}_scores"]) for name in ("distinct", "tied"))
    for scores, key in ((distinct, "on_distinct"), (tied, "on_tied"), (constant, "all_equal")):
        assert areas(AUROC(), scores, y) == pytest.approx(case[f"per_class_midrank_{key}"], abs=1e-7)
    for scores, key in ((distinct, "on_distinct"), (constant, "all_scores_equal")):
        assert areas(AUROC(ties="program"), scores, y) == pytest.approx(case[f"per_class_program_{key}"], abs=1e-7)
        expected = np.mean(case[f"per_class_program_{key}"])
        assert value_of(AUROC(ties="program"), scores.log() if scores.any() else scores, y, [2, 5]) == pytest.approx(
            expected
        )
    assert case["per_class_program_on_tied_numpy_argsort"][1] == pytest.approx(12 / 15)
    assert areas(AUROC(ties="program"), tied, y) == pytest.approx([14 / 15, 11 / 15, 1.0])
    assert AUROC(ties="program").measures[0].name == "AUROC_program"


def test_the_programs_ties_are_a_matter_of_three_classes_or_more():
    scores, y = torch.zeros(6, 2), torch.tensor([0, 0, 1, 1, 1, 1])
    assert value_of(AUROC(ties="program"), scores, y) == 0.5
    assert value_of(AUROC(ties="program"), torch.zeros(6, 3), torch.stack([y, y, y], 1).double()) == 0.5
    with pytest.raises(ValueError, match="ties='last'"):
        AUROC(ties="last")


# OGB


def ogb_evaluator(module, name):
    """OGB's evaluator, imported without the network call of its version check and without what else it would load."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for other in ("outdated", "torch_geometric"):
            patch.setitem(sys.modules, other, None)
        evaluate = pytest.importorskip(module, reason="no ogb, which dgl 2.1.0 would import everywhere")
    return evaluate.Evaluator(name)


@pytest.mark.parametrize(
    ("name", "key", "metric"), [("ogbg-moltox21", "rocauc", AUROC), ("ogbg-molpcba", "ap", AveragePrecision)]
)
@pytest.mark.parametrize("seed", range(3))
def test_areas_with_gaps_are_ogbs(name, key, metric, seed):
    evaluator, random = ogb_evaluator("ogb.graphproppred", name), np.random.RandomState(seed)
    y = random.choice([0, 1, np.nan], (60, evaluator.num_tasks), p=[0.7, 0.1, 0.2])
    y[:, 1], y[:, 2], y[:, 3] = 0, np.nan, 1  # columns without one of the kinds
    scores = random.randn(*y.shape).round(1)  # ties
    expected = evaluator.eval({"y_true": y, "y_pred": scores})[key]
    assert value_of(metric(), torch.from_numpy(scores), torch.from_numpy(y), [7, 31]) == pytest.approx(expected)


# Hits@K


def slow_hits(positive, negative, K):
    """A positive pair is a hit if fewer than K negatives score as high as it or higher."""
    return 100 * sum(sum(n >= p for n in negative) < K for p in positive) / len(positive)


@st.composite
def links(draw):
    n_positive, n_negative = draw(st.integers(1, 30)), draw(st.integers(0, 60))
    random = np.random.RandomState(draw(st.integers(0, 2**31)))
    levels = draw(st.integers(1, 40))  # few levels: many ties
    scores = torch.from_numpy(random.randint(-levels, levels, n_positive + n_negative) / 3).float()
    y = torch.from_numpy(random.permutation([1] * n_positive + [0] * n_negative))
    return scores, y, clipped(draw(cuts_of), len(y))


@given(links(), st.integers(1, 70))
def test_hits_at_k_is_the_slow_loops_with_ties_and_any_batches(case, K):
    scores, y, cuts = case
    positive, negative = scores[y == 1].tolist(), scores[y == 0].tolist()
    expected = {f"Hits@{k}": slow_hits(positive, negative, k) for k in (K, 1, 7)}
    expected |= {f"Hits@{K}_paper": slow_hits(positive, negative[: len(positive)], K)}
    assert all_values(HitsAtK(K, other_K=(1, 7)), scores[:, None], y, cuts) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(5))
def test_hits_at_k_is_ogbs(seed):
    evaluator, random = ogb_evaluator("ogb.linkproppred", "ogbl-collab"), np.random.RandomState(seed)
    n_positive, n_negative = random.randint(1, 500), random.randint(1, 2000) if seed else 30  # 30 < K
    positive, negative = random.randn(n_positive) + 1, random.randn(n_negative)
    positive, negative = (torch.from_numpy(x.round(1)).float() for x in (positive, negative))  # ties
    y = torch.cat([torch.ones(n_positive), torch.zeros(n_negative)])
    found = all_values(HitsAtK(50), torch.cat([positive, negative]), y, [n_positive // 2])
    for K in (10, 50, 100):
        evaluator.K = K
        expected = evaluator.eval({"y_pred_pos": positive, "y_pred_neg": negative})[f"hits@{K}"]
        assert found[f"Hits@{K}"] == pytest.approx(100 * expected)


def test_hits_at_k_by_hand():
    y = torch.tensor([1, 1, 1, 1, 0, 0, 0])
    scores = torch.tensor([0.9, 0.5, 0.4, 0.1, 0.8, 0.5, 0.3])
    # negatives 0.8, 0.5, 0.3: the second highest is 0.5; 0.9 is above it, 0.5 is not
    assert value_of(HitsAtK(1), scores, y) == 25
    assert value_of(HitsAtK(2), scores, y) == 25
    assert value_of(HitsAtK(3), scores, y) == 75
    assert value_of(HitsAtK(4), scores, y) == 100  # fewer negatives than K


def test_the_papers_hits_look_at_as_many_negatives_as_positives():
    found = all_values(HitsAtK(1, other_K=()), torch.tensor([0.6, 0.2, 0.3, 0.1, 0.9]), torch.tensor([1, 1, 0, 0, 0]))
    assert found == {"Hits@1": 0.0, "Hits@1_paper": 50.0}  # the negative of 0.9 is the third


def test_hits_without_a_positive_pair():
    with pytest.raises(DataError, match="no positive pair"):
        value_of(HitsAtK(), torch.zeros(3, 1), torch.zeros(3))


# Ranks inside graphs


def edgeless(sizes):
    return dgl.batch([dgl.graph(([], []), num_nodes=n) for n in sizes])


def batch_of(graphs):
    """(g, of, scores, y) of [(S (n, n), [(h, t), …])]: all pairs of each graph; y is NaN where a pair is not true."""
    of, scores, y, start = [], [], [], 0
    for S, true in graphs:
        n = len(S)
        of += [(start + h, start + t) for h in range(n) for t in range(n)]
        scores += np.asarray(S).reshape(-1).tolist()
        y += [1.0 if (h, t) in true else np.nan for h in range(n) for t in range(n)]
        start += n
    return edgeless([len(S) for S, _ in graphs]), torch.tensor(of).T, torch.tensor(scores), torch.tensor(y)


def slow_ranks(S, true, setting):
    """For each true pair (h, t): one more than the number of candidates x that score strictly higher."""
    ranks = []
    for h, t in true:
        left_out = {t}
        left_out |= {x for head, x in true if head == h} if setting != "raw" else set()
        left_out |= {h} if setting == "filtered_noself" else set()
        ranks.append(1 + sum(S[h][x] > S[h][t] for x in range(len(S)) if x not in left_out))
    return ranks


def slow_values(graphs):
    """Mean over the true pairs of a graph, then over the graphs that have any."""
    values = {}
    for setting in PairRanks.SETTINGS:
        suffix = "" if setting == "raw" else f"_{setting}"
        ranks = [np.array(slow_ranks(S, true, setting)) for S, true in graphs if true]
        values[f"MRR{suffix}"] = np.mean([(1 / r).mean() for r in ranks])
        values |= {f"Hits@{k}{suffix}": np.mean([(r <= k).mean() for r in ranks]) for k in (1, 3, 10)}
    return values


@st.composite
def ranked_graphs(draw):
    graphs = []
    for n in draw(st.lists(st.integers(1, 7), min_size=1, max_size=5)):
        random = np.random.RandomState(draw(st.integers(0, 2**31)))
        S = random.randint(0, draw(st.sampled_from([2, 5, 1000])), (n, n)).astype(float)  # many ties, some, few
        true = [(h, t) for h in range(n) for t in range(n) if random.rand() < 0.3]
        graphs.append((S.tolist(), true))
    graphs[0] = (graphs[0][0], graphs[0][1] or [(0, 0)])
    return graphs, draw(st.integers(0, len(graphs)))


@settings(deadline=None)
@given(ranked_graphs())
def test_ranks_inside_graphs_are_the_slow_loops(case):
    graphs, cut = case
    metric = PairRanks()
    for some in (graphs[:cut], graphs[cut:]):
        if some:
            g, of, scores, y = batch_of(some)
            metric.update(scores[:, None], y, g, of)
    values = metric.compute()
    assert values == pytest.approx(slow_values(graphs))
    assert list(values) == [measure.name for measure in metric.measures] and metric.measures[0].name == "MRR"
    assert values["MRR"] <= values["MRR_filtered"] <= values["MRR_filtered_noself"]
    # the order of the pairs is of no consequence
    g, of, scores, y = batch_of(graphs)
    order = torch.from_numpy(np.random.RandomState(0).permutation(len(y)))
    metric = PairRanks(ks=(3,), settings=("filtered",))
    metric.update(scores[order], y[order], g, of[:, order])
    assert metric.compute() == pytest.approx({name: values[name] for name in ("MRR_filtered", "Hits@3_filtered")})


def embedded(n, off, **_):
    i, c = torch.meshgrid(torch.arange(n) + off, torch.arange(3), indexing="ij")
    h = torch.sin(1.7 * i.double() + 2.3 * c)
    return (h @ h.T).tolist()


def test_the_program_of_lrgb_on_ranks():
    """Three graphs, one by one, together, and as an epoch of two batches of 24 and 12 labelled pairs."""
    case = golden("lrgb")["ranking_metric"]
    graphs = [(embedded(**graph), [tuple(pair) for pair in graph["pos"]]) for graph in case["graphs"]]
    for (S, true), ranks in zip(graphs, case["ranks_by_hand"].values(), strict=True):
        assert {setting: slow_ranks(S, true, setting) for setting in ranks} == ranks
    expected = {"graph0": graphs[:1], "graph1": graphs[1:2], "graph2": graphs[2:]}
    expected |= {"batch_0_1": graphs[:2], "batch_0_1_2": graphs, "all_ties_n5": [([[0.0] * 5] * 5, [(0, 1), (2, 4)])]}
    for name, some in expected.items():
        metric, (g, of, scores, y) = PairRanks(), batch_of(some)
        metric.update(scores, y, g, of)
        found = {key.replace("MRR", "mrr").replace("Hits", "hits"): value for key, value in metric.compute().items()}
        assert found == pytest.approx(case[name], abs=1e-6)


def test_ranks_need_pairs():
    with pytest.raises(ValueError, match="pairs of nodes"):
        PairRanks().update(torch.zeros(2), torch.ones(2), edgeless([2]), torch.tensor([0, 1]))
    with pytest.raises(DataError, match="MRR: there is no true pair"):
        PairRanks().compute()
    with pytest.raises(ValueError, match="settings='best'"):
        PairRanks(settings=("best",))


def test_one_pair():
    metric = PairRanks()
    metric.update(torch.zeros(1), torch.ones(1), edgeless([1]), torch.tensor([[0], [0]]))
    assert set(metric.compute().values()) == {1.0}


# All of them


@pytest.mark.parametrize(
    "make", [Accuracy, WeightedAccuracy, MacroF1, BinaryF1, MAE, R2, AUROC, AveragePrecision, HitsAtK]
)
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_scores_that_are_no_numbers_are_refused(make, bad):
    with pytest.raises(FloatingPointError, match="NaN"):
        make().update(torch.tensor([[bad, 0.0]]), torch.tensor([[0, 0]]))


def test_ranks_of_scores_that_are_no_numbers_are_refused():
    with pytest.raises(FloatingPointError, match="NaN"):
        PairRanks().update(torch.tensor([float("nan")]), torch.ones(1), edgeless([1]), torch.tensor([[0], [0]]))


@pytest.mark.parametrize("make", [Accuracy, WeightedAccuracy, MacroF1])
def test_a_single_item_is_right_or_wrong(make):
    scores, high = torch.tensor([[0.0, 1.0, 0.0]]), make.measures[0].high
    assert value_of(make(), scores, torch.tensor([1])) == high and value_of(make(), scores, torch.tensor([2])) == 0


def test_several_metrics_are_one_whose_first_measure_selects():
    metric = Metrics(AUROC(), Accuracy(), MacroF1())
    assert [measure.name for measure in metric.measures] == ["AUROC", "accuracy", "macro_F1"]
    scores, y = torch.eye(3)[[0, 1, 1, 2]], torch.tensor([0, 1, 2, 2])
    values = all_values(metric, scores, y, [2])
    assert values["accuracy"] == 75.0 and values["AUROC"] == value_of(AUROC(), scores, y)
    with pytest.raises(ValueError, match="accuracy, accuracy: expected different names"):
        Metrics(Accuracy(), WeightedAccuracy())


def test_what_a_metric_says_of_itself():
    """Name, direction, unit and range: by these its results are checked and printed."""
    metrics = Accuracy(), BinaryF1(), MAE(), HitsAtK(), MacroF1(), R2(), AUROC(), AveragePrecision()
    said = {measure.name: measure for metric in metrics for measure in metric.measures}
    assert [name for name, measure in said.items() if measure.better == "min"] == ["MAE"]
    assert {name for name, measure in said.items() if measure.percent} == {
        "accuracy",
        *map("Hits@{}".format, (10, 50, 100)),
        "Hits@50_paper",
    }
    assert (said["accuracy"].high, said["F1"].high, said["MAE"].high, said["Hits@50"].high) == (100, 1, None, 100)
    assert all(said[name].high == 1 and said[name].digits == 4 for name in ("macro_F1", "AP", "AUROC", "R2"))
    assert not said["accuracy"].allows(108.0) and not said["F1"].allows(1.1) and not said["MAE"].allows(-0.1)
    assert not said["MAE"].allows(float("nan")) and said["MAE"].allows(1e9) and said["R2"].allows(-3.0)
    assert WeightedAccuracy().measures == Accuracy.measures
    ranks = PairRanks(ks=(1, 10)).measures
    assert [measure.name for measure in ranks][:3] == ["MRR", "Hits@1", "Hits@10"] and len(ranks) == 9
    assert {(measure.better, measure.percent, measure.high) for measure in ranks} == {("max", False, 1)}
