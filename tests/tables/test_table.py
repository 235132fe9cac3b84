"""Whole tables: arithmetic on hand-made results, whose they are, formats, and options."""

import csv
import io
import json
import signal
import subprocess
import sys

import pytest

from runs.collect import read_results
from runs.table_files import ROOT, find_row, find_table
from tables import table
from tables.formats import FORMATS
from tables.papers import PAPERS
from tables.papers.benchmarking_gnns import printed
from tables.stand_ins import STAND_INS
from tests.tables.records import cells_of, of_net, result, row_of, save


def test_mean_and_deviation_over_seeds_and_folds():
    runs = [result("table3/GIN-LapPE-L4", seed, value, fold) for seed, fold, value in
            ((0, 0, 100), (0, 1, 96), (1, 0, 100), (1, 1, 100))]  # fmt: skip
    row = row_of("table3", runs, "GIN-LapPE-L4")
    assert row["test, paper"].startswith("99.333 ± 1.333") and row["test, ours"].startswith("99.000 ± 1.732")
    assert row["test, Δ / s.d."] == "-0.2" and row["agrees"] == "yes"  # -0.333 / 1.333
    assert row["epochs, ours"] == "100.50" and row["s / epoch, ours"] == "0.50" and row["runs"] == "4 of 100"
    assert row["hours, ours"] == "0.50"  # a seed is five folds of 0.1 hours
    assert row["parameters"] == "107304 (ours 103847)"
    of_taxonomy = [result("taxonomy_figure4/MUTAG", 0, 0.8, metric="AUROC")]
    assert row_of("taxonomy_figure4", of_taxonomy, "MUTAG")["parameters"] == "ours 103847"  # none is printed


def test_small_costs_keep_two_digits():
    """An epoch of a small graph takes milliseconds: 0.00 would say nothing."""
    runs = [
        result("table3/GIN-LapPE-L4", 0, 99.0, epoch_time_s=seconds, total_time_hr=0) for seconds in (0.0053, 0.0055)
    ]
    row = row_of("table3", runs, "GIN-LapPE-L4")
    assert row["s / epoch, ours"] == "0.0054" and row["hours, ours"] == "0"


def test_a_row_agrees_when_its_test_and_its_training_score_do():
    """The paper: test 99.333 ± 1.333, training 100 ± 0."""

    def word(test, train):
        return row_of("table3", [result("table3/GIN-LapPE-L4", 41, test, train=train)], "GIN-LapPE-L4")["agrees"]

    assert word(99.0, 100.0) == "yes" and word(99.0, 98.0) == "no: train"
    assert word(90.0, 100.0) == "no: test" and word(90.0, 98.0) == "no: test, train"
    assert row_of("table3", [], "GIN-LapPE-L4")["agrees"] == ""
    row = row_of("table3", [result("table3/GIN-LapPE-L4", 41, 99.0, train=98.0)], "GIN-LapPE-L4")
    assert row["train, ours"] == "98.000" and row["train, Δ / s.d."] == "-inf"


def test_more_runs_than_the_paper_has():
    """A result counts for its configuration, whatever its seed."""
    runs = [result("table2_ZINC/GCN-L4", seed, 0.45, metric="MAE") for seed in range(5)]
    assert row_of("table2_ZINC", runs, "GCN-L4")["runs"] == "5, of the paper 4"


def test_missing_diverged_and_out_of_memory():
    runs = [
        result("table3/GCN-LapPE-L4", 0, None, status="Diverged"),
        result("table3/GAT-LapPE-L4", 0, None, status="OOM"),
        result("table3/GAT-LapPE-L4", 1, 99.0),
    ]
    assert row_of("table3", runs, "GCN-LapPE-L4")["test, ours"] == "Diverged"
    assert row_of("table3", runs, "GAT-LapPE-L4")["test, ours"].startswith("99.000 (1 OOM)")
    assert row_of("table3", runs, "MLP-LapPE-L4")["test, ours"] == "-"


