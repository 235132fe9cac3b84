"""Taxonomy of Benchmarks in Graph Representation Learning: Figures 4, 5 and B.1.

The figures print ratios to the score without perturbation, by colour and as whole per cents; the paper has no table of scores. Here
are the scores behind them, the mean over ten folds or ten seeds of the AUROC of the epoch with the best validation.
"""

from runs.measures import AUROC
from tables.columns import COSTS, ROW, Score
from tables.declare import Paper, Table

COLUMNS = (ROW, Score("test", AUROC), Score("train", AUROC), *COSTS)


def nothing_printed():
    return {}


def table(name, number, title):
    return Table(
        f"taxonomy_{name}", f"Figure {number}", title, nothing_printed, COLUMNS, hide_empty=True, other_datasets=False
    )


PAPER = Paper(
    "taxonomy",
    "Taxonomy of Benchmarks in Graph Representation Learning",
    (
        table("figure4", "4", "many graphs, GCN"),
        table("figure5", "5", "one graph, GCN"),
        table("figureB1", "B.1", "many graphs, GIN"),
        table("figure4_fiedler", "4, FiedlerFrag", "by the adjacency matrix and by the Laplacian"),
    ),
)
