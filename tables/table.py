"""The papers' tables, paper beside ours, from result files.

    python -m train.table table3                     the table as text; also table2_ZINC, table6, ... as in script_reproduce/
    python -m train.table table2_ZINC --dataset ZINC-redrawn --format markdown
    python -m train.table table3 --out_dir results   the project's own runs
    python -m train.table brec_table2                a table of the BREC paper (train/pair_table.py)

A row agrees with the paper when the means differ by at most twice the paper's standard deviation (or by 0.0005, half a printed
digit), or when Welch's t-test does not tell them apart (p >= 0.05). The best model of a dataset (in Table 6: of a dataset and
seed) is marked **, models within one of its standard deviations *, in both columns by the same rule. On COLLAB ours is
`Hits@50_paper`, measured as the paper's program does it.
"""

import argparse
import csv
import math
import re
import sys
from functools import cache
from pathlib import Path
from statistics import fmean, pstdev, stdev

from data.catalogue import CATALOGUE
from scipy.stats import ttest_ind_from_stats
from train.naming import QUICK, run_name
from train.result_files import add_folders, read_results, report
from train.signals import end_with_pipe

from train.config import read_config

ROOT = Path(__file__).resolve().parent.parent
PAPER = ROOT / "paper_tables" / "benchmarking_gnns"
LOWER_IS_BETTER = ("MAE",)


# --------------------------------------------------------------------------------------------------------------------
# One row: the report of a main file


def paper_rows(row):
    """{'test': {...}, 'train': {...}}: what the paper prints for a row, or {} for a row it does not have."""
    found = {}
    for path in sorted(PAPER.glob("table*.csv")):
        with open(path, newline="") as file:
            found |= {line["split"]: line for line in csv.DictReader(file) if line.get("row_id") == row}
    return found


def spread(values):
    """mean ± s.d. over runs. The paper divides by n, not n-1: two scores of 96.667 among 98 of 100 give its 99.933 ± 0.467."""
    return f"{fmean(values):.3f} ± {pstdev(values):.3f}"


def average(values, digits):
    return f"{fmean(values):.{digits}f}"


def compare_row(row, results):
    """Lines (what, paper, ours) for the results of one row's runs (folds, seeds)."""
    paper = paper_rows(row) if row else {}
    done = [r for r in results if r["status"] == "ok"]
    lines = []
    for part in ("test", "train"):
        chosen = [r["metrics"][r["select"]][part] for r in done]
        name = compared_metric(chosen[0]) if chosen else paper.get(part, {}).get("metric", "metric")
        printed = f"{paper[part]['mean']} ± {paper[part]['sd']}" if part in paper else "-"
        unit = " (%)" if name == "accuracy" or name.startswith("Hits") else ""
        lines.append((f"{part} {name}{unit}", printed, spread([c[name] for c in chosen]) if chosen else "-"))
        if chosen and (own := metric_name(chosen[0])) != name:
            lines.append((f"{part} {own}{unit}", "-", spread([c[own] for c in chosen])))
    test = paper.get("test", {})
    for what, key, digits in (("epochs", "epochs", 2), ("seconds an epoch", "epoch_time_s", 2)):
        lines.append((what, test.get(key) or "-", average([r[key] or 0 for r in done], digits) if done else "-"))
    lines.append(("hours a seed", test.get("total_time_hr") or "-", f"{hours_a_seed(done):.2f}" if done else "-"))
    lines.append(("parameters", test.get("params") or "-", ", ".join(sorted({str(r["params"]) for r in results}))))
    failed = [r for r in results if r["status"] != "ok"]
    if failed:
        words = (f"seed {r['seed']} fold {r['fold']}: {r['status']}" for r in failed)
        lines.append(("not finished", "", ", ".join(words)))
    return lines


def metric_name(values):
    """The metric among {'loss': ..., 'accuracy': ...}: the first that is not the loss."""
    return next((key for key in values if key != "loss"), "")


def compared_metric(values):
    """The metric that the paper prints: `Hits@50_paper` where its program computes Hits@50 in a way of its own."""
    name = metric_name(values)
    return f"{name}_paper" if f"{name}_paper" in values else name


