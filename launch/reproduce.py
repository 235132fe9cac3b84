"""Makes the missing runs of a table file: python -m launch.reproduce benchmarking_gnns/table2_ZINC [ROW ...]

Environment variables, the same for every script:

    JOBS=n          runs at once on the CPU (1); with GPUs one run per GPU
    SEEDS=n         only the first n seeds of each row
    SLICES=n        of a model selection: the grid of each fold in n parts, each a run of its own
    QUICK=1         a tiny part of the data, two epochs, one seed: to see that everything works
    DATASET=NAME    run the rows on another dataset, such as ZINC-redrawn; not the paper's data then, and marked as such
    OUT=FOLDER      where the runs are kept (out)
    GNN_DATA=FOLDER raw files of yours, looked at first; GNN_STORES=FOLDER where packed datasets are kept
    ENGINE=ray      send the runs to a Ray cluster: that of RAY_ADDRESS, or one of this machine alone (requirements-cluster.txt);
                    as many at once as fit, or JOBS
    CPUS=n, GPUS=n  cores (1) and GPUs (one where the cluster has any now) that a run occupies on the cluster

The scripts of script_reproduce/fair_comparison/ know GRID=reduced too. An empty variable counts as unset.
Exit code: 0, 1 if runs failed, 2 for invalid settings, 130 when stopped.
"""

import argparse
import importlib
import importlib.util
import os
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import filelock

from launch.engine import OUT, Display, Job, LocalEngine
from runs.errors import ConfigError, nearest
from runs.files import RunError, read_json
from runs.folder import configuration_folder
from runs.identity import identity
from runs.naming import as_text, changed_keys, run_name
from runs.result import machine_memory, problem_of, was_short_of_memory
from runs.table_files import ROOT, chosen_rows, expand, find_table


def has_result(id, seed, path):
    """Whether the result of this identity and seed is at `path`, in a folder fold_F. If not, the run is started, and says what is
    wrong with it."""
    try:
        record = read_json(path)
    except RunError:
        return False
    if record is None or problem_of(record):
        return False
    if record.get("device", "cpu") == "cpu" and was_short_of_memory(record, machine_memory()):
        return False  # of a GPU only the run that is started by hand knows how large it is
    return (record["id"], record["seed"], f"fold_{record['fold']}") == (id, seed, path.parent.name)


def has_part(id, seed, path):
    """Whether this part of a grid is finished, or the whole run that it is for."""
    if has_result(id, seed, path.parent.parent / "result.json"):
        return True
    try:
        record = read_json(path)
    except RunError:
        return False
    return isinstance(record, dict) and (record.get("id"), record.get("seed")) == (id, seed)


def make_jobs(
    rows,
    out,
    dataset=None,
    quick=False,
    seeds=slice(None),
    folds=None,
    slices=1,
    changes=None,
    there=frozenset(),
    **needed,
):
    """A job for each row and seed; its folds are run one after the other. The first seed of every row comes first: what is
    finished early is a whole table of few seeds, not a few rows of it. A run that two rows want is one job. `seeds` chooses among
    those of a row, `folds` is how many of the first are wanted, `changes` are keys that make other runs of the rows, `there` holds
    the (identity, seed, fold) that need not be run, `needed` has the cpus and gpus of each job.

    Of a model selection each fold is a job; with `slices` each part of its grid is one too, and the fold waits for them."""
    jobs, planned = [], set()
    for row in rows:
        changed = (changes or {}) | ({"dataset": dataset} if dataset else {}) | (row.quick_changes() if quick else {})
        config, id = row.changed(changed), row.id(changed)
        name = run_name(str(row), changed_keys(identity(row.config), identity(config)))
        folder = configuration_folder(out, config, name).relative_to(out)
        chosen = list(range(1 if quick else row.folds)[:folds])
        words = ["--config", f"{row.table.path}/{row.name}"]
        words += [word for key, value in changed.items() for word in (f"--{key}", as_text(value))]
        for place, seed in enumerate(row.seeds[slice(1) if quick else seeds]):
            if (id, seed) in planned:
                continue
            planned.add((id, seed))
            left = [fold for fold in chosen if (id, seed, fold) not in there]
            if not left:
                continue
            command = (str(ROOT / f"main_{row.table.main}.py"), *words, "--seed", str(seed), "--out_dir", OUT)
            where = {"out": out, "folder": str(folder / f"seed_{seed}"), "results": ()}
            job = Job(
                f"{name} seed {seed}",
                command,
                **where,
                accepts=partial(has_result, id, seed),
                id=id,
                seed=seed,
                **needed,
            )
            if "grid" in config:
                n = len(expand(config["grid"]))
                jobs += [(place, part) for fold in left for part in selection_jobs(job, fold, slices, n)]
            else:
                jobs.append((place, some_folds(job, left, row.folds)))
    return [job for _, job in sorted(jobs, key=lambda pair: pair[0])]


def some_folds(job, folds, n_folds):
    """The job that makes these of its folds one after the other."""
    results = tuple(f"{job.folder}/fold_{fold}/result.json" for fold in folds)
    name = job.name if len(folds) == n_folds else f"{job.name} folds {','.join(map(str, folds))}"
    return replace(job, name=name, command=with_folds(job, folds) if n_folds > 1 else job.command, results=results)


def one_fold(job, fold):
    folder = f"{job.folder}/fold_{fold}"
    results = (f"{folder}/result.json",)
    return replace(job, name=f"{job.name} fold {fold}", command=with_folds(job, [fold]), folder=folder, results=results)


