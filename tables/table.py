"""A paper's table, paper beside ours, or a table of your own runs, from results alone.

    python -m tables.table table3                     as text; also table2_ZINC, table6, brec_table2, ...: the files of configs/
    python -m tables.table table2_ZINC --dataset ZINC-redrawn --format markdown
    python -m tables.table table3 --out_dir results   the project's own runs
    python -m tables.table --runs out/ESOL            any runs of yours: a row per configuration, named by what differs
    python -m tables.table my_table.json --columns row test

A row agrees with the paper when its test and its training score do: within two of the paper's standard deviations, or not told
apart by Student's t-test (tables/compare.py). The best model of a dataset (in Table 6: of a dataset and seed) is marked **, models
within one of its standard deviations *, in both columns by the same rule.
"""

import argparse
import sys
from dataclasses import dataclass

from runs.collect import add_folders, by_id, existing_folder, read_results, report
from runs.errors import nearest
from runs.naming import as_text
from runs.signals import end_with_pipe
from runs.table_files import find_table
from tables.columns import Agrees, Score
from tables.declare import Line, lines_of
from tables.formats import FORMATS
from tables.papers import declaration, own_columns
from tables.stand_ins import STAND_INS


@dataclass
class View:
    """A table with its results, ready to be printed or drawn."""

    name: str
    title: str
    lines: list
    declared: tuple  # columns of tables/columns.py
    paper: bool = False  # whether a paper prints it
    compared: bool = False
    hide_empty: bool = True
    ours: str = "ours"

    def columns(self):
        """The printed columns."""
        made = [column for declared in self.declared for column in declared.columns(self)]
        return [column for column in made if column.keep or not (self.hide_empty and column.is_empty)]

    @property
    def judge(self):
        """The column that says whether a row agrees; None where ours are not to be compared."""
        columns = self.declared if self.compared else ()
        return next((column for column in columns if isinstance(column, Agrees)), None)

    def notes(self, columns):
        """What the signs of these columns mean, a sentence each."""
        headers, marks = [c.header for c in columns], {cell.mark for c in columns for cell in c.cells}
        found = []
        if "agrees" in headers and any(map(self.judge.word, self.lines)):
            found.append(self.judge.rule)
        if "**" in marks:
            group = "dataset and seed" if any(line.number for line in self.lines) else "dataset"
            found.append(
                f"**: the best of its {group} among those that have a score; *: within one standard deviation of it."
            )
        if any(header.endswith("Δ / s.d.") for header in headers):
            found.append("Δ / s.d.: ours minus paper in units of the paper's standard deviation; inf where that is 0.")
        elif any(header.endswith("Δ") for header in headers):
            found.append("Δ: ours minus paper.")
        return found

    def test_scores(self):
        """The scores that are drawn and tested: those on the test split."""
        found = [column for column in self.declared if isinstance(column, Score) and column.split == "test"]
        if self.paper and not found:
            raise SystemExit(
                f"{self.name}: it has counts, not scores: there is the table alone, python -m tables.table {self.name}"
            )
        return found


def table_view(name, results, dataset=None, quick=False):
    """The table of a file of configs/, or of a file of your own; as a paper declares it, or with all that the results have."""
    file = find_table(name)
    paper, table = declaration(file)
    if table and dataset and not table.other_datasets:
        raise SystemExit(f"--dataset {dataset}: the tables of {paper.title} have no other dataset")
    lines = lines_of(file, table, results, dataset, quick)
    title = f"{table.label} of {paper.title}: {table.title}" if table else file.name
    own = {line.dataset for line in lines}
    of_paper, same = STAND_INS.get(dataset, (None, None))
    compared = not quick and (dataset is None or dataset in own or of_paper in own)
    if table and compared and of_paper:
        title += f"; ours on {dataset}, {same}"
    elif changed := ({"dataset": dataset} if dataset and dataset not in own else {}) | (file.quick if quick else {}):
        texts = {key: "smaller" if isinstance(value, dict) else as_text(value) for key, value in changed.items()}
        title += f"; ours with {', '.join(f'{key}={text}' for key, text in texts.items())}"
        title += ", not the paper's, not comparable" * (table is not None)
    if table is None:
        return View(file.name, title, lines, own_columns(results))
    ours = "ours"
    if table.variant:
        title, ours = f"{title}; ours with the {table.variant}, not compared", f"ours ({table.variant})"
        compared = False
    return View(file.name, title, lines, table.columns, True, compared, table.hide_empty, ours)


# --------------------------------------------------------------------------------------------------------------------
# Tables of one's own runs


def runs_view(folders, results):
    """A line per configuration, with all that the results have; without a paper."""
    datasets = {}
    for group in by_id(results).values():
        datasets.setdefault(str(group[0]["config"].get("dataset")), []).append(group)
    lines = []
    for dataset, groups in sorted(datasets.items()):
        for name, group in sorted(zip(names_of(groups), groups, strict=True), key=lambda pair: pair[0]):
            name = name if len(datasets) == 1 else f"{dataset}, {name}"
            lines.append(Line(name, dataset, results=group, folds=len({r["fold"] for r in group})))
    where = ", ".join(map(str, folders))
    return View(where, f"{where}: mean ± s.d. over seeds and folds", lines, own_columns(results))


