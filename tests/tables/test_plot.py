"""Pictures: what is drawn where, and files that are whole or not there."""

import json

import pytest
from matplotlib.figure import Figure

from runs.collect import read_results
from tables import plot
from tables.table import runs_view, table_view
from tests.tables.records import result, save


def write_results(folder):
    """Two folds of a row of ENZYMES and of one of PROTEINS, and one that was out of memory."""
    found = [result("table6/ENZYMES-GAT-L4", 41, None, status="OOM")]
    for row, score in (("ENZYMES-GCN-L4", 60.0), ("PROTEINS-GCN-L4", 70.0)):
        found += [result(f"table6/{row}", 41, score + 2 * fold, fold) for fold in (0, 1)]
    save(folder, *found)
    return table_view("table6", read_results([folder])[0])


def test_points_of_a_table(tmp_path):
    points = {(p.panel[0], p.row): p for p in plot.table_points(write_results(tmp_path))}
    gcn = points["ENZYMES", "GCN-L4-seed1"]
    assert gcn.ours == (61.0, 1.0) and gcn.paper == (65.833, 4.610) and gcn.panel[1] == "accuracy (%)"
    assert points["ENZYMES", "GCN-L4-seed2"].ours == "" and points["ENZYMES", "GAT-L4-seed1"].ours == "OOM"
    assert points["DD", "RingGNN-L2-seed1"].paper == "OOM" and points["PROTEINS", "GCN-L4-seed1"].ours == (71.0, 1.0)


def test_each_dataset_has_its_panel(tmp_path):
    points = plot.table_points(write_results(tmp_path))
    figure = Figure()
    plot.draw_table(figure, points)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == [f"{name}, test accuracy (%)" for name in ("ENZYMES", "DD", "PROTEINS")]
    enzymes, dd, _ = figure.axes
    rows = [p.row for p in points if p.panel[0] == "ENZYMES"]
    assert [label.get_text() for label in enzymes.get_yticklabels()] == rows
    assert [text.get_text() for text in dd.texts if text.get_text()] == ["OOM"] * 4  # of the paper
    assert enzymes.dataLim.x0 < 20 < 60 < dd.dataLim.x0  # RingGNN with the first seed: 18.7 %
    figure = Figure()
    done = [p for p in points if isinstance(p.ours, tuple)]
    plot.draw_cost(figure, done)
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["ENZYMES", "", "PROTEINS", ""]
    assert [axes.get_xlabel() for axes in figure.axes[:2]] == ["seconds per epoch", "parameters"]
    figure = Figure()
    plot.draw_cost(figure, [p._replace(seconds=None) for p in done])  # a selection has no time per epoch
    assert [axes.get_xlabel() for axes in figure.axes] == ["hours per seed", "parameters"] * 2


def test_a_run_without_a_count_hides_no_count(tmp_path):
    """A fold that was out of memory has no parameters; the others have."""
    lost = result("table6/ENZYMES-GCN-L4", 41, None, 1, status="OOM", params=None)
    save(tmp_path, result("table6/ENZYMES-GCN-L4", 41, 60.0), lost)
    points = plot.table_points(table_view("table6", read_results([tmp_path])[0]))
    assert [p.params for p in points if isinstance(p.ours, tuple)] == [103847]


def test_a_row_without_perturbation_has_a_name():
    runs = [result("taxonomy_figure4/MUTAG", 0, 0.8, metric="AUROC")]
    rows = [p.row for p in plot.table_points(table_view("taxonomy_figure4", runs)) if p.panel[0] == "TU/MUTAG"]
    assert rows[:2] == ["as it is", "+NoNodeFtrs"]


def test_a_metric_that_nobody_has_is_no_panel():
    """Ranks of other settings are not printed."""
    metrics = {p.panel[1] for p in plot.table_points(table_view("lrgb_tableD4", []))}
    assert metrics == {"MRR", "Hits@1", "Hits@3", "Hits@10"}


def test_only_what_is_drawn_is_in_the_legend_and_what_differs_is_red():
    def legend(*runs):
        figure = Figure()
        plot.draw_table(figure, points := plot.table_points(table_view("table3", list(runs))))
        return [text.get_text() for text in figure.legends[0].texts], plot.sides(points)

    assert legend() == (["paper"], ["paper"])
    assert legend(result("table3/GCN-LapPE-L4", 14, 100.0)) == (["paper", "ours"], ["paper", "ours"])
    assert legend(result("table3/GCN-LapPE-L4", 14, 50.0))[0] == ["paper", "ours", "ours, differs"]


def test_costs_are_compared_where_two_rows_have_them():
    """A selection has hours and no time per epoch; a count of one row alone is not drawn, and neither is a row alone."""
    point = plot.Point("GIN", ("NCI1", "accuracy (%)"), "", (70.0, 1.0), None, 100, 0.5)
    other = point._replace(row="GCN", params=None)
    assert plot.compared_by_cost([point]) == []
    assert [p.params for p in plot.compared_by_cost([point, other])] == [None, None]
    plot.draw_cost(figure := Figure(), plot.compared_by_cost([point, other]))
    assert [axes.get_xlabel() for axes in figure.axes] == ["hours per seed"]
    two = [p._replace(seconds=1.0, params=100) for p in (point, other)]
    assert list(plot.costs_of(two)) == ["seconds per epoch", "parameters"]


