"""A row of the table: the paper's arithmetic, and the runs that did not finish."""

from train.table import compare_row, paper_rows, row_report, spread


def result(**changes):
    part = {"loss": 0.1, "accuracy": 90.0}
    return {
        "seed": 14, "fold": 0, "status": "ok", "select": "last", "params": 103847, "epochs": 100, "epoch_time_s": 0.5,
        "total_time_hr": 0.01, "metrics": {"last": {"train": part | {"accuracy": 95.0}, "val": part, "test": part}},
    } | changes  # fmt: skip


def test_the_spread_is_the_papers():
    """Table 3 prints the largest and smallest score of 100 beside mean and s.d., so scores and arithmetic can be worked out."""
    sage, monet = paper_rows("T3-CSL-GraphSage-LapPE-L4")["test"], paper_rows("T3-CSL-MoNet-LapPE-L4")["test"]
    assert spread([100.0] * 98 + [96.6667] * 2) == f"{sage['mean']} ± {sage['sd']}" == "99.933 ± 0.467"
    assert spread([100.0] * 99 + [96.6667]) == f"{monet['mean']} ± {monet['sd']}" == "99.967 ± 0.332"


def test_paper_beside_ours():
    second = result(fold=1, epochs=110)
    second["metrics"] = {"last": {part: {"loss": 0, "accuracy": 100.0} for part in ("train", "val", "test")}}
    lines = {what: (paper, ours) for what, paper, ours in compare_row("T3-CSL-GCN-LapPE-L4", [result(), second])}
    assert lines["test accuracy (%)"] == ("100.000 ± 0.000", "95.000 ± 5.000")
    assert lines["train accuracy (%)"] == ("100.000 ± 0.000", "97.500 ± 2.500")
    assert lines["epochs"] == ("125.64", "105.00")
    assert lines["seconds an epoch"] == ("0.40", "0.50")
    assert lines["hours a seed"] == ("0.07", "0.02")
    assert lines["parameters"] == ("103847", "103847")


def test_runs_without_a_number_are_shown_as_such():
    text = row_report("x", "T3-CSL-GCN-LapPE-L4", [result(), result(fold=3, status="Diverged", metrics=None)])
    assert "90.000 ± 0.000" in text and "seed 14 fold 3: Diverged" in text
    text = row_report("x", "T3-CSL-GCN-LapPE-L4", [result(status="OOM", metrics=None)])
    assert "seed 14 fold 0: OOM" in text and "100.000 ± 0.000" in text


def test_a_row_the_paper_does_not_have():
    assert "(not a row of the paper)" in row_report("x+net.L=8", None, [result()])
