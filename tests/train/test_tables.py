"""Whole tables: arithmetic on hand-made result files, formats, and files that do not belong there."""

import csv
import io
import json
import signal
import subprocess
import sys

import pytest
from scipy.stats import ttest_ind
from train.reproduce import find_row
from train.result_files import read_results
from train.table import agreement, make_table, marks

from train import result_files, table
from train.config import ConfigError, family_schema, identity, read_config, validate


def config_of(name, seed):
    """What a run of a row was made with."""
    path, family = find_row(name.split("+")[0])
    content = read_config(path)
    return identity(validate(content, path, family_schema(family)(content))) | {"seed": seed}


def result(row, seed, value, fold=0, name=None, status="ok", train=100.0, metric="accuracy", **more):
    metrics = {"last": {part: {"loss": 0.0, metric: v} for part, v in (("test", value), ("train", train))}}
    return {
        "format": 1, "row": row, "name": name or row, "seed": seed, "fold": fold, "status": status, "select": "last",
        "metrics": metrics if status == "ok" else None, "params": 103847, "epochs": 100 + seed, "epoch_time_s": 0.5,
        "total_time_hr": 0.1, "config": config_of(name or row, seed),
        "dataset": {"name": "D", "hash": "1"}, **more,
    }  # fmt: skip


def save(folder, *results):
    for i, r in enumerate(results):
        path = folder / f"run{i}" / "result.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(r))


def row_of(rows, name):
    return dict(zip(range(len(table.HEADER)), next(row for row in rows if row[0] == name), strict=True))


def test_mean_and_deviation_over_seeds_and_folds():
    results = [result("T3-CSL-GIN-LapPE-L4", seed, value, fold) for seed, fold, value in
               ((0, 0, 100), (0, 1, 96), (1, 0, 100), (1, 1, 100))]  # fmt: skip
    row = row_of(make_table("table3", results), "T3-CSL-GIN-LapPE-L4")
    assert row[1].startswith("99.333 ± 1.333") and row[2].startswith("99.000 ± 1.732")
    assert row[3] == "-0.2" and row[4] == "yes"  # -0.333 / 1.333
    assert row[8] == "100.50" and row[10] == "0.50" and row[14] == "4 of 100"
    assert row[12] == "0.50"  # a seed is five folds of 0.1 hours


def test_missing_diverged_and_out_of_memory():
    results = [
        result("T3-CSL-GCN-LapPE-L4", 0, None, status="Diverged"),
        result("T3-CSL-GAT-LapPE-L4", 0, None, status="OOM"),
        result("T3-CSL-GAT-LapPE-L4", 1, 99.0),
    ]
    rows = make_table("table3", results)
    assert row_of(rows, "T3-CSL-GCN-LapPE-L4")[2] == "Diverged"
    assert row_of(rows, "T3-CSL-GAT-LapPE-L4")[2].startswith("99.000 ± 0.000 (1 OOM)")
    assert row_of(rows, "T3-CSL-MLP-LapPE-L4")[2] == "-"


def test_a_row_that_pools_models_takes_all_of_them():
    results = [result("T3-CSL-MP-GNNs-none-L4", 0, 10.0, name=f"T3-CSL-{m}-none-L4") for m in ("GCN", "GIN", "MLP")]
    assert row_of(make_table("table3", results), "T3-CSL-MP-GNNs-none-L4")[14] == "3 of 700"


def test_the_two_seeds_of_table_6_are_two_rows():
    results = [result("T6-ENZYMES-MLP-L4", seed, value) for seed, value in ((41, 50.0), (95, 60.0))]
    rows = make_table("table6", results)
    assert row_of(rows, "T6-ENZYMES-MLP-L4-seed1")[2].startswith("50.000")
    assert row_of(rows, "T6-ENZYMES-MLP-L4-seed1")[14] == "1 of 10"
    assert row_of(rows, "T6-ENZYMES-MLP-L4-seed2")[2].startswith("60.000")


def test_every_dataset_has_its_best_model():
    """Table 6 has three datasets, each with two seeds: six best models."""
    results = [result(f"T6-{d}-GCN-L4", seed, v) for d, v in (("ENZYMES", 60.0), ("DD", 70.0)) for seed in (41, 95)]
    rows = make_table("table6", [*results, result("T6-DD-MLP-L4", 41, 50.0)])
    assert sum(row[1].endswith("**") for row in rows) == 6
    assert [row[0] for row in rows if row[2].endswith("**")] == [
        f"T6-{d}-GCN-L4-seed{n}" for d in ("ENZYMES", "DD") for n in (1, 2)
    ]


