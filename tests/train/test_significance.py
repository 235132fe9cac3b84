"""Paired comparisons: hand-made cases, scipy's test, and Holm's correction by hand and by scikit-posthocs."""

import json

import numpy as np
import pytest
import scikit_posthocs
from scipy.stats import wilcoxon
from train.significance import compare, holm, paired_p

from tests.train.test_tables import result
from train import significance


def test_holm_by_hand():
    # 0.01 * 4, 0.02 * 3, 0.03 * 2, 0.4 * 1, never decreasing
    assert holm([0.02, 0.4, 0.01, 0.03]) == pytest.approx([0.06, 0.4, 0.04, 0.06])
    assert holm([0.9, 0.8]) == pytest.approx([1.0, 1.0]) and len(holm([])) == 0


def test_the_test_is_wilcoxons():
    a, b = np.arange(10.0) + 0.1 * np.arange(10) ** 2, np.arange(10.0)[::-1]
    assert paired_p(a, b) == pytest.approx(wilcoxon(a - b, zero_method="zsplit").pvalue)
    assert paired_p([1, 2, 3], [1, 2, 3]) == 1.0


def test_runs_are_paired_by_seed_and_fold():
    a = {(s, f): 90.0 + s + f for s in range(4) for f in range(2)}
    b = {key: value - 1 for key, value in reversed(a.items())}
    b[9, 9] = 0.0  # not in common
    ((_, _, n, difference, p, corrected),) = compare({"a": a, "b": b})
    assert n == 8 and difference == pytest.approx(1.0) and p == corrected == pytest.approx(2 / 2**8)
    assert compare({"a": dict(list(a.items())[:5]), "b": b}) == []


def test_all_pairs_of_a_table_as_scikit_posthocs_has_them():
    draw = np.random.default_rng(0)
    shifts = {"a": 0.0, "b": 0.1, "c": 0.5, "d": 2.0}
    rows = {name: {(s, 0): shift + draw.normal() for s in range(12)} for name, shift in shifts.items()}
    samples = [list(values.values()) for values in rows.values()]
    expected = scikit_posthocs.posthoc_wilcoxon(samples, zero_method="zsplit", p_adjust="holm").to_numpy()
    names, ours = list(rows), np.ones((4, 4))
    for a, b, *_, corrected in compare(rows):
        ours[names.index(a), names.index(b)] = ours[names.index(b), names.index(a)] = corrected
    assert ours == pytest.approx(expected) and (ours < 0.05).sum() in range(2, 12)


def test_from_result_files(tmp_path, capsys):
    for row, shift in (("T3-CSL-GCN-LapPE-L4", 0.0), ("T3-CSL-GAT-LapPE-L4", 5.0)):
        for seed in range(8):
            path = tmp_path / f"{row}/{seed}/result.json"
            path.parent.mkdir(parents=True)
            path.write_text(json.dumps(result(row, seed, 90.0 + seed / 10 - shift)))
    assert significance.main(["table3", "--out_dir", str(tmp_path)]) == 0
    line = capsys.readouterr().out.splitlines()[1].split()
    assert line[:4] == ["T3-CSL-GCN-LapPE-L4", "T3-CSL-GAT-LapPE-L4", "8", "+5.000"] and line[-1] == "yes"
    for row in ("T6-ENZYMES-GCN-L4", "T6-PROTEINS-GCN-L4"):  # other data: nothing to compare
        for fold in range(10):
            path = tmp_path / f"{row}/{fold}/result.json"
            path.parent.mkdir(parents=True)
            path.write_text(json.dumps(result(row, 41, 90.0 if "ENZYMES" in row else 50.0, fold)))
    assert significance.main(["table6", "--out_dir", str(tmp_path)]) == 0
    assert "no two rows have 6 runs in common" in capsys.readouterr().out
    with pytest.raises(SystemExit, match=r"python -m train\.table brec_table2"):
        significance.main(["brec_table2", "--out_dir", str(tmp_path)])
