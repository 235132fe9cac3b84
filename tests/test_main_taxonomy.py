"""main_taxonomy.py on many graphs and on one: perturbed data, two classes as one output, seeds that draw their own data."""

import json

import numpy as np
import pytest

import main_taxonomy
from data import registry
from data.node_graphs import NodeGraph, Nodes
from data.transforms.perturb import Frag
from runs.collect import read_results

SELECT = {"epoch": "best_val", "ties": "first", "digits": 5, "every": 2}
TRAIN = {"batch_size": 16, "optimizer": {"kind": "adam", "lr": 0.01}, "stop": {"epochs": 3}, "select": SELECT}
VARIANTS = {
    "NodeDeg": {"data": {"transforms": [{"kind": "NodeDeg", "columns": "distinct"}]}},
    "Frag-k1": {"data": {"transforms": [{"kind": "Frag", "k": 1}]}},
}


class Ring(NodeGraph):
    """A ring of 60 nodes with chords and two classes, without published splits."""

    name, parameters, raw_files, counts = "Ring", {}, (), (60, 150, 3, 2)

    def read(self):
        i = np.arange(60)
        edges = [(i, (i + 1) % 60), ((i + 1) % 60, i), (i[:30], i[:30] + 30)]
        return Nodes(np.eye(3)[i % 3], i // 10 % 2, np.concatenate([np.stack(e, 1) for e in edges]))


@pytest.fixture
def run(tmp_path, monkeypatch, store_dir, capsys):
    monkeypatch.setitem(registry.DATASETS, "Ring", Ring)
    rows = {
        "Ring": {"dataset": "Ring", "net": {"model": "TaxonomyGCN", "batch_norm": False, "hidden_dim": 8, "L": 2}},
        "CSL": {"dataset": "CSL", "net": {"model": "TaxonomyGIN", "hidden_dim": 8, "L": 2}, "data": {"limit": 20}},
    }
    table = {"main": "taxonomy", "seeds": [0], "shared": {"train": TRAIN}, "rows": rows, "variants": VARIANTS}
    (tmp_path / "mine.json").write_text(json.dumps(table))

    def run(row, *words):
        main_taxonomy.main(["--config", f"{tmp_path}/mine.json/{row}", "--out_dir", str(tmp_path / "out"), *words])
        return [
            json.loads(path.read_text()) for path in sorted((tmp_path / "out").rglob("result.json"))
        ], capsys.readouterr().out

    monkeypatch.setenv("GNN_STORES", store_dir)
    return run


def test_one_graph(run, store_dir, tmp_path):
    """Each seed draws its split and its fragments; two classes are one output; epochs 1 and 2 were validated."""
    out = tmp_path / "out"
    results, text = run("Ring+Frag-k1", "--seeds", "0,1", "--data.store_dir", store_dir)
    assert [r["seed"] for r in results] == [0, 1] and results[0]["dataset"]["hash"] != results[1]["dataset"]["hash"]
    # 3 x 8 + 8 of the input, two layers of 8 x 8 + 8, the head of 8 x 8 + 8 and 8 + 1
    assert {r["params"] for r in results} == {32 + 2 * 72 + 72 + 9} and results[0]["best_val_epoch"] in (1, 2)
    assert results[0]["dataset"]["source"] == results[1]["dataset"]["source"]
    assert [r["seed"] for r in read_results([out])[0]] == [0, 1]  # both count, though their fragments differ
    assert "test AUROC" in text and 0 <= results[0]["metrics"]["best_val"]["test"]["AUROC"] <= 1


def test_many_graphs(run, store_dir):
    results, _ = run("CSL+NodeDeg", "--folds", "0", "--data.store_dir", store_dir)
    assert len(results) == 1 and results[0]["status"] == "ok" and results[0]["measures"][0]["name"] == "AUROC"


def test_nodes_without_features_are_refused_in_one_line(run, store_dir):
    with pytest.raises(ValueError, match=r"add NoNodeFtrs to data\.transforms"):
        run("CSL", "--folds", "0", "--data.store_dir", store_dir)


def test_a_finished_run_is_not_perturbed_again(run, store_dir, monkeypatch):
    first, _ = run("Ring+Frag-k1", "--data.store_dir", store_dir)
    monkeypatch.setattr(Frag, "apply", None)
    assert run("Ring+Frag-k1", "--data.store_dir", store_dir)[0] == first
