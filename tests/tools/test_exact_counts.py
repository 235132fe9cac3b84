"""The table of the exact methods on BREC."""

import pytest

from data.BREC import BREC
from data.dataset import DataConfig
from tools import exact_counts


def test_ranges():
    assert exact_counts.ranges([1, 2, 3, 7, 9, 10]) == "1-3 7 9-10"
    assert exact_counts.ranges([]) == ""


def test_counts_of_the_small_pairs(real_data, store_dir, monkeypatch, capsys):
    """NGNN on graphs of up to 10 nodes: all Basic pairs but 59, all simple regular pairs but 79 and 82."""
    if not (real_data / "BREC").is_dir():
        pytest.skip("no BREC files in the folder of real data")
    dataset = BREC(DataConfig(store_dir=store_dir, data_dir=str(real_data)))
    monkeypatch.setattr(exact_counts, "BREC", lambda: dataset)
    exact_counts.main(["NGNN", "--most_nodes", "10", "--list"])
    title, row, left = capsys.readouterr().out.splitlines()
    assert title.split()[:3] == ["basic", "simple", "regular"]
    assert row.split()[:10] == ["NGNN", "59", "of", "60", "48", "of", "50", "0", "of", "0"]
    assert left.split()[3:6] == ["59", "79", "82"]


def test_unknown_names_are_an_error(capsys):
    with pytest.raises(SystemExit):
        exact_counts.main(["NGN"])
    assert "NGN: expected names among 1-WL, 3-WL" in capsys.readouterr().err
