"""A main file without a training: takes the words of a main file, leaves its files. A program of the tests, started as main_CSL.py.

What it did is noted in the file `trace`; a row whose folder holds a file `fail` fails, one that finds `wait` waits for a signal.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

from runs.errors import ConfigError
from runs.files import BUSY, RunBusy
from runs.folder import Run
from runs.table_files import find_row
from tests.runs.records import MADE_WITH, record

NOT_KEYS = ("config", "seed", "folds", "out_dir")


def main(words):
    given = {word.removeprefix("--"): text for word, text in zip(words[::2], words[1::2], strict=True)}
    row, out, seed = find_row(given["config"]), Path(given["out_dir"]), int(given["seed"])
    changes = {key: value(text) for key, text in given.items() if key not in NOT_KEYS}
    for fold in map(int, given.get("folds", "0").split(",")):
        run = Run(out, row.changed(changes), str(row), seed, fold)
        with run.opened():
            if run.result is None:
                train(run, out, given)


def train(run, out, given):
    with open(out / "trace", "a") as trace:
        trace.write(f"{run.name} {run.seed} {run.fold} {os.environ.get('OMP_NUM_THREADS')}\n")
    if (out / "fail").exists():
        raise ConfigError(f"{run.path / 'checkpoint.pt'} is damaged: start this run again with --force")
    if (out / "wait").exists():
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        (run.path / "metrics.jsonl").write_text("{}\n")
        time.sleep(60)
    made = record(run.name, run.seed, run.fold, **MADE_WITH)
    values = {key: value for key, value in made.items() if key not in ("format", "name", "config", "sum", *run.key)}
    run.save_result(**values)


def value(text):
    try:
        return json.loads(text)
    except ValueError:
        return text


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except RunBusy:
        sys.exit(BUSY)