def test_a_row_that_pools_models_takes_all_of_them():
    runs = [result(f"table3/{m}-none-L4", 0, 10.0) for m in ("GCN", "GIN", "MLP")]
    assert row_of("table3", runs, "MP-GNNs-none-L4")["runs"] == "3 of 700"


def test_the_two_seeds_of_table_6_are_two_rows():
    runs = [result("table6/ENZYMES-MLP-L4", seed, value) for seed, value in ((41, 50.0), (95, 60.0), (7, 99.0))]
    first, second = (row_of("table6", runs, f"ENZYMES-MLP-L4-seed{n}") for n in (1, 2))
    assert first["test, ours"].startswith("50.000") and first["runs"] == "1 of 10"
    assert second["test, ours"].startswith("60.000") and first["test, paper"] != second["test, paper"]


def test_every_dataset_has_its_best_model():
    """Table 6 has three datasets, each with two seeds: six best models."""
    runs = [result(f"table6/{d}-GCN-L4", seed, v) for d, v in (("ENZYMES", 60.0), ("DD", 70.0)) for seed in (41, 95)]
    columns = table.table_view("table6", [*runs, result("table6/DD-MLP-L4", 41, 50.0)]).columns()
    names, paper, ours = (columns[k].cells for k in (0, 1, 2))
    assert sum(cell.mark == "**" for cell in paper) == 6
    best = [name.text for name, cell in zip(names, ours, strict=True) if cell.mark == "**"]
    assert best == [f"{d}-GCN-L4-seed{n}" for d in ("ENZYMES", "DD") for n in (1, 2)]


def test_on_COLLAB_the_papers_way_to_count_hits_is_compared():
    own = result("table2_COLLAB/GCN-L3", 41, None, metric={"Hits@50": 30.0, "Hits@50_paper": 50.4}, train=92.1)
    row = row_of("table2_COLLAB", [own], "GCN-L3")
    assert row["test, ours"].startswith("50.400") and row["train, ours"].startswith("92.100") and row["agrees"] == "yes"


def test_another_dataset_is_never_taken_for_the_papers():
    own = [result("table2_ZINC/GCN-L4", 41, 0.4, metric="MAE", train=0.343, changes={"dataset": "ZINC-redrawn"})]
    assert row_of("table2_ZINC", own, "GCN-L4")["test, ours"] == "-"
    row = row_of("table2_ZINC", own, "GCN-L4", dataset="ZINC-redrawn")
    assert row["test, ours"].startswith("0.400") and "agrees" not in row and row["runs"] == "1 of 4"
    title = table.table_view("table2_ZINC", own, dataset="ZINC-redrawn").title
    assert title.endswith("; ours with dataset=ZINC-redrawn, not the paper's, not comparable")


def test_the_papers_data_under_another_name_is_compared():
    own = [result("table2_ZINC/GCN-L4", 41, 0.4, metric="MAE", train=0.343, changes={"dataset": "ZINC-rebuilt"})]
    assert row_of("table2_ZINC", own, "GCN-L4", dataset="ZINC-rebuilt")["agrees"] == "no: test"  # 0.459 ± 0.006
    view = table.table_view("table2_ZINC", own, dataset="ZINC-rebuilt")
    assert view.title.endswith("; ours on ZINC-rebuilt, the paper's molecules, targets computed again")


def test_another_dataset_is_of_the_rows_whose_name_it_begins_with():
    """On one dataset the rows of all datasets of a table are the same runs."""
    changes = {"dataset": "WebKB-Cor-true"}
    own = [result("taxonomy_figure5/WebKB-Cor", seed, 0.7, metric="AUROC", changes=changes) for seed in range(10)]
    view = table.table_view("taxonomy_figure5", own, "WebKB-Cor-true")
    assert [line.name for line in view.lines if line.results] == ["WebKB-Cor"] and view.judge is None
    assert [line.name for line in view.lines if line.is_complete] == ["WebKB-Cor"]
    other = [
        result("taxonomy_figure5/CF-CoraML", seed, 0.7, metric="AUROC", changes={"dataset": "CF-CoraML-raw"})
        for seed in range(2)
    ]
    view = table.table_view("taxonomy_figure5", other, "CF-CoraML-raw")
    assert [line.name for line in view.lines if line.results] == ["CF-CoraML"]  # CF-Cora is the beginning of it, too


