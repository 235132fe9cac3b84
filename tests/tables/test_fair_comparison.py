"""Tables 3, 4 and 6 and Figure 1 of the Fair Comparison: what the paper prints and claims, beside hand-made results."""

from statistics import fmean

import pytest
from matplotlib.figure import Figure

from runs.result import signed
from runs.table_files import find_table, table_files
from tables import row_report, table
from tables.papers.fair_comparison import PAPER
from tables.table import table_view
from tests.tables.records import cells_of, result, row_of, save

TABLES = {t.name: t for t in PAPER.tables}
CHEMICAL = ("DD", "NCI1", "PROTEINS", "ENZYMES")
SOCIAL = ("IMDB-BINARY", "IMDB-MULTI", "REDDIT-BINARY", "REDDIT-MULTI-5K", "COLLAB")
NETS = ("DGCNN", "DiffPool", "ECC", "GIN", "GraphSAGE")


def fold(row, number, test, val, changes=None, **more):
    """A result as train/selection.py writes it."""
    said = {"selected_val": {"loss": 1.0, "accuracy": val}, "statuses": {"ok": 8}} | more
    made = result(row, 42, test, fold=number, **said)
    return signed({key: value for key, value in made.items() if key != "sum"} | {"changes": changes or {}})


def means(name, key="test"):
    return {line: entries[key].mean for line, entries in TABLES[name].printed().items()}


def test_what_the_tables_print():
    """24 and 60 cells, 6 of them OOR; 50 medians, of which the 6 of the same cells are not printed."""
    three, four, six = means("fair_table3"), means("fair_table4"), means("fair_table6", "layers")
    assert (len(three), len(four), len(six)) == (24, 60, 50)
    oor = [name for name, mean in four.items() if mean is None]
    assert len(oor) == 6 and all(name.endswith("-ECC") for name in oor)
    assert oor == [name for name, median in six.items() if median is None]
    assert {TABLES["fair_table4"].printed()[name]["test"].text for name in oor} == {"OOR"}
    entry = TABLES["fair_table3"].printed()["ENZYMES-GIN"]["test"]
    assert (entry.mean, entry.sd) == (59.6, 4.5)


def test_every_line_has_a_row():
    for name, declared in TABLES.items():
        rows = find_table(name).rows
        assert set(rows) == set(declared.printed()), name
        assert all(
            str(row).startswith("fair_") and ("_reduced/" in str(row)) == bool(declared.variant)
            for row in rows.values()
        )


def test_what_the_text_claims_of_the_numbers():
    """No net is above the baseline on DD, PROTEINS and ENZYMES, all are on NCI1; degrees give the baseline about 15 points."""
    three, four = means("fair_table3"), means("fair_table4")
    for net in NETS:
        assert all(three[f"{name}-{net}"] < three[f"{name}-Baseline"] for name in CHEMICAL if name != "NCI1")
        assert three[f"NCI1-{net}"] > three["NCI1-Baseline"]
    gains = [four[f"{name}-degree-Baseline"] - four[f"{name}-Baseline"] for name in SOCIAL]
    assert fmean(gains) == pytest.approx(15.1, abs=0.05)
    assert max(four[f"IMDB-MULTI-degree-{net}"] for net in NETS) < four["IMDB-MULTI-degree-Baseline"]


def test_a_row_is_compared_over_its_folds():
    """Mean and s.d. over the folds, divided by n: 55 and 65 give 60.0 ± 5.0."""
    runs = [fold("fair_GIN/ENZYMES", k, test, 70.0) for k, test in enumerate((55.0, 65.0))]
    row = row_of("fair_table3", runs, "ENZYMES-GIN")
    assert row["test, ours"] == "60.0 ± 5.0**" and row["test, paper"] == "59.6 ± 4.5*" and row["agrees"] == "yes"
    assert row["validation, ours"] == "70.0 ± 0.0" and row["runs"] == "2 of 10"
    assert row_of("fair_figure1", runs, "ENZYMES-GIN")["validation - test"] == "+10.0"
    low = [fold("fair_GIN/ENZYMES", k, 20.0 + k, 30.0) for k in range(3)]
    assert row_of("fair_table3", low, "ENZYMES-GIN")["agrees"] == "no: test"


