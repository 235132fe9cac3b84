"""How a paper declares its tables, and the lines of a table: what the paper prints, and the results that belong to it.

A result belongs to a line when it has the identity of one of the line's rows (`runs/identity.py`); names are for people.
"""

import csv
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from runs.collect import by_id
from runs.table_files import ROOT


class Printed(NamedTuple):
    """An entry as the paper prints it; `mean` is None where that is a word, as OOM, or nothing."""

    text: str
    mean: float | None = None
    sd: float | None = None


NOTHING = Printed("-")


class Picture(NamedTuple):
    """A picture of a table, draw(view, figure), or of a paper, draw(results, figure)."""

    title: str
    draw: Callable
    size: tuple = (12, 6)


@dataclass(frozen=True)
class Table:
    """A table of a paper. Its rows and seeds are in its file, configs/PAPER/NAME.json; here is what is printed and compared."""

    name: str
    number: str
    title: str
    printed: Callable  # () -> {name of a line: {key: Printed}}, in the paper's order
    columns: tuple  # of tables/columns.py
    line_per_seed: bool = False  # the paper prints a line per seed: ROW-seed1, ROW-seed2
    hide_empty: bool = False  # columns in which no line has anything are left out
    samples: tuple = ()  # data of the same kind, as a small part of it: they are shown and not compared
    other_datasets: bool = True  # whether its rows can be run on another dataset
    parts: tuple = ()  # changes of a row that make a part of its run; shown where there is no whole one, and never counted as one
    without_rows: dict = field(default_factory=dict)  # {name of a line that no row stands for: why}
    picture: Picture | None = None  # in the place of the usual ones
    of_other_tables: bool = False  # its lines are of runs that other tables print
    variant: str = ""  # in words, where ours are other runs than the paper's: they are shown and not compared
    twin_of: str = ""  # the table whose rows these are

    @property
    def label(self):
        return self.number if self.number.startswith("Figure") else f"Table {self.number}"

    @property
    def command(self):
        """The script below script_reproduce/PAPER/, with the variable that chooses a twin."""
        script, twin = re.fullmatch(r"(?:[a-z]+_)?((?:table|figure)\w+?)(?:_(reduced))?", self.name).groups()
        return f"GRID={twin} bash" if twin else "bash", f"{script}.sh"

    def twin(self, suffix, variant):
        """The same table of other runs: those of the file NAME_SUFFIX."""
        return replace(self, name=f"{self.name}_{suffix}", variant=variant, twin_of=self.name)


@dataclass(frozen=True)
class Paper:
    """A paper: `name` is its folder in configs/, paper_tables/ and results/."""

    name: str
    title: str
    tables: tuple
    pictures: tuple = ()  # of the whole paper, on its overview


@dataclass
class Line:
    """One line of a table: what the paper prints, the runs it is of, and the results there are."""

    name: str
    dataset: str | None
    number: int | None = None  # of the seed, where the paper prints a line per seed
    printed: dict = field(default_factory=dict)
    asked: list = field(default_factory=list)  # (row of the table file, seed)
    folds: int = 1
    ids: dict = field(default_factory=dict)  # {row: identity's hash of its runs}
    results: list = field(default_factory=list)
    parts: list = field(default_factory=list)  # results of parts of its runs

    @property
    def group(self):
        """The lines among which the best is marked."""
        features = self.asked[0][0].config.get("data", {}).get("features") if self.asked else None
        return self.dataset, features, self.number

    @property
    def rows(self):
        """The rows of the table file behind the line; several when it pools models."""
        return list(dict.fromkeys(row for row, _ in self.asked))

    @property
    def n_runs(self):
        """How many scores the paper's mean and s.d. are of: rows, seeds, folds."""
        return len(self.asked) * self.folds

    @property
    def is_complete(self):
        """Whether each of its runs is done; further seeds do not make up for a missing one."""
        there = {(r["id"], r["seed"], r["fold"]) for r in self.done}
        return bool(there) and all(
            (self.ids[row], seed, fold) in there for row, seed in self.asked for fold in range(self.folds)
        )

    @property
    def done(self):
        return [r for r in self.results if r["status"] == "ok"]

    def scores(self, split, name):
        """The values of a metric, one per finished run that has it."""
        chosen = (r["metrics"][r["select"]].get(split, {}) for r in self.done)
        return [values[name] for values in chosen if name in values]


def lines_of(file, table=None, results=(), dataset=None, quick=False):
    """The lines of a table in the paper's order, then those of rows that the paper does not have."""
    printed = table.printed() if table else {}
    lines = {name: Line(name, file.shared.get("dataset"), printed=p, folds=file.folds) for name, p in printed.items()}
    apart = table is not None and table.line_per_seed
    for row in file.rows.values():
        for number, seed in enumerate(row.seeds, 1):
            name = f"{row.printed}-seed{number}" if apart else row.printed
            line = lines.setdefault(name, Line(name, None, folds=row.folds))
            line.dataset, line.folds = row.config.get("dataset"), row.folds
            line.number = number if apart else None
            line.asked.append((row, seed))
    found, other = by_id(results), {"dataset": dataset} if dataset else {}
    # WebKB-Cor-true is of the lines of WebKB-Cor: with another dataset the rows of all are the same runs
    of_this = max(
        {line.dataset for line in lines.values() if dataset and dataset.startswith(line.dataset or "-")},
        key=len,
        default=None,
    )
    for line in lines.values():
        if of_this and line.dataset != of_this:
            continue
        line.ids = {row: row.id(other | (row.quick_changes() if quick else {})) for row in line.rows}
        seeds = {seed for _, seed in line.asked}
        ids = dict.fromkeys(line.ids.values())
        line.results = [r for i in ids for r in found.get(i, []) if not apart or r["seed"] in seeds]
        parts = [row.id(other | part) for row in line.rows for part in (table.parts if table and not quick else ())]
        line.parts = [r for i in dict.fromkeys(parts) for r in found.get(i, []) if r["status"] == "ok"]
    return list(lines.values())


def read_csv(paper, name):
    """The lines of paper_tables/PAPER/NAME.csv."""
    with open(ROOT / "paper_tables" / paper / f"{name}.csv", newline="") as file:
        return list(csv.DictReader(file))