def hours_a_seed(results):
    """The paper's total time is that of one seed: all its folds together."""
    return sum(r["total_time_hr"] for r in results) / len({r["seed"] for r in results})


def row_report(config_name, row, results):
    """The text that a main file ends with."""
    table = row.split("-")[0].removeprefix("T") if row else None
    title = (
        f"{config_name}, Table {table} of Benchmarking Graph Neural Networks"
        if table
        else f"{config_name} (not a row of the paper)"
    )
    seeds, folds = sorted({r["seed"] for r in results}), sorted({r["fold"] for r in results})
    ours = f"ours (seed {', '.join(map(str, seeds))}; {len(folds)} fold{'s' * (len(folds) > 1)})"
    return "\n".join([title, "", *aligned([("", "paper", ours), *compare_row(row, results)])])


def aligned(lines):
    """Rows of texts as lines with straight columns."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]


# --------------------------------------------------------------------------------------------------------------------
# The table


def printed_lines(name):
    """Lines of the paper's table for the test split, with those of the train split as line["train"]."""
    if name.startswith("brec_"):
        raise SystemExit(f"{name}: of BREC there is the table alone, python -m train.table {name}")
    match = re.fullmatch(r"table([234678])(?:_(\w+))?", name)
    paths = list(PAPER.glob(f"table{match[1]}_*.csv")) if match else []
    if not paths:
        scripts = (ROOT / "script_reproduce").glob("*table*.sh")
        known = ", ".join(
            sorted((path.stem for path in scripts), key=lambda name: (not name.startswith("table"), name))
        )
        raise SystemExit(f"{name}: no such table. Known: {known}")
    with open(paths[0], newline="") as file:
        lines = [line for line in csv.DictReader(file) if match[2] in (None, line["dataset"])]
    if not lines:
        raise SystemExit(f"{name}: Table {match[1]} has no dataset {match[2]}")
    train = {line["row_id"]: line for line in lines if line["split"] == "train"}
    return [line | {"train": train.get(line["row_id"])} for line in lines if line["split"] == "test"]


def config_files(paper=PAPER.name):
    """{row: [configuration files]} of a paper's rows; a row that pools several models has one for each."""
    files = {}
    for path in sorted((ROOT / "configs").glob("*/*.json")):
        content = read_config(path)
        entry = CATALOGUE.get(content.get("dataset"))  # None: a family of yours
        if entry is not None and entry.paper == paper and content.get("row"):  # without: a row of yours
            files.setdefault(content["row"], []).append(path)
    return files


@cache
def script_seeds():
    """{name of a configuration: its seeds in the paper's order}, from the scripts of script_reproduce/."""
    seeds = {}
    for path in sorted((ROOT / "script_reproduce").glob("*table*.sh")):
        current = []
        for line in path.read_text().splitlines():
            word, *rest = line.split("#")[0].split() or [""]
            if word == "seeds":
                current = [int(seed) for seed in rest]
            elif word == "row":
                seeds[rest[0]] = current
    return seeds


def seeds_of(path):
    """The seeds of a configuration; of one that is in no script (you took it out) those of its neighbours in the table."""
    known, table = script_seeds(), path.stem.split("-")[:2]
    return known.get(path.stem) or next((seeds for name, seeds in known.items() if name.split("-")[:2] == table), [])


def runs_of(line, files):
    """(configurations, seeds) of a line of the table. Table 6 has a line for each seed, "seed 1" and "seed 2"."""
    row, number = re.fullmatch(r"(.*?)(?:-seed([12]))?", line["row_id"]).groups()
    paths = files.get(row, [])
    seeds = seeds_of(paths[0]) if paths else []
    return paths, [seeds[int(number) - 1]] if number and seeds else seeds


def results_of(line, results, files, suffix=""):
    """The results that belong to a line of the table; `suffix` is what the name of a changed configuration ends with."""
    paths, seeds = runs_of(line, files)
    names = {path.stem + suffix for path in paths}
    return [r for r in results if r["name"] in names and (len(seeds) != 1 or r["seed"] in seeds)]


def n_runs_of(line, files):
    """How many scores the paper's mean and s.d. are of: models that share the line, seeds, folds."""
    paths, seeds = runs_of(line, files)
    return len(paths) * len(seeds) * CATALOGUE[line["dataset"]].n_folds


