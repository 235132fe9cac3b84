"""Reading results: result.json of run folders and the .jsonl files of results/.

    python -m runs.collect out      adds the finished runs below out/ to results/, each to the file of its table

What is damaged, foreign or doubled is named and left out.
"""

import argparse
import json
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

from runs.files import RunError, write_atomic
from runs.result import as_lines, from_lines, problem_of
from runs.table_files import ROOT, table_files

RESULTS = ROOT / "results"
SKIPPED = ("replaced-", "quick")  # folders of runs that were replaced, and of QUICK=1


def read_results(folders):
    """(records, problems): all results below the folders, one per identity, seed and fold (the newest), and why others do not
    count."""
    found, problems = [], []
    for folder in map(Path, folders):
        paths = [folder] if folder.is_file() else sorted((*folder.rglob("result.json"), *folder.rglob("*.jsonl")))
        for path in paths:
            if not any(part.startswith(SKIPPED) for part in path.relative_to(folder).parts):
                records, wrong = read_file(path)
                found += [(record, path) for record in records]
                problems += [f"{path}: {text}" for text in wrong]
    newest = {}
    for record, path in found:
        key = record["id"], record["seed"], record["fold"]
        if key not in newest or newest[key][0]["finished"] < record["finished"]:
            newest[key] = (record, path)
    return one_version_of_the_data(newest.values(), problems), problems


def read_file(path):
    """(records, problems) of one file; other .jsonl files of run folders (learning curves, ledgers) hold no results."""
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        return [], [f"not readable ({error})"]
    if path.suffix == ".jsonl":
        return from_lines(text) if path.name not in ("metrics.jsonl", "pairs.jsonl", "selection.jsonl") else ([], [])
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        return [], [f"not readable ({error})"]
    problem = problem_of(record)
    return ([], [problem]) if problem else ([record], [])


def one_version_of_the_data(found, problems):
    """The records whose dataset is that of the newest record of their identity; the others are named."""
    newest, kept, old = {}, [], defaultdict(list)
    for record, _ in sorted(found, key=lambda pair: pair[0]["finished"]):
        newest[record["id"]] = record["dataset"].get("hash")
    for record, path in found:
        if record["dataset"].get("hash") == newest[record["id"]]:
            kept.append(record)
        else:
            old[record["name"]].append(path)
    for name, paths in old.items():
        places = ", ".join(map(str, paths[:3])) + ", ..." * (len(paths) > 3)
        problems.append(f"{len(paths)} results of {name}: on another version of the dataset than the newest: {places}")
    return kept


def by_id(records):
    """{identity's hash: its records}"""
    groups = defaultdict(list)
    for record in records:
        groups[record["id"]].append(record)
    return groups


# --------------------------------------------------------------------------------------------------------------------
# Adding results to results/


@cache
def places(dataset):
    """{identity's hash: row} of all rows when they are run on this dataset; of several the first of the nearest dataset."""
    rows = [row for table in table_files().values() for row in table.rows.values()]
    names = (dataset, str(dataset).split("-")[0])
    rows.sort(key=lambda row: [row.config["dataset"] != name for name in names])
    found = {}
    for row in rows:
        found.setdefault(row.id({"dataset": dataset}), row)
    return found


def file_of(record):
    """Where a result is kept: in the file of its table; that of a configuration which no table has in other.jsonl."""
    row = places(record["config"].get("dataset")).get(record["id"])
    return f"{row.table.path.parent.name}/{row.table.name}.jsonl" if row else "other.jsonl"


def add_results(folders, into=RESULTS):
    """Add the results below the folders that `into` does not have; returns ({file: how many are new}, problems)."""
    old, problems = read_results([into]) if into.exists() else ([], [])
    if problems:
        raise RunError(f"{problems[0]}: repair {into} first, nothing was added")
    known = {(record["id"], record["seed"], record["fold"]): record["finished"] for record in old}
    fresh, problems = read_results(folders)
    fresh = [r for r in fresh if known.get((r["id"], r["seed"], r["fold"]), "") < r["finished"]]
    new = defaultdict(list)
    for record in fresh:
        new[file_of(record)].append(record)
    for name, records in new.items():
        path = into / name
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.read_text() if path.exists() else ""
        if before and not before.endswith("\n"):
            raise RunError(f"{path}: its last line is cut off: repair it first, nothing was added to it")
        replaced = {(r["id"], r["seed"], r["fold"]) for r in records}
        kept, _ = from_lines(before)
        if any((r["id"], r["seed"], r["fold"]) in replaced for r in kept):  # run again: the older line goes
            kept = [r for r in kept if (r["id"], r["seed"], r["fold"]) not in replaced]
            text = as_lines(in_order(kept + records))
        else:
            text = before + new_lines(kept, records)
        write_atomic(path, text.encode())
    return {name: len(records) for name, records in sorted(new.items())}, problems


def new_lines(old, records):
    """Lines to be added behind a file: headers only of configurations that it does not have."""
    known = {record["id"] for record in old}
    lines = as_lines(in_order(records)).splitlines(keepends=True)
    return "".join(line for line in lines if not ('"config"' in line and json.loads(line)["id"] in known))


def in_order(records):
    """Sorted for people: by name, seed and fold, the runs of a configuration together."""
    return sorted(records, key=lambda r: (r["name"], r["id"], r["seed"], r["fold"]))


def main(argv=None):
    parser = argparse.ArgumentParser(
        prog="python -m runs.collect", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=existing_folder, help="folders of runs, as out")
    parser.add_argument("--into", type=Path, default=RESULTS, help="folder of the collected results (results)")
    arguments = parser.parse_args(argv)
    try:
        added, problems = add_results(arguments.folders, arguments.into)
    except RunError as error:
        raise SystemExit(f"error: {error}") from None
    for name, n in added.items():
        print(f"{name}: {n} new")
    if not added:
        print("nothing new")
    report(problems)
    return 0


def add_folders(parser):
    """The option that table, significance, plot and report share."""
    parser.add_argument(
        "--out_dir",
        nargs="+",
        type=existing_folder,
        default=[ROOT / "out"],
        help="folders with results: out, yours, when not given; results: those of the project",
    )


def existing_folder(text):
    if not Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"{text}: no such folder")
    return Path(text)


def report(problems):
    for problem in problems:
        print(f"left out: {problem}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
