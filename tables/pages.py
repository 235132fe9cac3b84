"""Writes docs/reproduce.md (what each table costs and how far our own runs are), the tables of results/ and the state of the five
papers in README.md, from results alone.

python -m tables.pages           writes the pages
python -m tables.pages --check   exit 1 if a page is not what the results say
"""

import argparse
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from statistics import fmean

from runs.collect import RESULTS, read_results
from runs.table_files import ROOT, find_table
from tables.columns import Agrees
from tables.declare import Paper, Table
from tables.formats import as_markdown, markdown_lines
from tables.papers import PAPERS
from tables.stand_ins import STAND_INS
from tables.table import View, table_view

PAGE = ROOT / "docs" / "reproduce.md"
README = ROOT / "README.md"
BEGIN, END = "<!-- by python -m tables.pages: -->\n", "<!-- end -->"
STATE = {
    "rows": "rows",
    "begun": "run",
    "complete": "complete",
    "agree": "agree",
    "differ": "differ",
    "open": "not judged",
}
HEADER = ("command", "rows", "runs", "GPU hours", "CPU hours", "our runs", "agree")
TEXT = """# Reproducing the tables

Written by `python -m tables.pages` from the table files, the papers' tables and the results in `results/`; do not edit.

One command per table, from the project's folder. It installs what it needs, runs what is missing and prints the table. `QUICK=1`
before it tries everything on a tiny part of the data, `JOBS=n` makes n runs at once on the CPU, `ENGINE=ray` uses a cluster
([scale.md](scale.md)). `bash script_reproduce/all.sh` is all of them, `bash script_reproduce/check_all.sh` all with `QUICK=1`.

Our own runs are not taken for yours: a script starts from nothing. `python -m tables.table table3 --out_dir out results` shows
both.

- **rows**: lines of the table that can be run. **runs**: rows x seeds x folds. The last line counts a run of two tables once.
- **GPU hours**: the paper's own times (1080Ti, PATTERN and CLUSTER 2080Ti), one run per GPU, summed over all seeds; rows whose time
  the paper does not print are not in it. BREC prints no times.
- **CPU hours**: what our own runs took on one core of a shared two-core machine, for the rows that were run, extrapolated to all
  their seeds; what else the machine did at the time is in it.
- **our runs**: those in `results/`, and of how many rows. **agree**: rows whose scores agree with the paper's, in test and training
  (Taxonomy: in test), by the rule of `tables/compare.py`; counts of BREC agree when all of them are equal. What is known of why
  others do not is in [deviations/](deviations/README.md). A run of BREC that leaves categories out is in none of these columns.

"""


@dataclass
class Made:
    """A table with our results on one dataset, the paper's or one that stands for it."""

    paper: Paper
    table: Table
    dataset: str | None
    view: View

    @property
    def begun(self):
        return [line for line in self.view.lines if line.results]

    @property
    def page(self):
        return f"{self.paper.name}/{self.table.name}{f'_{self.dataset}' if self.dataset else ''}.md"

    def text(self):
        option = f" --dataset {self.dataset}" if self.dataset else ""
        command = f"python -m tables.table {self.table.name}{option} --out_dir results --format markdown"
        columns = self.view.columns()
        return f"{as_markdown(self.view.title, columns, self.view.notes(columns))}\n\nMade by `{command}`.\n"

    def state(self):
        n, rows = sum(len(line.results) for line in self.begun), len(self.begun)
        where = f" on {self.dataset}" if self.dataset else ""
        return f"[{n} run{'s' * (n > 1)} of {rows} row{'s' * (rows > 1)}](../results/{self.page}){where}"


def command_of(made):
    bash, script = made.table.command
    return f"{bash} script_reproduce/{made.paper.name}/{script}"


def tables_made(paper, table, results):
    """The table on the paper's dataset, and on those that stand for it where there are results."""
    own = {row.config.get("dataset") for row in find_table(table.name).rows.values()}
    there = {record["config"].get("dataset") for record in results}
    others = [*(name for name, (of_paper, _) in STAND_INS.items() if of_paper in own), *table.samples]
    datasets = (None, *(name for name in others if name in there))
    made = [Made(paper, table, dataset, table_view(table.name, results, dataset)) for dataset in datasets]
    return [m for m in made if m.begun] or made[:1]


def overview(made):
    """The cells of one table in docs/reproduce.md; hours and agreement are those of the first dataset with results."""
    first = made[0]
    lines = [line for line in first.view.lines if line.asked]
    cells = (f"`{command_of(first)}`", *wanted_cells(lines))
    if not first.begun:
        return (*cells, "-", "none yet", "-")
    cpu = sum(fmean(r["total_time_hr"] for r in line.results) * line.n_runs for line in first.begun)
    words = [word for line in first.begun if (word := judge_of(first).word(line))]
    return (
        *cells,
        f"{cpu:.1f} ({len(first.begun)} of {len(lines)} rows)",
        ", ".join(m.state() for m in made),
        f"{words.count('yes')} of {len(words)}" if words else "-",
    )


