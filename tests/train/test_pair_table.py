"""Tables 2-4 of BREC: what the paper prints, beside hand-made results."""

import csv
import io
import json

import pytest
from train.pair_table import HEADER, make_pair_table, pair_report, printed_counts
from train.reproduce import make_jobs

from tests.train.test_reproduce import ROOT, rows_of
from tests.train.test_tables import config_of
from train import table

PAPER_PPGN = {"Basic": 60, "Regular": 50, "Extension": 100, "CFI": 23, "Total": 233}


def counts(basic, regular, extension, cfi):
    numbers = {"Basic": basic, "Regular": regular, "Extension": extension, "CFI": cfi}
    return {"distinguished": {**numbers, "Total": sum(numbers.values())}, "by_part": {}}


def result(name, metrics, select, seed=100, row=True):
    return {
        "format": 1, "row": name if row else None, "name": name, "seed": seed, "fold": 0, "status": "ok", "select": select,
        "metrics": metrics, "n_pairs": {"Basic": 60, "Total": 400}, "params": None, "epochs": None, "epoch_time_s": None,
        "total_time_hr": 0.5,
    }  # fmt: skip


def of_net(name, numbers, seed=100, failures=0, by_text=None, **more):
    program = {**counts(*numbers), "reliability_failures": failures, "diverged": 0}
    text = {**counts(*(by_text or numbers)), "reliability_failures": 20, "diverged": 0}
    return result(name, {"program": program, "text": text}, "program", seed, **more)


def row_of(made, name):
    _, header, rows = made
    return dict(zip(header, next(row for row in rows if row[0] == name), strict=True))


def test_the_papers_counts():
    two = printed_counts(2)
    assert len(two) == 23 and two["T2-BREC-PPGN"] == PAPER_PPGN and two["T2-BREC-3-WL"]["Total"] == 270
    assert all(sum(n for c, n in row.items() if c != "Total") == row["Total"] for row in two.values())
    assert [row["Total"] for row in printed_counts(3).values()] == [252, 298, 300, 327, 326, 385, 398, 398, 399, 400]
    assert [row["Total"] for row in printed_counts(4).values()] == [193, 209, 217, 264, 270]


def test_an_exact_method_agrees_only_when_all_categories_do():
    same = result("T2-BREC-3-WL", {"exact": counts(60, 50, 100, 60)}, "exact", seed=0)
    row = row_of(make_pair_table("brec_table2", [same]), "T2-BREC-3-WL")
    assert row["agrees"] == "yes" and row["Δ"] == "+0" and row["CFI, paper"] == row["CFI, ours"] == "60"
    shifted = result("T2-BREC-3-WL", {"exact": counts(59, 51, 100, 60)}, "exact", seed=0)
    row = row_of(make_pair_table("brec_table2", [shifted]), "T2-BREC-3-WL")
    assert row["agrees"] == "no" and row["Δ"] == "+0" and row["Basic, ours"] == "59"


def test_of_several_seeds_the_best_and_the_mean():
    seeds = [
        of_net("T2-BREC-PPGN", (60, 50, 100, cfi), seed, failures=1) for seed, cfi in ((100, 20), (200, 23), (300, 17))
    ]
    row = row_of(make_pair_table("brec_table2", seeds), "T2-BREC-PPGN")
    assert row["Total, ours"] == "233" and row["CFI, ours"] == "23" and row["agrees"] == "yes"
    assert row["mean total"] == "230.0" and row["seeds"] == "3 of 10" and row["unreliable"] == "3"
    assert row["unreliable, eq. (4)"] == "60" and row["minutes a seed"] == "30.0"


def test_the_statistic_of_the_text_has_its_own_columns():
    one = of_net("extra-BREC-GIN", (0, 0, 0, 0), by_text=(3, 2, 4, 5))
    row = row_of(make_pair_table("brec_table2", [one]), "extra-BREC-GIN")
    assert row["Total, ours"] == "0" and row["total, eq. (4)"] == "14"
    assert row["Total, paper"] == "-" and "agrees" not in row  # nothing to compare


def test_n_1_and_n_2_stand_in_two_tables_with_one_result():
    found = [result(f"T2-BREC-N_{k}", {"exact": counts(60, 99, 93, k - 1)}, "exact", seed=0) for k in (1, 2)]
    made = make_pair_table("brec_table3", found)
    assert row_of(made, "T3-BREC-N_1")["agrees"] == "yes" and row_of(made, "T3-BREC-N_2")["Δ"] == "-45"
    assert row_of(made, "T3-BREC-N_3")["Total, ours"] == "-" and "Basic, paper" not in made[1]


