"""Paired comparisons: hand-made cases, scipy's test, and Holm's correction by hand and by scikit-posthocs."""

from itertools import product

import numpy as np
import pytest
import scikit_posthocs
from scipy.stats import rankdata, wilcoxon

from tables import significance
from tables.significance import compare, holm, paired_p
from tests.tables.records import result, save


def test_holm_by_hand():
    # 0.01 * 4, 0.02 * 3, 0.03 * 2, 0.4 * 1, never decreasing
    assert holm([0.02, 0.4, 0.01, 0.03]) == pytest.approx([0.06, 0.4, 0.04, 0.06])
    assert holm([0.9, 0.8]) == pytest.approx([1.0, 1.0]) and len(holm([])) == 0


def test_the_test_is_wilcoxons():
    a, b = np.arange(10.0) + 0.1 * np.arange(10) ** 2, np.arange(10.0)[::-1]
    assert paired_p(a, b) == pytest.approx(wilcoxon(a - b, zero_method="zsplit").pvalue)
    assert paired_p([1, 2, 3], [1, 2, 3]) == 1.0


def all_signs(differences):
    """p by its meaning: the share of all choices of signs whose sum of positive ranks is as extreme as the observed one, twice."""
    ranks = rankdata(abs(differences))
    sums = [
        sum(rank for rank, d, sign in zip(ranks, differences, signs, strict=True) if d * sign > 0)
        for signs in product((-1, 1), repeat=len(differences))
    ]
    observed = ranks[differences > 0].sum()
    return min(1.0, 2 * min(np.mean([s <= observed for s in sums]), np.mean([s >= observed for s in sums])))


@pytest.mark.parametrize("n", [6, 9, 10])
def test_it_is_exact_with_ties_and_zeros_too(n):
    draw = np.random.default_rng(n)
    for scale in (1, 2, 100):
        differences = np.round(scale * draw.normal(size=n))
        assert paired_p(differences, 0 * differences) == pytest.approx(all_signs(differences))


def test_forty_differences():
    differences = np.random.default_rng(40).normal(size=40)
    assert paired_p(differences, 0 * differences) == pytest.approx(wilcoxon(differences).pvalue)


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
    rows = (("GCN-LapPE-L4", 0.0), ("GAT-LapPE-L4", 5.0))
    found = [result(f"table3/{row}", seed, 90.0 + seed / 10 - shift) for row, shift in rows for seed in range(8)]
    pooled = [result(f"table3/{m}-none-L4", seed, 10.0) for m in ("GCN", "GIN") for seed in range(8)]
    save(tmp_path, *found, *pooled)
    assert significance.main(["table3", "--out_dir", str(tmp_path)]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()[1:]]
    assert [line[:4] for line in lines] == [["GCN-LapPE-L4", "GAT-LapPE-L4", "8", "+5.000"]] and lines[0][-1] == "yes"
    other = (("ENZYMES", 90.0), ("PROTEINS", 50.0))  # other data: nothing to compare
    save(tmp_path, *(result(f"table6/{d}-GCN-L4", 41, value, fold) for d, value in other for fold in range(10)))
    assert significance.main(["table6", "--out_dir", str(tmp_path)]) == 0
    assert "no two rows have 6 runs in common" in capsys.readouterr().out
    with pytest.raises(SystemExit, match=r"python -m tables\.table brec_table2"):
        significance.main(["brec_table2", "--out_dir", str(tmp_path)])


def test_of_runs_of_your_own(tmp_path, capsys):
    rows = ({}, {"net.L": 8})
    save(
        tmp_path,
        *(result("table3/GCN-LapPE-L4", s, 90.0 + k + s / 10, changes=c) for k, c in enumerate(rows) for s in range(8)),
    )
    significance.main(["--runs", str(tmp_path)])
    assert capsys.readouterr().out.splitlines()[1].split()[:4] == ["L=4", "L=8", "8", "-1.000"]
