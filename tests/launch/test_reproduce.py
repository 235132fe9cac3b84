"""The missing runs of a table file: which jobs there are, what counts as done, and real processes that make them."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from launch import evidence
from launch import reproduce as module
from launch.engine import Engine
from launch.reproduce import chosen_rows, gpu_numbers, make_engine, make_jobs, number, plan
from runs.errors import ConfigError
from runs.files import write_json
from runs.result import as_lines
from runs.table_files import find_row, find_table, table_files
from tests.runs.records import changed, pair_record, record
from train.cli import parse_config
from train.config import Config
from train.pair_config import schema_of
from train.selection import SelectionConfig

ROOT = Path(__file__).resolve().parents[2]


def jobs_of(*names, out, **options):
    return make_jobs([find_row(name) for name in names], out, **options)


# --------------------------------------------------------------------------------------------------------------------
# Jobs


def test_jobs_of_a_row(tmp_path):
    row = find_row("table3/GCN-LapPE-L4")
    jobs = make_jobs([row], tmp_path)
    assert len(jobs) == len(row.seeds) == 20
    folder = f"CSL/table3_GCN-LapPE-L4-{row.id()}/seed_{row.seeds[0]}"
    assert jobs[0].folder == folder and list(jobs[0].results) == [f"{folder}/fold_{f}/result.json" for f in range(5)]
    (quick,) = jobs_of("table6/DD-GCN-L4", out=tmp_path, quick=True)
    assert len(quick.results) == 1 and "table6_DD-GCN-L4+data.limit=8+train.stop.epochs=2-" in quick.results[0]
    own = jobs_of("table2_ZINC/GCN-L4", out=tmp_path, dataset="ZINC-redrawn")[0]
    assert "ZINC-redrawn/table2_ZINC_GCN-L4+dataset=ZINC-redrawn-" in own.results[0]


def test_a_gpu_that_was_too_small_is_no_reason_to_start_the_run_again(tmp_path):
    """Of a run on the CPU more memory is: then it is started again."""
    path = tmp_path / "fold_0/result.json"
    path.parent.mkdir()
    for device, done in (("cpu", False), ("cuda", True)):
        ended = record(status="OOM", metrics=None, params=None, device=device, host={"memory": 0.5})
        write_json(path, ended)
        assert module.has_result(ended["id"], ended["seed"], path) is done


def test_the_first_seed_of_every_row_comes_first(tmp_path):
    def short(jobs):
        return [(job.name.split("/")[1].split("-")[0], job.seed) for job in jobs]

    names = ["table3/GCN-LapPE-L4", "table3/MLP-LapPE-L4"]
    a, b, c = find_row(names[0]).seeds[:3]
    assert short(jobs_of(*names, out=tmp_path, seeds=slice(2))) == [("GCN", a), ("MLP", a), ("GCN", b), ("MLP", b)]
    assert short(jobs_of(*names, out=tmp_path, seeds=slice(2, 3))) == [("GCN", c), ("MLP", c)]


def test_a_run_that_two_rows_want_is_one_job(tmp_path):
    """Table 7 'No PE' on CSL is GatedGCN of Table 3 without encodings."""
    names = ["table3/GatedGCN-none-L4", "table7_CSL/No_PE"]
    jobs = jobs_of(*names, out=tmp_path, seeds=slice(2))
    assert [job.name for job in jobs] == [
        f"table3/GatedGCN-none-L4 seed {seed}" for seed in find_row(names[0]).seeds[:2]
    ]


def test_a_run_that_two_scripts_want_has_one_folder(tmp_path):
    """Whichever plans first: the other finds the folder by its id, under the name of the first."""
    plans = [
        plan(tmp_path, lambda n=name: jobs_of(n, out=tmp_path))
        for name in ("table7_CSL/No_PE", "table3/GatedGCN-none-L4")
    ]
    assert [job.folder for job in plans[0]] == [job.folder for job in plans[1]]
    assert plans[0][0].results == plans[1][0].results and "table7_CSL_No_PE" in plans[1][0].folder


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SystemExit, match="file/out"):
        plan(tmp_path / "file" / "out", list)


@pytest.mark.parametrize("name", table_files())
def test_a_main_file_understands_the_words_of_a_job(name, tmp_path):
    """And computes what the job waits for, in the folder where it waits: the same identity, seed and place."""
    table = table_files()[name]
    schema = SelectionConfig if table.grid else Config
    schemas = schema_of if table.main == "BREC" else (lambda content: schema)
    for quick in (False, True):
        for job in make_jobs(list(table.rows.values()), tmp_path, quick=quick, seeds=slice(1), folds=1):
            words = [str(tmp_path) if word == module.OUT else word for word in job.command]
            assert words[0] == str(ROOT / f"main_{table.main}.py") and Path(words[0]).exists()
            dataset = find_row(words[2]).config["dataset"]
            config = parse_config(words[1:], table.main, [dataset], default=words[2], schema_of=schemas)
            run = config.run()
            some = " fold 0" if table.grid else " folds 0" if find_row(words[2]).folds > 1 else ""
            assert (run.id, run.seed, f"{run.name} seed {run.seed}{some}") == (job.id, job.seed, job.name)
            assert run.path / "result.json" == job.paths[0]


def test_a_model_selection_is_a_job_per_fold_and_part(tmp_path):
    """The fold waits for its parts, which leave their files in folders of their own."""
    row = find_table("fair_table3").row("ENZYMES-GIN")
    jobs = make_jobs([row], tmp_path, slices=2)
    assert [job.name.removeprefix("fair_GIN/ENZYMES seed 42 ") for job in jobs[:4]] == [
        "fold 0 part 1 of 2", "fold 0 part 2 of 2", "fold 0", "fold 1 part 1 of 2",
    ]  # fmt: skip
    first, second, whole = jobs[:3]
    assert len(jobs) == 30 and whole.needs == (first.name, second.name) and not first.needs
    assert first.command[-4:] == ("--folds", "0", "--part", "1/2") and whole.command[-2:] == ("--folds", "0")
    assert first.paths == [whole.paths[0].parent / "part_1_of_2" / "part.json"] and not first.done()
    write_json(made(first.paths[0]), {"id": first.id, "seed": 42, "part": "1/2"})
    assert first.done() and not second.done()
    write_json(made(second.paths[0]), {"id": "of another", "seed": 42, "part": "2/2"})
    assert not second.done()
    assert [len(make_jobs([row], tmp_path, folds=n)) for n in (None, 2)] == [10, 2]


def made(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def test_rows_are_chosen_by_name():
    table = find_table("table3")
    assert chosen_rows(table, []) == list(table.rows.values())
    assert [row.name for row in chosen_rows(table, ["GIN-none-L4", "GCN-none-L4"])] == ["GIN-none-L4", "GCN-none-L4"]
    with pytest.raises(ConfigError, match=r"GCN-non-L4: .*table3\.json has no such row\. Did you mean GCN-none-L4\?"):
        chosen_rows(table, ["GCN-non-L4"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["table33"], "table33: no such table. Did you mean table3?"),
        (["brec/table3"], "no such table"),
        (["table3", "GCM"], "has no such row"),
        (["nowhere.json"], "nowhere.json: no such file"),
    ],
)
def test_tables_and_rows_that_do_not_exist(words, message):
    with pytest.raises(ConfigError) as stop:
        module.main(words)
    assert message in str(stop.value)


def test_a_table_without_a_main_file(tmp_path):
    write_json(tmp_path / "mine.json", {"main": "Mine", "seeds": [1], "shared": {"dataset": "x"}, "rows": {"A": {}}})
    with pytest.raises(ConfigError, match=r"mine\.json: main='Mine': there is no .*main_Mine\.py"):
        module.main([str(tmp_path / "mine.json")])


def test_only_a_result_of_the_run_counts_as_done(tmp_path):
    """The others are started: the run itself says what is wrong and what to do."""
    (job,) = jobs_of("table3/GCN-LapPE-L4", out=tmp_path, seeds=slice(1))
    for fold, path in enumerate(job.paths):
        assert not job.done()
        path.parent.mkdir(parents=True)
        write_json(path, record(seed=job.seed, fold=fold))
    assert job.done()
    path = job.paths[2]
    right = record(seed=job.seed, fold=2)
    wrong = [
        record(seed=job.seed, fold=3),
        record(seed=job.seed + 1, fold=2),
        record(seed=job.seed, fold=2, changes={"net.L": 5}),
        changed(right, "metrics", "last", "test", "accuracy", value=108.0),
        {**right, "epochs": 31},
        {},
        [],
    ]
    for content in wrong:
        write_json(path, content)
        assert not job.done(), content
    for text in (b"{", b"\xff", b"[" * 100_000):
        path.write_bytes(text)
        assert not job.done()
    path.unlink()
    path.mkdir()
    assert not job.done()


# --------------------------------------------------------------------------------------------------------------------
# Settings


def test_bad_settings(monkeypatch):
    monkeypatch.setenv("JOBS", "0")
    with pytest.raises(SystemExit, match="JOBS=0: expected a positive number"):
        make_engine()
    monkeypatch.setenv("JOBS", "2")
    monkeypatch.setenv("ENGINE", "slurm")
    with pytest.raises(SystemExit, match="ENGINE=slurm: expected local or ray"):
        make_engine()
    monkeypatch.setenv("GPUS", "all")
    with pytest.raises(SystemExit, match="GPUS=all: expected a number"):
        number("GPUS", "0")
    for name in ("ENGINE", "JOBS"):  # set to nothing
        monkeypatch.setenv(name, "")
    assert isinstance(make_engine(), Engine)
    monkeypatch.delenv("GPUS")
    monkeypatch.setenv("SEEDS", "some")
    with pytest.raises(SystemExit, match="SEEDS=some: expected a positive number"):
        module.main(["table3"])


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("QUICK=false", "QUICK=false: expected 0 or 1"),
        ("QUICK=yes", "QUICK=yes: expected 0 or 1"),
        ("GNN_DATA=/nowhere", "GNN_DATA=/nowhere: no such folder: correct the name, or unset GNN_DATA"),
        ("DATASET=CLS", "DATASET=CLS: main_CSL.py does not know it. Did you mean CSL? Known: CSL, CSL-published"),
        ("DATASET=ZINC", "DATASET=ZINC: main_CSL.py does not know it. Known: CSL, CSL-published"),
        (
            "OUT=/proc/foo",
            "OUT: /proc/foo: No such file or directory: make room, or name a folder that can be written to",
        ),
    ],
)
def test_settings_are_checked_before_anything_is_run(monkeypatch, tmp_path, setting, message):
    monkeypatch.setattr(Engine, "run", lambda *_: pytest.fail("runs were started"))
    monkeypatch.setenv("OUT", str(tmp_path))
    monkeypatch.setenv(*setting.split("="))
    with pytest.raises(SystemExit) as stop:
        module.main(["table3", "MLP-LapPE-L4"])
    assert stop.value.code == message and not list(tmp_path.iterdir())


def test_datasets_of_the_tu_collection_and_of_other_main_files_are_left_to_the_run(monkeypatch):
    module.check_dataset(find_table("table6"), "TU/MUTAG")
    module.check_dataset(find_table("table3"), "CSL-published")
    monkeypatch.setattr(module.importlib, "import_module", lambda _: object())  # a main file without a list of datasets
    module.check_dataset(find_table("table3"), "MINE")


def test_the_rows_are_optional(capsys):
    with pytest.raises(SystemExit):
        module.main([])
    assert "required: table\n" in capsys.readouterr().err


def test_the_gpus_that_may_be_used(monkeypatch):
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert gpu_numbers() == [0, 1]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,3")
    assert gpu_numbers() == ["2", "3"]


def test_a_signal_stops_in_order_under_an_engine_that_sets_handlers_too(monkeypatch, capsys, tmp_path):
    """As Ray does when it starts."""

    class Signalled(Engine):
        def __init__(self):
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(15))

        def room(self):
            return True

        def start(self, job):
            assert (job.cpus, job.gpus) == (2, 3)
            os.kill(os.getpid(), signal.SIGTERM)  # also now it is noticed, and the run is known and can be stopped
            return "run"

        def poll(self, handle):
            return None

        def stop(self, handles):
            assert handles == ["run"]

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    monkeypatch.setattr(module, "make_engine", Signalled)
    for name, value in (("OUT", str(tmp_path)), ("CPUS", "2"), ("GPUS", "3"), ("SEEDS", "1")):
        monkeypatch.setenv(name, value)
    try:
        assert module.main(["table3", "MLP-LapPE-L4"]) == 130 and "the same command goes on" in capsys.readouterr().err
        assert list(tmp_path.glob("CSL/table3_MLP-LapPE-L4-*"))  # planned: another script finds it
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# --------------------------------------------------------------------------------------------------------------------
# Real processes, whose main file does not train


PROGRAM = """
import sys
from pathlib import Path
from launch import engine, reproduce
engine.POLL, engine.RETRY = 0.02, 0.1
reproduce.gpu_numbers = lambda: []  # asks torch
reproduce.ROOT = Path(sys.argv[1])
sys.exit(reproduce.main(sys.argv[2:]))
"""


class Project:
    """python -m launch.reproduce in a project whose main_CSL.py is the stand-in."""

    def __init__(self, folder):
        self.folder, self.out = folder, folder / "out"
        self.out.mkdir(parents=True)
        shutil.copy(ROOT / "tests/launch/stand_in.py", folder / "main_CSL.py")
        self.env = os.environ | {"PYTHONPATH": str(ROOT), "OUT": str(self.out)}

    def start(self, *words, background=False, **more):
        command = [sys.executable, "-c", PROGRAM, str(self.folder), *words]
        ignore = (lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)) if background else None
        pipe = subprocess.PIPE
        return subprocess.Popen(command, env=self.env | more, stderr=pipe, text=True, preexec_fn=ignore)

    def run(self, *words, **more):
        process = self.start(*words, **more)
        _, error = process.communicate(timeout=60)
        return process.returncode, error

    def trace(self):
        path = self.out / "trace"
        return [tuple(line.split()) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def test_runs_are_made_failures_reported_and_nothing_is_run_twice(project):
    rows = ("table3", "MLP-LapPE-L4", "GCN-LapPE-L4")
    code, error = project.run(*rows, JOBS="2", SEEDS="1")
    assert code == 0 and "table3: 2 of 2 done (10 of 10 results), 0 running, 0 failed" in error, error
    made = project.trace()
    assert len(made) == 10 and {name for name, *_ in made} == {"table3/MLP-LapPE-L4", "table3/GCN-LapPE-L4"}
    results = sorted(project.out.rglob("result.json"))
    assert all(json.loads(path.read_text())["status"] == "ok" for path in results)
    times = [path.stat().st_mtime_ns for path in results]
    results[0].unlink()
    (project.out / "fail").touch()
    code, error = project.run(*rows, SEEDS="1")
    assert code == 1 and "1 failed" in error and "start this run again with --force" in error, error
    assert [path.stat().st_mtime_ns for path in results[1:]] == times[1:] and len(project.trace()) == 11


def test_a_table_finds_the_runs_of_another(project):
    """GatedGCN without encodings, made for Table 3, is not made again for Table 7."""
    assert project.run("table3", "GatedGCN-none-L4", SEEDS="1")[0] == 0
    before = project.trace()
    code, error = project.run("table7_CSL", "No_PE", SEEDS="1")
    assert code == 0 and "1 of 1 done" in error and project.trace() == before and len(before) == 5


def test_quick_runs_have_a_folder_of_their_own(project):
    (project.out / "quick").mkdir()
    code, error = project.run("table3", "MLP-LapPE-L4", QUICK="1")
    assert code == 0 and "1 of 1 done, 0 running, 0 failed" in error, error
    (path,) = project.out.rglob("result.json")
    assert path.is_relative_to(project.out / "quick/CSL") and json.loads(path.read_text())["config"]["data"] == {
        "limit": 8
    }


def test_a_failed_run_is_named_at_once(project):
    """Not only when all have ended: whoever stops the others has read the reason."""
    (project.out / "fail").touch()
    process = project.start("table3", "MLP-LapPE-L4")
    lines = []
    while not any("start this run again with --force" in line for line in lines):
        lines.append(process.stderr.readline())
        assert lines[-1], lines
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130 and any(line.startswith("failed: table3/MLP-LapPE-L4 seed") for line in lines)
    process.stderr.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_it_leaves_no_run_behind_and_goes_on_later(project, number):
    """Started as a shell starts a program in the background: with SIGINT ignored."""
    (project.out / "wait").touch()
    process = project.start("table3", "MLP-LapPE-L4", background=True)
    while not list(project.out.rglob("metrics.jsonl")):
        assert process.poll() is None
        time.sleep(0.02)
    (run,) = psutil.Process(process.pid).children()
    process.send_signal(number)
    assert process.wait(60) == 130 and "the same command goes on" in process.stderr.read()
    process.stderr.close()
    assert not psutil.pid_exists(run.pid) or run.status() == psutil.STATUS_ZOMBIE
    (project.out / "wait").unlink()
    assert project.run("table3", "MLP-LapPE-L4", SEEDS="1")[0] == 0


def test_two_scripts_at_once_do_each_run_once(project):
    """Of one table, and of two tables that share a row."""
    tables = [("table3", "MLP-none-L4", "GatedGCN-none-L4"), ("table3", "MLP-none-L4"), ("table7_CSL", "No_PE")]
    scripts = [project.start(*words, SEEDS="1") for words in tables]
    texts = [process.communicate(timeout=60)[1] for process in scripts]
    assert [process.returncode for process in scripts] == [0, 0, 0], texts
    made = [(name, fold) for name, _, fold, _ in project.trace()]
    assert len(made) == len(set(made)) == 10
    assert len(list(project.out.rglob("result.json"))) == 10


# --------------------------------------------------------------------------------------------------------------------
# The project's own list


def test_the_list_of_our_own_runs_is_one_of_rows_that_exist(tmp_path):
    jobs = evidence.jobs_of_list(evidence.read_list(), tmp_path)
    assert len(jobs) == len({job.name for job in jobs}) > 300
    runs = [run for job in jobs for run in evidence.made_by(job)]
    assert len(runs) == len(set(runs)) > 1000


def test_a_run_of_two_entries_is_one_job(tmp_path):
    entries = [
        {"table": "table3", "rows": ["GatedGCN-none-L4"]},
        {"table": "table7_CSL", "rows": ["No_PE"], "seeds": 2},
    ]
    names = [job.name for job in evidence.jobs_of_list(entries, tmp_path)]
    assert names == ["table3/GatedGCN-none-L4 seed 14", "table7_CSL/No_PE seed 15"]


def test_an_entry_makes_the_folds_that_those_before_it_leave(tmp_path):
    entries = [
        {"table": "table3", "rows": ["GCN-LapPE-L4"], "folds": 2},
        {"table": "table3", "rows": ["GCN-LapPE-L4"]},
        {"table": "fair_table3", "rows": ["ENZYMES-GIN"], "folds": 1},
    ]
    jobs = evidence.jobs_of_list(entries, tmp_path, {(find_row("table3/GCN-LapPE-L4").id(), 14, 3)})
    assert [job.name for job in jobs] == [
        "table3/GCN-LapPE-L4 seed 14 folds 0,1",
        "table3/GCN-LapPE-L4 seed 14 folds 2,4",
        "fair_GIN/ENZYMES seed 42 fold 0",
    ]


def test_runs_of_changed_rows_have_their_own_identity_and_command(tmp_path):
    entry = {"table": "brec_table2", "rows": ["3-WL"]}
    (some,), (whole,) = (
        evidence.jobs_of(e, tmp_path) for e in (entry | {"changes": {"categories": "Basic,CFI"}}, entry)
    )
    assert some.id != whole.id and some.folder != whole.folder
    assert some.command[some.command.index("--categories") + 1] == "Basic,CFI" and "--categories" not in whole.command


def test_what_is_in_results_is_not_made_again(tmp_path, monkeypatch):
    monkeypatch.setattr(evidence, "RESULTS", tmp_path / "results")
    entries = [{"table": "brec_table2", "rows": ["3-WL", "S_3"]}]
    assert len(evidence.missing_jobs(entries, tmp_path)) == 2
    (tmp_path / "results").mkdir()
    (tmp_path / "results/x.jsonl").write_text(as_lines([pair_record("brec_table2/3-WL")]))
    assert [job.name for job in evidence.missing_jobs(entries, tmp_path)] == ["brec_table2/S_3 seed 0"]


def test_a_fold_that_is_in_results_is_not_made_again(tmp_path, monkeypatch):
    monkeypatch.setattr(evidence, "RESULTS", tmp_path / "results")
    entries = [{"table": "table3", "rows": ["GCN-LapPE-L4"]}]
    (tmp_path / "results").mkdir()
    known = [record(row="table3/GCN-LapPE-L4", seed=14, fold=fold) for fold in (0, 3)]
    (tmp_path / "results/x.jsonl").write_text(as_lines(known))
    (job,) = evidence.missing_jobs(entries, tmp_path)
    assert job.command[-2:] == ("--folds", "1,2,4") and [path.parent.name for path in job.paths] == [
        "fold_1",
        "fold_2",
        "fold_4",
    ]


def test_a_list_with_an_unknown_key_is_refused(tmp_path):
    write_json(tmp_path / "list.json", [{"table": "table3", "row": ["GCN"]}])
    with pytest.raises(ConfigError, match=r"row=\['GCN'\]: expected one of .*Did you mean rows\?"):
        evidence.read_list(tmp_path / "list.json")
