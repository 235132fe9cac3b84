"""python -m tables.taxonomy: the figures as text, CSV and pictures, and the place of a dataset of one's own."""

import csv
import io
from itertools import pairwise

import numpy as np
import pytest
from matplotlib.figure import Figure

from runs.collect import read_results
from tables import heat_maps, profiles, taxonomy
from tables.papers.taxonomy import PAPER
from tables.table import table_view
from tests.tables.records import cells_of, result, row_of, save


def runs(row, value, changes=None, figure="figure4", folds=10):
    return [
        result(f"taxonomy_{figure}/{row}", 0, None, fold, train=0.9, metric={"AUROC": value}, changes=changes)
        for fold in range(folds)
    ]


def all_runs(name, figure="figure4", row=None, changes=None, **other):
    """Runs with the published scores of a dataset; `other` columns with other scores."""
    scores = profiles.published(figure)
    k, row = scores.names.index(name), row or name
    found = runs(row, scores.original[k], changes, figure)
    for column, value in zip(scores.columns, scores.perturbed[k], strict=True):
        found += runs(f"{row}+{column}", other.get(column.replace("-", "_"), value), changes, figure)
    return found


def printed(capsys, *words):
    assert taxonomy.main([str(word) for word in words]) == 0
    return capsys.readouterr().out


def test_a_figure_of_the_published_scores(capsys):
    text = printed(capsys, "figure4", "--published")
    row = next(line.split() for line in text.splitlines() if line.startswith("MUTAG"))
    assert row == ["MUTAG", "I-2", "I-2", "0.817", "87", "115", "99", "94", "103", "93", "100", "96", "99", "90", "105"]
    assert "PC1 51.8 %, PC2 29.6 % (paper: 51.8 %, 29.6 %)" in text and "p = 0.000" in text
    assert "In the cluster of the paper: 16 of 21 datasets." in printed(capsys, "figureB1", "--published")
    text = printed(capsys, "figure5", "--published", "--format", "markdown")
    assert "Frag-k3: 99 % ± 1.6 % (paper: 99 % ± 1.6 %)." in text and "(Flickr, NoEdges): 92 % (paper: 92 %)" in text


def test_ours_beside_the_paper(tmp_path, capsys):
    save(tmp_path, *runs("MUTAG", 0.8), *runs("MUTAG+NoEdges", 0.4), *runs("MUTAG+Frag-k1", 0.8, folds=9))
    text = printed(capsys, "figure4", "--out_dir", tmp_path)
    row = next(line for line in text.splitlines() if line.startswith("MUTAG"))
    assert "0.800 (0.817)" in row and "50 (93)" in row and "- (96)" in row
    assert "In no cluster, as cells are missing: MUTAG (1 of 11 columns)." in text and "ENZYMES" not in text
    table = list(csv.DictReader(io.StringIO(printed(capsys, "figure4", "--out_dir", tmp_path, "--format", "csv"))))
    assert len(table) == 1 and table[0]["NoEdges, ours"] == "0.5" and table[0]["Frag-k1, ours"] == ""
    assert float(table[0]["NoEdges, paper"]) == pytest.approx(0.76229 / 0.81686, abs=1e-6)


def test_without_results_there_is_a_hint(tmp_path, capsys):
    assert taxonomy.main(["figure4", "--out_dir", str(tmp_path)]) == 0
    assert "--out_dir results shows the project's own, --published the paper's" in capsys.readouterr().err


def test_clusters_and_components_of_ours(tmp_path, capsys):
    save(tmp_path / "few", *(run for name in ("MUTAG", "ENZYMES", "IMDB-BINARY", "DD") for run in all_runs(name)))
    text = printed(capsys, "figure4", "--out_dir", tmp_path / "few")
    assert (
        "Datasets with all columns: 4; components need three, clusters 5." in text
        and "cluster of the paper" not in text
    )
    save(tmp_path / "more", *all_runs("COLLAB"))
    text = printed(capsys, "figure4", "--out_dir", tmp_path)
    assert "In the cluster of the paper: 5 of 5 datasets." in text
    text = printed(capsys, "figure3", "--out_dir", tmp_path)
    assert len([line for line in text.splitlines() if line.startswith(("a ", "b "))]) == 6
    assert "ours, part b: 0 datasets have all columns, three are needed." in text
    text = printed(capsys, "correlations", "--out_dir", tmp_path)
    assert "ours       GCN and GIN, log2 AUROC" in text and "0.916" in text  # of the paper