def names_of(groups):
    """["model=GCN, L=4", ...]: configurations by the keys in which they differ; a single one by the name of its runs."""
    if len(groups) == 1:
        return [groups[0][0]["name"]]
    configs = [dict(flattened(group[0]["config"])) for group in groups]
    keys = dict.fromkeys(key for config in configs for key in config)
    differ = [key for key in keys if len({config.get(key) for config in configs}) > 1]
    last = [key.rpartition(".")[2] for key in differ]
    short = {key: end if last.count(end) == 1 else key for key, end in zip(differ, last, strict=True)}
    return [", ".join(f"{short[k]}={config[k]}" for k in differ if k in config) or "default" for config in configs]


def flattened(config, prefix=""):
    """(dotted key, value as text) of a configuration; [{"kind": "LapPE", "k": 20}] is LapPE 20."""
    for key, value in config.items():
        if isinstance(value, dict):
            yield from flattened(value, f"{prefix}{key}.")
        elif isinstance(value, list) and all(isinstance(section, dict) for section in value):
            yield prefix + key, " + ".join(" ".join(map(as_text, section.values())) for section in value)
        else:
            yield prefix + key, as_text(value)


# --------------------------------------------------------------------------------------------------------------------
# Command line


def add_what(parser):
    """The options that table, significance and plot share: which table, of which results."""
    parser.add_argument(
        "--runs",
        nargs="+",
        type=existing_folder,
        metavar="FOLDER",
        help="in the place of a paper's table: all runs below these folders",
    )
    parser.add_argument("--dataset", help="results of the same rows on another dataset, as ZINC-redrawn")
    parser.add_argument("--quick", action="store_true", help="the runs of QUICK=1")
    add_folders(parser)


def read_view(parser, arguments):
    """The table that the command line asks for; what is wrong with results is reported."""
    if bool(arguments.name) == bool(arguments.runs):
        parser.error("name a table, as table3, or folders of runs: --runs out")
    if arguments.runs and (arguments.dataset or arguments.quick):
        parser.error("--runs: all runs below the folders; --dataset and --quick are of the papers' tables")
    folders = arguments.runs or arguments.out_dir
    results, problems = read_results(folders)
    if arguments.runs:
        view = runs_view(folders, results)
    else:
        view = table_view(arguments.name, results, arguments.dataset, arguments.quick)
        if not arguments.dataset:
            warn_of_folds(view.lines)
    report(problems)
    if results and not arguments.runs and not any(line.results or line.parts for line in view.lines):
        print(nothing_there(arguments, results), file=sys.stderr)
    if not results:
        hint = "" if arguments.runs else "; --out_dir results shows the project's own"
        print(f"no results in {', '.join(map(str, folders))}{hint}", file=sys.stderr)
    return view


def nothing_there(arguments, results):
    """That a table has no results, and on which datasets its rows have some."""
    text = f"no results of {arguments.name}" + (f" on {arguments.dataset}" if arguments.dataset else "")
    _, table = declaration(find_table(arguments.name))
    found = []
    if table is None or table.other_datasets:
        for dataset in sorted({str(record["config"].get("dataset")) for record in results}):
            lines = table_view(arguments.name, results, dataset, arguments.quick).lines
            found += [dataset] * any(line.results for line in lines)
    return text + f"; there are some with --dataset {', '.join(found)}" * bool(found)


def warn_of_folds(lines):
    """A table file that states fewer folds than its dataset has: runs are taken for done when some of their folds are."""
    for line in lines:
        last = max((r["fold"] for r in line.results), default=0)
        if line.asked and last >= line.folds:
            file = line.rows[0].table.path
            print(
                f'{file}: "folds" is {line.folds}, results have fold {last}: state how many there are', file=sys.stderr
            )
            return


def chosen(columns, words):
    """The columns whose headers begin with one of the words, in the order of the words."""
    found = {}
    for word in words:
        mine = [c for c in columns if c.header.startswith(word) and not c.header[len(word) :][:1].isalnum()]
        if not mine:
            headers = [column.header for column in columns]
            raise SystemExit(
                f"--columns {word}: no such column.{nearest(word, headers)} There are: {'; '.join(headers)}"
            )
        found |= {column.header: column for column in mine}
    return list(found.values())


def main(argv=None):
    parser = argparse.ArgumentParser(
        prog="python -m tables.table", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", nargs="?", help="table3, table2_ZINC, ...: a file of configs/, or of yours (.json)")
    add_what(parser)
    parser.add_argument("--format", choices=FORMATS, default="text")
    parser.add_argument("--columns", nargs="+", metavar="WORD", help="only columns that begin so: row test agrees")
    arguments = parser.parse_args(argv)
    view = read_view(parser, arguments)
    columns = chosen(view.columns(), arguments.columns) if arguments.columns else view.columns()
    print(FORMATS[arguments.format](view.title, columns, view.notes(columns)))
    return 0


if __name__ == "__main__":
    end_with_pipe()
    sys.exit(main())