def test_every_stand_in_is_compared_in_every_table_of_the_papers_dataset():
    names = [t.name for paper in PAPERS for t in paper.tables if t.other_datasets and not t.of_other_tables]
    for other, (name, same) in STAND_INS.items():
        of_name = [t for t in names if name in {row.config["dataset"] for row in find_table(t).rows.values()}]
        assert of_name
        for view in (table.table_view(t, [], other) for t in of_name):
            assert view.compared and view.title.endswith(f"; ours on {other}, {same}")


def test_the_papers_own_dataset_may_be_named():
    own = [result("table2_ZINC/GCN-L4", 41, 0.459, metric="MAE", train=0.343)]
    assert cells_of(table.table_view("table2_ZINC", own, "ZINC"), "GCN-L4")["agrees"] == "yes"
    assert table.table_view("table2_ZINC", own, "ZINC").title == table.table_view("table2_ZINC", own).title


def test_runs_without_a_score_agree_with_none():
    ended = [result("table3/GIN-LapPE-L4", seed, None, status="Diverged") for seed in (1, 2)]
    found = [result("table3/GIN-LapPE-L4", 0, 99.3), *ended]
    assert row_of("table3", found, "GIN-LapPE-L4")["agrees"] == "no: test"
    assert row_of("table3", ended, "GIN-LapPE-L4")["agrees"] == "no: test"
    short = result("table3/GIN-LapPE-L4", 2, None, status="OOM")  # where there is more memory, it is tried again
    assert row_of("table3", [result("table3/GIN-LapPE-L4", 0, 99.3), short], "GIN-LapPE-L4")["agrees"] == "yes"
    own = [result("table2_ZINC/RingGNN-E-L8-500k", 41, None, status="Diverged", metric="MAE")]
    assert row_of("table2_ZINC", own, "RingGNN-E-L8-500k").get("agrees", "") == ""  # the paper's diverged, too


def test_an_empty_table_says_where_there_are_results(tmp_path, capsys):
    save(tmp_path, result("table2_ZINC/GCN-L4", 41, 0.4, metric="MAE", changes={"dataset": "ZINC-rebuilt"}))
    assert table.main(["table2_ZINC", "--dataset", "ZINC-rebuild", "--out_dir", str(tmp_path)]) == 0
    message = "no results of table2_ZINC on ZINC-rebuild; there are some with --dataset ZINC-rebuilt"
    assert capsys.readouterr().err == message + "\n"
    assert table.main(["brec_table2", "--out_dir", str(tmp_path)]) == 0
    assert capsys.readouterr().err == "no results of brec_table2\n"


def test_the_signs_are_explained_below_the_table(tmp_path, capsys):
    save(tmp_path, result("table3/GIN-LapPE-L4", 0, 99.3))
    for form, mark in (("text", "**: the best"), ("markdown", r"\*\*: the best")):
        table.main(["table3", "--out_dir", str(tmp_path), "--format", form])
        text = capsys.readouterr().out
        assert mark in text and "A row agrees when" in text and "Δ / s.d.: ours minus paper" in text
    table.main(["table3", "--out_dir", str(tmp_path), "--format", "csv"])
    assert "A row agrees when" not in capsys.readouterr().out


