"""main_LRGB.py trains one epoch on each kind of data: labels and numbers of graphs, pairs of nodes, classes of nodes."""

import json

import pytest

import main_LRGB
from tests.data.test_LRGB_molecules import contact_class, small_split, struct_class  # noqa: F401 - fixtures


def trained(folder, data_dir, dataset, model, *more):
    """The result of one epoch by the command line."""
    words = ["--dataset", dataset, "--model", model, "--data.data_dir", str(data_dir), "--data.raw_dir", str(folder)]
    words += [
        "--data.store_dir",
        str(folder / "stores"),
        "--data.offline",
        "--data.workers",
        "1",
        "--progress",
        "false",
    ]
    main_LRGB.main([*words, "--out_dir", str(folder / "out"), "--train.stop.epochs", "1", *more])
    (path,) = (folder / "out").rglob("result.json")
    return json.loads(path.read_text())


def test_contacts(tmp_path, contact_class, capsys):  # noqa: F811
    """Ranks raw, filtered, and filtered without self: leaving out candidates cannot make a rank worse."""
    test = trained(tmp_path, tmp_path, "PCQM-Contact", "GCN")["metrics"]["last"]["test"]
    for name in ("MRR", "Hits@1", "Hits@3", "Hits@10"):
        assert 0 <= test[name] <= test[f"{name}_filtered"] <= test[f"{name}_filtered_noself"] <= 1
    assert 0 < test["MRR"] < test["MRR_filtered_noself"]
    assert "test MRR" in capsys.readouterr().out


def test_shapes(tmp_path, struct_class, capsys):  # noqa: F811
    trained(tmp_path, tmp_path, "Peptides-struct", "GINE")
    assert "test MAE" in capsys.readouterr().out


@pytest.mark.parametrize(("dataset", "metric"), [("Peptides-func", "AP"), ("PascalVOC-SP-300", "macro_F1")])
def test_real_data(tmp_path, real_data, dataset, metric, capsys):
    trained(tmp_path, real_data, dataset, "GatedGCN", "--data.limit", "6" if dataset == "Peptides-func" else "1")
    assert f"test {metric}" in capsys.readouterr().out
