"""Rows of the papers' tables, paper beside ours, from result files."""

import csv
from pathlib import Path
from statistics import fmean, pstdev

PAPER = Path(__file__).resolve().parent.parent / "paper_tables" / "benchmarking_gnns"


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
        name = (
            next((key for key in chosen[0] if key != "loss"), "")
            if chosen
            else paper.get(part, {}).get("metric", "metric")
        )
        printed = f"{paper[part]['mean']} ± {paper[part]['sd']}" if part in paper else "-"
        unit = " (%)" if name.startswith(("accuracy", "Hits@")) else ""
        lines.append((f"{part} {name}{unit}", printed, spread([c[name] for c in chosen]) if chosen else "-"))
    test = paper.get("test", {})
    for what, key, digits in (("epochs", "epochs", 2), ("seconds an epoch", "epoch_time_s", 2)):
        lines.append((what, test.get(key) or "-", average([r[key] or 0 for r in done], digits) if done else "-"))
    # the paper's total is that of one seed: all folds together
    seeds = {r["seed"] for r in done}
    lines.append(
        (
            "hours a seed",
            test.get("total_time_hr") or "-",
            f"{sum(r['total_time_hr'] for r in done) / len(seeds):.2f}" if done else "-",
        )
    )
    lines.append(("parameters", test.get("params") or "-", ", ".join(sorted({str(r["params"]) for r in results}))))
    failed = [r for r in results if r["status"] != "ok"]
    if failed:
        lines.append(
            ("not finished", "", ", ".join(f"seed {r['seed']} fold {r['fold']}: {r['status']}" for r in failed))
        )
    return lines


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
    lines = [("", "paper", ours), *compare_row(row, results)]
    widths = [max(len(line[i]) for line in lines) for i in range(3)]
    body = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    return "\n".join([title, "", *body])
