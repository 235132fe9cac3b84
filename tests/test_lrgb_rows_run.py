"""main_LRGB.py runs rows of every model on every dataset, from the command line to the result: on small random graphs with the
datasets' own features and tasks, so that no data is needed."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import main_LRGB
from data.dataset import GraphDataset
from data.LRGB_declared import DECLARED
from data.splits import PARTS
from data.store import Field, PackedWriter
from runs.table_files import find_table

SIZES = (7, 10, 12, 9, 11, 14)  # two graphs of each part
ROWS = [
    *(f"lrgb_{table}/{row}" for table in ("table3_VOC", "table5", "table3_tuned_VOC", "table5_tuned")
      for row in find_table(f"lrgb_{table}").rows),
    "lrgb_table4_func/SAN+LapPE", "lrgb_table4_struct/Transformer+LapPE", "lrgb_table4_tuned_struct/GPS",
    "lrgb_table3_COCO/GatedGCN", "lrgb_tableA2_VOC/slic10-coo-feat-GINE", "lrgb_tableD3_func/GCN",
]  # fmt: skip
LABELS = {
    "graph": lambda n_out: Field("graph", "label", "float32", (n_out,)),
    "node": lambda n_out: Field("node", "label", "int64", n_types=n_out),
    "pair": lambda n_out: Field("pair", "of", "int64", (2,), refers_to="node"),
}


def random_rows(rng, field, n):
    if field.n_types is not None:
        types = field.n_types if isinstance(field.n_types, tuple) else (field.n_types,)
        return np.stack([rng.integers(0, k, n) for k in types], 1).reshape(n, *field.shape)
    return (
        rng.integers(0, 2, (n, *field.shape)).astype(np.float32)
        if field.level == "graph"
        else rng.random((n, *field.shape))
    )


def small(name):
    """A class like that of the dataset, with six small graphs."""

    class Small(GraphDataset):
        version, parameters, declared = 1, {}, DECLARED[name]

        def build(self, path):
            rng, target = np.random.default_rng(0), self.declared.target
            label = LABELS[target.level](target.n_out)
            fields = [replace(self.declared.node), replace(self.declared.edge), label]
            with PackedWriter(path, self.name, fields, {}, total=len(SIZES)) as writer:
                for n in SIZES:
                    child = np.arange(1, n)
                    parent = child - rng.integers(1, 3, n - 1).clip(max=child)
                    src, dst = np.concatenate([child, parent]), np.concatenate([parent, child])
                    rows = {"node": {"feat": random_rows(rng, self.declared.node, n)}}
                    rows["edge"] = {"feat": random_rows(rng, self.declared.edge, len(src))}
                    if target.level == "graph":
                        rows["graph"] = {"label": (np.arange(target.n_out) + n) % 2 * 1.0}
                    elif target.level == "node":
                        rows["node"]["label"] = np.arange(n) % 3
                    else:
                        rows["pair"] = {"of": np.array([[0, n - 1], [n - 1, 0], [1, n - 2], [n - 2, 1]])}
                    writer.add(n, src, dst, **rows)
                writer.add_split("split", **{part: [2 * i, 2 * i + 1] for i, part in enumerate(PARTS)})

    Small.name = name
    return Small


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    return str(tmp_path_factory.mktemp("lrgb_stores"))


@pytest.mark.parametrize("row", ROWS)
def test_a_row_runs(row, tmp_path, stores, monkeypatch, capsys):
    monkeypatch.setattr(main_LRGB, "DATASETS", {name: small(name) for name in DECLARED})
    words = ["--config", row, "--train.stop.epochs", "2", "--progress", "false", "--device", "cpu"]
    main_LRGB.main([*words, "--data.store_dir", stores, "--data.workers", "1", "--out_dir", str(tmp_path)])
    assert row in capsys.readouterr().out
    (path,) = Path(tmp_path).rglob("result.json")
    result = json.loads(path.read_text())
    assert result["status"] == "ok" and result["select"] == "best_val" and result["epochs"] == 2
    names = {m["name"] for m in result["measures"]}
    assert names <= set(result["metrics"]["best_val"]["test"])
    if "table5" in row:
        assert {"MRR", "MRR_filtered", "MRR_filtered_noself", "Hits@10"} <= names


def test_the_default_is_gcn_on_peptides(monkeypatch):
    seen = {}
    monkeypatch.setattr(
        main_LRGB, "parse_config", lambda *a, **keys: seen.update(keys) or (_ for _ in ()).throw(SystemExit)
    )
    with pytest.raises(SystemExit):
        main_LRGB.main([])
    assert seen["default"] == "lrgb_table4_func/GCN"