def with_folds(job, folds):
    return (*job.command, "--folds", ",".join(map(str, folds)))


def selection_jobs(job, fold, slices, n_configurations):
    """A model selection on one fold, after the parts of its grid when there are several."""
    whole = one_fold(job, fold)
    parts = []
    for k in range(1, slices + 1 if slices > 1 else 1):
        place = f"{whole.folder}/part_{k}_of_{slices}"
        parts.append(
            replace(
                whole,
                name=f"{whole.name} part {k} of {slices}",
                command=(*whole.command, "--part", f"{k}/{slices}"),
                folder=place,
                results=(f"{place}/part.json",),
                accepts=partial(has_part, job.id, job.seed),
            )
        )
    needs = tuple(part.name for part in parts)
    return [*parts, replace(whole, needs=needs, n_configurations=n_configurations)]


def plan(out, make):
    """The jobs that `make` returns, and the folders of their configurations. One script plans at a time: a run that two scripts
    want under two names has one folder, whichever comes first."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(out / ".plan.lock"):
            jobs = make()
            for job in jobs:
                (job.out / job.folder).parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        place = error.filename or out
        raise SystemExit(
            f"OUT: {place}: {error.strerror or error}: make room, or name a folder that can be written to"
        ) from error
    return jobs


def gpu_numbers():
    """The GPUs of this machine that torch and the runs may use, by the names that CUDA_VISIBLE_DEVICES has for them."""
    import torch

    n_gpus, chosen = torch.cuda.device_count(), setting("CUDA_VISIBLE_DEVICES")
    return chosen.split(",")[:n_gpus] if chosen else list(range(n_gpus))


def setting(name, default=None):
    return os.environ.get(name) or default


def make_engine():
    name = setting("ENGINE", "local")
    n_jobs = number("JOBS", least=1)
    if name == "local":
        return LocalEngine(n_jobs, gpu_numbers())
    if name != "ray":
        raise SystemExit(f"ENGINE={name}: expected local or ray")
    if importlib.util.find_spec("ray") is None:
        raise SystemExit("ENGINE=ray: Ray is not installed; bash install.sh requirements-cluster.txt installs it")
    from launch.ray_engine import RayEngine

    return RayEngine(n_jobs, setting("RAY_ADDRESS"))


def number(name, default=None, least=0):
    """The number that a setting is, or its default."""
    text = setting(name, default)
    if text is not None and (not (text.isascii() and text.isdigit()) or int(text) < least):
        raise SystemExit(f"{name}={text}: expected {'a positive number' if least else 'a number'}")
    return text and int(text)


def is_quick():
    text = setting("QUICK", "0")
    if text not in ("0", "1"):
        raise SystemExit(f"QUICK={text}: expected 0 or 1")
    return text == "1"


def check_data_folder():
    """Once, here, and not in every run. On a cluster the folder may be on other machines only."""
    folder = setting("GNN_DATA")
    if folder and setting("ENGINE", "local") == "local" and not Path(folder).is_dir():
        raise SystemExit(f"GNN_DATA={folder}: no such folder: correct the name, or unset GNN_DATA")


def check_dataset(table, dataset):
    """DATASET, by what the table's main file says that it knows."""
    main = importlib.import_module(f"main_{table.main}")
    known = getattr(main, "DATASETS", getattr(main, "NAMES", None))
    if known is None or dataset in known or dataset.startswith(getattr(main, "PREFIX", "\n")):
        return
    raise SystemExit(
        f"DATASET={dataset}: main_{table.main}.py does not know it.{nearest(dataset, known)} Known: {', '.join(known)}"
    )


def main(argv=None):
    parser = argparse.ArgumentParser(
        prog="python -m launch.reproduce", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("table", help="a table file, as benchmarking_gnns/table3, or the path of one of yours")
    parser.add_argument("rows", nargs="*", default=[], help="rows to run; all when none is named")
    arguments = parser.parse_args(argv)
    table = find_table(arguments.table)
    rows = chosen_rows(table, arguments.rows)
    main_file = ROOT / f"main_{table.main}.py"
    if not main_file.exists():
        raise ConfigError(f"{table.path}: main={table.main!r}: there is no {main_file}")
    check_data_folder()
    if dataset := setting("DATASET"):
        check_dataset(table, dataset)
    quick = is_quick()
    out = Path(setting("OUT", ROOT / "out")).resolve() / ("quick" if quick else "")
    seeds = slice(number("SEEDS", least=1))

    def jobs(engine):
        needed = {"cpus": number("CPUS", "1", least=1), "gpus": number("GPUS", str(min(1, engine.gpus)))}
        slices = number("SLICES", "1", least=1)
        return plan(out, partial(make_jobs, rows, out, dataset, quick, seeds, slices=slices, **needed))

    return run_jobs(jobs, table.name)


def run_jobs(make, name):
    """Run the jobs that make(engine) plans; the display names those that fail. Returns the exit code."""
    engine, display = make_engine(), Display(name)
    try:
        state = engine.run(make(engine), display)
    except KeyboardInterrupt:
        print("\nStopped; the same command goes on from here.", file=sys.stderr)
        return 130
    finally:
        engine.close()
    display.close(state)
    return 1 if state.failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except SystemExit as stop:
        if not isinstance(stop.code, str):
            raise
        print(stop.code, file=sys.stderr)
        sys.exit(2)  # the script does not go on to print the table
