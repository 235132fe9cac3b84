"""The papers, declared one per module. A new paper: a module like these, and its name in PAPERS."""

from runs.measures import Measure
from tables.columns import COSTS, ROW, Score
from tables.papers import benchmarking_gnns, brec, fair_comparison, lrgb, taxonomy

PAPERS = (benchmarking_gnns.PAPER, brec.PAPER, fair_comparison.PAPER, lrgb.PAPER, taxonomy.PAPER)


def declaration(file):
    """(paper, table) of a table file; (None, None) of one that no paper declares."""
    found = ((paper, table) for paper in PAPERS for table in paper.tables)
    return next((pair for pair in found if (pair[0].name, pair[1].name) == (file.paper, file.name)), (None, None))


def own_columns(results):
    """The columns of a table that no paper declares: every metric of the results on test and training split, pairs, costs."""
    measures = [Measure(**m) for m in {m["name"]: m for r in results for m in r["measures"]}.values()]
    scores = [
        Score(split, measure, f"{split} {measure.name}{measure.unit}", with_marks=split == "test")
        for split in ("test", "train")
        for measure in measures
    ]
    return (ROW, *scores, *brec.COUNTS, *brec.DETAILS, *COSTS)
