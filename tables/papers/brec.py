"""BREC: Tables 2 to 7, pairs told apart, by category and in all.

Of several seeds the best one is compared, as in the paper (appendix J), with the mean beside it. Our counts are those of the
published program's statistic; the last columns have those of the text's, eq. (4) of section 4.2 (train/rpc.py). A row agrees when
every count that the paper prints is ours.

Most of the paper's scripts walk through 260 to 340 of the 400 pairs, and it prints what they found as so many of 400. Counts are
compared on the script's pairs; those of all 400 stand beside. Two graphs that the exact twin of a net (exact/twins.py) cannot tell
apart have the same embedding for any weights: each net has beside it what its twin allows, and what it found beyond that, which
must be nothing.
"""

import json
from functools import cache, partial
from pathlib import Path
from statistics import fmean

from runs.table_files import find_table
from tables.columns import EMPTY, ROW, Agrees, Beside, Cell, Column, Each, number
from tables.declare import Paper, Picture, Printed, Table, read_csv

CATEGORIES = ("Basic", "Regular", "Extension", "CFI", "Total")
N_PAIRS = 400
WITHOUT_CFI = {"categories": "Basic,Regular,Extension"}

# The pairs that the paper's scripts walk through, where these are not all. Strongly regular are 110-159, the last 40 CFI 320-359,
# of the 4-vertex condition 360-379, distance regular 380-399
SOME = frozenset({*range(110), *range(160, 320)})
WALKED = {
    **dict.fromkeys(("DS-GNN", "DSS-GNN", "SUN", "SSWL_P", "GNN-AK", "delta-k-LGNN", "KC-SetGNN", "Graphormer"), SOME),
    "OSAN": frozenset(range(320)),
    "I2-GNN": frozenset({*range(320), *range(380, 400)}),
    **dict.fromkeys(("GSN", "GSN-v(k=3)", "GSN-v(k=4)", "GSN-e(k=3)"), frozenset(range(260))),
}
ALL = frozenset(range(N_PAIRS))
TWIN_OF = {"delta-k-LGNN": "delta-2-LGNN"}  # other lines have the name of their twin
PROGRAMS_LIMIT = 72.34  # of results that do not say which pairs they tell apart


@cache
def printed(csv, name, category):
    """{name of a line: {category: count}}; `name` and `category` are made from a line of the file."""
    lines = {}
    for line in read_csv("brec", csv):
        count = line["n_distinguished"]
        mean = int(count) if count.isdigit() else None
        lines.setdefault(name.format(**line), {})[category.format(**line)] = Printed(count, mean)
    return lines


def category_of(pair):
    """Of pairs numbered as in the benchmark: the last 40 are regular again."""
    ends = {60: "Basic", 160: "Regular", 260: "Extension", 360: "CFI", N_PAIRS: "Regular"}
    return next(category for end, category in ends.items() if pair < end)


def name_of(line):
    """The line's own name: a report's is TABLE/ROW."""
    return line.name.rpartition("/")[2]


def walked(line):
    return WALKED.get(name_of(line), ALL)


@cache
def twins():
    """{name of a twin: the pairs that it tells apart}, written by python -m tools.exact_counts --write."""
    answers = json.loads(Path(__file__).with_name("brec_twins.json").read_text())
    return {name: frozenset(i for i, c in enumerate(text) if c == "1") for name, text in answers.items()}


def twin(line):
    """The pairs that a net can tell apart at most; None of a line without twin."""
    return twins().get(TWIN_OF.get(name_of(line), name_of(line)))


def told(record):
    """The pairs that a run told apart, by the statistic that counts; None of a record that does not say which."""
    pairs = record.get("pairs")
    if not pairs:
        return None
    numbers = [int(word) for word in pairs["pair"].split()]
    if "distinguished" in pairs:
        flags = [word == "1" for word in pairs["distinguished"].split()]
    else:
        # the columns have T² of eq. (4), which is q times the program's
        q = record["config"].get("test", {}).get("q", 32)
        values = zip(pairs["T2_test"].split(), pairs["T2_reliability"].split(), strict=True)
        flags = [a != "-" and float(a) / q > PROGRAMS_LIMIT > float(b) / q for a, b in values]
    return {pair for pair, flag in zip(numbers, flags, strict=True) if flag}