def test_quick_runs_are_not_compared():
    changes = {"data.limit": 8, "train.stop.epochs": 2}
    own = [result("table2_ZINC/GCN-L4", 41, 0.4, metric="MAE", changes=changes)]
    assert row_of("table2_ZINC", own, "GCN-L4")["test, ours"] == "-"
    row = row_of("table2_ZINC", own, "GCN-L4", quick=True)
    assert row["test, ours"].startswith("0.400") and row["test, Δ / s.d."] == "" and "agrees" not in row
    assert "data.limit=8, train.stop.epochs=2" in table.table_view("table2_ZINC", own, quick=True).title


def test_a_result_counts_for_every_row_with_its_identity():
    """Table 2's GatedGCN-E-PE on ZINC is Table 7's: one run, two tables; its name plays no part."""
    own = result("table2_ZINC/GatedGCN-E-PE-L16", 41, 0.2, metric="MAE", name="called/something-else")
    assert row_of("table7_ZINC", [own], "Rand_sign(EigVecs)")["runs"] == "1 of 4"
    assert row_of("table2_ZINC", [own], "GatedGCN-E-PE-L16")["runs"] == "1 of 4"


def test_table_7_has_the_hundred_runs_that_were_made_for_table_3():
    """Flipped signs were Table 3's once; they are Table 7's "Rand sign" by their identity."""
    results, problems = read_results([ROOT / "results"])
    row = row_of("table7_CSL", results, "Rand_sign(EigVecs)")
    assert not problems and row["runs"] == "100 of 100" and row["agrees"] == "yes"


def test_a_row_that_was_changed_has_no_results_until_it_is_changed_back():
    wider = result("table2_ZINC/GCN-L4", 41, 0.4, metric="MAE", changes={"net.hidden_dim": 8})
    assert row_of("table2_ZINC", [wider], "GCN-L4")["runs"] == "0 of 4"
    back = result("table2_ZINC/GCN-L4", 41, 0.4, metric="MAE", changes={"net.hidden_dim": 145, "net.dropout": 0})
    assert row_of("table2_ZINC", [back], "GCN-L4")["runs"] == "1 of 4"


def test_a_line_without_a_deviation():
    lines = printed("table2_main_results", "T2-TSP-")
    assert lines["kNN-heuristic"]["test"].text == "0.693" and "±" in lines["GCN-L4"]["test"].text


# --------------------------------------------------------------------------------------------------------------------
# Tables of one's own


def test_a_table_of_any_runs(tmp_path, capsys):
    save(
        tmp_path,
        *(result("table3/GCN-LapPE-L4", seed, 90.0 + seed, fold) for seed in (1, 3) for fold in (0, 1)),
        result("table3/GCN-LapPE-L4", 1, 80.0, changes={"net.L": 8, "train.optimizer.lr": 0.1}),
        result("table3/GAT-LapPE-L4", 1, 95.0),
    )
    view = table.runs_view([tmp_path], read_results([tmp_path])[0])
    assert [line.name for line in view.lines] == [
        "L=4, model=GAT, hidden_dim=18, lr=0.0005", "L=4, model=GCN, hidden_dim=146, lr=0.0005",
        "L=8, model=GCN, hidden_dim=146, lr=0.1",
    ]  # fmt: skip
    row = cells_of(view, "L=4, model=GCN, hidden_dim=146, lr=0.0005")
    assert row["test accuracy (%)"] == "92.000 ± 1.000" and row["runs"] == "4" and row["hours"] == "0.20"
    assert not any(word in header for header in row for word in ("paper", "agrees", "Total", "MAE"))
    assert table.main(["--runs", str(tmp_path)]) == 0 and "95.000**" in capsys.readouterr().out


