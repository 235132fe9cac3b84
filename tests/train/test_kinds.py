"""Every kind of question end to end: a small dataset of its own, trained in a run folder, its metrics computed again from the net.

Several labels with gaps; regression of several targets on OGB's columns; nodes of one graph by masks; pairs inside graphs by rank.
"""

import copy
import json

import numpy as np
import pytest
import torch
from sklearn import metrics as sk
from torch import nn

from data.dataset import DataConfig, GraphDataset
from data.errors import DataError
from data.store import Field, PackedWriter
from nets import NETS, build_net
from nets.heads import Scores
from runs.result import problem_of
from tables import row_report
from tests.train.test_metrics import slow_values
from tests.train.toy import run_in
from train.config import TrainConfig
from train.loop import Trainer, fit
from train.metrics import AUROC, MAE, R2, Accuracy, AveragePrecision, MacroF1, PairRanks
from train.tasks import Classification, GraphRegression, LinkPrediction, MultiLabel, NodeClassification

N_TYPES = (7, 3, 2)


class Small(GraphDataset):
    """48 random graphs of 4 to 8 nodes with three categorical columns; a subclass says what is asked of them."""

    version, parameters, fields = 1, {}, ()

    def build(self, path):
        feat = Field("node", "feat", "uint8", (3,), n_types=N_TYPES)
        with PackedWriter(path, self.name, [feat, *self.fields]) as writer:
            for i in range(48):
                random = np.random.default_rng([7, i])
                n = int(random.integers(4, 9))
                src, dst = random.integers(0, n, (2, 2 * n))
                feat = np.stack([random.integers(0, k, n) for k in N_TYPES], 1)
                answer = {self.fields[0].level: self.answer(feat, random)}
                writer.add(n, [*src, *dst], [*dst, *src], node={"feat": feat}, **answer)
            writer.add_split("split", train=range(24), val=range(24, 36), test=range(36, 48))


class Labels(Small):
    """Three labels: whether a graph has a node of type 6, of type 0, mostly ones in the last column. A third of them is missing."""

    name, fields = "Labels", (Field("graph", "label", "float32", (3,), finite=False),)

    def answer(self, feat, random):
        y = np.array([(feat[:, 0] == 6).any(), (feat[:, 0] == 0).any(), feat[:, 2].mean() > 0.5], dtype=np.float32)
        y[random.random(3) < 0.3] = np.nan
        return {"label": y}


class Targets(Small):
    """Two numbers of a graph: the means of two columns."""

    name, fields = "Targets", (Field("graph", "label", "float32", (2,)),)

    def answer(self, feat, random):
        return {"label": feat[:, :2].mean(0).astype(np.float32)}


class Contacts(Small):
    """Nodes with a 1 in the last column are in contact, in both directions."""

    name, fields = "Contacts", (Field("pair", "of", "int8", (2,), refers_to="node"),)

    def answer(self, feat, random):
        touch = (feat[:, None, 2] == 1) & (feat[None, :, 2] == 1)
        np.fill_diagonal(touch, False)
        return {"of": np.argwhere(touch)}


class OneNode(Small):
    """One node of each graph is asked of: its first column is the label."""

    name = "OneNode"
    fields = Field("graph", "of", "int8", refers_to="node"), Field("graph", "label", "int8", n_types=7)

    def answer(self, feat, random):
        chosen = int(random.integers(len(feat)))
        return {"of": chosen, "label": feat[chosen, 0]}


class OneGraph(GraphDataset):
    """A graph of 90 nodes in three communities; the label is the community, a column says it for most nodes."""

    name, version, parameters = "OneGraph", 1, {}

    def build(self, path):
        random = np.random.default_rng(3)
        y = np.arange(90) % 3
        src, dst = random.integers(0, 90, (2, 900))
        kept = (y[src] == y[dst]) | (random.random(900) < 0.1)
        src, dst = src[kept], dst[kept]
        seen = np.where(random.random(90) < 0.8, y, random.integers(0, 3, 90))
        fields = [Field("node", "feat", "uint8", n_types=3), Field("node", "label", "uint8", n_types=3)]
        with PackedWriter(path, self.name, fields) as writer:
            writer.add(90, [*src, *dst], [*dst, *src], node={"feat": seen, "label": y})
            for k in range(2):
                parts = np.split(random.permutation(90), [30, 60])
                writer.add_split(f"mask{k}", level="node", **dict(zip(("train", "val", "test"), parts, strict=True)))


TRAIN = TrainConfig(
    batch_size=8,
    optimizer={"kind": "adam", "lr": 0.01},
    schedule={"kind": "plateau", "patience": 10, "of": "metric"},
    stop={"epochs": 40},
    select={"epoch": "best_val"},
)


