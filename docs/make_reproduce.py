"""Writes docs/reproduce.md (what each table costs and how far our own runs are) and the tables of results/, from result files.

python -m docs.make_reproduce           writes the pages
python -m docs.make_reproduce --check   exit 1 if a page is not what the result files say
"""

import argparse
import sys
from pathlib import Path
from statistics import fmean

from data.catalogue import CATALOGUE
from train.naming import run_name
from train.pair_table import file_of, make_pair_table
from train.result_files import read_results
from train.table import (
    as_markdown,
    config_files,
    is_number,
    make_table,
    n_runs_of,
    printed_lines,
    results_of,
    seeds_of,
    whole_table,
)

ROOT = Path(__file__).resolve().parent.parent
PAGE = Path(__file__).with_name("reproduce.md")
RESULTS = ROOT / "results"
# The dataset that our runs of a table are made on, where the paper's is not at hand.
STAND_IN = {"table2_ZINC": "ZINC-redrawn"}
PAIR_TABLES = ("brec_table2", "brec_table3", "brec_table4")

TEXT = """# Reproducing the tables

Written by `python -m docs.make_reproduce` from the scripts, the paper's tables and the files in `results/`; do not edit.

One command a table, from the project's folder. It installs what it needs, runs what is missing and prints the table. `QUICK=1`
before it tries everything on a tiny part of the data, `JOBS=n` makes n runs at once on the CPU, `ENGINE=ray` uses a cluster
([scale.md](scale.md)). `bash script_reproduce/all.sh` is all of them, `bash script_reproduce/check_all.sh` all with `QUICK=1`.

Our own runs are not taken for yours: a script starts from nothing. `cp -r results/. out/` before it goes on from them
instead.

- **runs**: rows x seeds x folds.
- **GPU hours**: the paper's own times (1080Ti, PATTERN and CLUSTER 2080Ti), one run a GPU, summed over all seeds; rows whose time
  the paper does not print are not in it.
- **CPU hours**: what our own runs took on one core of a shared two-core machine, for the rows that were run, extrapolated to all
  their seeds; what else the machine did at the time is in it.
- BREC (`brec_`) prints no times; the counts of exact methods and of nets agree when they are equal.
- **our runs**: those in `results/`, and of how many rows; **agree**: rows whose test score agrees with the paper's, by the rule of
  `train/table.py` (at most two of the paper's s.d. apart, or Welch's p at least 0.05). Why the others do not is in
  [deviations.md](deviations.md).

"""


def scripts():
    return sorted(path.stem for path in (ROOT / "script_reproduce").glob("table*.sh"))


def suffix_of(name):
    return run_name("", {"dataset": STAND_IN[name]} if name in STAND_IN else {})


def overview(name, results, files):
    """The cells of one table."""
    lines, suffix = printed_lines(name), suffix_of(name)
    own = [results_of(line, results, files, suffix) for line in lines]
    runs = [n_runs_of(line, files) for line in lines]
    gpu = gpu_hours(lines, files)
    cpu = sum(fmean(r["total_time_hr"] for r in found) * n for found, n in zip(own, runs, strict=True) if found)
    begun = sum(bool(found) for found in own)
    agree = sum(row[4] == "yes" for row in make_table(name, results, suffix))
    if not begun:
        state = "none yet"
    else:
        page = f"../results/{page_of(name)}"
        state = f"[{sum(map(len, own))} runs of {begun} rows]({page}){f' on {STAND_IN[name]}' if suffix else ''}"
    return (
        f"`bash script_reproduce/{name}.sh`",
        str(len(lines)),
        str(sum(runs)),
        f"{gpu:.0f}" if gpu >= 10 else f"{gpu:.1f}",
        f"{cpu:.1f} ({begun} of {len(lines)} rows)" if begun else "-",
        state,
        f"{agree} of {begun}" if begun else "-",
    )