def test_runs_of_several_datasets_and_metrics(tmp_path):
    save(
        tmp_path, result("table3/GCN-LapPE-L4", 1, 90.0), result("table2_ZINC/GCN-L4", 1, 0.4, metric="MAE"),
        result("table2_ZINC/GCN-L16", 1, 0.3, metric="MAE"), of_net("brec_table2/PPGN", (60, 50, 100, 23)),
    )  # fmt: skip
    view = table.runs_view([tmp_path], read_results([tmp_path])[0])
    best = cells_of(view, "ZINC, L=16, hidden_dim=172")
    assert best["test MAE"] == "0.300**" and best["test accuracy (%)"] == "-" == best["Total"]
    assert cells_of(view, "CSL, table3/GCN-LapPE-L4")["test accuracy (%)"] == "90.000**"
    assert cells_of(view, "BREC, brec_table2/PPGN")["Total"] == "233"


def test_encodings_are_named_in_words():
    runs = [result("table3/GCN-LapPE-L4", 1, 90.0), result("table3/GCN-none-L4", 1, 10.0)]
    assert [line.name for line in table.runs_view(["out"], runs).lines] == ["default", "encodings=LapPE 20 abs"]


def test_a_table_file_of_your_own(tmp_path, capsys):
    """No paper declares it: its rows, with all that the results have."""
    row = find_row("table3/GCN-LapPE-L4")
    own = {"main": "CSL", "seeds": [1, 2], "shared": row.config, "rows": {"mine": {}, "deep": {"net": {"L": 8}}}}
    (tmp_path / "my.json").write_text(json.dumps(own))
    save(tmp_path, result("table3/GCN-LapPE-L4", 1, 90.0), result("table3/GAT-LapPE-L4", 1, 95.0))
    view = table.table_view(str(tmp_path / "my.json"), read_results([tmp_path])[0])
    assert cells_of(view, "mine")["test accuracy (%)"] == "90.000**" and cells_of(view, "deep")["runs"] == "0 of 2"
    assert [line.name for line in view.lines] == ["mine", "deep"]


# --------------------------------------------------------------------------------------------------------------------
# Command line


def test_a_file_that_states_fewer_folds_than_its_results_have(tmp_path, capsys):
    mine = tmp_path / "my_table.json"
    shared = {"main": "CSL", "seeds": [1], "shared": {"dataset": "CSL"}, "rows": {"GCN": {"net": {"model": "GCN"}}}}
    for folds, told in (({}, True), ({"folds": 2}, False)):
        mine.write_text(json.dumps(shared | folds))
        save(tmp_path / "out", *(result(f"{mine}/GCN", 1, 50.0, fold) for fold in (0, 1)))
        table.main([str(mine), "--out_dir", str(tmp_path / "out")])
        text = capsys.readouterr().err
        assert (text == f'{mine}: "folds" is 1, results have fold 1: state how many there are\n') is told
        assert bool(text) is told


@pytest.mark.parametrize("form", FORMATS)
def test_formats(tmp_path, capsys, form):
    save(
        tmp_path,
        *(result("table3/GCN-LapPE-L4", seed, 100.0) for seed in (1, 2)),
        result("table3/GIN-LapPE-L4", 1, 90.0),
    )
    table.main(["table3", "--out_dir", str(tmp_path), "--format", form])
    text = capsys.readouterr().out
    assert "GCN-LapPE-L4" in text and "100.0" in text
    if form == "csv":
        rows = list(csv.reader(io.StringIO(text)))
        assert {len(row) for row in rows} == {len(set(rows[0]))} and len(rows) == 17  # no two columns of one name
        first = dict(zip(rows[0], rows[2], strict=True))
        numbers = (
            "test, paper",
            "test, paper, s.d.",
            "test, ours",
            "test, ours, s.d.",
            "test, Δ / s.d.",
            "runs",
            "runs, asked",
        )
        assert [float(first[name]) for name in numbers] == [100.0, 0.0, 100.0, 0.0, 0.0, 2, 100]
        assert first["row"] == "GCN-LapPE-L4" and first["agrees"] == "yes" and first["test, ours, note"] == ""
        of_one_run = next(line for line in csv.DictReader(io.StringIO(text)) if line["row"] == "GIN-LapPE-L4")
        assert of_one_run["test, ours"] == "90.0" and of_one_run["test, ours, s.d."] == ""
    if form == "latex":
        body = text.split("\\hline")[2]
        n = len(table.table_view("table3", []).columns())
        assert {part.count(" & ") for part in body.strip().splitlines()} == {n - 1}