def counted(pairs):
    """{category: how many}, and in all."""
    found = dict.fromkeys(CATEGORIES, 0)
    for pair in pairs:
        found[category_of(pair)] += 1
    return found | {"Total": len(pairs)}


def in_words(counts):
    """60, 50, 100, 6: 216"""
    return f"{', '.join(str(counts[c]) for c in CATEGORIES[:-1])}: {counts['Total']}"


def tested(line, statistic=None):
    """[what the statistic counted, one per seed]; that of the run's choice when none is named."""
    found = (r["metrics"].get(statistic or r["select"], {}) for r in line.done)
    return [counted for counted in found if "distinguished" in counted]


def totals(line, statistic=None):
    return [counted["distinguished"]["Total"] for counted in tested(line, statistic)]


def best(line):
    """{category: pairs told apart} of the best seed, on the pairs of the paper's script; of a part of a run, its categories."""
    if line.done or not line.parts:
        return max(
            (counts_of(r, walked(line)) for r in line.done), key=lambda counts: counts.get("Total", 0), default={}
        )
    record = max(line.parts, key=lambda r: r["metrics"][r["select"]]["distinguished"]["Total"])
    there = [category for category in CATEGORIES if category != "Total" and category in record["n_pairs"]]
    return {category: counts_of(record, walked(line))[category] for category in there}


def counts_of(record, pairs):
    found = told(record)
    if found is None or pairs == ALL or record["n_pairs"]["Total"] < 100:  # of QUICK=1
        return record["metrics"].get(record["select"], {}).get("distinguished", {})
    return counted(found & pairs)


def all_pairs(line):
    """What the best seed told apart of all pairs, where the paper's script walked through fewer."""
    found = [told(r) for r in line.done if told(r) is not None and r["n_pairs"]["Total"] == N_PAIRS]
    if walked(line) == ALL or not found:
        return EMPTY
    return Cell(in_words(counted(max(found, key=len))))


def script(line):
    return number(len(walked(line))) if walked(line) != ALL else EMPTY


def allowed(line):
    """By category, on the pairs that are compared."""
    return EMPTY if twin(line) is None else Cell(in_words(counted(twin(line) & walked(line))))


def beyond(line):
    """Pairs that a net told apart although its twin cannot: false alarms of the test, or a mistake."""
    found = (
        [sorted(told(r) - twin(line)) for r in (*line.done, *line.parts) if told(r)] if twin(line) is not None else []
    )
    pairs = sorted({pair for some in found for pair in some})
    return Cell(", ".join(map(str, pairs)), (len(pairs),)) if pairs else EMPTY


class Count(Beside):
    """The pairs of a category that are told apart."""

    def __init__(self, category):
        super().__init__(category, category, self.ours, label=category, keep=category == "Total")

    def ours(self, line):
        return number(best(line)[self.key]) if self.key in best(line) else EMPTY

    def label_of(self, line):
        n = line.results[0].get("n_pairs", {})
        n = counted(walked(line)) if n.get("Total") == N_PAIRS else n
        return f"{self.key} ({n.get(self.key, 0)} pairs)"


