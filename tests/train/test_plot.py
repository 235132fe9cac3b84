"""Pictures: what is drawn where, and files that are whole or not there."""

import json

import pytest
from matplotlib.figure import Figure

from tests.train.test_tables import result, save
from train import plot


def write_results(folder):
    """Two folds of a row of ENZYMES and of one of PROTEINS, and one that was out of memory."""
    found = [result("T6-ENZYMES-GAT-L4", 41, None, status="OOM")]
    for row, score in (("T6-ENZYMES-GCN-L4", 60.0), ("T6-PROTEINS-GCN-L4", 70.0)):
        found += [result(row, 41, score + 2 * fold, fold) for fold in (0, 1)]
    save(folder, *found)


def test_points_of_a_table(tmp_path):
    write_results(tmp_path)
    points = {(p.dataset, p.row): p for p in plot.table_points("table6", [tmp_path])}
    gcn = points["ENZYMES", "GCN-L4-seed1"]
    assert gcn.ours == (61.0, 1.0) and gcn.paper == (65.833, 4.610) and gcn.metric == "accuracy (%)"
    assert points["ENZYMES", "GCN-L4-seed2"].ours == "" and points["ENZYMES", "GAT-L4-seed1"].ours == "OOM"
    assert points["DD", "RingGNN-L2-seed1"].paper == "OOM" and points["PROTEINS", "GCN-L4-seed1"].ours == (71.0, 1.0)


def test_each_dataset_has_its_panel(tmp_path):
    write_results(tmp_path)
    points = plot.table_points("table6", [tmp_path])
    figure = Figure()
    plot.draw_table(figure, points)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == [f"{name}, test accuracy (%)" for name in ("ENZYMES", "DD", "PROTEINS")]
    enzymes, dd, _ = figure.axes
    rows = [p.row for p in points if p.dataset == "ENZYMES"]
    assert [label.get_text() for label in enzymes.get_yticklabels()] == rows
    assert [text.get_text() for text in dd.texts if text.get_text()] == ["OOM"] * 4  # of the paper
    assert enzymes.dataLim.x0 < 20 < 60 < dd.dataLim.x0  # RingGNN with the first seed: 18.7 %
    figure = Figure()
    plot.draw_cost(figure, [p for p in points if isinstance(p.ours, tuple)])
    assert [axes.get_ylabel().split(",")[0] for axes in figure.axes] == ["ENZYMES", "ENZYMES", "PROTEINS", "PROTEINS"]


def test_files(tmp_path):
    write_results(tmp_path)
    for kind in ("table", "cost"):
        for ending, first in (("png", b"\x89PNG"), ("svg", b"<?xml")):
            file = tmp_path / f"{kind}.{ending}"
            assert plot.main([kind, "table6", "--out_dir", str(tmp_path), "--save", str(file)]) == 0
            assert file.read_bytes().startswith(first) and file.stat().st_size > 5000
    with pytest.raises(SystemExit, match=r"nowhere/a\.png: No such file or directory"):
        plot.main(["table", "table6", "--out_dir", str(tmp_path), "--save", str(tmp_path / "nowhere/a.png")])
    with pytest.raises(SystemExit, match="table3: there is no result of it in"):
        plot.main(["cost", "table3", "--out_dir", str(tmp_path), "--save", str(tmp_path / "a.png")])
    assert not (tmp_path / "a.png").exists()


def test_learning_curves(tmp_path):
    run = tmp_path / "ROW/seed_1/fold_0"
    run.mkdir(parents=True)
    lines = [
        {"epoch": e, "train": {"loss": 1 / e, "accuracy": e}, "val": {"loss": 2 / e, "accuracy": e}} for e in (1, 2, 3)
    ]
    (run / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "ROW/seed_2/fold_0").mkdir(parents=True)
    (tmp_path / "ROW/seed_2/fold_0/metrics.jsonl").touch()  # a run in its first epoch
    assert plot.main(["curves", str(tmp_path), "--save", str(tmp_path / "c.png")]) == 0
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(SystemExit, match=r"no metrics\.jsonl with an epoch there"):
        plot.main(["curves", str(tmp_path / "nowhere"), "--save", str(tmp_path / "d.png")])
    with pytest.raises(SystemExit):
        plot.main(["curves", str(tmp_path), "--save", str(tmp_path / "c.gif")])
    for words in (["table", "table3", "table6"], ["curves", str(tmp_path), "--dataset", "ZINC-redrawn"]):
        with pytest.raises(SystemExit):
            plot.main([*words, "--save", str(tmp_path / "d.png")])
    assert not (tmp_path / "d.png").exists()
    before = tmp_path / "before/ROW/seed_1/fold_0"
    before.mkdir(parents=True)
    (before / "metrics.jsonl").write_text(json.dumps(lines[0]) + "\n" + json.dumps(lines[1])[:20])  # being written
    curves = plot.read_curves([tmp_path / "ROW", tmp_path / "before"])
    assert [len(curve) for curve in curves.values()] == [3, 1] and len(curves) == 2