def scores(results, part):
    return [v[compared_metric(v)] for r in results if r["status"] == "ok" for v in [r["metrics"][r["select"]][part]]]


def is_number(text):
    return bool(text) and text != "-" and math.isfinite(float(text))


def agreement(line, values, n_paper):
    """(difference in units of the paper's s.d., "yes" or "no"), as texts."""
    if not values or not is_number(line["mean"]):
        return "", ""
    mean, sd = float(line["mean"]), float(line["sd"] or 0)
    difference = fmean(values) - mean
    same = abs(difference) <= max(2 * sd, 5e-4)
    if not same and len(values) > 1 and n_paper > 1 and (sd or pstdev(values)):
        sample_sd = sd * math.sqrt(n_paper / (n_paper - 1))  # the paper divides by n, the test by n - 1
        p = ttest_ind_from_stats(mean, sample_sd, n_paper, fmean(values), stdev(values), len(values), False).pvalue
        same = p >= 0.05
    units = (
        f"{difference / sd:+.1f}"
        if sd
        else "0"
        if abs(difference) < 5e-4
        else f"{math.copysign(math.inf, difference):+}"
    )
    return units, "yes" if same else "no"


def marks(means_and_deviations, lower):
    """'**' for the best, '*' for those within one of its standard deviations."""
    known = [x for x in means_and_deviations if x is not None]
    if not known:
        return [""] * len(means_and_deviations)
    best = (min if lower else max)(known)
    marked = []
    for x in means_and_deviations:
        near = x is not None and abs(x[0] - best[0]) <= max(best[1], 1e-12)
        marked.append("**" if x is not None and x[0] == best[0] else "*" if near else "")
    return marked


def marks_of_lines(lines, means_and_deviations):
    """The marks of a table: each dataset has a best model of its own, in Table 6 with each of its two seeds."""
    groups = {}
    for k, line in enumerate(lines):
        groups.setdefault((line["dataset"], line.get("seed")), []).append(k)
    marked = {}
    for members in groups.values():
        lower = lines[members[0]]["metric"].startswith(LOWER_IS_BETTER)
        marked |= zip(members, marks([means_and_deviations[k] for k in members], lower), strict=True)
    return [marked[k] for k in range(len(lines))]


HEADER = (
    "row", "test, paper", "test, ours", "Δ / s.d.", "agrees", "train, paper", "train, ours", "epochs, paper", "epochs, ours",
    "s / epoch, paper", "s / epoch, ours", "hours, paper", "hours, ours", "parameters", "runs",
)  # fmt: skip


def make_table(name, results, suffix="", compared=True):
    """Rows of texts under HEADER; with a suffix of the runs of changed configurations."""
    lines, files = printed_lines(name), config_files()
    own = [results_of(line, results, files, suffix) for line in lines]
    values = [scores(found, "test") for found in own]
    paper_marks = marks_of_lines(lines, [number_pair(line) for line in lines])
    our_marks = marks_of_lines(lines, [(fmean(v), pstdev(v)) if v else None for v in values])
    rows = []
    for line, found, test, pm, om in zip(lines, own, values, paper_marks, our_marks, strict=True):
        n_paper = n_runs_of(line, files)
        train, done = scores(found, "train"), [r for r in found if r["status"] == "ok"]
        difference, agrees = agreement(line, test, n_paper) if compared else ("", "")
        rows.append(
            (
                line["row_id"],
                printed(line) + pm,
                ours(found, test) + om,
                difference,
                agrees,
                printed(line["train"]),
                spread(train) if train else "-",
                line["epochs"] or "-",
                average([r["epochs"] for r in done], 2) if done else "-",
                line["epoch_time_s"] or "-",
                average([r["epoch_time_s"] or 0 for r in done], 2) if done else "-",
                line["total_time_hr"] or "-",
                f"{hours(line, done):.2f}" if done else "-",
                parameters(line, found),
                f"{len(found)} of {n_paper}",
            )
        )
    return rows


def hours(line, done):
    """Of one model and seed with all its folds, as the paper counts them; estimated from the runs there are."""
    return fmean(r["total_time_hr"] for r in done) * CATALOGUE[line["dataset"]].n_folds