def judge_of(made):
    """The column that says whether a row agrees; nothing does where ours are not to be compared."""
    return made.view.judge or Agrees()


def counts(pages):
    """How many rows the tables on these pages have, and how many of them have runs of ours, have all of the paper's, agree, differ
    and are not judged. A row that stands on several pages counts once; it differs if it does on one of them."""
    words = defaultdict(list)  # {row: what its pages say of it}
    complete = set()
    for made in pages:
        judge = judge_of(made)
        for line in made.view.lines:
            row = runs_behind(made, line)
            words[row] += [judge.word(line)] if line.results or line.parts else []
            if line.is_complete and made.view.judge:
                complete.add(row)
    verdicts = Counter(
        "differ" if any(word.startswith("no") for word in found) else "agree" if "yes" in found else "open"
        for found in words.values()
        if found
    )
    known = {"rows": len(words), "begun": verdicts.total(), "complete": len(complete), **verdicts}
    return {key: known.get(key, 0) for key in STATE}


def runs_behind(made, line):
    """What tells a row from others: its runs on the paper's data. A row of a twin is that of the table which it is a twin of."""
    rows = line.rows
    if made.table.twin_of:
        rows = [row for row in find_table(made.table.twin_of).rows.values() if row.printed == line.name]
    return frozenset(row.id() for row in rows) or (made.table.name, line.name), line.number


def state_of_the_papers(tables):
    """The table of README.md: a line per paper, its tables together."""
    rows = [("paper", *STATE.values()), ["---"] * (1 + len(STATE))]
    for paper in PAPERS:
        own = [m for made in tables for m in made if m.paper is paper]
        rows.append((paper.title, *map(str, counts(own).values())))
    return markdown_lines(rows)


def with_state(text, lines):
    """README.md with these lines between its marks."""
    before, _, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise SystemExit(f"{README}: no table between {BEGIN.strip()} and {END}: put both lines back")
    return "".join([before, BEGIN, "\n".join(lines), "\n", END, after])


def wanted(lines):
    """{(identity, seed): (runs, GPU hours)} behind the lines, each once; a printed time is that of one seed with all its folds."""
    runs = {}
    for line in lines:
        hours = line.printed["total_time_hr"].mean or 0.0 if "total_time_hr" in line.printed else 0.0
        ids = {row: row.id() for row in line.rows}
        for row, seed in line.asked:
            _, known = runs.get((ids[row], seed), (0, 0.0))
            runs[ids[row], seed] = line.folds, known or hours
    return runs


def wanted_cells(lines):
    """Rows, runs and GPU hours."""
    runs, hours = (sum(numbers) for numbers in zip(*wanted(lines).values(), strict=True))
    return str(len(lines)), str(runs), f"{hours:.{0 if hours >= 10 else 1}f}" if hours else "-"


def total(tables):
    """The last line: all tables, a run that two of them want once. A reduced grid is asked for by its name."""
    lines = [line for made in tables if not made[0].table.variant for line in made[0].view.lines if line.asked]
    return "`bash script_reproduce/all.sh`", *wanted_cells(lines), "", "", ""


def pages():
    """{path: text} of everything that is written here."""
    results, problems = read_results([RESULTS])
    if problems:
        raise SystemExit("\n".join(problems))
    tables = [tables_made(paper, table, results) for paper in PAPERS for table in paper.tables]
    rows = [HEADER, ["---"] * len(HEADER), *map(overview, tables), total(tables)]
    pages = {PAGE: TEXT + "\n".join(markdown_lines(rows)) + "\n"}
    pages[README] = with_state(README.read_text(), state_of_the_papers(tables))
    return pages | {RESULTS / m.page: m.text() for made in tables for m in made if m.begun}


def main(argv=None):
    parser = argparse.ArgumentParser(prog="python -m tables.pages", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a page is not up to date")
    check = parser.parse_args(argv).check
    made = pages()
    gone = sorted(set(RESULTS.glob("*/*.md")) - set(made))  # pages of results that are not there any more
    if check:
        stale = gone + [path for path, text in made.items() if not path.exists() or path.read_text() != text]
        for path in stale:
            print(f"{path.relative_to(ROOT)} is not what the results say: run python -m tables.pages")
        return 1 if stale else 0
    for path in gone:
        path.unlink()
    for path, text in made.items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