def pair_overview(name, results):
    """The cells of one table of BREC, of the rows that have a configuration here."""
    _, header, rows = make_pair_table(name, results)
    rows = [dict(zip(header, row, strict=True)) for row in rows]
    files = config_files("brec")
    n_seeds = {row["row"]: len(seeds_of(path)) if (path := file_of(row["row"], files)) else 0 for row in rows}
    planned = [row for row in n_seeds if n_seeds[row]]
    ours = [row for row in rows if row["Total, ours"] != "-"]
    hours = sum(float(row["minutes a seed"]) / 60 * n_seeds[row["row"]] for row in ours)
    cells = (f"`bash script_reproduce/{name}.sh`", str(len(planned)), str(sum(n_seeds.values())), "-")
    if not ours:
        return (*cells, "-", "none yet", "-")
    return (
        *cells,
        f"{hours:.1f} ({len(ours)} of {len(planned)} rows)",
        f"[{sum(int(row['seeds'].split()[0]) for row in ours)} runs of {len(ours)} rows](../results/{name}.md)",
        f"{sum(row['agrees'] == 'yes' for row in ours)} of {sum(row['agrees'] != '-' for row in ours)}",
    )


def gpu_hours(lines, files):
    """By the paper: a line prints the time of one seed, all folds together."""
    timed = [line for line in lines if is_number(line["total_time_hr"])]
    return sum(float(line["total_time_hr"]) * n_runs_of(line, files) / n_folds(line) for line in timed)


def n_folds(line):
    return CATALOGUE[line["dataset"]].n_folds


def total(body, files):
    """The last line: all tables."""
    n_rows, n_runs = (sum(int(cells[k]) for cells in body) for k in (1, 2))
    hours = gpu_hours([line for name in scripts() for line in printed_lines(name)], files)
    return ("`bash script_reproduce/all.sh`", str(n_rows), str(n_runs), f"{hours:.0f}", "", "", "")


def page_of(name):
    return f"{name}{f'_{STAND_IN[name]}' if name in STAND_IN else ''}.md"


def pages():
    """{path: text} of everything that is written here."""
    results, problems = read_results([RESULTS])
    if problems:
        raise SystemExit("\n".join(problems))
    files = config_files()
    head = ("command", "rows", "runs", "GPU hours", "CPU hours", "our runs", "agree")
    body = [overview(name, results, files) for name in scripts()]
    body += [pair_overview(name, results) for name in PAIR_TABLES]
    rows = [head, ["---"] * len(head), *body, total(body, files)]
    made = {PAGE: TEXT + "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"}
    for name in PAIR_TABLES:
        table = as_markdown(*make_pair_table(name, results))
        made[RESULTS / f"{name}.md"] = (
            f"{table}\n\nMade by `python -m train.table {name} --out_dir results --format markdown`.\n"
        )
    for name in scripts():
        lines, suffix = printed_lines(name), suffix_of(name)
        if any(results_of(line, results, files, suffix) for line in lines):
            text = as_markdown(*whole_table(name, results, STAND_IN.get(name)))
            option = f" --dataset {STAND_IN[name]}" if suffix else ""
            command = f"python -m train.table {name}{option} --out_dir results --format markdown"
            made[RESULTS / page_of(name)] = f"{text}\n\nMade by `{command}`.\n"
    return made


def main(argv=None):
    parser = argparse.ArgumentParser(prog="python -m docs.make_reproduce", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a page is not up to date")
    check = parser.parse_args(argv).check
    made = pages()
    gone = sorted(set(RESULTS.glob("*table*.md")) - set(made))  # pages of results that are not there any more
    if check:
        stale = gone + [path for path, text in made.items() if not path.exists() or path.read_text() != text]
        for path in stale:
            print(f"{path.relative_to(ROOT)} is not what the result files say: run python -m docs.make_reproduce")
        return 1 if stale else 0
    for path in gone:
        path.unlink()
    for path, text in made.items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