def test_on_COLLAB_the_papers_way_to_count_hits_is_compared():
    own = result("T2-COLLAB-GCN-L3", 41, 30.0, metric="Hits@50")
    for part, value in (("test", 50.4), ("train", 92.1)):
        own["metrics"]["last"][part]["Hits@50_paper"] = value
    row = row_of(make_table("table2_COLLAB", [own]), "T2-COLLAB-GCN-L3")
    assert row[2].startswith("50.400") and row[6].startswith("92.100") and row[4] == "yes"
    lines = {what: ours for what, _, ours in table.compare_row("T2-COLLAB-GCN-L3", [own])}
    assert lines["test Hits@50_paper (%)"].startswith("50.400") and lines["test Hits@50 (%)"].startswith("30.000")


def test_another_dataset_is_never_taken_for_the_papers():
    own = [result(None, 41, 0.4, name="T2-ZINC-GCN-L4+dataset=ZINC-redrawn", metric="MAE")]
    assert row_of(make_table("table2_ZINC", own), "T2-ZINC-GCN-L4")[2] == "-"
    row = row_of(make_table("table2_ZINC", own, "+dataset=ZINC-redrawn"), "T2-ZINC-GCN-L4")
    assert row[2].startswith("0.400") and row[4] == "no" and row[14] == "1 of 4"  # the paper: 0.459 ± 0.006
    assert row_of(make_table("table2_ZINC", own, "+dataset=ZINC-redrawn", compared=False), "T2-ZINC-GCN-L4")[4] == ""


def line(mean, sd):
    return {"mean": mean, "sd": sd}


def test_agreement():
    assert agreement(line("10.0", "1.0"), [11.9], 4) == ("+1.9", "yes")
    assert agreement(line("10.0", "1.0"), [12.1], 4) == ("+2.1", "no")  # one run: no test
    assert agreement(line("10.000", "0.000"), [10.0, 10.0], 4) == ("0", "yes")
    assert agreement(line("100.000", "0.000"), [99.0, 99.0], 4) == ("-inf", "no")
    assert agreement(line("10.000", "0.000"), [99.0, 99.0], 4) == ("+inf", "no")
    assert agreement(line("10.0", "1.0"), [], 4) == ("", "")


def test_welch_decides_where_the_deviation_of_ours_is_large():
    """Against scipy's own test of the two samples."""
    ours = [14.0, 8.0, 17.0, 11.0]
    paper = [9.0, 11.0, 9.0, 11.0]
    # the s.d. that the paper prints divides by n: 1; the mean of ours is 2.5, more than 2 s.d., away
    p = ttest_ind(paper, ours, equal_var=False).pvalue
    assert p > 0.05 and agreement(line("10.0", "1.0"), ours, 4)[1] == "yes"
    near = [12.4, 12.5, 12.6, 12.5]
    assert agreement(line("10.0", "1.0"), near, 4)[1] == "no"
    # a case between the two ways to divide: Welch's p is 0.052 with n - 1 and 0.046 with n
    between = [11.0, 13.4, 11.0, 13.4]
    assert ttest_ind(paper, between, equal_var=False).pvalue >= 0.05
    assert agreement(line("10.0", "1.0"), between, 4)[1] == "yes"


def test_marks():
    assert marks([(90.0, 1.0), (91.0, 0.5), (90.6, 3.0), None], lower=False) == ["", "**", "*", ""]
    assert marks([(0.4, 0.1), (0.3, 0.05)], lower=True) == ["", "**"]
    assert marks([None], lower=False) == [""]


