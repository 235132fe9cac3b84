"""BREC: Tables 2, 3 and 4, pairs told apart, by category and in all.

Of several seeds the best one is compared, as in the paper (appendix J), with the mean beside it. Our counts are those of the
published program's statistic; the last columns have those of the text's, eq. (4) of section 4.2 (train/rpc.py). A row agrees when
every count that the paper prints is ours.
"""

from functools import cache, partial
from statistics import fmean

from tables.columns import EMPTY, ROW, Agrees, Beside, Cell, Column, Each, number
from tables.declare import Paper, Printed, Table, read_csv

CATEGORIES = ("Basic", "Regular", "Extension", "CFI", "Total")


@cache
def printed(csv, name, category):
    """{name of a line: {category: count}}; `name` and `category` are made from a line of the file."""
    lines = {}
    for line in read_csv("brec", csv):
        count = line["n_distinguished"]
        lines.setdefault(name.format(**line), {})[category.format(**line)] = Printed(count, int(count))
    return lines


def tested(line, statistic=None):
    """[what the statistic counted, one per seed]; that of the run's choice when none is named."""
    found = (r["metrics"].get(statistic or r["select"], {}) for r in line.done)
    return [counted for counted in found if "distinguished" in counted]


def totals(line, statistic=None):
    return [counted["distinguished"]["Total"] for counted in tested(line, statistic)]


def best(line):
    """{category: pairs told apart} of the best seed."""
    return max((counted["distinguished"] for counted in tested(line)), key=lambda counts: counts["Total"], default={})


class Count(Beside):
    """The pairs of a category that are told apart."""

    def __init__(self, category):
        super().__init__(category, category, self.ours, label=category, keep=category == "Total")

    def ours(self, line):
        return number(best(line)[self.key]) if self.key in best(line) else EMPTY

    def label_of(self, line):
        return f"{self.key} ({line.results[0].get('n_pairs', {}).get(self.key, 0)} pairs)"


class CountsAgree(Agrees):
    """The total, ours minus the paper's; and whether every count that the paper prints is ours."""

    def columns(self, view):
        known = [view.compared and self.word(line) for line in view.lines]
        differences = [
            best(line)["Total"] - line.printed["Total"].mean if word else None
            for line, word in zip(view.lines, known, strict=True)
        ]
        cells = [EMPTY if d is None else Cell(f"{d:+d}", (d,)) for d in differences]
        return [Column("Δ", cells), Column("agrees", [Cell(word or "-") for word in known])]

    def word(self, line):
        ours = best(line)
        if not ours or not line.printed:
            return ""
        return "yes" if all(ours.get(category) == entry.mean for category, entry in line.printed.items()) else "no"


def unreliable(statistic):
    """Failures of the reliability check, summed over the seeds; nets only."""

    def cell(line):
        failures = [counted["reliability_failures"] for counted in tested(line, statistic)]
        return number(sum(failures)) if failures else EMPTY

    return cell


def mean_total(line):
    return number(fmean(totals(line)), 1) if len(totals(line)) > 1 else EMPTY


def total_by_text(line):
    return number(max(totals(line, "text"))) if totals(line, "text") else EMPTY


def diverged(line):
    n = sum(counted.get("diverged", 0) for counted in tested(line))
    return number(n) if n else EMPTY


def seeds(line):
    n, asked = len(line.done), len(line.asked)
    return Cell(f"{n} of {asked}", (n, asked)) if n else EMPTY


def minutes(line):
    return number(60 * fmean(r["total_time_hr"] for r in line.done), 1) if line.done else EMPTY


def detail(header, cell, fields=("",)):
    return Each(header, cell, fields, label=header)


COUNTS = tuple(map(Count, CATEGORIES))
DETAILS = (
    detail("mean total", mean_total),
    detail("unreliable", unreliable("program")),
    detail("total, eq. (4)", total_by_text),
    detail("unreliable, eq. (4)", unreliable("text")),
    detail("diverged", diverged),
)
COLUMNS = (
    ROW, *COUNTS, CountsAgree(), *DETAILS, Each("seeds", seeds, ("", "asked")), detail("minutes per seed", minutes),
)  # fmt: skip


def table(number, csv, name, category="Total"):
    lines = partial(printed, csv, name, category)
    return Table(
        f"brec_table{number}", str(number), "pairs told apart", lines, COLUMNS, hide_empty=True, other_datasets=False
    )


PAPER = Paper(
    "brec",
    "BREC",
    (
        table(2, "table2_main_results", "{model}", "{graph_category}"),
        table(3, "table3_Nk_radius", "N_{radius_k}"),
        table(4, "table4_3wl_iterations", "3-WL-iterations-{iterations}"),
    ),
)
