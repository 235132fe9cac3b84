"""The two rules of all tables, by hand and against scipy."""

import math

import pytest
from scipy.stats import ttest_ind, ttest_ind_from_stats

from tables.compare import agreement, agreement_by_ours, marks, spread, welch_p
from tables.papers.benchmarking_gnns import printed


def test_the_spread_is_the_papers():
    """Table 3 prints the largest and smallest score of 100 beside mean and s.d., so scores and arithmetic can be worked out."""
    lines = printed("table3_csl", "T3-CSL-")
    sage, monet = lines["GraphSage-LapPE-L4"]["test"], lines["MoNet-LapPE-L4"]["test"]
    assert spread([100.0] * 98 + [96.6667] * 2) == sage.text == "99.933 ± 0.467"
    assert spread([100.0] * 99 + [96.6667]) == monet.text == "99.967 ± 0.332"
    assert spread([98.0]) == "98.000" and spread([98.0, 98.0]) == "98.000 ± 0.000"  # of a single run nothing is known


def test_agreement():
    assert agreement(10.0, 1.0, [11.9], 4) == (pytest.approx(1.9), True)
    assert agreement(10.0, 1.0, [12.1], 4) == (pytest.approx(2.1), False)  # one run: no test
    assert agreement(10.0, 0.0, [10.0, 10.0], 4) == (0.0, True)
    assert agreement(100.0, 0.0, [99.0, 99.0], 4) == (-math.inf, False)
    assert agreement(10.0, 0.0, [99.0, 99.0], 4) == (math.inf, False)
    assert agreement(10.0, 1.0, [], 4) == agreement(None, 0.0, [10.0], 4) == (None, None)


def test_half_a_printed_digit_is_no_difference():
    assert agreement(0.693, 0.0, [0.6934], 1, digits=3) == (0.0, True)
    assert agreement(0.693, 0.0, [0.6936], 1, digits=3) == (math.inf, False)
    assert agreement(0.7, 0.0, [0.74], 1, digits=1) == (0.0, True)


def test_welch_decides_where_the_deviation_of_ours_is_large():
    """Against scipy's own test of the two samples."""
    ours = [14.0, 8.0, 17.0, 11.0]
    paper = [9.0, 11.0, 9.0, 11.0]
    # the s.d. that the paper prints divides by n: 1; the mean of ours is 2.5, more than 2 s.d., away
    p = ttest_ind(paper, ours, equal_var=False).pvalue
    assert p > 0.05 and agreement(10.0, 1.0, ours, 4)[1] is True
    assert welch_p(10.0, math.sqrt(4 / 3), 4, 12.5, math.sqrt(15), 4) == pytest.approx(p)
    assert agreement(10.0, 1.0, [12.4, 12.5, 12.6, 12.5], 4)[1] is False
    # a case between the two ways to divide: Welch's p is 0.052 with n - 1 and 0.046 with n
    between = [11.0, 13.4, 11.0, 13.4]
    assert ttest_ind(paper, between, equal_var=False).pvalue >= 0.05
    assert agreement(10.0, 1.0, between, 4)[1] is True


def test_of_a_mean_without_deviation_the_test_decides_with_that_of_ours():
    """Against scipy's: two means 0.125 apart are told apart by 4 + 4 runs, means 0.08 apart are not."""
    ours = [0.6, 0.7, 0.75, 0.65]
    sd = math.sqrt(0.0125 / 3)
    for mean, same in ((0.8, False), (0.755, True)):
        p = ttest_ind_from_stats(mean, sd, 4, 0.675, sd, 4, equal_var=False).pvalue
        assert (p >= 0.05) == same and agreement_by_ours(mean, ours, 4) == (pytest.approx(0.675 - mean), same)
    assert agreement_by_ours(0.8, ours, 5) == agreement_by_ours(None, ours, 4) == (None, None)  # a run is missing
    assert agreement_by_ours(0.7, [0.7], 1) == (None, None)  # one run has no deviation
    assert agreement_by_ours(0.7, [0.70004] * 4, 4)[1] is True  # half a printed digit
    assert agreement_by_ours(0.7, [0.7001] * 4, 4)[1] is False


def test_marks():
    assert marks([(90.0, 1.0), (91.0, 0.5), (90.6, 3.0), None], "max") == ["", "**", "*", ""]
    assert marks([(0.4, 0.1), (0.3, 0.05)], "min") == ["", "**"]
    assert marks([None], "max") == [""]
    assert marks([(1.0, 0.0), (9.0, 0.0), (2.0, 0.0), None], "max", ["a", "b", "a", "c"]) == ["", "**", "**", ""]
