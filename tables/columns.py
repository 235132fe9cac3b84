"""The columns that tables are declared of. One declared column may give several printed ones: paper, ours, difference."""

from statistics import fmean
from typing import NamedTuple

from tables.compare import agreement, in_deviations, marks, mean_and_deviation, spread
from tables.declare import NOTHING


class Cell(NamedTuple):
    """What stands in a cell: a text, and for CSV a value per field of the column."""

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


def cost(value):
    """Two decimals; of what is smaller than 0.01 two significant digits."""
    return number(value, 2) if value >= 0.01 else Cell(f"{value:.2g}", (round(value, 6),))


class Each:
    """One column; a cell depends on its line alone. With a label it is a line of the report that a main file ends with."""

    def __init__(self, header, cell, fields=("",), label=None):
        self.header, self.cell, self.fields, self.label = header, cell, fields, label

    def columns(self, view):
        return [Column(self.header, [self.cell(line) for line in view.lines], self.fields)]

    def label_of(self, line):
        return self.label

    def paper(self, line):
        return EMPTY


class Beside(Each):
    """What the paper prints under a key, and ours beside it; ours alone in a table without a paper."""

    def __init__(self, header, key, ours, fields=("",), label=None, keep=False):
        super().__init__(header, ours, fields, label)
        self.key, self.keep = key, keep

    def printed(self, line):
        return line.printed.get(self.key, NOTHING)

    def paper(self, line):
        entry = self.printed(line)
        return Cell(entry.text, (entry.mean, entry.sd, "" if entry.mean is not None else entry.text))

    def columns(self, view):
        name = f"{self.header}, {view.ours}" if view.paper else self.header
        ours = Column(name, self.marked(view.lines, self.cell), self.fields, self.keep and view.paper)
        paper = Column(f"{self.header}, paper", self.marked(view.lines, self.paper), self.fields)
        return [paper, ours] if view.paper else [ours]

    def marked(self, lines, cell):
        return [cell(line) for line in lines]


class Score(Beside):
    """mean ± s.d. of a metric on a split, over seeds and folds: paper, ours, and their difference in units of the paper's s.d."""

    unit, digits = "Δ / s.d.", 1

    def __init__(self, split, measure, header=None, with_marks=False):
        label = f"{split} {measure.name}{measure.unit}"
        super().__init__(header or split, header or split, self.ours, ("", "s.d.", "note"), label)
        self.split, self.measure, self.with_marks = split, measure, with_marks

    def values(self, line):
        return line.scores(self.split, self.measure.name)

    def ours(self, line):
        """mean ± s.d.; with the number of runs that ended otherwise, or just how they ended."""
        values, others = self.values(line), ", ".join(sorted({r["status"] for r in line.results} - {"ok"}))
        if not values:
            return Cell(others or "-", ("", "", others))
        note = f"{len(line.results) - len(line.done)} {others}" if others else ""
        text = spread(values, self.measure.digits) + (f" ({note})" if note else "")
        mean, deviation = (round(value, 6) for value in mean_and_deviation(values))
        return Cell(text, (mean, deviation if len(values) > 1 else "", note))

    def marked(self, lines, cell):
        cells = [cell(line) for line in lines]
        if not self.with_marks:
            return cells
        pairs = [(c.values[0], c.values[1] or 0.0) if c.values[0] not in ("", None) else None for c in cells]
        found = marks(pairs, self.measure.better, [line.group for line in lines])
        return [cell._replace(mark=mark) for cell, mark in zip(cells, found, strict=True)]

    def compare(self, line):
        """(difference, whether ours agrees) by the rule of tables/compare.py; (None, None) when there is nothing to compare."""
        paper, values = self.printed(line), self.values(line)
        agrees = agreement(paper.mean, paper.sd, values, line.n_runs, self.measure.digits)
        return (None if agrees is None else self.difference(paper, values)), agrees

    def difference(self, paper, values):
        return in_deviations(paper.mean, paper.sd, values, self.measure.digits)

    def columns(self, view):
        units = [self.compare(line)[0] if view.compared else None for line in view.lines]
        cells = [Cell("") if u is None else Cell(f"{u:+.{self.digits}f}" if u else "0", (round(u, 6),)) for u in units]
        return super().columns(view) + ([Column(f"{self.header}, {self.unit}", cells)] if view.paper else [])


class Agrees(Each):
    """Whether all of the named scores agree; of a row that does not, which of them differ."""

    rule = (
        "A row agrees when each of its scores does: the means differ by at most two of the paper's standard deviations or by half "
        "a printed digit, or Student's t-test does not tell two runs of ours or more apart from the paper's (p ≥ 0.05). A row with "
        "a run that diverged differs."
    )

    def __init__(self, *scores):
        super().__init__("agrees", lambda line: Cell(self.word(line)))
        self.scores = scores

    def columns(self, view):
        return super().columns(view) if view.compared else []

    def word(self, line):
        """ "yes", "no: test", "no: test, train", or "" where there is nothing to compare."""
        if differ := self.differing(line):
            return f"no: {', '.join(differ)}"
        return "yes" if any(score.compare(line)[1] for score in self.scores) else ""

    def differing(self, line):
        """{header of a score that does not agree: (ours, paper) as texts}; a run that diverged agrees with none. One that was short
        of memory says nothing of the score."""
        scores = [score for score in self.scores if score.compare(line)[1] is False]
        printed = [score for score in self.scores if score.printed(line).mean is not None]
        if any(r["status"] == "Diverged" for r in line.results) and printed:
            scores = list(dict.fromkeys([printed[0], *scores]))
        return {score.header: (score.cell(line).text, score.paper(line).text) for score in scores}


def mean_of(key, times=lambda line: 1):
    """The mean of a number of the results, over finished runs; a method without training has none."""

    def cell(line):
        values = [r[key] for r in line.done if r[key] is not None]
        return cost(fmean(values) * times(line)) if values else EMPTY

    return cell


class Parameters(Beside):
    """The paper's count; ours beside it only where they differ."""

    def __init__(self):
        super().__init__("parameters", "params", self.ours, ("paper", "ours"), "parameters")

    def ours(self, line):
        counted = sorted({r["params"] for r in line.results if r["params"] is not None})
        return Cell(", ".join(map(str, counted)) or "-")

    def columns(self, view):
        return [Column(self.header, [self.both(line) for line in view.lines], self.fields)]

    def both(self, line):
        printed, ours = self.printed(line).text, self.ours(line).text
        if printed == "-" and ours != "-":
            text = f"ours {ours}" if line.printed else ours
        else:
            text = printed if ours in ("-", printed) else f"{printed} (ours {ours})"
        return Cell(text, (printed.strip("-"), ours.strip("-")))


def runs(line):
    n, asked = len(line.results), line.n_runs
    further = f"{n}, of the paper {asked}" if line.printed else f"{n}, asked for {asked}"  # further seeds count too
    text = f"{n} of {asked}" if n <= asked else further
    return Cell(text if line.asked or line.printed else str(n), (n, asked or ""))


ROW = Each("row", lambda line: Cell(line.name, (line.name,)))
COSTS = (
    Beside("epochs", "epochs", mean_of("epochs"), label="epochs"),
    Beside("s / epoch", "epoch_time_s", mean_of("epoch_time_s"), label="seconds per epoch"),
    # of one model and seed with all its folds, as the paper counts them
    Beside("hours", "total_time_hr", mean_of("total_time_hr", lambda line: line.folds), label="hours per seed"),
    Parameters(),
    Each("runs", runs, ("", "asked")),
)
