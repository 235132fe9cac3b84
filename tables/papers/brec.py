"""BREC: Tables 2, 3 and 4, pairs told apart, by category and in all.

Of several seeds the best one is compared, as in the paper (appendix J), with the mean beside it. Our counts are those of the
published program's statistic; the last columns have those of the text's, eq. (4) of section 4.2 (train/rpc.py). A row agrees when
every count that the paper prints is ours.
"""

from functools import cache, partial
from statistics import fmean

from tables.columns import EMPTY, ROW, Beside, Cell, Column, Each, number
from tables.declare import Paper, Printed, Table, read_csv

CATEGORIES = ("Basic", "Regular", "Extension", "CFI", "Total")


@cache
def printed(csv, name, category="Total"):
    """{name of a line: {category: count}}; `name` and `category` are made from a line of the file."""
    lines = {}
    for line in read_csv("brec", csv):
        count = line["n_distinguished"]
        lines.setdefault(name.format(**line), {})[category.format(**line)] = Printed(count, int(count))
    return lines


# --------------------------------------------------------------------------------------------------------------------
# Columns: cells of a line


def best(line):
    """{category: pairs told apart} of the best seed."""
    return counts(max(line.done, key=total)) if line.done else {}


def counts(result, statistic=None):
    return result["metrics"][statistic or result["select"]].get("distinguished", {})


def total(result, statistic=None):
    return counts(result, statistic).get("Total", 0)


def count(category):
    def cell(line):
        found = best(line)
        return number(found[category]) if category in found else EMPTY

    return cell


class Difference:
    """The total: ours minus the paper's; and whether all counts that the paper prints are ours."""

    def columns(self, view):
        known = [line if view.compared and best(line) and line.printed else None for line in view.lines]
        difference = [Cell(f"{(d := self.difference(line)):+d}", (d,)) if line else EMPTY for line in known]
        return [Column("Δ", difference), Column("agrees", [Cell(self.word(line) if line else "-") for line in known])]

    def difference(self, line):
        return best(line)["Total"] - line.printed["Total"].mean

    def word(self, line):
        """ "yes" or "no"; "" where there is nothing to compare."""
        ours = best(line)
        if not ours or not line.printed:
            return ""
        return "yes" if all(ours.get(category) == entry.mean for category, entry in line.printed.items()) else "no"


def mean_total(line):
    return number(fmean(map(total, line.done)), 1) if best(line) and len(line.done) > 1 else EMPTY


def unreliable(statistic):
    """Failures of the reliability check, summed over the seeds; nets only."""

    def cell(line):
        tested = [r["metrics"][statistic]["reliability_failures"] for r in line.done if "text" in r["metrics"]]
        return number(sum(tested)) if tested else EMPTY

    return cell


def total_by_text(line):
    tested = [total(r, "text") for r in line.done if "text" in r["metrics"]]
    return number(max(tested)) if tested else EMPTY


def seeds(line):
    n, asked = len(line.done), len(line.asked)
    return Cell(f"{n} of {asked}", (n, asked)) if n else EMPTY


def minutes(line):
    """Of one seed."""
    return number(60 * fmean(r["total_time_hr"] for r in line.done), 1) if line.done else EMPTY


COUNTS = tuple(Beside(category, category, count(category), keep=category == "Total") for category in CATEGORIES)
DETAILS = (
    Each("mean total", mean_total),
    Each("unreliable", unreliable("program")),
    Each("total, eq. (4)", total_by_text),
    Each("unreliable, eq. (4)", unreliable("text")),
)
COLUMNS = (ROW, *COUNTS, Difference(), *DETAILS, Each("seeds", seeds, ("", "asked")), Each("minutes per seed", minutes))


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
