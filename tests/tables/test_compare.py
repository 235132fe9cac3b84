"""The two rules of all tables, by hand and against scipy."""

import math

import pytest
from scipy.stats import t, ttest_ind

from tables.compare import agreement, in_deviations, marks, spread, t_test_p
from tables.papers.benchmarking_gnns import printed


def test_the_spread_is_the_papers():
    """Table 3 prints the largest and smallest score of 100 beside mean and s.d., so scores and arithmetic can be worked out."""
    lines = printed("table3_csl", "T3-CSL-")
    sage, monet = lines["GraphSage-LapPE-L4"]["test"], lines["MoNet-LapPE-L4"]["test"]
    assert spread([100.0] * 98 + [96.6667] * 2) == sage.text == "99.933 ± 0.467"
    assert spread([100.0] * 99 + [96.6667]) == monet.text == "99.967 ± 0.332"
    assert spread([98.0]) == "98.000" and spread([98.0, 98.0]) == "98.000 ± 0.000"  # of a single run nothing is known


def test_agreement():
    assert agreement(10.0, 1.0, [11.9], 4) is True and agreement(10.0, 1.0, [12.1], 4) is False  # one run: no test
    assert agreement(10.0, 0.0, [10.0, 10.0], 4) is True
    assert agreement(100.0, 0.0, [99.0, 99.0], 4) is agreement(10.0, 0.0, [99.0, 99.0], 4) is False
    assert agreement(10.0, 1.0, [], 4) is agreement(None, 0.0, [10.0], 4) is None


def test_half_a_printed_digit_is_no_difference():
    assert agreement(0.693, 0.0, [0.6934], 1, digits=3) and not agreement(0.693, 0.0, [0.6936], 1, digits=3)
    assert agreement(0.7, 0.0, [0.74], 1, digits=1)
    assert agreement(0.7, None, [0.70004] * 4, 4, digits=4) and not agreement(0.7, None, [0.7001] * 4, 4, digits=4)


def test_a_difference_in_deviations():
    assert in_deviations(10.0, 2.0, [11.0, 12.0]) == 0.75
    assert in_deviations(100.0, 0.0, [99.0]) == -math.inf and in_deviations(10.0, None, [99.0]) == math.inf
    assert in_deviations(0.693, 0.0, [0.6934]) == 0.0


def test_the_t_test_decides_where_the_deviation_of_ours_is_large():
    """Against scipy's own test of the two samples."""
    ours = [14.0, 8.0, 17.0, 11.0]
    paper = [9.0, 11.0, 9.0, 11.0]
    # the s.d. that the paper prints divides by n: 1; the mean of ours is 2.5, more than 2 s.d., away
    p = ttest_ind(paper, ours).pvalue
    assert p > 0.05 and agreement(10.0, 1.0, ours, 4) is True
    assert t_test_p(10.0, 1.0, 4, ours) == pytest.approx(p)
    assert agreement(10.0, 1.0, [12.4, 12.5, 12.6, 12.5], 4) is False


def test_two_runs_of_ours_are_judged_with_the_spread_of_the_papers_four():
    """Five deviations away, and two apart: of these two alone nothing could be said."""
    assert ttest_ind([9.0, 11.0, 9.0, 11.0], [14.0, 16.0], equal_var=False).pvalue > 0.05
    assert agreement(10.0, 1.0, [14.0, 16.0], 4) is False


def test_of_a_mean_without_deviation_the_test_decides_with_that_of_ours():
    """The standard error is s √(1/4 + 1/4), with the three degrees of freedom of ours: there is no second sample."""
    ours = [0.6, 0.7, 0.75, 0.65]
    error = math.sqrt(0.0125 / 3) * math.sqrt(0.5)
    for mean, same in ((0.84, False), (0.8, True)):  # with six degrees p of the second would be 0.03
        p = 2 * t.sf((mean - 0.675) / error, df=3)
        assert bool(p >= 0.05) is same is agreement(mean, None, ours, 4)
        assert t_test_p(mean, None, 4, ours) == pytest.approx(p)
    assert agreement(0.7, None, [0.71], 1) is False  # one run has no deviation


def test_marks():
    assert marks([(90.0, 1.0), (91.0, 0.5), (90.6, 3.0), None], "max") == ["", "**", "*", ""]
    assert marks([(0.4, 0.1), (0.3, 0.05)], "min") == ["", "**"]
    assert marks([None], "max") == [""]
    assert marks([(1.0, 0.0), (9.0, 0.0), (2.0, 0.0), None], "max", ["a", "b", "a", "c"]) == ["", "**", "**", ""]