def test_a_choice_of_columns(tmp_path, capsys):
    save(tmp_path, result("table3/GCN-LapPE-L4", 1, 100.0))
    table.main(["table3", "--out_dir", str(tmp_path), "--format", "csv", "--columns", "row", "agrees", "epochs"])
    assert capsys.readouterr().out.splitlines()[0] == 'row,agrees,"epochs, paper","epochs, ours"'
    with pytest.raises(SystemExit, match=r"--columns agree: no such column\. Did you mean agrees\?"):
        table.main(["table3", "--out_dir", str(tmp_path), "--columns", "agree"])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("table9", r"table9: no such table\. Did you mean"),
        ("table1", "table1: no such table"),
        ("zinc", "Known: table2_CIFAR10.*brec_table4"),
        ("table3_ZINC", "table3_ZINC: no such table"),
        ("brec_table9", "brec_table9: no such table.*brec_table2"),
    ],
)
def test_unknown_tables(tmp_path, name, message):
    with pytest.raises(SystemExit, match=message):
        table.main([name, "--out_dir", str(tmp_path)])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["table3", "--out_dir", "resutls"], "resutls: no such folder"),
        (["table3", "--runs", "tests"], "name a table, as table3, or folders of runs"),
        ([], "name a table, as table3, or folders of runs"),
        (["--runs", "tests", "--quick"], "--dataset and --quick are of the papers' tables"),
    ],
)
def test_options_that_would_do_nothing_are_refused(capsys, words, message):
    with pytest.raises(SystemExit):
        table.main(words)
    assert message in capsys.readouterr().err


def test_brec_has_no_other_dataset(tmp_path):
    with pytest.raises(SystemExit, match="--dataset ZINC: the tables of BREC"):
        table.main(["brec_table2", "--dataset", "ZINC", "--out_dir", str(tmp_path)])


def test_no_traceback_when_nobody_reads_on(tmp_path):
    save(tmp_path, result("table3/GCN-LapPE-L4", 41, 100.0))
    words = [sys.executable, "-m", "tables.table", "table3", "--out_dir", str(tmp_path)]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()
        assert process.wait() == -signal.SIGPIPE and process.stderr.read() == ""


COMMANDS = {
    "table": "main(['table3', '--out_dir', 'results', '--format', 'csv'])",
    "rows": "main([])",
    "significance": "main(['table6', '--out_dir', 'results'])",
    "pages": "main(['--check'])",
    "plot": "main(['table', 'table3', '--out_dir', 'results', '--save', '/nowhere/x.png'])",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_printed_is_the_table_alone_without_torch_and_at_once(tmp_path, child_env, name):
    """In a process of its own: no torch, no dgl (it writes into the home folder), no room that needs them; below a second."""
    program = (
        f"import sys, time\nfrom tables import {name}\n"
        f"try:\n    {name}.{COMMANDS[name]}\nexcept SystemExit:\n    pass\n"
        "rooms = {module.split('.')[0] for module in sys.modules} & {'torch', 'dgl', 'nets', 'train', 'layers', 'data'}\n"
        "print(time.process_time(), *sorted(rooms), file=sys.stderr)"
    )
    env = {key: value for key, value in child_env.items() if key != "DGLBACKEND"} | {"DGLDEFAULTDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=env, capture_output=True, text=True)
    seconds, *loaded = done.stderr.splitlines()[-1].split()
    assert done.returncode == 0 and not loaded and not list(tmp_path.iterdir())
    assert name in ("plot", "pages") or float(seconds) < 1  # matplotlib alone takes longer, and pages are all tables
    assert name != "table" or done.stdout.startswith("row,")
