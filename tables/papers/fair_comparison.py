"""A Fair Comparison of Graph Neural Networks for Graph Classification: Tables 3, 4 and 6, and Figure 1.

A score is the mean ± s.d. over ten folds, of each the mean over three trainings of the selected configuration. Every table has a
twin with the reduced grid (configs/fair_comparison/*_reduced.json): other runs, which are shown and not compared.
"""

import re
from collections import Counter
from functools import cache, partial
from statistics import median

from runs.measures import Measure
from tables.columns import COSTS, EMPTY, ROW, Agrees, Beside, Cell, Each, Score, mean_of
from tables.compare import mean_and_deviation
from tables.declare import Paper, Picture, Printed, Table, read_csv

ACCURACY = Measure("accuracy", "max", digits=1, percent=True, high=100)
CHEMICAL, SOCIAL, LAYERS = "table3", "table4", "table6"


@cache
def printed(csv, key="test", features=None):
    """{name of a line, as IMDB-BINARY-degree-GIN: {key: entry}}, dataset by dataset; with `features` those of one setting."""
    rows = [row for row in read_csv("fair_comparison", csv) if features in (None, row.get("features"))]
    lines = {}
    for dataset in [name for name in rows[0] if name not in ("features", "model")]:
        for row in rows:
            setting = "-degree" if row.get("features") == "degree" else ""
            lines[f"{dataset}{setting}-{row['model']}"] = {key: entry(row[dataset])}
    return lines


def printed_in_figure_1():
    """The test scores of both tables, the social datasets with degrees. The validation scores are in the picture alone."""
    return {**printed(CHEMICAL), **printed(SOCIAL, features="degree")}


def entry(text):
    """A score as 78.4 ± 4.5, a number of layers, or a word, as OOR."""
    numbers = re.fullmatch(r"([\d.]+)(?: ± ([\d.]+))?", text)
    if not numbers:
        return Printed(text)
    mean, sd = numbers.groups()
    return Printed(text, float(mean), float(sd) if sd else None)


class Validation(Score):
    """The validation score of the selected configurations, by which they were selected."""

    def __init__(self):
        super().__init__("validation", ACCURACY)

    def values(self, line):
        return [r["selected_val"][ACCURACY.name] for r in line.done if r.get("selected_val")]


def n_layers(result):
    """Layers of the selected configuration; of GIN those that aggregate, as Table 6 counts them."""
    changes = result["changes"]
    return len(changes["net.widths"]) if "net.widths" in changes else changes.get("net.L")


def median_layers(line):
    found = [n for r in line.done if r.get("changes") and (n := n_layers(r)) is not None]
    return Cell(f"{median(found):g}", (median(found),)) if found else EMPTY


def not_counted(line):
    """Trainings of the selection that ended otherwise than by themselves: '3 Diverged'."""
    found = Counter()
    for r in line.results:
        found.update({status: n for status, n in r.get("statuses", {}).items() if status != "ok"})
    return Cell(", ".join(f"{n} {status}" for status, n in sorted(found.items())) or "-")


def overfits(line):
    """The claim of Figure 1: on average the validation score is not below the test score."""
    validation, test = Validation().values(line), TEST.values(line)
    if not validation or len(validation) != len(test):
        return EMPTY
    difference = (sum(validation) - sum(test)) / len(test)
    return Cell(f"{difference:+.1f}", (round(difference, 6),))


MARKS = {"test, paper": ("0.5", "o"), "test, {ours}": ("C0", "o"), "validation, {ours}": ("C1", "s")}
TEST = Score("test", ACCURACY, with_marks=True)
HOURS = Each("hours", mean_of("total_time_hr", lambda line: line.folds), label="hours per seed")
ENDS = (Each("not ok", not_counted, label="configurations that did not end by themselves"), HOURS, COSTS[-1])
LAYER_COLUMN = Beside("layers", "layers", median_layers, label="layers (median)", keep=True)
SCORES = (ROW, TEST, Agrees(TEST), Validation(), *ENDS)
FIGURE = (ROW, TEST, Validation(), Each("validation - test", overfits), *ENDS)


def draw_figure_1(view, figure):
    """A panel per dataset with results: the paper's test scores, ours, and the validation scores that selected them."""
    panels = {}
    for line in view.lines:
        panels.setdefault(line.name.removesuffix("-" + line.name.rpartition("-")[2]), []).append(line)
    panels = {name: lines for name, lines in panels.items() if any(line.done for line in lines)}
    for axes, (name, lines) in zip(
        figure.subplots(1, max(1, len(panels)), squeeze=False)[0], panels.items(), strict=False
    ):
        for k, line in enumerate(lines):
            paper = TEST.printed(line)
            scores = [(paper.mean, paper.sd)] if paper.mean is not None else [None]
            scores += [mean_and_deviation(score.values(line)) for score in (TEST, Validation())]
            for shift, score, (colour, marker) in zip((-0.2, 0, 0.2), scores, MARKS.values(), strict=True):
                if score is not None:
                    axes.errorbar(k + shift, score[0], yerr=score[1], color=colour, fmt=marker, capsize=2, markersize=4)
        axes.set_xticks(range(len(lines)), [line.name.rpartition("-")[2] for line in lines], rotation=60, fontsize=8)
        axes.set_title(name, fontsize=9)
        axes.grid(axis="y", color="0.5", alpha=0.25)
    figure.axes[0].set_ylabel("accuracy (%)", fontsize=9)
    for name, (colour, marker) in MARKS.items():
        figure.axes[0].plot([], [], marker, color=colour, label=name.format(ours=view.ours))
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside upper left", ncols=3, fontsize=8)


def both(name, number, title, lines, columns, **more):
    """The table, and its twin with the reduced grid."""
    table = Table(f"fair_{name}", number, title, lines, columns, hide_empty=True, other_datasets=False, **more)
    return table, table.twin("reduced", "reduced grid")


PAPER = Paper(
    "fair_comparison",
    "A Fair Comparison of Graph Neural Networks for Graph Classification",
    (
        *both("table3", "3", "chemical datasets", partial(printed, CHEMICAL), SCORES),
        *both("table4", "4", "social datasets", partial(printed, SOCIAL), SCORES),
        *both(
            "table6",
            "6",
            "layers of the selected models",
            partial(printed, LAYERS, "layers"),
            (ROW, LAYER_COLUMN, COSTS[-1]),
            of_other_tables=True,
        ),
        *both(
            "figure1",
            "Figure 1",
            "validation and test scores",
            printed_in_figure_1,
            FIGURE,
            of_other_tables=True,
            picture=Picture("Validation and test scores", draw_figure_1, (9, 4)),
        ),
    ),
)
