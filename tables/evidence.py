"""How far the project's own runs are (configs/evidence.json), what agrees, and what the rest costs.

python -m tables.evidence                     a line per entry of the list
python -m tables.evidence --out_dir results out      with runs that are not collected yet

A row agrees by the rule of its table (tables/compare.py). The rest is estimated by what the same row took us per run, else by the
mean of the entry's other rows; "?" where none has been run. Hours are those of one core.
"""

import argparse
import sys
from statistics import fmean

from runs.collect import RESULTS, by_id, existing_folder, read_results, report
from runs.evidence import read_list, runs_of
from runs.signals import end_with_pipe
from tables.formats import aligned
from tables.table import table_view


def words_of(entry, results):
    """["yes", "no: test", ...] of the entry's rows that can be compared; none for runs of changed rows."""
    view = table_view(entry["table"], results, entry.get("dataset"))
    judge = view.judge
    if judge is None or "changes" in entry:
        return []
    wanted = {row.printed for row, *_ in runs_of(entry)}
    return [word for line in view.lines if wanted & {row.printed for row in line.rows} and (word := judge.word(line))]


def hours_left(asked, known):
    """Core hours of the runs that are missing, None if nothing tells."""
    times = {id: [r["total_time_hr"] for r in known.get(id, [])] for _, id, _, _ in asked}
    measured = [hour for hours in times.values() for hour in hours]
    done = {(r["id"], r["seed"], r["fold"]) for id in times for r in known.get(id, [])}
    missing = [id for _, id, seed, fold in asked if (id, seed, fold) not in done]
    if not measured:
        return None if missing else 0.0
    return sum(fmean(times[id] or measured) for id in missing)


def line_of(entry, results, known):
    asked = runs_of(entry)
    done = {(r["id"], r["seed"], r["fold"]) for r in results}
    n = sum((id, seed, fold) in done for _, id, seed, fold in asked)
    words, hours = words_of(entry, results), hours_left(asked, known)
    where = f" on {entry['dataset']}" if "dataset" in entry else ""
    where += "".join(f", {key}={value}" for key, value in entry.get("changes", {}).items())
    return [
        f"{entry['table']}{where}",
        f"{n} of {len(asked)}",
        f"{words.count('yes')} of {len(words)}" if words else "-",
        "?" if hours is None else f"{hours:.1f}",
        ", ".join(entry.get("rows", [])) or "all rows",
    ]


def main(argv=None):
    parser = argparse.ArgumentParser(
        prog="python -m tables.evidence", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out_dir", nargs="+", type=existing_folder, default=[RESULTS], help="folders with results")
    results, problems = read_results(parser.parse_args(argv).out_dir)
    report(problems)
    known = by_id(results)
    lines = [line_of(entry, results, known) for entry in read_list()]
    print("\n".join(aligned([("table", "runs", "agree", "hours left", "rows"), *lines])))
    return 0


if __name__ == "__main__":
    end_with_pipe()
    sys.exit(main())
