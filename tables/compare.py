"""When a score of ours agrees with the paper's, and which models of a group are the best: the two rules of all tables.

Two scores agree when their means differ by at most two of the paper's standard deviations, or by half a printed digit, or when
Welch's t-test does not tell them apart (p >= 0.05). Where the paper prints no deviation the test alone decides, with that of ours
for both. A row agrees when its test and its training score do. The best model of a group is marked **, models within one of its
standard deviations *, in both columns by the same rule.
"""

import math
from statistics import fmean, pstdev, stdev

LEVEL = 0.05


def agreement(mean, sd, values, n_paper, digits=3):
    """(difference in units of the paper's s.d., whether ours agrees); (None, None) when there is nothing to compare."""
    if not values or mean is None:
        return None, None
    difference, half_a_digit = fmean(values) - mean, 0.5 * 10**-digits
    same = abs(difference) <= max(2 * sd, half_a_digit)
    if not same and len(values) > 1 and n_paper > 1 and (sd or pstdev(values)):
        sample_sd = sd * math.sqrt(n_paper / (n_paper - 1))  # the paper divides by n, the test by n - 1
        same = welch_p(mean, sample_sd, n_paper, fmean(values), stdev(values), len(values)) >= LEVEL
    if sd:
        return difference / sd, same
    return (0.0 if abs(difference) < half_a_digit else math.copysign(math.inf, difference)), same


def agreement_by_ours(mean, values, n_paper, digits=4):
    """(difference, whether ours agrees) where the paper prints no s.d.; (None, None) until there are as many runs as it has."""
    if mean is None or len(values) < max(n_paper, 2):
        return None, None
    difference, sd = fmean(values) - mean, stdev(values)
    if abs(difference) <= 0.5 * 10**-digits:
        return difference, True
    return difference, sd > 0 and welch_p(mean, sd, n_paper, fmean(values), sd, len(values)) >= LEVEL


def welch_p(mean_a, sd_a, n_a, mean_b, sd_b, n_b):
    """The two-sided p of Welch's t-test from means and sample deviations."""
    from scipy.special import stdtr  # scipy.stats would take most of a table's time to load

    a, b = sd_a**2 / n_a, sd_b**2 / n_b
    degrees = (a + b) ** 2 / (a**2 / (n_a - 1) + b**2 / (n_b - 1))
    return 2 * float(stdtr(degrees, -abs(mean_a - mean_b) / math.sqrt(a + b)))


def marks(pairs, better, groups=None):
    """'**' for the best (mean, s.d.) of each group, '*' for those within one of its standard deviations; `better`: min or max."""
    groups, best = groups or [None] * len(pairs), {}
    for group, pair in zip(groups, pairs, strict=True):
        if pair is not None:
            best[group] = (min if better == "min" else max)(pair, best.get(group, pair))
    marked = []
    for group, pair in zip(groups, pairs, strict=True):
        distance = math.inf if pair is None else abs(pair[0] - best[group][0])
        marked.append("**" if distance == 0 else "*" if pair and distance <= max(best[group][1], 1e-12) else "")
    return marked


def mean_and_deviation(values):
    """The paper divides by n, not n-1: two scores of 96.667 among 98 of 100 give its 99.933 ± 0.467."""
    return (fmean(values), pstdev(values)) if values else None


def spread(values, digits=3):
    """mean ± s.d. over runs, as text; of a single run, which has no deviation, the number alone."""
    numbers = mean_and_deviation(values) if len(values) > 1 else values
    return " ± ".join(f"{value:.{digits}f}" for value in numbers)
