"""The project's own runs: what configs/evidence.json lists, in its order, as far as this machine gets.

    python -m launch.evidence    makes what is missing in out/ (JOBS=n at once); stopped and started again, it goes on

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
from runs.table_files import ROOT, chosen_rows, find_table


def jobs_of(entry, out, **options):
    """The jobs of one entry: the seeds number `from_seed` to `from_seed` + `seeds` - 1 of its rows, each with those of its folds
    that are not `there`."""
    rows = chosen_rows(find_table(entry["table"]), entry.get("rows", []))
    first = entry.get("from_seed", 0)
    wanted = {key: entry.get(key) for key in ("dataset", "folds", "changes")}
    return make_jobs(rows, out, seeds=slice(first, first + entry.get("seeds", 1)), **wanted, **options)


def made_by(job):
    """[(identity, seed, fold)] of the results that a job makes."""
    return [(job.id, job.seed, int(Path(name).parent.name.removeprefix("fold_"))) for name in job.results]


def jobs_of_list(entries, out, there=frozenset()):
    """The jobs of the list in its order, each run once; `there` holds those that need not be made."""
    jobs, there = [], set(there)
    for entry in entries:
        new = jobs_of(entry, out, there=there)
        there.update(run for job in new for run in made_by(job))
        jobs += new
    return jobs


def collected():
    """The (identity, seed, fold) of the runs that are in results/."""
    records, _ = read_results([RESULTS]) if RESULTS.exists() else ([], [])
    return {(record["id"], record["seed"], record["fold"]) for record in records}


def missing_jobs(entries, out):
    return jobs_of_list(entries, out, collected())


def main(argv=None):
    argparse.ArgumentParser(
        prog="python -m launch.evidence", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args(argv)
    out = Path(setting("OUT", ROOT / "out")).resolve()
    return run_jobs(lambda engine: plan(out, partial(missing_jobs, read_list(), out)), "evidence")


if __name__ == "__main__":
    sys.exit(main())
