"""Taxonomy of Benchmarks in Graph Representation Learning: Figures 3, 4, 5 and B.1.

The figures print ratios to the score without perturbation, by colour and as whole per cents; the paper has no table of scores. Here
are the scores behind them, the mean over ten folds or ten seeds of the AUROC of the epoch with the best validation, beside those
that the program of the paper was published with. Ratios, clusters and components: `python -m tables.taxonomy`.
"""

from functools import cache, partial
from statistics import fmean

from runs.measures import AUROC
from tables.columns import COSTS, ROW, Agrees, Score
from tables.declare import Paper, Picture, Printed, Table, read_csv


class Published(Score):
    """A score beside the published mean of as many runs, which has no s.d.; judged when all runs are there."""

    unit, digits = "Δ", 4

    def compare(self, line):
        return super().compare(line) if line.is_complete else (None, None)

    def difference(self, paper, values):
        return fmean(values) - paper.mean


class AgreesWithPublished(Agrees):
    rule = (
        "The paper prints no standard deviations. A row agrees when Student's t-test, with those of ours for both, tells no "
        "difference (p ≥ 0.05); a row without all of its runs is not judged, one with a run that diverged differs. Of twenty rows "
        "that are equal in truth about one differs by chance; of many graphs fewer, as both sides have the same folds."
    )


TEST = Published("test", AUROC)
COLUMNS = (ROW, TEST, AgreesWithPublished(TEST), Score("train", AUROC), *COSTS)


@cache
def printed(figure):
    """{"MUTAG": {"test": 0.8169}, "MUTAG+NoEdges": ...}"""
    lines = {}
    for line in read_csv("taxonomy", figure):
        for column, text in line.items():
            if column not in ("dataset", "cluster"):
                name = line["dataset"] if column == "original" else f"{line['dataset']}+{column}"
                lines[name] = {"test": Printed(f"{float(text):.4f}", float(text))}
    return lines


def nothing_printed():
    return {}


def draw_figure(name, view, figure):
    from tables import heat_maps, profiles  # matplotlib and scipy, only when they are needed

    ours = profiles.of_lines({line.name: line for line in view.lines}, lambda line: line.is_complete)
    heat_maps.draw_heat_maps(figure, name, {"ours": ours, "paper": profiles.published(name)})


def draw_figure3(results, figure):
    from tables import heat_maps, profiles

    ours = {name: profiles.ours(name, results) for name in ("figure4", "figure5")}
    paper = {name: profiles.published(name) for name in ours}
    heat_maps.draw_components(figure, {"ours": ours, "paper": paper})


def table(name, number, title):
    picture = Picture("Profiles: per cent of the AUROC of the dataset as it is", partial(draw_figure, name), (20, 9))
    return Table(
        f"taxonomy_{name}", f"Figure {number}", title, partial(printed, name), COLUMNS, hide_empty=True, picture=picture
    )


PAPER = Paper(
    "taxonomy",
    "Taxonomy of Benchmarks in Graph Representation Learning",
    (
        table("figure4", "4", "many graphs, GCN"),
        table("figure5", "5", "one graph, GCN"),
        table("figureB1", "B.1", "many graphs, GIN"),
        Table(
            "taxonomy_figure4_fiedler",
            "Figure 4, FiedlerFrag",
            "by the adjacency matrix and by the Laplacian",
            nothing_printed,
            COLUMNS,
            hide_empty=True,
        ),
    ),
    pictures=(Picture("Figure 3: principal components of the profiles", draw_figure3, (20, 9)),),
)
