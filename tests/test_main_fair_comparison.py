"""main_fair_comparison.py on a real grid: killed at any moment, in parts, by the engine; always the same numbers.

A life of the program is a fork of this process, in which all modules are loaded: a kill costs milliseconds and no start-up.
"""

import json
import multiprocessing
import os
import random
import signal
import sys
import zipfile

import numpy as np
import pytest

import main_fair_comparison
from train import run_main

GRID = {
    "train.batch_size": [16],
    "net.widths": [[8, 8], [8]],
    "net.train_eps": [True, False],
    "net.dropout": [0.5, 0.0],
    "train.stop.of": ["metric", "loss"],
}
N_CONFIGURATIONS, N_TRAININGS, REPETITIONS = 16, 8, 2
TIMES = ("seconds", "sum")  # what differs between two runs of one line


@pytest.fixture(scope="module")
def words_for(tmp_path_factory):
    """GIN of the Fair Comparison on forty random graphs of two classes, ten nested folds drawn here."""
    folder = tmp_path_factory.mktemp("data")
    write_graphs(folder / "TU", np.random.default_rng(0))
    words = [
        "--config",
        "fair_GIN/ENZYMES",
        "--dataset",
        "TU/TINY",
        "--data.features",
        "labels",
        "--data.splits",
        "nested",
    ]
    words += ["--data.data_dir", str(folder), "--data.store_dir", str(folder / "stores"), "--data.offline", "true"]
    words += ["--grid", json.dumps(GRID), "--train.stop.epochs", "6", "--train.stop.patience", "3", "--device", "cpu"]
    words += ["--selection.repetitions", str(REPETITIONS), "--folds", "0", "--progress", "false"]
    return lambda out, *more: [*words, "--out_dir", str(out), *more]


def write_graphs(folder, chance):
    edges, indicator, labels, first = [], [], [], 1
    for graph in range(40):
        n = int(chance.integers(4, 9))
        ring = [(first + i, first + (i + 1) % n) for i in range(n)]
        edges += ring + [(b, a) for a, b in ring]
        indicator += [graph + 1] * n
        labels += chance.integers(0, 3, n).tolist()
        first += n
    texts = {
        "A": "\n".join(f"{a}, {b}" for a, b in edges),
        "graph_indicator": "\n".join(map(str, indicator)),
        "graph_labels": "\n".join(str(graph % 2) for graph in range(40)),
        "node_labels": "\n".join(map(str, labels)),
    }
    folder.mkdir()
    with zipfile.ZipFile(folder / "TINY.zip", "w") as archive:
        for kind, text in texts.items():
            archive.writestr(f"TINY/TINY_{kind}.txt", text)


def live(words, log):
    """main_fair_comparison.py in a process of its own."""
    sys.argv = ["main_fair_comparison.py", *words]
    with open(log, "a", buffering=1) as sys.stdout:
        sys.stderr = sys.stdout
        run_main(main_fair_comparison.main)


def start(words, log):
    process = multiprocessing.get_context("fork").Process(target=live, args=(words, log))
    process.start()
    return process


def fold_folder(out):
    return next(out.glob("TU_TINY/*/seed_42/fold_0"))


def numbers_in(out):
    """(result, {key: line}) without times; every configuration has one line."""
    lines = [json.loads(line) for line in (fold_folder(out) / "selection.jsonl").read_text().splitlines()]
    keys = [line["key"] for line in lines]
    assert len(keys) == len(set(keys)) == N_CONFIGURATIONS + REPETITIONS
    result = json.loads((fold_folder(out) / "result.json").read_text())
    said = ("metrics", "selected", "changes", "selected_val", "n_configurations", "n_trainings", "statuses", "finals")
    return {key: result[key] for key in said}, {
        line["key"]: {k: v for k, v in line.items() if k not in TIMES} for line in lines
    }


@pytest.fixture(scope="module")
def whole(tmp_path_factory, words_for):
    """The run that was never interrupted."""
    out = tmp_path_factory.mktemp("whole")
    main_fair_comparison.main(words_for(out))
    result, lines = numbers_in(out)
    assert result["n_trainings"] == N_TRAININGS and result["statuses"] == {"ok": N_CONFIGURATIONS}
    assert len({line["seed"] for line in lines.values()}) == N_TRAININGS + REPETITIONS
    return result, lines


def test_killed_at_random_moments_it_goes_on_with_the_next_configuration(tmp_path, words_for, whole):
    """At least five kills. The seed is drawn anew each time and printed when the test fails."""
    seed = int.from_bytes(os.urandom(3))
    chance, kills = random.Random(seed), 0
    while True:
        process = start(words_for(tmp_path / "out"), tmp_path / "log")
        # five times at once, then longer and longer: it is killed and it ends on a machine of any speed
        process.join(chance.uniform(0.01, 0.06 + 0.05 * max(0, kills - 5)))
        if not process.is_alive():
            break
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        kills += 1
    print(f"seed {seed}, {kills} kills")
    assert process.exitcode == 0 and kills >= 5, (tmp_path / "log").read_text()
    assert numbers_in(tmp_path / "out") == whole


def test_a_stopped_search_says_that_it_goes_on(tmp_path, words_for, whole):
    """SIGTERM ends it in order, without a line for the training it was in."""
    process = start(words_for(tmp_path / "out"), tmp_path / "log")
    while (
        not (found := list(tmp_path.glob("out/TU_TINY/*/seed_42/fold_0/selection.jsonl"))) or not found[0].read_text()
    ):
        process.join(0.01)
    os.kill(process.pid, signal.SIGTERM)
    process.join(60)
    assert process.exitcode == 128 + signal.SIGTERM
    assert "the same command goes on from what is finished" in (tmp_path / "log").read_text()
    main_fair_comparison.main(words_for(tmp_path / "out"))
    assert numbers_in(tmp_path / "out") == whole


def test_parts_at_once_give_the_same_numbers(tmp_path, words_for, whole):
    """Three processes train a third each, one of them is killed; the run itself does what is missing."""
    parts = [start(words_for(tmp_path / "out", "--part", f"{k}/3"), tmp_path / "log") for k in (1, 2, 3)]
    os.kill(parts[1].pid, signal.SIGKILL)
    for part in parts:
        part.join(120)
    assert [part.exitcode for part in parts] == [0, -signal.SIGKILL, 0]
    assert not (fold_folder(tmp_path / "out") / "result.json").exists()
    main_fair_comparison.main(words_for(tmp_path / "out"))
    assert numbers_in(tmp_path / "out") == whole


def test_the_report_says_what_was_selected_on(words_for, whole, tmp_path, capsys):
    main_fair_comparison.main(words_for(tmp_path))
    text = capsys.readouterr().out
    assert "test accuracy (%)" in text and "fair_GIN/ENZYMES+" in text