class CountsAgree(Agrees):
    """The total, ours minus the paper's; and whether every count that the paper prints is ours."""

    rule = (
        "A row agrees when every count that the paper prints is ours. While seeds are missing, a row with a smaller total is not "
        "judged, since the paper has the best of its seeds; neither is one without some categories."
    )

    def columns(self, view):
        known = [view.compared and self.is_comparable(line) for line in view.lines]
        differences = [
            best(line)["Total"] - line.printed["Total"].mean if comparable else None
            for line, comparable in zip(view.lines, known, strict=True)
        ]
        words = [self.word(line) if view.compared else "" for line in view.lines]
        cells = [EMPTY if d is None else Cell(f"{d:+d}", (d,)) for d in differences]
        return [Column("Δ", cells), Column("agrees", [Cell(word or "-") for word in words])]

    def is_comparable(self, line):
        printed = line.printed.values()
        return "Total" in best(line) and bool(printed) and all(entry.mean is not None for entry in printed)

    def word(self, line):
        if not self.is_comparable(line):
            return ""
        if not self.differing(line):
            return "yes"
        may_rise = best(line)["Total"] < line.printed["Total"].mean and not line.is_complete
        return "" if may_rise else "no"  # the seed with the largest total counts

    def differing(self, line):
        ours = best(line)
        found = {key: entry for key, entry in line.printed.items() if ours.get(key) != entry.mean}
        return {key: (str(ours.get(key, "nothing")), entry.text) for key, entry in found.items()}


def unreliable(statistic):
    """Failures of the reliability check, summed over the seeds; nets only."""

    def cell(line):
        failures = [counted["reliability_failures"] for counted in tested(line, statistic)]
        return number(sum(failures)) if failures else EMPTY

    return cell


def mean_total(line):
    found = [counts["Total"] for r in line.done if (counts := counts_of(r, walked(line)))]
    return number(fmean(found), 1) if len(found) > 1 else EMPTY


def total_by_text(line):
    return number(max(totals(line, "text"))) if totals(line, "text") else EMPTY


def pairs_that(key):
    """How many pairs diverged, or needed more memory than there was."""

    def cell(line):
        n = sum(counted.get(key, 0) for counted in tested(line))
        return number(n) if n else EMPTY

    return cell


def seeds(line):
    n, asked, parts = len(line.done), len(line.asked), len(line.parts)
    if not n and parts:
        return Cell(f"{parts} of {asked}, in part", (0, asked))
    return Cell(f"{n} of {asked}", (n, asked)) if n else EMPTY


def minutes(line):
    return number(60 * fmean(r["total_time_hr"] for r in line.done), 1) if line.done else EMPTY


def detail(header, cell, fields=("",)):
    return Each(header, cell, fields, label=header)


COUNTS = tuple(map(Count, CATEGORIES))
DETAILS = (
    detail("script's pairs", script),
    detail("all 400 pairs", all_pairs),
    detail("twin allows", allowed),
    detail("beyond the twin", beyond),
    detail("mean total", mean_total),
    detail("unreliable", unreliable("program")),
    detail("total, eq. (4)", total_by_text),
    detail("unreliable, eq. (4)", unreliable("text")),
    detail("diverged", pairs_that("diverged")),
    detail("OOM", pairs_that("OOM")),
)
COLUMNS = (
    ROW, *COUNTS, CountsAgree(), *DETAILS, Each("seeds", seeds, ("", "asked")), detail("minutes per seed", minutes),
)  # fmt: skip


# --------------------------------------------------------------------------------------------------------------------
# Picture


def draw_counts(view, figure):
    """A panel per category and a line per row: the limit of a net's exact twin as a bar, the paper's count and ours as dots."""
    lines = [line for line in view.lines if line.printed or best(line)]
    figure.set_size_inches(10, 1.2 + 0.26 * len(lines))
    panels = figure.subplots(1, len(CATEGORIES), sharey=True)
    for axes, category in zip(panels, CATEGORIES, strict=True):
        for k, line in enumerate(lines):
            if (limit := twin(line)) is not None:
                axes.barh(-k, counted(limit & walked(line))[category], color="C2", alpha=0.35, label=LIMIT)
            if category in line.printed and line.printed[category].mean is not None:
                axes.plot(line.printed[category].mean, 0.17 - k, "o", color="0.5", markersize=4, label="paper")
            if category in best(line):
                axes.plot(best(line)[category], -0.17 - k, "o", color="C0", markersize=4, label="ours")
        n = counted(ALL)[category]
        axes.set_xlim(-0.04 * n, 1.04 * n)
        axes.set_title(f"{category}, of {n}", fontsize=9)
        axes.grid(axis="x", color="0.5", alpha=0.25)
        axes.set_axisbelow(True)
    panels[0].set_yticks([-k for k in range(len(lines))], [line.name for line in lines], fontsize=8)
    panels[0].set_ylim(0.6 - len(lines), 0.6)
    found = [pair for axes in panels for pair in zip(*axes.get_legend_handles_labels(), strict=True)]
    handles = {label: handle for handle, label in found}
    labels = [label for label in ("paper", "ours", LIMIT) if label in handles]
    figure.legend([handles[label] for label in labels], labels, loc="outside upper left", ncols=3, fontsize=8)


