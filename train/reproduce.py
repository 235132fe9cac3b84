"""The runs of a table, from the lines of a script in script_reproduce/: "ROW SEED,SEED,..." a line on the standard input.

    printf 'T3-CSL-GCN-LapPE-L4 41,95\\n' | python -m train.reproduce table3

Environment variables, the same for every script:

    JOBS=n          runs at once on the CPU (1); with GPUs one run a GPU
    QUICK=1         a tiny part of the data, two epochs, one seed: to see that everything works
    DATASET=NAME    run the rows on another dataset, such as ZINC-redrawn; not the paper's data then, and marked as such
    OUT=FOLDER      where the runs are kept (out)
    ENGINE=ray      send the runs to a Ray cluster: that of RAY_ADDRESS, or one of this machine alone (requirements-cluster.txt);
                    as many at once as fit, or JOBS
    CPUS=n, GPUS=n  cores (1) and GPUs (one where the cluster has any now) that a run occupies on the cluster

Set to nothing, a variable counts as not set. Exit code: 0, 1 if runs failed, 2 for settings that cannot be, 130 when stopped.
"""

import argparse
import importlib.util
import os
import sys
from collections import Counter
from pathlib import Path

from data.catalogue import CATALOGUE
from train.config import ROOT, ConfigError, family_schema, parse_config, read_config
from train.engine import OUT, Display, Job, LocalEngine
from train.naming import quick_changes
from train.result_files import is_current, row_files


def read_lines(text):
    """[(row, [seed, ...])] of the lines of a script."""
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if len(words) != 2 or not all(seed.isdigit() for seed in words[1].split(",")):
            raise SystemExit(f"line {number}: {line!r}: expected a row and its seeds, as T3-CSL-GCN-LapPE-L4 41,95")
        rows.append((words[0], [int(seed) for seed in words[1].split(",")]))
    runs = Counter((row, seed) for row, seeds in rows for seed in seeds)
    if twice := [f"{row} with seed {seed}" for (row, seed), n in runs.items() if n > 1]:
        raise SystemExit(f"{twice[0]} is listed twice")
    return rows


def find_row(row):
    """(configuration file, family) of a row."""
    if row not in row_files():
        raise SystemExit(f"{row}: there is no configs/*/{row}.json; python -m train.rows lists all rows")
    return row_files()[row], row_files()[row].parent.name


def make_jobs(rows, out, dataset=None, quick=False, **needed):
    """A job for each row and seed; its folds are run one after the other. The first seed of every row comes first: what is finished
    early is a whole table of few seeds, not a few rows of it. `needed`: the cpus and gpus of each."""
    jobs = []
    for row, seeds in rows:
        path, family = find_row(row)
        content, schema_of = read_config(path), family_schema(family)
        datasets = importlib.import_module(f"main_{family}").DATASETS
        changed = ({"dataset": dataset} if dataset else {}) | (quick_changes(content) if quick else {})
        more = [word for key, value in changed.items() for word in (f"--{key}", str(value))]
        if (entry := CATALOGUE.get(content.get("dataset"))) is None:
            raise ConfigError(
                f"{path}: dataset={content.get('dataset')!r}: not in data/catalogue.py, which says how many folds a dataset has"
            )
        n_folds = entry.n_folds
        folds = list(range(1 if quick else n_folds))
        more += ["--folds", str(folds).replace(" ", "")] if n_folds > 1 else []
        for place, seed in enumerate(seeds[: 1 if quick else None]):
            words = ["--config", str(path), "--seed", str(seed), *more]
            config = parse_config([*words, "--out_dir", str(out)], family, datasets, default="", schema_of=schema_of)
            results = [config.run(fold).path.relative_to(out) / "result.json" for fold in folds]
            command = (str(ROOT / f"main_{family}.py"), *words, "--out_dir", OUT)
            folder = str(results[0].parent.parent)
            job = Job(
                f"{row} seed {seed}", command, out, folder, tuple(map(str, results)), accepts=is_current, **needed
            )
            jobs.append((place, job))
    return [job for _, job in sorted(jobs, key=lambda pair: pair[0])]


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
    from train.ray_engine import RayEngine

    return RayEngine(n_jobs, setting("RAY_ADDRESS"))


def number(name, default=None, least=0):
    """The number that a setting is, or its default."""
    text = setting(name, default)
    if text is not None and (not text.isdigit() or int(text) < least):
        raise SystemExit(f"{name}={text}: expected {'a positive number' if least else 'a number'}")
    return text and int(text)


def main(argv=None):
    parser = argparse.ArgumentParser(
        prog="python -m train.reproduce", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", help="what to call the table in messages, as table3")
    name = parser.parse_args(argv).name
    quick = setting("QUICK", "0") != "0"
    out = Path(setting("OUT", ROOT / "out")).resolve() / ("quick" if quick else "")
    rows = read_lines(sys.stdin.read())
    engine, display = make_engine(), Display(name)
    try:
        needed = {"cpus": number("CPUS", "1", least=1), "gpus": number("GPUS", str(min(1, engine.gpus)))}
        state = engine.run(make_jobs(rows, out, setting("DATASET"), quick, **needed), display)
    except ConfigError as error:
        raise SystemExit(str(error)) from None
    except KeyboardInterrupt:
        print("\nStopped; the same command goes on from here.", file=sys.stderr)
        return 130
    finally:
        engine.close()
    display.close(state)
    for failed, reason in state.failed.items():
        print(f"failed: {failed}\n  " + reason.replace("\n", "\n  "), file=sys.stderr)
    return 1 if state.failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except SystemExit as stop:
        if not isinstance(stop.code, str):
            raise
        print(stop.code, file=sys.stderr)
        sys.exit(2)  # the script does not go on to print the table
