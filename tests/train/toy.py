"""Small tasks of every level, and runs in a temporary folder, for the tests of the training."""

import json

import numpy as np
import torch

from data.dataset import Features
from data.folds import GraphFold
from data.store import Field, Packed, PackedWriter
from nets import NETS, build_net
from runs.table_files import with_changes
from train.cli import parse_config
from train.config import TrainConfig
from train.random_state import seed_all
from train.tasks import EdgeClassification, GraphClassification, GraphRegression, NodeClassification

TRAIN = {
    "batch_size": 3,
    "optimizer": {"kind": "adam", "lr": 0.01},
    "schedule": {"kind": "plateau", "patience": 2},
    "stop": {"epochs": 4, "min_lr": 1e-4},
}
TASKS = {
    "graph": (GraphClassification(2), Field("graph", "label", "int64", n_types=2)),
    "regression": (GraphRegression(3), Field("graph", "label", "float32", (3,))),
    "node": (NodeClassification(2), Field("node", "label", "int64", n_types=2)),
    "edge": (EdgeClassification(), Field("edge", "label", "int64", n_types=2)),
}


def make_store(path, field, n_graphs=12):
    """Random graphs whose labels follow from a node feature, so that they can be learned."""
    random = np.random.RandomState(0)
    with PackedWriter(path, "toy", [Field("node", "feat", "float32", (2,)), field]) as writer:
        for i in range(n_graphs):
            n = random.randint(3, 7)
            src, dst = random.randint(0, n, (2, 2 * n))
            feat = random.randn(n, 2).astype(np.float32)
            feat[:, 1] = i % 2
            label = {
                "graph": (feat[0, :1].repeat(3) if field.shape else i % 2),
                "node": (feat[:, 0] > 0).astype(np.int64),
                "edge": (feat[src, 0] > feat[dst, 0]).astype(np.int64),
            }[field.level]
            data = {"node": {"feat": feat}, "edge": {}, "graph": {}}
            data[field.level]["label"] = label
            writer.add(n, src, dst, **data)
        writer.add_split("fold0", train=range(0, 6), val=range(6, 9), test=range(9, 12))
    return Packed(path)


def toy(tmp_path, kind="graph", train=(), **net):
    """(net, fold, task, config) of a small task; `train` are changed keys as {"stop.epochs": 60}."""
    task, field = TASKS[kind]
    path = tmp_path / kind
    store = Packed(path) if path.exists() else make_store(path, field)
    seed_all(1)
    config = NETS["GCN"].Config(**{"L": 2, "hidden_dim": 16, **net})
    net = build_net(config, Features(store.fields["node.feat"], None), task)
    return net, GraphFold("fold0", store, store.split("fold0")), task, TrainConfig(**with_changes(TRAIN, dict(train)))


def run_in(tmp_path, *words, fold=0):
    """A run of main_CSL.py's default row; `fit` is told separately what it trains."""
    words = ["--out_dir", str(tmp_path / "out"), "--progress", "false", *words]
    return parse_config(words, main="CSL", datasets=["CSL"], default="table3/GCN-LapPE-L4").run(fold)


def epochs_of(run):
    """The lines of metrics.jsonl without the times, which differ between runs."""
    lines = [json.loads(line) for line in (run.path / "metrics.jsonl").read_text().splitlines()]
    return [{key: value for key, value in line.items() if key not in ("seconds", "elapsed")} for line in lines]


def same_weights(a, b):
    a, b = a.state_dict(), b.state_dict()
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)
