"""Whole tables: arithmetic on hand-made result files, formats, and files that do not belong there."""

import csv
import io
import json

import pytest
from scipy.stats import ttest_ind

from train import table
from train.config import family_schema, identity, read_config, validate
from train.reproduce import find_row
from train.table import agreement, make_table, marks, read_results


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
        "total_time_hr": 0.1, "config": config_of(name or row, seed), **more,
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
    assert agreement(line("100.000", "0.000"), [99.0, 99.0], 4) == ("inf", "no")
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
    assert len(problems) == 3 and "run1/result.json" in problems[0] and "--force" in problems[0]
    assert "T2-ZINC-GCN-L4.json as it is now (net.hidden_dim: 8 -> 145)" in problems[0]
    assert "gone: 1 -> None" in problems[1]
    table.main(["table2_ZINC", "--out_dir", str(tmp_path)])
    printed = capsys.readouterr()
    assert "2 of 4" in printed.out and "net.hidden_dim: 8 -> 145" in printed.err


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
    ("name", "message"), [("table9", "no such table"), ("zinc", "Known: table2_CIFAR10"), ("table3_ZINC", "no dataset")]
)
def test_unknown_tables(name, message):
    with pytest.raises(SystemExit, match=message):
        table.main([name])
