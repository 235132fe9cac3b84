"""The text that a main file ends with: paper beside ours, found by identity."""

from tables import pair_report, row_report
from tests.tables.records import of_net, pair_result, result

GCN = "table3/GCN-LapPE-L4"


def lines_of(text):
    """{what: (paper, ours)} of a report."""
    cells = (line.split("  ") for line in text.splitlines()[3:])
    return {what: tuple(filter(None, map(str.strip, rest))) for what, *rest in cells}


def test_paper_beside_ours():
    runs = [result(GCN, 14, 90.0, 0, train=95.0, epochs=100), result(GCN, 14, 100.0, 1, train=100.0, epochs=110)]
    text = row_report(GCN, runs)
    assert (
        text.startswith(f"{GCN}, Table 3 of Benchmarking Graph Neural Networks\n") and "ours (seed 14; 2 folds)" in text
    )
    lines = lines_of(text)
    assert lines["test accuracy (%)"] == ("100.000 ± 0.000", "95.000 ± 5.000")
    assert lines["train accuracy (%)"] == ("100.000 ± 0.000", "97.500 ± 2.500")
    assert lines["epochs"] == ("125.64", "105.00")
    assert lines["seconds per epoch"] == ("0.40", "0.50")
    assert lines["hours per seed"] == ("0.07", "0.20")
    assert lines["parameters"] == ("103847", "103847")


def test_runs_without_a_number_are_shown_as_such():
    text = row_report("x", [result(GCN, 14, 90.0), result(GCN, 14, None, 3, status="Diverged")])
    assert lines_of(text)["test accuracy (%)"][1] == "90.000 (1 Diverged)" and "seed 14 fold 3: Diverged" in text
    text = row_report("x", [result(GCN, 14, None, status="OOM")])
    assert "seed 14 fold 0: OOM" in text and "100.000 ± 0.000" in text


def test_a_row_that_no_paper_has_stands_alone():
    """Its name plays no part."""
    text = row_report(GCN, [result(GCN, 14, 90.0, changes={"net.L": 8})])
    assert text.startswith(f"{GCN} (not a row of a paper)")
    assert lines_of(text)["test accuracy (%)"] == ("90.000",)


def test_on_COLLAB_both_ways_to_count_hits_are_shown():
    own = result("table2_COLLAB/GCN-L3", 41, None, metric={"Hits@50": 30.0, "Hits@50_paper": 50.4})
    lines = lines_of(row_report("x", [own]))
    assert lines["test Hits@50_paper (%)"] == ("50.422 ± 1.131", "50.400")
    assert lines["test Hits@50 (%)"] == ("-", "30.000")


def test_a_configuration_that_stands_in_two_tables():
    text = row_report("x", [result("table4_COLLAB/GatedGCN-xx", 41, None, metric={"Hits@50_paper": 36.0})])
    assert text.startswith("x, Table 4 of Benchmarking Graph Neural Networks and Table 8 of Benchmarking")
    assert "paper, Table 4" in text and "paper, Table 8" in text
    assert lines_of(text)["test Hits@50_paper (%)"] == ("35.989 ± 1.549", "35.989 ± 1.549", "36.000")


def test_of_table_6_the_line_of_the_seed_is_shown():
    first, second = (row_report("x", [result("table6/ENZYMES-MLP-L4", seed, 50.0)]) for seed in (41, 95))
    assert lines_of(first)["test accuracy (%)"][0] == "55.833 ± 3.516"
    assert lines_of(second)["test accuracy (%)"][0] == "53.833 ± 4.717"


def test_the_report_of_pairs():
    text = pair_report("brec_table2/PPGN", [of_net("brec_table2/PPGN", (60, 49, 100, 23))])
    assert text.startswith("brec_table2/PPGN, Table 2 of BREC\n") and "Total (400 pairs)      233    232" in text
    assert (
        "diverged" not in text
        and "total, eq. (4)         -      232" in text
        and "minutes per seed       -      30.0" in text
    )
    other = pair_report("x+net.L=2", [of_net("brec_table2/PPGN", (1, 1, 1, 1), changes={"net.L": 2})])
    assert other.startswith("x+net.L=2 (not a row of a paper)") and "Total (400 pairs)      4" in other


def test_of_several_seeds_the_best():
    runs = [of_net("brec_table2/PPGN", (60, 50, 100, cfi), seed) for seed, cfi in ((100, 20), (200, 23))]
    for r in runs:
        r["metrics"]["program"]["diverged"] = 2
    text = pair_report("x", runs)
    assert "ours (best of 2 seeds)" in text and "Total (400 pairs)      233    233" in text
    assert "mean total             -      231.5" in text and "diverged               -      4" in text


def test_n_1_stands_in_two_tables_of_brec():
    text = pair_report("x", [pair_result("brec_table3/N_1", {"exact": {"distinguished": {"Total": 252}}}, "exact", 0)])
    assert text.startswith("x, Table 2 of BREC and Table 3 of BREC\n")
    assert lines_of(text)["Total (400 pairs)"] == ("252", "252", "252")