def trained(dataset, task, tmp_path, fold=0, train=TRAIN, wrap=lambda net: net, **keys):
    """(result, net, fold) of a short training; the net has the weights of the best validation."""
    dataset = dataset(DataConfig(store_dir=str(tmp_path)))
    net = wrap(build_net(NETS["GCN"].Config(L=2, hidden_dim=24, **keys), dataset.features, task, seed=1))
    run, fold = run_in(tmp_path), dataset.fold(fold)
    result = fit(net, fold, task, train, run)
    assert problem_of(json.loads((run.path / "result.json").read_text())) == "" and result["status"] == "ok"
    assert [measure["name"] for measure in result["measures"]] == [m.name for m in task.metric().measures]
    lines = [json.loads(line) for line in (run.path / "metrics.jsonl").read_text().splitlines()]
    names = {"loss", *(measure["name"] for measure in result["measures"])}
    assert len(lines) == result["epochs"] and all(set(line["train"]) == set(line["val"]) == names for line in lines)
    first, values = task.metric().measures[0], [line["val"] for line in lines]
    best = (max if first.better == "max" else min)(value[first.name] for value in values)
    assert result["metrics"]["best_val"]["val"][first.name] == pytest.approx(best)  # the first measure selects
    report = row_report("mine", [{**result, "config": {"dataset": "mine"}}])
    assert all(f"test {measure['name']}" in report for measure in result["measures"])
    assert list((run.path / "tensorboard").iterdir())
    return result, net, fold


def predictions(net, fold, part="test", batch_size=5):
    """(scores, y) of a part, from batches of another size than that of the training."""
    net.eval()
    with torch.no_grad():
        found = [(net(g, of), y) for g, of, y in fold.loader(part, batch_size)]
    return tuple(torch.cat(parts).numpy() for parts in zip(*found, strict=True))


def test_several_labels_with_gaps(tmp_path):
    task = MultiLabel("graph", 3, metrics=(AveragePrecision, AUROC))
    result, net, fold = trained(Labels, task, tmp_path)
    found, (scores, y) = result["metrics"]["best_val"]["test"], predictions(net, fold)
    known = ~np.isnan(y)
    assert 0.4 < known.mean() < 0.9
    columns = [(y[k, c], scores[k, c]) for c in range(3) for k in [known[:, c]]]
    assert found["AP"] == pytest.approx(np.mean([sk.average_precision_score(*column) for column in columns]))
    assert found["AUROC"] == pytest.approx(np.mean([sk.roc_auc_score(*column) for column in columns]))
    p = 1 / (1 + np.exp(-scores[known].astype(np.float64)))
    assert found["loss"] == pytest.approx(sk.log_loss(y[known], p), rel=1e-5)
    assert result["metrics"]["last"]["train"]["AUROC"] > 0.85


def test_several_targets(tmp_path):
    task = GraphRegression(2, metrics=(MAE, R2))
    result, net, fold = trained(Targets, task, tmp_path)
    found, (scores, y) = result["metrics"]["best_val"]["test"], predictions(net, fold)
    assert found["MAE"] == pytest.approx(sk.mean_absolute_error(y, scores)) == pytest.approx(found["loss"])
    assert found["R2"] == pytest.approx(sk.r2_score(y, scores)) and found["R2"] > 0


def test_nodes_of_one_graph_by_masks(tmp_path):
    task = NodeClassification(3, weighted=False, metrics=(AUROC, MacroF1, Accuracy))
    result, net, fold = trained(OneGraph, task, tmp_path, fold=1)
    found, (scores, y) = result["metrics"]["best_val"]["test"], predictions(net, fold)
    assert len(y) == 30 and result["select"] == "best_val"
    p = torch.softmax(torch.from_numpy(scores), 1).numpy()
    assert found["AUROC"] == pytest.approx(np.mean([sk.roc_auc_score(y == c, p[:, c]) for c in range(3)]))
    assert found["macro_F1"] == pytest.approx(sk.f1_score(y, scores.argmax(1), average="macro"))
    assert found["accuracy"] == pytest.approx(100 * sk.accuracy_score(y, scores.argmax(1))) and found["accuracy"] > 80


def test_only_the_labels_of_the_training_nodes_are_learned_from(tmp_path):
    """Other labels of validation and test change no weight."""
    nets = []
    for change in (0, 1):

        class Changed(OneGraph):
            name = f"OneGraph{change}"

        task = NodeClassification(3, weighted=False)
        dataset = Changed(DataConfig(store_dir=str(tmp_path)))
        fold = dataset.fold(0)
        if change:
            train = torch.from_numpy(fold.parts["train"])
            other = (fold.batch.y + 1) % 3
            other[train] = fold.batch.y[train]
            fold.batch = fold.batch._replace(y=other)
        net = build_net(NETS["GCN"].Config(L=2, hidden_dim=8), dataset.features, task, seed=1)
        trainer = Trainer(net, fold, task, TRAIN, 1, torch.device("cpu"))
        records = [trainer.run_epoch(lambda: None) for _ in range(3)]
        nets.append((net.state_dict(), records[-1]["val"]["loss"]))
    assert nets[0][1] != nets[1][1]
    assert all(torch.equal(nets[0][0][name], nets[1][0][name]) for name in nets[0][0])


