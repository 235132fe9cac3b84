"""When a score of ours agrees with the paper's, and which models of a group are the best: the two rules of all tables.

Two scores agree when their means differ by at most two of the paper's standard deviations, or by half a printed digit, or when two
runs of ours or more are not told apart from the paper's by Student's t-test (p >= 0.05). The test takes the spread of both sides
together; where the paper prints none, that of ours stands for both. A single run is held to the two deviations: beside four of the
paper's the test would let it be four away. A row agrees when its test and its training score do.

The best model of a group is marked **, models within one of its standard deviations *, in both columns by the same rule.
"""

import math
from statistics import fmean, pstdev

LEVEL = 0.05


def agreement(mean, sd, values, n_paper, digits=3):
    """Whether `values` agree with the paper's mean ± s.d. of n_paper runs (sd None: it prints none); None when there is nothing to
    compare."""
    if not values or mean is None:
        return None
    near = max(2 * (sd or 0.0), 0.5 * 10**-digits)
    if abs(fmean(values) - mean) <= near:
        return True
    return len(values) > 1 and t_test_p(mean, sd, n_paper, values) >= LEVEL


def t_test_p(mean, sd, n, values):
    """The two-sided p of Student's t-test between n runs, mean ± s.d., and `values`. The paper's s.d. divides by n."""
    from scipy.special import stdtr  # scipy.stats would take most of a table's time to load

    squares, degrees = len(values) * pstdev(values) ** 2, len(values) - 1
    if sd is not None:
        squares, degrees = squares + n * sd**2, degrees + n - 1
    if not squares:
        return float(mean == fmean(values))
    error = math.sqrt(squares / degrees * (1 / n + 1 / len(values)))
    return 2 * float(stdtr(degrees, -abs(mean - fmean(values)) / error))


def in_deviations(mean, sd, values, digits=3):
    """Ours minus the paper's in units of its s.d.; where that is 0, or not printed, 0 or infinite."""
    difference = fmean(values) - mean
    if sd:
        return difference / sd
    return 0.0 if abs(difference) <= 0.5 * 10**-digits else math.copysign(math.inf, difference)


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
