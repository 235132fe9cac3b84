"""The columns that tables are declared of. A declared column gives one or more printed ones: "test" gives paper, ours and difference."""

from statistics import fmean
from typing import NamedTuple

from tables.compare import agreement, marks_by_group, mean_and_deviation, spread
from tables.declare import NOTHING


class Cell(NamedTuple):
    """What stands in a cell: as text, and for CSV as values, one per field of the column."""

    text: str
    values: tuple = ()
    mark: str = ""  # ** or *


class Column(NamedTuple):
    """A printed column."""

    header: str
    cells: list
    fields: tuple = ("",)  # CSV has a column per field
    keep: bool = False  # also when it is empty

    @property
    def is_empty(self):
        return all(cell.text in ("", "-") for cell in self.cells)


EMPTY = Cell("-")


def number(value, digits=0):
    return Cell(f"{value:.{digits}f}", (round(value, 6),))


def as_cell(printed, mark=""):
    return Cell(printed.text, (printed.mean, printed.sd, "" if printed.mean is not None else printed.text), mark)


class Each:
    """One column; a cell depends on its own line alone."""

    def __init__(self, header, cell, fields=("",)):
        self.header, self.cell, self.fields = header, cell, fields

    def columns(self, view):
        return [Column(self.header, [self.cell(line) for line in view.lines], self.fields)]


class Beside:
    """What the paper prints under a key, and ours beside it; ours alone in a table without a paper."""

    def __init__(self, header, key, ours, keep=False):
        self.header, self.key, self.ours, self.keep = header, key, ours, keep

    def columns(self, view):
        ours = [self.ours(line) for line in view.lines]
        if not view.paper:
            return [Column(self.header, ours)]
        paper = [as_cell(line.printed.get(self.key, NOTHING)) for line in view.lines]
        return [Column(f"{self.header}, paper", paper), Column(f"{self.header}, ours", ours, keep=self.keep)]


class Score:
    """mean ± s.d. of a metric on a split, over seeds and folds: paper, ours, and their difference in units of the paper's s.d."""

    FIELDS = ("", "s.d.", "note")

    def __init__(self, split, measure, header=None, marked=False):
        self.split, self.measure, self.header, self.marked = split, measure, header or split, marked

    def columns(self, view):
        ours = Column(f"{self.header}, ours" if view.paper else self.header, self.our_cells(view.lines), self.FIELDS)
        if not view.paper:
            return [ours]
        paper = Column(f"{self.header}, paper", self.paper_cells(view.lines), self.FIELDS)
        differences = [self.difference(line) if view.compared else Cell("") for line in view.lines]
        return [paper, ours, Column(f"{self.header}, Δ / s.d.", differences)]

    def values(self, line):
        return line.scores(self.split, self.measure.name)

    def printed(self, line):
        return line.printed.get(self.split, NOTHING)

    def compare(self, line):
        """(difference, whether ours agrees) by the rule of tables/compare.py."""
        paper = self.printed(line)
        return agreement(paper.mean, paper.sd or 0.0, self.values(line), line.n_runs, self.measure.digits)

    def difference(self, line):
        units, _ = self.compare(line)
        return Cell("") if units is None else Cell(f"{units:+.1f}" if units else "0", (round(units, 6),))

    def paper_cells(self, lines):
        pairs = [None if (p := self.printed(line)).mean is None else (p.mean, p.sd or 0.0) for line in lines]
        found = zip(lines, self.marks(lines, pairs), strict=True)
        return [as_cell(self.printed(line), mark) for line, mark in found]

    def our_cells(self, lines):
        pairs = [mean_and_deviation(self.values(line)) for line in lines]
        found = zip(lines, pairs, self.marks(lines, pairs), strict=True)
        return [self.our_cell(line, pair, mark) for line, pair, mark in found]

    def our_cell(self, line, pair, mark):
        """mean ± s.d.; with the number of runs that ended otherwise, or just how they ended."""
        others = ", ".join(sorted({r["status"] for r in line.results} - {"ok"}))
        if pair is None:
            return Cell(others or "-", ("", "", others))
        note = f"{len(line.results) - len(line.done)} {others}" if others else ""
        text = spread(self.values(line), self.measure.digits) + (f" ({note})" if note else "")
        return Cell(text, (round(pair[0], 6), round(pair[1], 6), note), mark)

    def marks(self, lines, pairs):
        better = self.measure.better
        return marks_by_group([line.group for line in lines], pairs, better) if self.marked else [""] * len(lines)


class Agrees:
    """Whether all of the named scores agree; of a row that does not, which of them differ."""

    def __init__(self, *scores):
        self.scores = scores

    def columns(self, view):
        return [Column("agrees", [Cell(self.word(line) if view.compared else "") for line in view.lines])]

    def word(self, line):
        """ "yes", "no: test", "no: test, train", or "" where there is nothing to compare."""
        found = {score.header: score.compare(line)[1] for score in self.scores}
        differ = [header for header, same in found.items() if same is False]
        return f"no: {', '.join(differ)}" if differ else "yes" if True in found.values() else ""


class Parameters:
    """The number of parameters; ours beside the paper's only where they differ."""

    def columns(self, view):
        fields = ("paper", "ours") if view.paper else ("",)
        return [Column("parameters", [self.cell(line, view.paper) for line in view.lines], fields)]

    def cell(self, line, with_paper):
        counted = [str(n) for n in sorted({r["params"] for r in line.results if r["params"] is not None})]
        ours, printed = ", ".join(counted), line.printed.get("params", NOTHING).text
        if not with_paper:
            return Cell(ours or "-", (ours,))
        return Cell(printed if ours in ("", printed) else f"{printed} (ours {ours})", (printed, ours))


ROW = Each("row", lambda line: Cell(line.name, (line.name,)))


def mean_of(key, digits=2):
    """The mean of a number of the results, over finished runs."""


    def cell(line):
        values = [r[key] for r in line.done if r[key] is not None]  # a method without training has none
        return number(fmean(values), digits) if values else EMPTY

    return cell


def hours(line):
    """Of one model and seed with all its folds, as the paper counts them; estimated from the runs there are."""
    return number(fmean(r["total_time_hr"] for r in line.done) * line.folds, 2) if line.done else EMPTY


def runs(line):
    n, asked = len(line.results), line.n_runs
    return Cell(f"{n} of {asked}" if line.asked or line.printed else str(n), (n, asked or ""))


COSTS = (
    Beside("epochs", "epochs", mean_of("epochs")),
    Beside("s / epoch", "epoch_time_s", mean_of("epoch_time_s")),
    Beside("hours", "total_time_hr", hours),
    Parameters(),
    Each("runs", runs, ("", "asked")),
)