def test_changed_configurations_and_quick_runs_are_not_the_papers():
    changed = of_net("T2-BREC-PPGN+net.L=4", (1, 1, 1, 1), row=False)
    quick = of_net("T2-BREC-PPGN+data.limit=1+train.epochs=2", (1, 1, 1, 0), row=False)
    exact = result("T2-BREC-N_1+data.limit=1", {"exact": counts(1, 2, 1, 0)}, "exact", 0, row=False)
    assert row_of(make_pair_table("brec_table2", [changed, quick, exact]), "T2-BREC-PPGN")["Total, ours"] == "-"
    made = make_pair_table("brec_table2", [changed, quick, exact], quick=True)
    assert "not comparable" in made[0]
    assert row_of(made, "T2-BREC-PPGN")["Total, ours"] == "3" and row_of(made, "T2-BREC-N_1")["Total, ours"] == "4"


@pytest.mark.parametrize("form", table.FORMATS)
def test_formats_from_files(tmp_path, capsys, form):
    (tmp_path / "run").mkdir()
    own = of_net("T2-BREC-PPGN", (60, 50, 100, 22)) | {"config": config_of("T2-BREC-PPGN", 100), "dataset": {}}
    (tmp_path / "run" / "result.json").write_text(json.dumps(own))
    assert table.main(["brec_table2", "--out_dir", str(tmp_path), "--format", form]) == 0
    text = capsys.readouterr().out
    assert "232" in text and "T2-BREC-Graphormer" in text.replace("\\_", "_")
    if form == "csv":
        lines = list(csv.reader(io.StringIO(text)))
        assert len({len(line) for line in lines}) == 1 and len(lines) == 1 + 23 + 9


def test_unknown_tables_are_named(tmp_path):
    with pytest.raises(SystemExit, match=r"brec_table5: no such table. Known: brec_table2"):
        table.main(["brec_table5", "--out_dir", str(tmp_path)])
    with pytest.raises(SystemExit, match="brec_table4"):
        table.main(["zinc", "--out_dir", str(tmp_path)])


def test_the_report_of_a_run():
    text = pair_report("T2-BREC-PPGN", "T2-BREC-PPGN", [of_net("T2-BREC-PPGN", (60, 49, 100, 23))])
    assert text.startswith("T2-BREC-PPGN, Table 2 of BREC\n")
    assert "Total (400 pairs)    233    232" in text
    other = pair_report("x+net.L=2", None, [of_net("x+net.L=2", (1, 1, 1, 1))])
    assert other.startswith("x+net.L=2 (not a row of the paper)") and len(HEADER) == 19


def test_every_configuration_is_in_a_script_and_every_seed_of_the_paper():
    scripts = {number: rows_of(ROOT / f"script_reproduce/brec_table{number}.sh") for number in (2, 3, 4)}
    listed = {row for rows in scripts.values() for row, _ in rows}
    assert listed == {path.stem for path in (ROOT / "configs/BREC").glob("*.json")}
    assert dict(scripts[2])["T2-BREC-PPGN"] == list(range(100, 1001, 100)) and dict(scripts[2])["T2-BREC-N_1"] == [0]
    assert [row for row, _ in scripts[3]][:3] == ["T2-BREC-N_1", "T2-BREC-N_2", "T3-BREC-N_3"] and len(scripts[4]) == 5


def test_jobs_of_the_scripts(tmp_path):
    """One command a row, for nets and exact methods alike; a quick run of a method has no epochs to change."""
    net, exact = make_jobs([("T2-BREC-PPGN", [100, 200]), ("T2-BREC-N_1", [0])], tmp_path, quick=True)
    assert "--train.epochs" in net.command and "T2-BREC-PPGN+data.limit=1+train.epochs=2/seed_100" in str(
        net.results[0]
    )
    assert "--train.epochs" not in exact.command and "--folds" not in exact.command
    assert str(exact.results[0]).endswith("BREC/T2-BREC-N_1+data.limit=1/seed_0/fold_0/result.json")
    assert len(make_jobs([("T2-BREC-PPGN", [100, 200])], tmp_path)) == 2