MINE = {"dataset": "MINE"}


def test_the_place_of_a_dataset(tmp_path, capsys):
    """With the scores of NCI1 it lies where NCI1 is."""
    save(tmp_path, *all_runs("NCI1", row="Small-world", changes=MINE))
    text = printed(capsys, "--dataset", "MINE", "--out_dir", tmp_path)
    lines = [line.split() for line in text.splitlines()]
    assert lines[0][:2] == ["MINE", "among"] and lines[3][:3] == ["MINE", "I-3", "-"]
    assert lines[4][:3] == ["NCI1", "I-3", "0.000"] and lines[5][0] == "NCI109" and len(lines[3:8]) == 5
    assert "Nearest: NCI1. Cluster: I-3" in text and "Hurts most: NoEdges (74 %)" in text
    table = list(
        csv.DictReader(io.StringIO(printed(capsys, "--dataset", "MINE", "--out_dir", tmp_path, "--format", "csv")))
    )
    assert len(table) == 22 and float(table[2]["distance"]) > 0


def test_a_dataset_with_missing_columns(tmp_path, capsys):
    save(
        tmp_path,
        *runs("Small-world", 0.9, MINE),
        *runs("Small-world+NoEdges", 0.9, MINE),
        *runs("Small-world+NodeDeg", 0.6, MINE),
    )
    text = printed(capsys, "--dataset", "MINE", "--out_dir", tmp_path)
    assert "Cluster: I-1" in text and "Distances are of 2 columns; missing: NoNodeFtrs, LowPass" in text
    save(tmp_path / "one", *runs("Small-world", 0.9, MINE), *runs("Small-world+NoEdges", 0.9, MINE))
    picture = tmp_path / "one.png"
    assert "of 1 columns" in printed(capsys, "--dataset", "MINE", "--out_dir", tmp_path / "one", "--save", picture)
    assert picture.exists()


def test_a_graph_of_ones_own_is_found_in_figure_5(tmp_path, capsys):
    scores = profiles.published("figure5")
    k = scores.names.index("DzEu")
    cells = {"Actor": scores.original[k]} | {
        f"Actor+{column}": value for column, value in zip(scores.columns, scores.perturbed[k], strict=True)
    }
    save(
        tmp_path,
        *(
            result(f"taxonomy_figure5/{row}", seed, None, train=0.9, metric={"AUROC": value}, changes=MINE)
            for row, value in cells.items()
            for seed in (0, 1)
        ),
    )
    text = printed(capsys, "--dataset", "MINE", "--out_dir", tmp_path)
    assert "Figure 5" in text and "Nearest: DzEu. Cluster: T-1" in text and "missing" not in text
    with pytest.raises(SystemExit, match="fewer than 5 datasets of figure5 have all columns"):
        taxonomy.main(["--dataset", "MINE", "--among", "ours", "--out_dir", str(tmp_path)])


def test_of_a_row_that_changes_more_than_the_perturbation_the_runs_with_all_of_it_count():
    """The filters of Figure 5 have no weight decay."""
    decay = MINE | {"train.optimizer.weight_decay": 0.0005}
    found = [
        result(f"taxonomy_figure5/{row}", 0, None, train=0.9, metric={"AUROC": value}, changes=changes)
        for row, value, changes in (("Actor", 0.8, MINE), ("Actor+MidPass", 0.6, MINE), ("Actor+MidPass", 0.7, decay))
    ]
    scores = taxonomy.scores_of("MINE", "figure5", found)
    assert scores.perturbed[0][scores.columns.index("MidPass")] == 0.6


