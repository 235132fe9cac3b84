"""The project's own runs: what configs/evidence.json lists, in its order, as far as this machine gets.

    python -m launch.evidence           makes what is missing in out/ (JOBS=n at once); stopped and started again, it goes on
    python -m launch.evidence --list    what the list holds and how much of it is done, with what lies in out/

runs/evidence.py says how the list is written. `python -m runs.collect out` adds finished runs to results/, and
`python -m tables.evidence` says how far they are, what agrees, and what the rest costs.
"""

import argparse
import sys
from functools import partial
from pathlib import Path

from launch.reproduce import make_jobs, plan, run_jobs, setting
from runs.collect import RESULTS, read_results
from runs.evidence import read_list
from runs.signals import end_with_pipe
from runs.table_files import ROOT, chosen_rows, find_table


def jobs_of(entry, out, **needed):
    """The jobs of one entry: the seeds number `from_seed` to `from_seed` + `seeds` - 1 of its rows, a job per fold, so that none
    that is in results/ is made again."""
    rows = chosen_rows(find_table(entry["table"]), entry.get("rows", []))
    first = entry.get("from_seed", 0)
    seeds = slice(first, first + entry.get("seeds", 1))
    wanted = {key: entry.get(key) for key in ("dataset", "folds", "changes")}
    return make_jobs(rows, out, seeds=seeds, apart=True, **wanted, **needed)


def runs_of(job):
    """[(identity, seed, fold)] of the results that a job makes."""
    return [(job.id, job.seed, int(Path(name).parent.name.removeprefix("fold_"))) for name in job.results]


def all_jobs(entries, out, **needed):
    """The jobs of the list in its order, each once."""
    jobs = {}
    for entry in entries:
        for job in jobs_of(entry, out, **needed):
            jobs.setdefault(tuple(runs_of(job)), job)
    return list(jobs.values())


def collected(jobs):
    """The names of the jobs whose results are in results/ already."""
    records, _ = read_results([RESULTS]) if RESULTS.exists() else ([], [])
    known = {(record["id"], record["seed"], record["fold"]) for record in records}
    return {job.name for job in jobs if known.issuperset(runs_of(job))}


def missing_jobs(entries, out):
    jobs = all_jobs(entries, out)
    there = collected(jobs)
    return [job for job in jobs if job.name not in there]


def main(argv=None):
    parser = argparse.ArgumentParser(
        prog="python -m launch.evidence", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--list", action="store_true", help="print the list and how much of it is done, and run nothing"
    )
    arguments = parser.parse_args(argv)
    out = Path(setting("OUT", ROOT / "out")).resolve()
    entries = read_list()
    if arguments.list:
        for entry in entries:
            jobs = jobs_of(entry, out)
            done = collected(jobs) | {job.name for job in jobs if job.done()}
            what = ", ".join(entry.get("rows", [])) or "all rows"
            print(
                f"{entry['table']}{' on ' + entry['dataset'] if 'dataset' in entry else ''}: {len(done)} of {len(jobs)} ({what})"
            )
        return 0
    return run_jobs(lambda engine: plan(out, partial(missing_jobs, entries, out)), "evidence")


if __name__ == "__main__":
    end_with_pipe()
    sys.exit(main())