def test_pairs_inside_graphs_by_rank(tmp_path):
    task = LinkPrediction(metrics=(PairRanks,))
    result, net, fold = trained(Contacts, task, tmp_path)
    found = dict(result["metrics"]["best_val"]["test"])
    graphs, loss, n = [], 0.0, 0
    net.eval()
    for g, of, y in fold.loader("test", 1):
        with torch.no_grad():
            scores = net(g, of)[:, 0]
        graphs.append((scores.view(g.num_nodes(), -1).tolist(), [tuple(pair) for pair in of.T[y == 1].tolist()]))
        known = ~y.isnan()
        loss += nn.functional.binary_cross_entropy_with_logits(scores[known], y[known], reduction="sum").item()
        n += int(known.sum())
    assert found.pop("loss") == pytest.approx(loss / n, rel=1e-5)
    assert found == pytest.approx(slow_values(graphs), abs=1e-6)
    assert found["MRR_filtered_noself"] > 0.95 > 0.9 > found["MRR"]  # a head comes before its tails


def test_a_resumed_run_draws_the_same_pairs(tmp_path):
    """What is drawn for training comes from the generator that a checkpoint holds."""
    task = LinkPrediction(metrics=(PairRanks,))
    dataset = Contacts(DataConfig(store_dir=str(tmp_path)))

    def trainer():
        net = build_net(NETS["GCN"].Config(L=2, hidden_dim=8), dataset.features, task, seed=1)
        return Trainer(net, dataset.fold(0), task, TRAIN, 1, torch.device("cpu"))

    def without_times(record):
        return {key: value for key, value in record.items() if key not in ("seconds", "elapsed")}

    whole = trainer()
    whole.run_epoch(lambda: None)
    later = trainer()
    later.restore(copy.deepcopy(whole.state()))
    assert without_times(whole.run_epoch(lambda: None)) == without_times(later.run_epoch(lambda: None))


class Penalised(nn.Module):
    """A net that adds the mean of its squared scores to the loss."""

    def __init__(self, net, factor):
        super().__init__()
        self.net, self.factor = net, factor

    def forward(self, g, of=None):
        scores = self.net(g, of)
        return Scores(scores, self.factor * scores.square().mean())


def test_a_net_may_add_to_the_loss(tmp_path):
    """The penalty is learned from and is in the loss of every split; the metrics are those of the scores."""
    results = {}
    for factor in (0.0, 10.0):
        result, net, fold = trained(
            Targets, GraphRegression(2), tmp_path / str(factor), wrap=lambda net, f=factor: Penalised(net, f)
        )
        results[factor] = result["metrics"]["best_val"]["test"]
        scores, y = predictions(net.net, fold)
        assert results[factor]["MAE"] == pytest.approx(np.abs(scores - y).mean())
    assert results[0.0]["loss"] == pytest.approx(results[0.0]["MAE"])
    assert results[10.0]["loss"] > results[10.0]["MAE"] + 0.02 and results[10.0]["MAE"] > 2 * results[0.0]["MAE"]


def test_a_split_without_any_label_is_refused(tmp_path):
    class NoLabels(Labels):
        name = "NoLabels"

        def answer(self, feat, random):
            return {"label": np.full(3, np.nan, dtype=np.float32)}

    with pytest.raises(DataError, match="NoLabels, split: no label of the train split is known"):
        trained(NoLabels, MultiLabel("graph", 3), tmp_path)


class Exploding(nn.Module):
    """Infinite scores for the label that nobody knows."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, g, of=None):
        return self.net(g, of) + torch.tensor([0.0, 0.0, torch.inf])


def test_infinite_scores_are_a_divergence_even_if_the_loss_is_finite(tmp_path):
    class TwoKnown(Labels):
        name = "TwoKnown"

        def answer(self, feat, random):
            return {"label": np.array([0, 1, np.nan], dtype=np.float32)}

    dataset, task = TwoKnown(DataConfig(store_dir=str(tmp_path))), MultiLabel("graph", 3)
    net = Exploding(build_net(NETS["GCN"].Config(L=1, hidden_dim=4), dataset.features, task))
    result = fit(net, dataset.fold(0), task, TRAIN, run_in(tmp_path))
    assert result["status"] == "Diverged" and "NaN or infinite" in result["stopped_by"]


def test_one_node_of_each_graph(tmp_path):
    result, net, fold = trained(OneNode, Classification("node", 7), tmp_path)
    scores, y = predictions(net, fold)
    assert result["metrics"]["best_val"]["test"]["accuracy"] == pytest.approx(100 * (scores.argmax(1) == y).mean())
    assert len(y) == 12 and result["metrics"]["last"]["train"]["accuracy"] > 60