def test_wards_cost_decides_the_cluster():
    """A large cluster pays more than a small one at the same distance: n / (n + 1)."""
    one = np.array([1.0])
    names, columns = ("MNIST", "DD", "PROTEINS", "COLLAB", "NCI1"), ("NoEdges",)
    others = profiles.Scores(names, columns, np.ones(5), 2.0 ** np.array([[-1.0], [1.0], [1.001], [9.0], [9.1]]))
    mine = profiles.Scores(("MINE",), columns, one, one[None])
    placed = taxonomy.Placed("figure5", mine, others)
    assert len(set(placed.clusters.values())) == 3 and placed.cluster() == placed.clusters["MNIST"]


def test_pictures(tmp_path, capsys):
    save(
        tmp_path / "runs",
        *(run for name in ("MUTAG", "ENZYMES", "IMDB-BINARY") for run in all_runs(name)),
        *runs("DD", 0.7),
    )
    save(tmp_path / "mine", *all_runs("NCI1", row="Small-world", changes=MINE))
    for words in (["figure4"], ["figure3"], ["figure5"]):
        path = tmp_path / f"{words[0]}.svg"
        printed(capsys, *words, "--out_dir", tmp_path / "runs", "--save", path)
        assert path.read_text().startswith("<?xml")
    printed(capsys, "--dataset", "MINE", "--out_dir", tmp_path / "mine", "--save", tmp_path / "mine.png")
    assert (tmp_path / "mine.png").read_bytes().startswith(b"\x89PNG")


def test_a_heat_map_has_the_order_of_its_tree():
    figure, scores = Figure(), profiles.published("figure4")
    heat_maps.draw_heat_maps(figure, "figure4", {"ours": scores.only([False] * 21), "paper": scores})
    tree, map_, _ = figure.axes
    labels = [label.get_text().split()[0] for label in map_.get_yticklabels()]
    assert labels == [scores.names[k] for k in profiles.order_of(scores.profiles)] and len(tree.lines) == 20
    assert [text.get_text() for text in map_.texts[:3]] == ["0.91", "58", "71"]  # ENZYMES


def test_a_heat_map_has_ours_below_the_papers_and_a_bar_of_its_colours(tmp_path):
    save(tmp_path, *all_runs("MUTAG"), *runs("DD", 0.7))
    view, figure = table_view("taxonomy_figure4", read_results([tmp_path])[0]), Figure()
    PAPER.tables[0].picture.draw(view, figure)
    tree, map_, bar = figure.axes
    rows = [label.get_text().split()[0] for label in map_.get_yticklabels()]
    pairs = [row for row, below in pairwise(rows) if below == "ours"]
    assert len(rows) == 23 and sorted(pairs) == ["DD", "MUTAG"] and "clusters of the paper" in bar.get_xlabel()
    leaves = {y for line in tree.lines for x, y in line.get_xydata() if x == 0}
    assert len(leaves) == 21 and rows.index("MUTAG") + 1 in leaves  # between the two rows of a dataset
    alone = Figure()
    heat_maps.draw_heat_maps(alone, "figure4", {"ours": profiles.ours("figure4", read_results([tmp_path])[0])})
    assert [label.get_text().split()[0] for label in alone.axes[1].get_yticklabels()] == ["MUTAG", "DD"]


def test_figure_3_has_ours_on_the_components_of_the_paper(tmp_path):
    save(tmp_path, *all_runs("MUTAG"), *runs("DD", 0.7))
    PAPER.pictures[0].draw(read_results([tmp_path])[0], drawn := Figure())
    assert [axes.get_title(loc="left") for axes in drawn.axes[::2]] == [
        "a, many graphs (inductive)",
        "b, one graph (transductive)",
    ]
    stars = [[line for line in axes.lines if line.get_marker() == "*"] for axes in drawn.axes[::2]]
    assert [len(found) for found in stars] == [1, 0]  # DD lacks columns
    scores = profiles.published("figure4")
    found, k = profiles.principal_components(scores.profiles), scores.names.index("MUTAG")
    assert stars[0][0].get_xydata()[0] == pytest.approx(found.at[k], abs=0.01)
    legends = [[text.get_text() for text in axes.get_legend().texts] for axes in drawn.axes[::2]]
    assert legends[0][:4] == ["I-1", "I-2", "I-3", "paper"] and legends[1] == ["T-1", "T-2", "T-3"]