def number_pair(line):
    return (float(line["mean"]), float(line["sd"] or 0)) if is_number(line["mean"]) else None


def printed(line):
    if line is None:
        return "-"
    if not is_number(line["mean"]):
        return line["status"] or "-"
    return f"{line['mean']} ± {line['sd']}" if line["sd"] else line["mean"]


def ours(found, test):
    """mean ± s.d.; with the number of runs that ended otherwise, or just how they ended."""
    if not found:
        return "-"
    others = sorted({r["status"] for r in found} - {"ok"})
    if not test:
        return ", ".join(others)
    return spread(test) + (f" ({len(found) - len(test)} {', '.join(others)})" if others else "")


def parameters(line, found):
    counted = sorted({r["params"] for r in found})
    if not counted or [line["params"]] == [str(n) for n in counted]:
        return line["params"]
    return f"{line['params']} (ours {', '.join(map(str, counted))})"


# --------------------------------------------------------------------------------------------------------------------
# Formats


def as_text(title, header, rows):
    return "\n".join([title, "", *aligned([header, *rows])])


def as_markdown(title, header, rows):
    lines = [header, ["---"] * len(header), *(tuple(cell.replace("*", "\\*") for cell in row) for row in rows)]
    return "\n".join([f"**{title}**", "", *(f"| {' | '.join(line)} |" for line in lines)])


def as_csv(title, header, rows):
    import io

    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    return text.getvalue().rstrip("\n")


def as_latex(title, header, rows):
    def escape(cell):
        cell = re.sub(r"([_%&#])", r"\\\1", cell).replace("±", r"$\pm$").replace("Δ", r"$\Delta$")
        bold = cell.endswith("**")
        return rf"\textbf{{{cell[:-2]}}}" if bold else rf"\emph{{{cell[:-1]}}}" if cell.endswith("*") else cell

    body = [" & ".join(map(escape, row)) + r" \\" for row in rows]
    head = " & ".join(map(escape, header)) + r" \\"
    columns = "l" + "r" * (len(header) - 1)
    return "\n".join(
        [
            f"% {title}",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\hline",
            head,
            r"\hline",
            *body,
            r"\hline",
            r"\end{tabular}",
        ]
    )


FORMATS = {"text": as_text, "markdown": as_markdown, "csv": as_csv, "latex": as_latex}


def whole_table(name, results, dataset=None, quick=False):
    """(title, header, rows) of a table of Benchmarking Graph Neural Networks."""
    changed = ({"dataset": dataset} if dataset else {}) | (QUICK if quick else {})
    number = name.removeprefix("table").split("_")[0]
    title = f"Table {number} of Benchmarking Graph Neural Networks"
    if changed:
        title += f"; ours with {', '.join(f'{key}={value}' for key, value in changed.items())}, not the paper's"
    return title, HEADER, make_table(name, results, run_name("", changed), compared=not quick)


def main(argv=None):
    parser = argparse.ArgumentParser(
        prog="python -m train.table", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", help="table3, table2_ZINC, ...: the scripts of script_reproduce/")
    parser.add_argument("--format", choices=FORMATS, default="text")
    parser.add_argument("--quick", action="store_true", help="the runs of QUICK=1")
    parser.add_argument("--dataset", help="results of the same rows on another dataset, as ZINC-redrawn")
    add_folders(parser)
    arguments = parser.parse_args(argv)
    results, problems = read_results(arguments.out_dir)
    if arguments.name.startswith("brec_"):
        if arguments.dataset:
            parser.error(f"--dataset {arguments.dataset}: the tables of BREC have no other dataset")
        from train.pair_table import make_pair_table  # it takes its formats from here

        title, header, rows = make_pair_table(arguments.name, results, arguments.quick)
    else:
        title, header, rows = whole_table(arguments.name, results, arguments.dataset, arguments.quick)
    print(FORMATS[arguments.format](title, header, rows))
    if not results:
        print(
            f"no results in {', '.join(map(str, arguments.out_dir))}; --out_dir results shows the project's own",
            file=sys.stderr,
        )
    report(problems)
    return 0


if __name__ == "__main__":
    end_with_pipe()
    sys.exit(main())
