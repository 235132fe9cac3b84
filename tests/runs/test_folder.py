"""The folder of a run: found by its identity, held by one process, and refused when it holds what is not its own."""

import json

import pytest

from runs.files import RunBusy, RunError, write_json
from runs.folder import Run, configuration_folder
from runs.table_files import find_row
from tests.runs.records import changed, damaged, record

ROW = find_row("table3/GCN-LapPE-L4")


def run_of(out, name="table3/GCN-LapPE-L4", seed=41, fold=0, **changes):
    return Run(out, ROW.changed(changes), name, seed, fold)


@pytest.fixture
def run(tmp_path):
    return run_of(tmp_path)


def put(run, content):
    run.path.mkdir(parents=True, exist_ok=True)
    path = run.path / "result.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def open_(run):
    with run.opened():
        pass


# Identity


def test_the_folder_has_a_name_for_people_and_an_id_for_programs(tmp_path, run):
    assert run.path == tmp_path / "CSL" / f"table3_GCN-LapPE-L4-{run.id}" / "seed_41" / "fold_0"
    long = run_of(tmp_path, "table3/" + "x" * 500 + "/ä b").path
    long.mkdir(parents=True)
    assert len(long.parts[-3]) < 150


def test_a_run_that_two_tables_want_has_one_folder(tmp_path):
    """Table 7 'No PE' is GatedGCN of Table 3 without encodings: what was begun under one name goes on under the other."""
    first, second = find_row("table3/GatedGCN-none-L4"), find_row("table7_CSL/No_PE")
    of_first = Run(tmp_path, first.config, str(first), 41)
    open_(of_first)
    of_second = Run(tmp_path, second.config, str(second), 41)
    assert of_second.path == of_first.path
    with of_first.opened():
        written = of_first.save_result(
            **{k: v for k, v in record(str(first)).items() if k not in ("sum", "format", "name", "config")}
        )
    with of_second.opened():
        assert of_second.finished_on("abc") == written
    assert Run(tmp_path, second.config, str(second), 95).path == of_first.path.parents[1] / "seed_95" / "fold_0"


def test_a_folder_keeps_its_results_when_its_row_is_renamed(tmp_path, run):
    open_(run)
    assert run_of(tmp_path, "another_table/another_row").path == run.path
    assert configuration_folder(tmp_path, ROW.changed({"net.L": 5}), "table3/GCN-LapPE-L4") != run.path.parents[1]


def test_only_the_id_at_the_end_of_the_name_counts(tmp_path, run):
    for name in (f"{run.id}-copy", f"x{run.id}", f"old-{run.id}.bak"):
        (tmp_path / "CSL" / name).mkdir(parents=True)
    assert run_of(tmp_path).path == run.path


# What does not belong to the run


def test_one_process_at_a_time(tmp_path, run):
    with run.opened(), pytest.raises(RunBusy, match="another process is running this very run"):
        open_(run_of(tmp_path))
    open_(run_of(tmp_path))


@pytest.mark.parametrize("content", [{"id": "0" * 16}, {}, [], "text"])
def test_the_file_of_another_configuration_is_refused(run, content):
    open_(run)
    write_json(run.path / "config.json", content)
    with pytest.raises(RunError, match=r"config\.json is of another configuration: move it away, or use --force"):
        open_(run)
    run.force = True
    open_(run)
    assert json.loads((run.path / "config.json").read_text())["id"] == run.id


@pytest.mark.parametrize("name", ["config.json", "result.json"])
@pytest.mark.parametrize("content", [b"{", b"", b"\xff\xfe{}", b"[" * 100_000])
def test_a_damaged_file_is_refused_with_the_remedy(run, name, content):
    run.path.mkdir(parents=True)
    (run.path / name).write_bytes(content)
    with pytest.raises(RunError, match=rf"{name} is damaged .*: move it away, or start this run again with --force"):
        open_(run)
    run.force = True
    open_(run)
    assert (run.path / "replaced-1" / name).read_bytes() == content  # moved aside, not lost


def test_a_folder_in_the_place_of_a_file_is_named(run):
    (run.path / "result.json").mkdir(parents=True)
    with pytest.raises(RunError, match=r"result\.json: Is a directory"):
        open_(run)


OF_OTHERS = {
    "seed": record(seed=95),
    "fold": record(fold=3),
    "configuration": record(changes={"net.L": 8}),
}


@pytest.mark.parametrize("what", OF_OTHERS)
def test_the_result_of_another_run_is_refused(run, what):
    """Copied by hand, or the folder of one seed in the place of another."""
    other = OF_OTHERS[what]
    put(run, other)
    place = rf"table3/GCN-LapPE-L4, seed {other['seed']}, fold {other['fold']}"
    with pytest.raises(RunError, match=rf"result\.json is of another run \({place}\): move it away"):
        open_(run)


IMPOSSIBLE = {
    "accuracy of 108 %": changed(record(), "metrics", "last", "test", "accuracy", value=108.0),
    "negative epochs": changed(record(), "epochs", value=-1),
    "negative time": changed(record(), "total_time_hr", value=-0.5),
    "another identity": changed(record(), "config", "net", "L", value=5),
    "flipped bit": damaged(record(), "metrics", "last", "test", "accuracy", value=58.0),
    "not a result": {},
    "a list": [],
}


@pytest.mark.parametrize("what", IMPOSSIBLE)
def test_a_result_that_cannot_be_is_refused_with_the_remedy(run, what):
    path = put(run, IMPOSSIBLE[what])
    before = path.read_bytes()
    with pytest.raises(RunError, match=r"result\.json: .*\. Move it away, or run again with --force"):
        open_(run)
    assert path.read_bytes() == before
    run.force = True
    open_(run)
    assert run.result is None and (run.path / "replaced-1" / "result.json").read_bytes() == before


def test_a_result_on_another_version_of_the_data_is_refused(run):
    put(run, record())
    with run.opened():
        assert run.finished_on("abc") == record()
        with pytest.raises(RunError, match=r"result\.json was made on another version of the dataset.*--force"):
            run.finished_on("def")


# The log


def test_the_log_is_cut_back_to_the_checkpoint(run):
    with run.opened():
        for epoch in (1, 2, 3):
            run.log_epoch({"epoch": epoch})
        run.cut_log(2)
        assert (run.path / "metrics.jsonl").read_text() == '{"epoch": 1}\n{"epoch": 2}\n'
        with pytest.raises(RunError, match=r"metrics\.jsonl has 2 lines, the checkpoint is of epoch 3: .*--force"):
            run.cut_log(3)


def test_what_a_killed_process_was_writing_is_removed(run):
    run.path.mkdir(parents=True)
    (run.path / "checkpoint.pt.tmp").write_bytes(b"half")
    open_(run)
    assert not list(run.path.glob("*.tmp"))


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path):
    (tmp_path / "CSL").write_text("")
    with pytest.raises(RunError, match="CSL"):
        open_(run_of(tmp_path))
