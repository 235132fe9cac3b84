"""Tables 2, 3 and 4 of the BREC paper: pairs told apart, by category and in all, paper beside ours.

Of several seeds the best one is compared, as in the paper (appendix J), with the mean beside it. Our counts are those of the
published program's statistic; the last columns have those of the text's, eq. (4) of section 4.2 (train/rpc.py). A row agrees when
every count that the paper prints is ours.
"""

import csv
import json
import re
from statistics import fmean

from train.naming import quick_changes, run_name
from train.table import ROOT, aligned, config_files, hours_a_seed, seeds_of

PAPER = ROOT / "paper_tables" / "brec"
CATEGORIES = ("Basic", "Regular", "Extension", "CFI", "Total")
HEADER = (
    "row",
    *(f"{category}, {whose}" for category in CATEGORIES for whose in ("paper", "ours")),
    "Δ", "agrees", "mean total", "unreliable", "total, eq. (4)", "unreliable, eq. (4)", "seeds", "minutes a seed",
)  # fmt: skip


def printed_counts(number):
    """{row: {category: count}} of a table of the paper, in its order."""
    (path,) = PAPER.glob(f"table{number}_*.csv")
    with open(path, newline="") as file:
        lines = list(csv.DictReader(file))
    if number == 2:
        rows = {}
        for line in lines:
            rows.setdefault(f"T2-BREC-{line['model']}", {})[line["graph_category"]] = int(line["n_distinguished"])
        return rows
    key, name = ("radius_k", "N_") if number == 3 else ("iterations", "3-WL-iterations-")
    return {f"T{number}-BREC-{name}{line[key]}": {"Total": int(line["n_distinguished"])} for line in lines}


def file_of(row, files):
    """The configuration of a row. N_1 and N_2 stand in Tables 2 and 3: they have one file, that of Table 2."""
    for name in (row, re.sub("^T3-", "T2-", row)):
        if name in files:
            return files[name][0]
    return None


def pair_results(path, results, quick):
    """The results of a row's configuration, one a seed; with `quick` those of QUICK=1."""
    suffix = run_name("", quick_changes(json.loads(path.read_text()))) if quick else ""
    return [r for r in results if r["name"] == path.stem + suffix]


def make_pair_table(name, results, quick=False):
    """(title, header, rows); columns in which there is nothing are left out."""
    match = re.fullmatch(r"brec_table([234])", name)
    if not match:
        raise SystemExit(f"{name}: no such table. Known: brec_table2, brec_table3, brec_table4")
    number, files = int(match[1]), config_files("brec")
    printed = printed_counts(number)
    if number == 2:
        printed |= {row: {} for row in sorted(files) if row.startswith("extra-")}
    rows = []
    for row, counts in printed.items():
        path = file_of(row, files)
        found = pair_results(path, results, quick) if path else []
        rows.append(table_row(row, {} if quick else counts, found, len(seeds_of(path)) if path else 0))
    used = [any(row[k] != "-" for row in rows) for k in range(len(HEADER))]
    used[HEADER.index("Total, ours")] = True
    keep = [k for k in range(len(HEADER)) if used[k]]
    title = f"Table {number} of BREC: pairs told apart"
    if quick:
        title += "; ours with one pair of each part and two epochs: not the paper's, not comparable"
    return title, tuple(HEADER[k] for k in keep), [tuple(row[k] for k in keep) for row in rows]


def table_row(row, paper, found, n_seeds=None):
    """The texts under HEADER: what the paper prints, and what we found with one or more seeds (of `n_seeds` that are asked)."""
    best = max(found, key=total) if found else None
    ours = best["metrics"][best["select"]]["distinguished"] if found else {}
    cells = [str(counts.get(category, "-")) for category in CATEGORIES for counts in (paper, ours)]
    known = bool(paper and ours)
    return (
        row,
        *cells,
        f"{ours['Total'] - paper['Total']:+d}" if known else "-",
        ("yes" if all(ours.get(c) == n for c, n in paper.items()) else "no") if known else "-",
        f"{fmean(map(total, found)):.1f}" if len(found) > 1 else "-",
        *tested_cells(found),
        f"{len(found)} of {n_seeds}" if found else "-",
        f"{60 * hours_a_seed(found):.1f}" if found else "-",
    )


def total(result, statistic=None):
    return result["metrics"][statistic or result["select"]]["distinguished"]["Total"]


def tested_cells(found):
    """Failures of the reliability check, summed over the seeds, and the best total by eq. (4) with its failures; for nets only."""
    if not found or "text" not in found[0]["metrics"]:
        return "-", "-", "-"
    failures = {s: sum(r["metrics"][s]["reliability_failures"] for r in found) for s in ("program", "text")}
    return str(failures["program"]), str(max(total(r, "text") for r in found)), str(failures["text"])


def pair_report(config_name, row, results):
    """The text that main_BREC.py ends with."""
    printed = {name: counts for number in (2, 3, 4) for name, counts in printed_counts(number).items()}
    paper = printed.get(row, {})
    values = table_row(config_name, paper, results)
    lines = [("", "paper", f"ours (best of {len(results)} seeds)" if len(results) > 1 else "ours")]
    for k, category in enumerate(CATEGORIES):
        n = results[0]["n_pairs"].get(category, 0)
        lines.append((f"{category} ({n} pairs)", *values[1 + 2 * k : 3 + 2 * k]))
    for name in ("mean total", "unreliable", "total, eq. (4)", "unreliable, eq. (4)", "minutes a seed"):
        if (value := values[HEADER.index(name)]) != "-":
            lines.append((name, "-", value))
    if any(diverged := [r["metrics"][r["select"]].get("diverged", 0) for r in results]):
        lines.append(("diverged", "-", str(sum(diverged))))
    table = f", Table {row[1]} of BREC" if row in printed else " (not a row of the paper)"
    return "\n".join([f"{config_name}{table}", "", *aligned(lines)])
