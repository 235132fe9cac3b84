"""Benchmarking Graph Neural Networks: Tables 2, 3, 4, 6, 7 and 8, one per dataset where a table has several.

A line of paper_tables/ is called PREFIX + the row's name. On COLLAB ours is `Hits@50_paper`, measured as the paper's program does
it.
"""

from functools import cache, partial

from runs.measures import ACCURACY, F1, MAE, hits
from tables.columns import COSTS, ROW, Agrees, Score
from tables.declare import Paper, Printed, Table, read_csv

HITS = hits("Hits@50_paper")
SAMPLES = ("ZINC-redrawn",)  # other training molecules
COSTS_PRINTED = ("epochs", "epoch_time_s", "total_time_hr", "params")


@cache
def printed(csv, prefix):
    """{name of a line: {"test": 0.459 ± 0.006, "train": ..., "epochs": ..., ...}}"""
    lines = {}
    for line in read_csv("benchmarking_gnns", csv):
        if line["row_id"].startswith(prefix):
            entries = lines.setdefault(line["row_id"].removeprefix(prefix), {})
            entries[line["split"]] = score(line)
            entries |= {key: entry(line[key]) for key in COSTS_PRINTED if key not in entries}
    return lines


def score(line):
    value = entry(line["mean"])
    if value.mean is None:
        return Printed(line["status"] or "-")
    return value if not line["sd"] else Printed(f"{line['mean']} ± {line['sd']}", value.mean, float(line["sd"]))


def entry(text):
    """A number, a word as 100K, or nothing."""
    return Printed(text or "-", float(text) if text.replace(".", "", 1).isdigit() else None)


def table(name, number, title, measure, csv, prefix, **more):
    test, train = Score("test", measure, with_marks=True), Score("train", measure)
    columns = (ROW, test, train, Agrees(test, train), *COSTS)
    return Table(name, number, title, partial(printed, csv, prefix), columns, **more)


def table_2(dataset, measure, **more):
    return table(f"table2_{dataset}", "2", dataset, measure, "table2_main_results", f"T2-{dataset}-", **more)


def table_4(dataset, measure):
    title = f"edge representations, {dataset}"
    return table(f"table4_{dataset}", "4", title, measure, "table4_edge_representations", f"T4-{dataset}-")


def table_7(dataset, measure, **more):
    title = f"positional encodings, {dataset}"
    return table(f"table7_{dataset}", "7", title, measure, "table7_positional_encodings", f"T7-{dataset}-", **more)


TOO_LARGE = "OOM in the paper, which prints no width: a dense tensor over 235,868 nodes has 5.6e10 entries per channel"
WL_GNNS = [f"{model}-{size}" for model in ("RingGNN-L2", "3WLGNN-L3") for size in ("100k", "500k")]
WL_GNNS += ["RingGNN-L8-500k", "3WLGNN-L8-500k"]

PAPER = Paper(
    "benchmarking_gnns",
    "Benchmarking Graph Neural Networks",
    (
        table_2("ZINC", MAE, samples=SAMPLES),
        table_2("PATTERN", ACCURACY),
        table_2("CLUSTER", ACCURACY),
        table_2("MNIST", ACCURACY),
        table_2("CIFAR10", ACCURACY),
        table_2("TSP", F1),
        table_2("COLLAB", HITS, without_rows=dict.fromkeys(WL_GNNS, TOO_LARGE)),
        table("table3", "3", "CSL, with and without Laplacian encodings", ACCURACY, "table3_csl", "T3-CSL-"),
        table_4("TSP", F1),
        table_4("COLLAB", HITS),
        table("table6", "6", "TU datasets, two seeds", ACCURACY, "table6_tu", "T6-", line_per_seed=True),
        table_7("CSL", ACCURACY),
        table_7("PATTERN", ACCURACY),
        table_7("CLUSTER", ACCURACY),
        table_7("COLLAB", HITS),
        table_7("ZINC", MAE, samples=SAMPLES),
        table(
            "table8",
            "8",
            "edge features and aggregation, COLLAB",
            HITS,
            "table8_collab_edge_and_aggregation",
            "T8-COLLAB-",
        ),
    ),
)