def test_foreign_and_damaged_files_are_named_and_left_out(tmp_path, capsys):
    without_numbers = result("T3-CSL-GCN-LapPE-L4", 3, 0.0) | {"metrics": None}
    save(tmp_path, result("T3-CSL-GCN-LapPE-L4", 1, 100.0), {"something": "else"}, without_numbers)
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad/result.json").write_text('{"format": 1, "ro')
    (tmp_path / "quick/a").mkdir(parents=True)
    (tmp_path / "quick/a/result.json").write_text(json.dumps(result("T3-CSL-GCN-LapPE-L4", 2, 0.0)))
    results, problems = read_results([tmp_path])
    assert len(results) == 1 and len(problems) == 3
    foreign = (
        {"config": {}}, {"config": None}, {"config": {"net": 1, "dataset": {"x": 1}}}, {"name": None}, {"dataset": "x"},
        {"seed": [1]}, {"select": [1]}, {"finished": 5}, {"format": 2},
    )  # fmt: skip
    for i, change in enumerate((*foreign, {"name": "a**b"})):
        save(tmp_path / f"foreign{i}", result("T3-CSL-GCN-LapPE-L4", 4, 100.0) | change)
    (tmp_path / "folder/result.json").mkdir(parents=True)
    results, problems = read_results([tmp_path])
    assert [r["name"] for r in results] == ["a**b", "T3-CSL-GCN-LapPE-L4"] and len(problems) == 3 + len(foreign) + 1
    assert table.main(["table3", "--out_dir", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    assert "1 of 100" in printed.out and "bad/result.json: not readable" in printed.err


def test_results_of_a_row_that_was_changed_since_are_named_and_left_out(tmp_path, capsys):
    name = "T2-ZINC-GCN-L4"
    config = config_of(name, 41)
    other = config | {"net": config["net"] | {"hidden_dim": 8}}
    deeper = config | {"net": config["net"] | {"L": 16}}
    old = {key: value for key, value in config.items() if key != "data"}  # of before there was such a key
    unknown = config | {"gone": 1}
    save(
        tmp_path,
        *(result(name, seed, 0.4, config=c, metric="MAE") for seed, c in enumerate((config, other, old, unknown))),
        result(None, 41, 0.4, name=f"{name}+net.L=16", config=deeper, metric="MAE"),
        result(None, 42, 0.4, name=f"{name}+net.L=8", config=deeper, metric="MAE"),
    )
    results, problems = read_results([tmp_path])
    assert [(r["name"], r["seed"]) for r in results] == [(name, 0), (name, 2), (f"{name}+net.L=16", 41)]
    assert len(problems) == 3 and "run1/result.json" in problems[0] and "run it again" in problems[0]
    assert f"changed since, this would be {name}+net.hidden_dim=8 now" in problems[0]
    assert f"this would be {name}+gone=1 now" in problems[1] and f"would be {name}+net.L=16 now" in problems[2]
    table.main(["table2_ZINC", "--out_dir", str(tmp_path)])
    printed = capsys.readouterr()
    assert "2 of 4" in printed.out and "left out: a result of T2-ZINC-GCN-L4: " in printed.err


def test_results_on_an_older_version_of_the_data_are_named_and_left_out(tmp_path):
    def on(version, seed, finished):
        data = {"name": "CSL", "hash": version}
        return result("T3-CSL-GCN-LapPE-L4", seed, 90.0, dataset=data, finished=finished)

    save(tmp_path, on("old", 1, "2025-01-01"), on("old", 2, "2025-01-02"), on("new", 3, "2025-01-03"))
    results, (problem,) = read_results([tmp_path])
    assert [r["seed"] for r in results] == [3]
    assert problem.startswith("2 results of T3-CSL-GCN-LapPE-L4") and "another version of the dataset" in problem


def test_a_row_that_cannot_be_read_ends_no_table(tmp_path, monkeypatch):
    def broken(stem):
        raise ConfigError(f"{stem}.json: not a JSON file")

    save(tmp_path, result("T3-CSL-GCN-LapPE-L4", 41, 90.0))
    monkeypatch.setattr(result_files, "row_now", broken)
    results, (problem,) = read_results([tmp_path])
    assert results == [] and "its row cannot be read (T3-CSL-GCN-LapPE-L4.json: not a JSON file)" in problem


def test_two_rows_of_one_name_are_refused(tmp_path, monkeypatch):
    for family in ("CSL", "Mine"):
        (tmp_path / "configs" / family).mkdir(parents=True)
        (tmp_path / "configs" / family / "GCN.json").touch()
    monkeypatch.setattr(result_files, "ROOT", tmp_path)
    with pytest.raises(ConfigError, match=r"Mine/GCN\.json: .*CSL/GCN\.json has the same name"):
        result_files.row_files.__wrapped__()


def test_a_row_taken_out_of_its_script_keeps_its_place(tmp_path, monkeypatch):
    """Comments and spaces are bash's own: what stands behind # is not there."""
    for folder in ("configs", "paper_tables"):
        (tmp_path / folder).symlink_to(table.ROOT / folder)
    text = (table.ROOT / "script_reproduce/table3.sh").read_text()
    text = text.replace("row T3-CSL-GIN-LapPE-L4\n", "# row T3-CSL-GIN-LapPE-L4\n")
    text = text.replace("row T3-CSL-GCN-LapPE-L4\n", "  row T3-CSL-GCN-LapPE-L4  # the slow one\n")
    text = text.replace(" 16 17\n", " 16 17  # 20 of them\n")
    (tmp_path / "script_reproduce").mkdir()
    (tmp_path / "script_reproduce/table3.sh").write_text(text)
    monkeypatch.setattr(table, "ROOT", tmp_path)
    monkeypatch.setattr(table, "script_seeds", table.script_seeds.__wrapped__)
    assert "T3-CSL-GIN-LapPE-L4" not in table.script_seeds() and len(table.script_seeds()["T3-CSL-GCN-LapPE-L4"]) == 20
    rows = make_table("table3", [result("T3-CSL-GIN-LapPE-L4", 41, 99.0)])
    assert row_of(rows, "T3-CSL-GIN-LapPE-L4")[14] == "1 of 100"


def test_a_row_of_your_own_needs_no_place_in_a_table(tmp_path, monkeypatch):
    content = json.loads((table.ROOT / "configs/CSL/T3-CSL-GCN-LapPE-L4.json").read_text())
    del content["row"]
    (tmp_path / "configs/CSL").mkdir(parents=True)
    (tmp_path / "configs/CSL/mine.json").write_text(json.dumps(content))
    monkeypatch.setattr(table, "ROOT", tmp_path)
    assert table.config_files() == {}


def test_a_line_without_a_deviation():
    lines = {line["row_id"]: table.printed(line) for line in table.printed_lines("table2_TSP")}
    assert lines["T2-TSP-kNN-heuristic"] == "0.693" and "±" in lines["T2-TSP-GCN-L4"]


def test_what_is_printed_is_the_table_alone(tmp_path, child_env):
    """dgl has something to say when it is not told its backend, and writes it down in the home folder."""
    env = {key: value for key, value in child_env.items() if key != "DGLBACKEND"} | {"DGLDEFAULTDIR": str(tmp_path)}
    words = [sys.executable, "-m", "train.table", "table3", "--format", "csv", "--out_dir", "results"]
    done = subprocess.run(words, cwd=table.ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("row,") and not list(tmp_path.iterdir())


def test_of_two_copies_of_a_run_the_newer_counts(tmp_path):
    old = result("T3-CSL-GCN-LapPE-L4", 1, 90.0, finished="2025-01-01T00:00:00+00:00")
    save(tmp_path, old, result("T3-CSL-GCN-LapPE-L4", 1, 95.0, finished="2025-02-01T00:00:00+00:00"), old)
    (found,), _ = read_results([tmp_path])
    assert found["metrics"]["last"]["test"]["accuracy"] == 95.0


@pytest.mark.parametrize("form", table.FORMATS)
def test_formats(tmp_path, capsys, form):
    save(tmp_path, result("T3-CSL-GCN-LapPE-L4", 1, 100.0))
    table.main(["table3", "--out_dir", str(tmp_path), "--format", form])
    text = capsys.readouterr().out
    assert "T3-CSL-GCN-LapPE-L4" in text and "100.000" in text
    if form == "csv":
        rows = list(csv.reader(io.StringIO(text)))
        assert {len(row) for row in rows} == {len(set(rows[0]))} and len(rows) == 17  # no two columns of one name
    if form == "latex":
        body = text.split("\\hline")[2]
        assert {part.count("&") for part in body.strip().splitlines()} == {len(table.HEADER) - 1}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("table9", "no such table"),
        ("table1", "table1: no such table"),
        ("zinc", "Known: table2_CIFAR10"),
        ("table3_ZINC", "no dataset"),
    ],
)
def test_unknown_tables(tmp_path, name, message):
    with pytest.raises(SystemExit, match=message):
        table.main([name, "--out_dir", str(tmp_path)])


def test_options_that_would_do_nothing_are_refused(tmp_path, capsys):
    for words, message in (
        (["table3", "--out_dir", str(tmp_path / "resutls")], "resutls: no such folder"),
        (["brec_table2", "--dataset", "ZINC", "--out_dir", str(tmp_path)], "--dataset ZINC: the tables of BREC"),
    ):
        with pytest.raises(SystemExit):
            table.main(words)
        assert message in capsys.readouterr().err


def test_no_traceback_when_nobody_reads_on(tmp_path):
    save(tmp_path, result("T3-CSL-GCN-LapPE-L4", 41, 100.0))
    words = [sys.executable, "-m", "train.table", "table3", "--out_dir", str(tmp_path)]
    with subprocess.Popen(words, cwd=table.ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()
        assert process.wait() == -signal.SIGPIPE and process.stderr.read() == ""
