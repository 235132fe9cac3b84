"""Reads results: result.json of run folders and the .jsonl files of results/. What is damaged or foreign is named and left out.

python -m runs.collect out             adds the finished runs below out/ to results/, each to the file of its table
"""

import argparse
import json
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

from filelock import FileLock

from runs.files import RunError, write_atomic
from runs.ledger import PAIRS, SELECTION
from runs.result import as_lines, from_lines, problem_of
from runs.table_files import ROOT, table_files

RESULTS = ROOT / "results"
NOT_RESULTS = ("metrics.jsonl", PAIRS, SELECTION)  # of run folders: learning curves and ledgers


def read_results(folders):
    """(records, problems): of each identity, seed and fold below the folders the newest result, and why others do not count."""
    found, problems = [], []
    for folder in map(Path, folders):
        for path in result_files(folder):
            records, wrong = read_file(path)
            found += [(record, path) for record in records]
            problems += [f"{path}: {text}" for text in wrong]
    newest = {}
    for record, path in found:
        if (key := key_of(record)) not in newest or newest[key][0]["finished"] < record["finished"]:
            newest[key] = (record, path)
    return one_version_of_the_data(newest.values(), problems), problems


def key_of(record):
    """Which run a record is of: two with one key are the same run, made twice."""
    return record["id"], record["seed"], record["fold"]


def result_files(folder):
    """The files below a folder that may hold results, or the file itself; not those of replaced runs and of QUICK=1."""
    if folder.is_file():
        return [folder]
    paths = sorted((*folder.rglob("result.json"), *folder.rglob("*.jsonl")))
    return [
        path
        for path in paths
        if path.name not in NOT_RESULTS and not any(map(set_aside, path.relative_to(folder).parts))
    ]


def set_aside(name):
    return name == "quick" or name.startswith("replaced-")


def read_file(path):
    """(records, problems) of one file."""
    try:
        text = path.read_bytes().decode(errors="replace")  # a byte that is no text damages its line, not the file
    except OSError as error:
        return [], [f"not readable ({error.strerror or error})"]
    if path.suffix == ".jsonl":
        return from_lines(text)
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        return [], [f"not readable ({error})"]
    problem = problem_of(record)
    return ([], [problem]) if problem else ([record], [])


def one_version_of_the_data(found, problems):
    """The records whose dataset is that of the newest record of their identity; the others are named. A perturbation that is drawn
    from the seed differs from seed to seed: what it was made from is compared."""
    same = defaultdict(list)  # {identity: stores with the data of its newest record}
    for record, _ in sorted(found, key=lambda pair: pair[0]["finished"], reverse=True):
        known = same[record["id"]]
        if record["dataset"] not in known and (
            not known or any(same_data(record["dataset"], store) for store in known)
        ):
            known.append(record["dataset"])
    kept, old = [], defaultdict(list)
    for record, path in found:
        if record["dataset"] in same[record["id"]]:
            kept.append(record)
        else:
            old[record["name"]].append(path)
    for name, paths in old.items():
        places = ", ".join(map(str, paths[:3])) + ", ..." * (len(paths) > 3)
        problems.append(f"{len(paths)} results of {name}: on another version of the dataset than the newest: {places}")
    return kept


def same_data(one, other):
    """Whether two stores hold the same, or were made from the same; early results do not say from what."""
    same_source = one.get("source") is not None and one.get("source") == other.get("source")
    return same_source or one.get("hash") == other.get("hash")


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
    rows.sort(key=lambda row: (row.config["dataset"] != dataset, not str(dataset).startswith(row.config["dataset"])))
    found = {}
    for row in rows:
        found.setdefault(row.id({"dataset": dataset}), row)
    return found


def file_of(record):
    """Where a result is kept: in the file of its table; that of a configuration which no table has in other.jsonl."""
    row = places(record["config"].get("dataset")).get(record["id"])
    return f"{row.table.path.parent.name}/{row.table.name}.jsonl" if row else "other.jsonl"


def add_results(folders, into=RESULTS):
    """Add the results below the folders that `into` does not have, or has older: ({file: how many are new}, problems).

    A run that was made again takes the place of the older one. A damaged file of `into` is an error: it is left as it is.
    """
    into.mkdir(parents=True, exist_ok=True)
    with FileLock(into / ".lock"):  # two at once would each leave out what the other adds
        return _add(folders, into)


def _add(folders, into):
    files, place = {}, {}  # {file: {key: record}}, {key: file}
    for path in sorted(into.rglob("*.jsonl")):
        records, wrong = read_file(path)
        if wrong:
            raise RunError(f"{path}: {wrong[0]}: repair this file first, nothing was added")
        name = path.relative_to(into).as_posix()
        files[name] = {key_of(record): record for record in records}
        place |= dict.fromkeys(files[name], name)
    fresh, problems = read_results(folders)
    new = defaultdict(int)
    for record in fresh:
        key = key_of(record)
        name = place.get(key) or file_of(record)
        known = files.setdefault(name, {})
        if key not in known or known[key]["finished"] < record["finished"]:
            known[key] = record
            new[name] += 1
    for name in sorted(new):
        (into / name).parent.mkdir(parents=True, exist_ok=True)
        write_atomic(into / name, as_lines(in_order(files[name].values())).encode())
    return dict(sorted(new.items())), problems


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
        help="where results are read from: out, your runs, when not given; results holds those of the project",
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
