"""Long Range Graph Benchmark: Tables 3-5, A.2, A.3 and D.2-D.4, one per dataset where a table has several, and the retuned nets of
arXiv:2309.00367 beside Tables 3-5.

A line of paper_tables/ is PREFIX + the name of its row. On PCQM-Contact the paper prints raw ranks, in which other true tails and
the atom itself are competitors, though its text says filtered; ours are shown raw, filtered, and filtered without the atom itself.
Seconds per epoch are those of Table C.2, on a GPU.
"""

from functools import cache, partial

from runs.measures import AP, MACRO_F1, R2, Measure, ranking
from tables.columns import COSTS, ROW, Agrees, Score
from tables.declare import Paper, Printed, Table, read_csv

MAE = Measure("MAE", "min", digits=4)
VOC, COCO = "PascalVOC-SP", "COCO-SP"
SAMPLES = {VOC: ("PascalVOC-SP-300",), COCO: ("COCO-SP-188",)}
RANKS = ("MRR", "Hits@1", "Hits@3", "Hits@10")
RAW = "raw ranks, as printed"


@cache
def printed(csv, prefix):
    """{name of a line: {"test macro F1": 0.1268 ± 0.0060, "params": 496k, ...}}"""
    lines, seconds = (
        {},
        {(line["dataset"], line["model"]): line["epoch_time_s"] for line in read_csv("lrgb", "tableC2")},
    )
    for line in read_csv("lrgb", csv):
        if line["row_id"].startswith(prefix):
            name = line["row_id"].removeprefix(prefix)
            entries = lines.setdefault(name, {"params": Printed(line["params"])})
            text = f"{line['mean']} ± {line['sd']}" + ("*" if "*" in line.get("note", "") else "")
            entries[f"{line['split']} {line['metric']}"] = Printed(text, float(line["mean"]), float(line["sd"]))
            if csv in ("table3", "table4", "table5") and (found := seconds.get((line["dataset"], name))):
                entries["epoch_time_s"] = Printed(found, float(found))
    return lines


def of_struct():
    """Table A.3, whose rows are those of Table 4."""
    return {f"{name}-struct": entries for name, entries in printed("tableA3", "TA3-Peptides-struct-").items()}


def score(split, measure, name=None, **more):
    """A column that the paper prints under `split` and the metric's name."""
    return Score(split, measure, f"{split} {name or measure.name}", **more)


def scores(measure, name=None):
    test, train = score("test", measure, name, with_marks=True), score("train", measure, name)
    return ROW, test, train, Agrees(test, train), *COSTS


def ranks():
    """Raw, as printed; then those of the two other settings, ours alone."""
    raw = [score("test", ranking(name), with_marks=name == "MRR") for name in RANKS]
    others = [
        score("test", ranking(f"{name}_{setting}")) for setting in ("filtered", "filtered_noself") for name in RANKS
    ]
    return ROW, *raw, Agrees(*raw), *others, *COSTS


def table(name, number, title, columns, csv, prefix, **more):
    return Table(f"lrgb_{name}", number, title, partial(printed, csv, prefix), columns, hide_empty=True, **more)


def superpixels(name, number, title, dataset):
    """A table of macro F1; `name` is that of the file, as table3_VOC. Rows of Table A.2 are of several datasets: no sample stands
    for all of them."""
    csv = name.split("_")[0]
    prefix = f"T{number.replace('.', '')}-{dataset}-"
    samples = () if csv == "tableA2" else SAMPLES[dataset]
    return table(name, number, title, scores(MACRO_F1, "macro F1"), csv, prefix, samples=samples)


def tuned(name, number, dataset, columns, **more):
    title = f"{dataset}, retuned in arXiv:2309.00367"
    return table(name, number, title, columns, "tuned", f"tuned-{dataset}-", **more)


TWO = "two layers"
F1_COLUMNS = scores(MACRO_F1, "macro F1")
BOTH = [score(split, measure) for measure in (MAE, R2) for split in ("test", "train")]

PAPER = Paper(
    "lrgb",
    "Long Range Graph Benchmark",
    (
        superpixels("table3_VOC", "3", VOC, VOC),
        superpixels("table3_COCO", "3", COCO, COCO),
        table("table4_func", "4", "Peptides-func", scores(AP), "table4", "T4-Peptides-func-"),
        table("table4_struct", "4", "Peptides-struct", scores(MAE), "table4", "T4-Peptides-struct-"),
        table("table5", "5", f"PCQM-Contact, {RAW}", ranks(), "table5", "T5-PCQM-Contact-"),
        superpixels("tableA2_VOC", "A.2", f"{VOC}, all graphs", VOC),
        superpixels("tableA2_COCO", "A.2", f"{COCO}, all graphs", COCO),
        Table(
            "lrgb_tableA3",
            "A.3",
            "Peptides-struct, MAE and R²",
            of_struct,
            (ROW, *BOTH, Agrees(*BOTH), *COSTS),
            hide_empty=True,
            of_other_tables=True,
        ),
        superpixels("tableD2_VOC", "D.2", f"{VOC}, {TWO}", VOC),
        superpixels("tableD2_COCO", "D.2", f"{COCO}, {TWO}", COCO),
        table("tableD3_func", "D.3", f"Peptides-func, {TWO}", scores(AP), "tableD3", "TD3-Peptides-func-"),
        table("tableD3_struct", "D.3", f"Peptides-struct, {TWO}", scores(MAE), "tableD3", "TD3-Peptides-struct-"),
        table("tableD4", "D.4", f"PCQM-Contact, {TWO}, {RAW}", ranks(), "tableD4", "TD4-PCQM-Contact-"),
        tuned("table3_tuned_VOC", "3", VOC, F1_COLUMNS, samples=SAMPLES[VOC]),
        tuned("table3_tuned_COCO", "3", COCO, F1_COLUMNS, samples=SAMPLES[COCO]),
        tuned("table4_tuned_func", "4", "Peptides-func", scores(AP)),
        tuned("table4_tuned_struct", "4", "Peptides-struct", scores(MAE)),
        tuned("table5_tuned", "5", "PCQM-Contact", ranks()),
    ),
)