def test_a_row_of_panels_has_one_legend(tmp_path):
    points = plot.compared_by_cost(plot.table_points(table_view("table3", [
        result(f"table3/{model}-LapPE-L4", 14, 100.0) for model in ("GCN", "GIN")
    ])))  # fmt: skip
    plot.draw_cost(figure := Figure(), points)
    assert [axes.get_legend() is not None for axes in figure.axes] == [True, False]
    assert [text.get_text() for text in figure.axes[0].get_legend().texts] == ["GCN-LapPE-L4", "GIN-LapPE-L4"]


def test_runs_with_different_metrics_have_a_panel_each(tmp_path):
    both = result("table2_COLLAB/GCN-L3", 41, None, metric={"Hits@50": 30.0, "Hits@50_paper": 50.4})
    view = runs_view(["out"], [result("table3/GCN-LapPE-L4", 1, 90.0), result("table3/GAT-LapPE-L4", 1, 95.0), both])
    points = plot.table_points(view)
    assert list(plot.by_panel(points)) == [
        ("CSL", "accuracy (%)"), ("COLLAB", "Hits@50 (%)"), ("COLLAB", "Hits@50_paper (%)")
    ]  # fmt: skip
    figure = Figure()
    plot.draw_table(figure, points)
    assert len(figure.axes) == 3 and [text.get_text() for text in figure.legends[0].texts] == ["ours"]


def test_files(tmp_path):
    write_results(tmp_path)
    for kind in ("table", "cost"):
        for ending, first in (("png", b"\x89PNG"), ("svg", b"<?xml")):
            file = tmp_path / f"{kind}.{ending}"
            assert plot.main([kind, "table6", "--out_dir", str(tmp_path), "--save", str(file)]) == 0
            assert file.read_bytes().startswith(first) and file.stat().st_size > 5000
    assert plot.main(["cost", "--runs", str(tmp_path), "--save", str(tmp_path / "own.png")]) == 0
    with pytest.raises(SystemExit, match=r"nowhere/a\.png: No such file or directory"):
        plot.main(["table", "table6", "--out_dir", str(tmp_path), "--save", str(tmp_path / "nowhere/a.png")])
    with pytest.raises(SystemExit, match="table3: there is no result of it in"):
        plot.main(["cost", "table3", "--out_dir", str(tmp_path), "--save", str(tmp_path / "a.png")])
    assert not (tmp_path / "a.png").exists()


def curve(n_epochs, metric="accuracy"):
    """Lines of metrics.jsonl."""
    values = [(e, {"loss": 1 / e, metric: e}, {"loss": 2 / e, metric: e}) for e in range(1, n_epochs + 1)]
    return [{"epoch": epoch, "train": train, "val": val} for epoch, train, val in values]


def write_curve(run, lines):
    run.mkdir(parents=True)
    (run / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_learning_curves(tmp_path):
    write_curve(tmp_path / "ROW/seed_1/fold_0", lines := curve(3))
    write_curve(tmp_path / "ROW/seed_2/fold_0", [])  # a run in its first epoch
    assert plot.main(["curves", str(tmp_path), "--save", str(tmp_path / "c.png")]) == 0
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(SystemExit, match=r"no metrics\.jsonl with an epoch there"):
        plot.main(["curves", str(tmp_path / "nowhere"), "--save", str(tmp_path / "d.png")])
    with pytest.raises(SystemExit):
        plot.main(["curves", str(tmp_path), "--save", str(tmp_path / "c.gif")])
    for words in (
        ["table", "table3", "table6"],
        ["curves", str(tmp_path), "--dataset", "ZINC-redrawn"],
        ["curves"],
        ["table"],
    ):
        with pytest.raises(SystemExit):
            plot.main([*words, "--save", str(tmp_path / "d.png")])
    assert not (tmp_path / "d.png").exists()
    before = tmp_path / "before/ROW/seed_1/fold_0"
    before.mkdir(parents=True)
    (before / "metrics.jsonl").write_text(json.dumps(lines[0]) + "\n" + json.dumps(lines[1])[:20])  # being written
    curves = plot.read_curves([tmp_path / "ROW", tmp_path / "before"])
    assert [len(curve) for curve in curves.values()] == [3, 1] and len(curves) == 2


def test_damaged_curves_are_named_and_left_out(tmp_path, capsys):
    write_curve(tmp_path / "ROW/seed_1/fold_0", curve(3))
    for k, text in enumerate(
        ('{"epoch": 1, "tra\n', '{"epoch": 1}\n', "[]\n", '{"epoch": 1, "train": {}, "val": {"loss": 1}}\n')
    ):
        write_curve(tmp_path / f"ROW/seed_{k + 2}/fold_0", [])
        (tmp_path / f"ROW/seed_{k + 2}/fold_0/metrics.jsonl").write_text(text)
    assert list(plot.read_curves([tmp_path])) == ["ROW/seed_1/fold_0"]
    assert capsys.readouterr().err.count("left out: ") == 4


def test_more_than_twelve_runs_have_a_legend_and_two_metrics_two_panels(tmp_path):
    for k in range(15):
        write_curve(tmp_path / f"ROW/seed_{k}/fold_0", curve(2))
    write_curve(tmp_path / "ZINC/seed_1/fold_0", curve(2, "MAE"))
    figure = Figure()
    plot.draw_curves(figure, plot.read_curves([tmp_path]))
    assert [axes.get_ylabel() for axes in figure.axes] == ["loss", "accuracy", "loss", "MAE"]
    assert [len(axes.get_legend().texts) for axes in figure.axes if axes.get_legend()] == [15, 1]
    assert len({line.get_color() for line in figure.axes[1].lines}) == 15