def test_the_best_of_a_setting_is_marked_among_its_own():
    """The two settings of a social dataset have different folds."""
    view = table_view("fair_table4", [])
    assert cells_of(view, "IMDB-BINARY-GraphSAGE")["test, paper"] == "69.9 ± 4.6**"
    assert cells_of(view, "IMDB-BINARY-degree-GIN")["test, paper"] == "71.2 ± 3.9**"


def test_layers_are_medians_over_the_folds():
    """Of GIN the layers that aggregate are counted: [64] is 1, of an even number of folds the mean of the two in the middle."""
    widths = ([64], [32, 32], [64] * 4, [32] * 4)
    gin = [fold("fair_GIN/IMDB-BINARY", k, 60.0, 60.0, {"net.widths": w}) for k, w in enumerate(widths)]
    sage = [fold("fair_GraphSAGE/IMDB-BINARY", k, 60.0, 60.0, {"net.L": n}) for k, n in enumerate((3, 5, 5))]
    row = row_of("fair_table6", gin + sage, "IMDB-BINARY-GIN")
    assert row["layers, ours"] == "3" and row["layers, paper"] == "3"
    assert row_of("fair_table6", gin + sage, "IMDB-BINARY-GraphSAGE")["layers, ours"] == "5"
    assert row_of("fair_table6", gin[:2], "IMDB-BINARY-GIN")["layers, ours"] == "1.5"


def test_the_reduced_grid_is_shown_apart_and_never_compared(tmp_path, capsys):
    runs = [fold("fair_GIN_reduced/ENZYMES", k, 50.0, 55.0, statuses={"ok": 7, "Diverged": 1}) for k in range(10)]
    assert row_of("fair_table3", runs, "ENZYMES-GIN")["runs"] == "0 of 10"
    row = row_of("fair_table3_reduced", runs, "ENZYMES-GIN")
    assert (
        row["test, ours (reduced grid)"] == "50.0 ± 0.0**"
        and row["runs"] == "10 of 10"
        and row["not ok"] == "10 Diverged"
    )
    assert not any("Δ" in header or header == "agrees" for header in row)
    save(tmp_path, *runs)
    table.main(["fair_table3_reduced", "--out_dir", str(tmp_path)])
    assert "ours with the reduced grid, not compared" in capsys.readouterr().out
    text = row_report("fair_GIN_reduced/ENZYMES", runs)
    assert "ours (seed 42; 10 folds; reduced grid)" in text and "59.6 ± 4.5" in text and text.count("paper") == 1


def test_the_picture_of_figure_1(tmp_path):
    """A panel per dataset with results; three marks for a model of ours, one for the others."""
    runs = [fold("fair_GIN/ENZYMES", k, 50.0 + k, 60.0) for k in range(3)]
    figure = Figure()
    TABLES["fair_figure1"].picture.draw(table_view("fair_figure1", runs), figure)
    (axes,) = figure.axes
    assert (axes.get_title(), axes.get_ylabel()) == ("ENZYMES", "accuracy (%)") and len(axes.containers) == 6 + 2
    heights = sorted(float(container[0].get_ydata()[0]) for container in axes.containers)
    assert heights[-3:] == [59.6, 60.0, 65.2] and 51.0 in heights
    figure = Figure()
    TABLES["fair_figure1"].picture.draw(table_view("fair_figure1", []), figure)  # nothing there yet


def test_a_row_that_ran_out_of_time_says_so():
    runs = [fold("fair_ECC/COLLAB", 0, None, 0.0, status="OOR", selected_val=None, statuses={"OOR": 32})]
    row = row_of("fair_table4", runs, "COLLAB-ECC")
    assert row["test, ours"] == row["test, paper"] == "OOR" and row["not ok"] == "32 OOR"


def test_results_are_kept_in_the_file_of_their_grid():
    """A table over several files has no results of its own."""
    assert {str(row.table.path.stem) for row in table_files()["fair_table3"].rows.values()} == {
        f"fair_{name}" for name in ("baseline", *NETS)
    }