LIMIT = "what an exact version of the net tells apart: no training can exceed it"
PICTURE = Picture("Pairs told apart by category", draw_counts)


def table(number, title, csv, name, category="Total"):
    lines = partial(printed, csv, name, category)
    return Table(
        f"brec_table{number}", str(number), title, lines, COLUMNS, hide_empty=True, other_datasets=False,
        parts=(WITHOUT_CFI,), picture=PICTURE,
    )  # fmt: skip


# --------------------------------------------------------------------------------------------------------------------
# Table 7: hyper-parameters, as printed and as the program that made Table 2 has them

KEYS = {  # column of the paper: key of a row; None for what each net calls otherwise
    "radius": None, "layers": None, "inner_dim": None, "learning_rate": "train.optimizer.lr",
    "weight_decay": "train.optimizer.weight_decay", "batch_size": "train.batch_size", "epochs": "train.stop.epochs",
    "early_stop": "train.stop.loss",
}  # fmt: skip


@cache
def hyperparameters():
    lines = {}
    for line in read_csv("brec", "table7_hyperparameters"):
        lines[line["model"]] = {key: Printed(line[key] or "-", float(line[key]) if line[key] else None) for key in KEYS}
    return lines


def value_of(config, key):
    for word in key.split("."):
        config = config.get(word, {}) if isinstance(config, dict) else {}
    return config if config != {} else 0.0  # weight decay and early stop: none


def as_run(line):
    """What the rows of Table 2 have otherwise than printed, since the program has it so."""
    row = find_table("brec_table2").rows.get(line.name)
    differ = [
        f"{key} {value_of(row.config, place):g}"
        for key, place in KEYS.items()
        if row and place and line.printed and value_of(row.config, place) != line.printed[key].mean
    ]
    limit = row and row.config.get("test", {}).get("threshold")
    return Cell(", ".join(differ + ([f"threshold {limit:g}"] if limit else [])) or "-")


def printed_value(key):
    return Each(key.replace("_", " "), lambda line: Cell(line.printed[key].text if line.printed else "-"))


TABLE_7 = Table(
    "brec_table7", "7", "hyper-parameters", hyperparameters,
    (ROW, *map(printed_value, KEYS), Each("in Table 2", as_run), *(Each(c.key, c.cell) for c in COUNTS), Each("seeds", seeds)),
    hide_empty=True, other_datasets=False, parts=(WITHOUT_CFI,),
)  # fmt: skip


PAPER = Paper(
    "brec",
    "BREC",
    (
        table(2, "pairs told apart", "table2_main_results", "{model}", "{graph_category}"),
        table(3, "pairs told apart by N_k, by its radius", "table3_Nk_radius", "N_{radius_k}"),
        table(
            4, "pairs told apart by 3-WL, by its iterations", "table4_3wl_iterations", "3-WL-iterations-{iterations}"
        ),
        table(5, "pairs told apart by substructures", "table5_substructure", "{model}", "{graph_category}"),
        table(6, "pairs told apart by DropGNN, by its samples", "table6_dropgnn_samples", "DropGNN-{n_samples}"),
        TABLE_7,
    ),
)
