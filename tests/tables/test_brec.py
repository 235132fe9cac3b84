"""Tables 2-4 of BREC: what the paper prints, beside hand-made results."""

import csv
import io

import pytest

from runs.table_files import find_table
from tables import table
from tables.formats import FORMATS
from tables.papers.brec import PAPER
from tables.table import table_view
from tests.tables.records import counts, of_net, pair_result, row_of, save

PAPER_PPGN = {"Basic": 60, "Regular": 50, "Extension": 100, "CFI": 23, "Total": 233}


def exact(row, *numbers, changes=None):
    return pair_result(f"brec_table2/{row}", {"exact": counts(*numbers)}, "exact", 0, changes)


def test_the_papers_counts():
    two, three, four = (
        {name: {c: entry.mean for c, entry in line.items()} for name, line in t.printed().items()} for t in PAPER.tables
    )
    assert len(two) == 23 and two["PPGN"] == PAPER_PPGN and two["3-WL"]["Total"] == 270
    assert all(sum(n for c, n in row.items() if c != "Total") == row["Total"] for row in two.values())
    assert [row["Total"] for row in three.values()] == [252, 298, 300, 327, 326, 385, 398, 398, 399, 400]
    assert [row["Total"] for row in four.values()] == [193, 209, 217, 264, 270]


def test_an_exact_method_agrees_only_when_all_categories_do():
    row = row_of("brec_table2", [exact("3-WL", 60, 50, 100, 60)], "3-WL")
    assert row["agrees"] == "yes" and row["Δ"] == "+0" and row["CFI, paper"] == row["CFI, ours"] == "60"
    row = row_of("brec_table2", [exact("3-WL", 59, 51, 100, 60)], "3-WL")
    assert row["agrees"] == "no" and row["Δ"] == "+0" and row["Basic, ours"] == "59"


def test_of_several_seeds_the_best_and_the_mean():
    seeds = [
        of_net("brec_table2/PPGN", (60, 50, 100, cfi), seed, failures=1)
        for seed, cfi in ((100, 20), (200, 23), (300, 17))
    ]
    row = row_of("brec_table2", seeds, "PPGN")
    assert row["Total, ours"] == "233" and row["CFI, ours"] == "23" and row["agrees"] == "yes"
    assert row["mean total"] == "230.0" and row["seeds"] == "3 of 10" and row["unreliable"] == "3"
    assert row["unreliable, eq. (4)"] == "60" and row["minutes per seed"] == "30.0"


def test_the_statistic_of_the_text_has_its_own_columns():
    row = row_of("brec_table2", [of_net("brec_table2/GIN", (0, 0, 0, 0), by_text=(3, 2, 4, 5))], "GIN")
    assert row["Total, ours"] == "0" and row["total, eq. (4)"] == "14"
    assert row["Total, paper"] == "-" and "agrees" not in row  # nothing to compare


def test_n_1_and_n_2_stand_in_two_tables_with_one_result():
    found = [exact(f"N_{k}", 60, 99, 93, k - 1) for k in (1, 2)]
    assert row_of("brec_table3", found, "N_1")["agrees"] == "yes" and row_of("brec_table3", found, "N_2")["Δ"] == "-45"
    row = row_of("brec_table3", found, "N_3")
    assert row["Total, ours"] == "-" and "Basic, paper" not in row


def test_changed_configurations_and_quick_runs_are_not_the_papers():
    quick = {"data.limit": 1, "train.stop.epochs": 2}
    found = [
        of_net("brec_table2/PPGN", (1, 1, 1, 1), changes={"net.L": 4}),
        of_net("brec_table2/PPGN", (1, 1, 1, 0), changes=quick),
        exact("N_1", 1, 2, 1, 0, changes={"data.limit": 1}),
    ]
    assert row_of("brec_table2", found, "PPGN")["Total, ours"] == "-"
    row = row_of("brec_table2", found, "PPGN", quick=True)
    assert row["Total, ours"] == "3" and "agrees" not in row
    assert row_of("brec_table2", found, "N_1", quick=True)["Total, ours"] == "4"
    assert "not comparable" in table_view("brec_table2", found, quick=True).title


@pytest.mark.parametrize("form", FORMATS)
def test_formats_from_files(tmp_path, capsys, form):
    save(tmp_path, of_net("brec_table2/PPGN", (60, 50, 100, 22)))
    assert table.main(["brec_table2", "--out_dir", str(tmp_path), "--format", form]) == 0
    text = capsys.readouterr().out
    assert "232" in text and "Graphormer" in text
    if form == "csv":
        lines = list(csv.reader(io.StringIO(text)))
        assert len({len(line) for line in lines}) == 1 and len(lines) == 1 + 23 + 9


def test_rows_and_seeds_of_the_paper():
    """Ten seeds for nets, one answer for exact methods; the two rows that Tables 2 and 3 share are one configuration."""
    two, three, four = (find_table(f"brec_table{k}") for k in (2, 3, 4))
    assert two.rows["PPGN"].seeds == list(range(100, 1001, 100)) and two.rows["N_1"].seeds == [0]
    assert list(three.rows)[:3] == ["N_1", "N_2", "N_3"] and len(four.rows) == 5
    for name in ("N_1", "N_2"):
        assert two.rows[name].id() == three.rows[name].id()
    net, method = (two.rows[name].quick_changes() for name in ("PPGN", "N_1"))
    assert net == {"data.limit": 1, "train.stop.epochs": 2} and method == {"data.limit": 1}
