"""Killed before any of its steps in the file system, everything goes on and leaves nothing behind."""

import json
import shutil

import numpy as np
import pytest

from data.store import Field, PackedWriter, open_or_build
from runs.collect import add_results, read_results
from runs.files import write_atomic
from runs.folder import Run
from runs.ledger import Ledger
from runs.table_files import find_row
from tests.kills import each_kill
from tests.runs.records import record


def files(folder):
    """What lies in a folder at any depth, but for locks, which stay."""
    return sorted(
        str(path.relative_to(folder)) for path in folder.rglob("*") if path.suffix != ".lock" and path.name != ".lock"
    )


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "work"


def emptied(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()


def build(path):
    with PackedWriter(path, "test", [Field("graph", "label", "int64", n_types=2)]) as writer:
        for i in range(3):
            writer.add(3, [0, 1], [1, 2], graph={"label": i % 2})
        writer.add_split("fold0", train=[0], val=[1], test=[2])


def test_a_store(folder):
    emptied(folder)
    wanted = open_or_build(folder / "store", build).hash
    whole = files(folder)
    for n in each_kill(lambda: open_or_build(folder / "store", build), folder, lambda: emptied(folder)):
        assert open_or_build(folder / "store", build).hash == wanted, n
        assert files(folder) == whole, n


def derived(store):
    return store.derive("twice", level="node", dtype="int32", parameters={}, compute=lambda i: np.full(3, 2 * i))


def test_a_derived_field(folder):
    def begin():
        emptied(folder)
        open_or_build(folder / "store", build)

    begin()
    derived(open_or_build(folder / "store", build))
    whole = files(folder)
    store = open_or_build(folder / "store", build)
    for n in each_kill(lambda: derived(store), folder, begin):
        assert derived(open_or_build(folder / "store", build)).rows("node.twice", 2).tolist() == [4, 4, 4], n
        assert files(folder) == whole, n


ROW = find_row("table3/GCN-LapPE-L4")


def epochs(out, n=3):
    """A run's files, as the loop writes them: goes on from the last epoch that was saved."""
    run = Run(out, ROW.config, str(ROW), 41)
    with run.opened():
        if run.result is not None:
            return run.result
        saved = run.path / "checkpoint.pt"
        done = int(saved.read_text()) if saved.exists() else 0
        run.cut_log(done)
        for epoch in range(done + 1, n + 1):
            run.log_epoch({"epoch": epoch})
            run.save_checkpoint(str(epoch).encode())
        made = {
            k: v
            for k, v in record(str(ROW)).items()
            if k not in ("sum", "format", "name", "config", "id", "seed", "fold")
        }
        return run.save_result(**made)


def test_a_run(folder):
    emptied(folder)
    wanted, whole = epochs(folder), files(folder)
    for n in each_kill(lambda: epochs(folder), folder, lambda: emptied(folder)):
        assert epochs(folder) == wanted, n
        assert files(folder) == whole, n
        log = next(folder.rglob("metrics.jsonl")).read_text().splitlines()
        assert [json.loads(line)["epoch"] for line in log] == [1, 2, 3], n


def test_a_forced_run_loses_nothing(folder):
    """The old files are in the folder, or in one beside them, all of them."""

    def begin():
        emptied(folder)
        epochs(folder)

    def force():
        run = Run(folder, ROW.config, str(ROW), 41, force=True)
        with run.opened():
            pass

    for n in each_kill(force, folder, begin):
        for name in ("result.json", "checkpoint.pt", "metrics.jsonl"):
            assert len(list(folder.rglob(name))) == 1, (n, name)


def test_a_ledger(folder):
    def fill():
        ledger = Ledger(folder / "answers.jsonl")
        for key in ledger.missing(map(str, range(5))):
            ledger.append(key, value=key)

    for n in each_kill(fill, folder, lambda: emptied(folder)):
        fill()
        assert sorted(Ledger(folder / "answers.jsonl").lines) == list("01234"), n
        assert files(folder) == ["answers.jsonl"], n


def test_collected_results(folder, tmp_path):
    out = tmp_path / "out"
    for seed in (1, 2):
        place = out / "CSL" / "a-1" / f"seed_{seed}" / "fold_0"
        place.mkdir(parents=True)
        (place / "result.json").write_text(json.dumps(record(seed=seed)))
    for n in each_kill(lambda: add_results([out], folder), folder, lambda: emptied(folder)):
        add_results([out], folder)
        assert [r["seed"] for r in read_results([folder])[0]] == [1, 2], n
        assert files(folder) == ["benchmarking_gnns", "benchmarking_gnns/table3.jsonl"], n


def test_a_file_is_the_old_one_or_the_new_one(folder):
    path = folder / "file"

    def begin():
        emptied(folder)
        path.write_bytes(b"old")

    def act():
        for k in range(6):
            write_atomic(path, b"new%d" % k)

    for n in each_kill(act, folder, begin):
        assert path.read_bytes() in (b"old", *(b"new%d" % k for k in range(6))), n
