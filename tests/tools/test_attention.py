"""Mean attention by distance: the golden means, a trained net from its run to the picture, correlations of labels."""

import json

import numpy as np
import pytest
import torch

import main_CSL
from layers.transformer_layer import TransformerLayer
from tables import plot
from tests.nets import lrgb
from tools import attention, label_correlations

ROW = {
    "dataset": "CSL",
    "net": {"model": "Transformer", "L": 2, "hidden_dim": 8, "n_heads": 2, "encodings": [{"kind": "LapPE", "k": 3}]},
    "train": {"batch_size": 5, "optimizer": {"kind": "adam", "lr": 0.001}, "stop": {"epochs": 1}},
}


def test_the_means_by_distance():
    """Of the transformer layer of the golden numbers: 8, 16 and 10 ordered pairs at distance 0, 1 and 2."""
    layer = TransformerLayer(4, 2)
    names = ["attention.qkv", "attention.O", lrgb.UNREAD, "norm1", "feed_forward", "norm2"]
    lrgb.filled(layer, lrgb.parameters_of(layer, names))
    g, found = lrgb.golden_graph(), attention.ByDistance(1)
    with torch.no_grad():
        found.add(g, [layer.attention.weights(g, lrgb.node_features())])
    assert found.pairs.tolist() == [8, 16, 10]
    np.testing.assert_allclose(found.layers()[0], [0.26632276, 0.23453745, 0.21168187], rtol=0, atol=1e-8)


def test_rows_of_the_weights_sum_to_one_in_the_order_of_the_graphs():
    torch.manual_seed(0)
    layer, g = TransformerLayer(4, 2).double(), lrgb.golden_graph()
    weights = layer.attention.weights(g, lrgb.node_features())
    assert [tuple(w.shape) for w in weights] == [(2, 5, 5), (2, 3, 3)]
    for w in weights:
        torch.testing.assert_close(w.sum(2), torch.ones_like(w.sum(2)))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A Transformer after an epoch on ten graphs of each part of CSL."""
    folder = tmp_path_factory.mktemp("attention")
    (folder / "mine.json").write_text(json.dumps({"main": "CSL", "seeds": [1], "rows": {"T": ROW}}))
    words = ["--config", f"{folder}/mine.json/T", "--folds", "0", "--data.limit", "10", "--progress", "false"]
    main_CSL.main([*words, "--out_dir", f"{folder}/out", "--data.store_dir", f"{folder}/stores"])
    (found,) = (folder / "out").rglob("fold_0")
    return found


def test_from_a_run_to_the_picture(run, tmp_path, capsys):
    assert attention.main([str(run), "--graphs", "4"]) == 0
    content = json.loads((run / "attention.json").read_text())
    assert content["graphs"] == 4 and len(content["layers"]) == 2
    assert sum(content["pairs"]) == 4 * 41**2 and content["pairs"][:2] == [4 * 41, 4 * 41 * 4]
    for layer in content["layers"]:  # every row of 41 weights sums to one
        assert sum(m * n for m, n in zip(layer, content["pairs"], strict=True)) == pytest.approx(4 * 41)
    assert plot.main(["attention", str(run), "--save", str(tmp_path / "a.png")]) == 0
    assert (tmp_path / "a.png").stat().st_size > 5000
    assert "drawn" in capsys.readouterr().out


def test_what_is_missing_is_one_line(tmp_path, run):
    with pytest.raises(SystemExit, match=r"no such file: write it by python -m tools\.attention"):
        plot.main(["attention", str(tmp_path), "--save", str(tmp_path / "a.png")])
    (tmp_path / "attention.json").write_text('{"layers": [["x"]]}')
    with pytest.raises(SystemExit, match="not readable"):
        plot.main(["attention", str(tmp_path), "--save", str(tmp_path / "a.png")])
    with pytest.raises(SystemExit, match="not the folder of a run"):
        attention.main([str(tmp_path / "nothing")])


def test_a_net_without_attention_is_refused(run, monkeypatch):
    monkeypatch.delattr("nets.transformer_net.TransformerNet.attention_weights")
    with pytest.raises(SystemExit, match="has no attention between all nodes"):
        attention.main([str(run)])


def test_correlations_of_labels():
    rng = np.random.default_rng(0)
    y = rng.normal(size=(50, 4))
    y[:, 1] = y[:, 0] * -2 + 1
    y[3, 2] = np.nan
    y[:, 3] = 5
    found = label_correlations.correlations(y)
    kept = np.delete(y, 3, 0)
    assert found[0, 1] == pytest.approx(-1) and np.isnan(found[3]).all()
    assert found[0, 2] == pytest.approx(np.corrcoef(kept[:, 0], kept[:, 2])[0, 1])
    assert len(label_correlations.draw(found, "labels", "abcd").axes) == 2