def test_names_in_a_picture_do_not_overlap():
    at, names = np.array([[0.0, 0.0], [0.001, 0.001], [1.0, 1.0]]), ("FIRST", "SECOND", "THIRD")
    axes = Figure().subplots()
    axes.set(xlim=(0, 1), ylim=(0, 1))
    first, second, third = heat_maps.shifts(at, names, axes)
    assert first != second and third == (5, -3)


def test_the_table_has_the_published_scores(tmp_path):
    save(tmp_path, *runs("MUTAG+NoEdges", 0.75))
    cells = cells_of(table_view("taxonomy_figure4", read_results([tmp_path])[0]), "MUTAG+NoEdges")
    assert (
        cells["test, paper"] == "0.7623"
        and cells["test, ours"].startswith("0.7500 ± 0.0000")
        and cells["runs"] == "10 of 10"
    )


@pytest.mark.parametrize(
    ("mean", "folds", "difference", "verdict"),
    [(0.75, 10, "-0.0123", "yes"), (0.69, 10, "-0.0723", "no: test"), (0.69, 9, "", "")],
)
def test_a_row_agrees_by_the_deviation_of_ours(tmp_path, mean, folds, difference, verdict):
    """Published: 0.7623. With ± 0.06 over ten folds, p is 0.05 at 0.064 and above 0.6 at 0.0123."""
    scores = [{"AUROC": mean + (0.06 if fold % 2 else -0.06)} for fold in range(folds)]
    row = "taxonomy_figure4/MUTAG+NoEdges"
    save(tmp_path, *(result(row, 0, None, fold, train=0.9, metric=score) for fold, score in enumerate(scores)))
    cells = cells_of(table_view("taxonomy_figure4", read_results([tmp_path])[0]), "MUTAG+NoEdges")
    assert (cells.get("test, Δ", ""), cells.get("agrees", "")) == (difference, verdict)  # empty columns are hidden


def test_further_seeds_do_not_make_up_for_missing_folds():
    found = [result("taxonomy_figure4/MUTAG", seed, 0.8, fold, metric="AUROC") for seed in (0, 1) for fold in range(5)]
    assert "agrees" not in row_of("taxonomy_figure4", found, "MUTAG")
    assert not np.isfinite(profiles.ours("figure4", found).original).any()
    found += [result("taxonomy_figure4/MUTAG", 0, 0.8, fold, metric="AUROC") for fold in range(5, 10)]
    assert row_of("taxonomy_figure4", found, "MUTAG")["runs"] == "15, of the paper 10"
    assert np.isfinite(profiles.ours("figure4", found).original).sum() == 1


def test_a_row_asks_for_its_own_folds():
    """MUTAG: one seed, ten folds; MNIST: ten seeds, one fold."""
    lines = {line.name: line for line in table_view("taxonomy_figure4", []).lines}
    assert lines["MUTAG"].n_runs == lines["MNIST+NoEdges"].n_runs == 10


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "name a figure, as figure4, or a dataset"),
        (["figure3", "--dataset", "MINE"], "name a figure, as figure4, or a dataset"),
        (["figure9"], "invalid choice: 'figure9'"),
        (["figure4", "--save", "figure.doc"], "expected a file ending in .png or .svg"),
        (["correlations", "--save", "figure.png"], "the correlations have no picture"),
        (["--dataset", "MINE", "--published"], "--published and --quick are of figures"),
        (["figure4", "--out_dir", "nowhere"], "nowhere: no such folder"),
    ],
)
def test_mistakes_are_one_line(capsys, words, message):
    with pytest.raises(SystemExit) as ended:
        taxonomy.main(words)
    assert ended.value.code == 2 and message in capsys.readouterr().err.splitlines()[-1]


def test_a_dataset_without_runs(tmp_path):
    save(tmp_path, *runs("MUTAG", 0.8))
    with pytest.raises(SystemExit) as ended:
        taxonomy.main(["--dataset", "TU/MUTAF", "--out_dir", str(tmp_path)])
    text = str(ended.value)
    assert (
        text.startswith("--dataset TU/MUTAF: no runs of it") and "Did you mean TU/MUTAG?" in text and "\n" not in text
    )
