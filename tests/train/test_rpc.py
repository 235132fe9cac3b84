"""RPC and RAPC of the BREC paper on embeddings whose truth is known."""

import numpy as np
import pytest
from scipy.stats import binomtest

from train.rpc import STATISTICS, rapc, rpc, t_squared, threshold

Q, D = 32, 16


def noise(random, n=1, q=Q, d=D):
    """Embeddings of one graph: rounding that is correlated between coordinates of very different size."""
    mix = np.random.default_rng(0).standard_normal((d, d)) * 10.0 ** np.linspace(-3, 3, d)
    return 5.0 + 1e-4 * random.standard_normal((n, q, d)) @ mix


def slow_t_squared(x, y):
    """Eq. (3)-(5), symbol by symbol."""
    q, d = x.shape
    difference = [x[i] - y[i] for i in range(q)]
    mean = sum(difference) / q
    S = np.zeros((d, d))
    for i in range(q):
        for a in range(d):
            for b in range(d):
                S[a, b] += (difference[i][a] - mean[a]) * (difference[i][b] - mean[b]) / (q - 1)
    return q * mean @ np.linalg.inv(S) @ mean


def test_the_threshold_is_the_papers():
    assert round(threshold(32, 16), 2) == 72.34
    with pytest.raises(ValueError, match="q=16 copies, d=16 numbers"):
        threshold(16, 16)


def test_equal_to_the_equations_and_without_q_for_the_program():
    x, y = noise(np.random.default_rng(1), 2)
    y = y + 1e-4
    slow = slow_t_squared(x, y)
    assert t_squared(x, y) == pytest.approx(slow, rel=1e-6)
    assert t_squared(x, y, "program") == pytest.approx(slow / Q, rel=1e-6)
    with pytest.raises(ValueError, match="expected one of text, program"):
        t_squared(x, y, "paper")


def test_the_coordinates_may_be_mixed_by_any_linear_map():
    random = np.random.default_rng(2)
    x, y = random.standard_normal((2, Q, D))
    A = random.standard_normal((D, D)) @ np.diag(10.0 ** np.arange(-8, 8))
    assert t_squared(x @ A, y @ A) == pytest.approx(t_squared(x, y), rel=1e-5)
    assert t_squared(1e20 * x, 1e20 * y) == pytest.approx(t_squared(x, y), rel=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("statistic", STATISTICS)
def test_constant_embeddings(dtype, statistic):
    """0/0 is no difference; a difference that is the same in all copies is one, unless it is the last digit."""
    x = np.tile(np.linspace(-3, 1000, D).astype(dtype), (Q, 1))
    assert t_squared(x, x, statistic) == 0 and t_squared(0 * x, 0 * x, statistic) == 0
    assert not rpc((x, x), (x, x), statistic).distinguished
    y = x.copy()
    y[:, 3] *= np.array(1.001, dtype)
    assert rpc((x, y), (x, x), statistic).distinguished
    y[:, 3] = np.nextafter(x[:, 3], np.array(np.inf, dtype))
    assert not rpc((x, y), (x, x), statistic).distinguished


@pytest.mark.parametrize("rank", [0, 1, 5])
def test_covariances_of_any_rank(rank):
    """The other directions are silent: a shift there is found, however small beside the noise, and none is invented."""
    random = np.random.default_rng(3)
    base = np.tile(random.uniform(1, 2, D), (Q, 1))
    directions = random.standard_normal((rank, D))
    x, y = (base + random.standard_normal((Q, rank)) @ directions for _ in range(2))
    reliability = tuple(base + random.standard_normal((Q, rank)) @ directions for _ in range(2))
    assert not rpc((x, y), reliability).distinguished and t_squared(x, y) < threshold(Q, D)
    silent = np.linalg.svd(directions)[2][-1] if rank else np.ones(D)
    assert rpc((x, y + 1e-6 * silent), reliability).distinguished
    if rank:
        assert t_squared(x, y + 1e-3 * directions[0]) < threshold(Q, D)


def test_a_tiny_difference_that_always_points_the_same_way_is_found():
    random = np.random.default_rng(4)
    x, y = 1.0 + 1e-9 * random.standard_normal((2, Q, D))
    y[:, 0] += 1e-7
    assert rpc((x, y), tuple(1.0 + 1e-9 * random.standard_normal((2, Q, D))), "program").distinguished


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_embeddings_that_are_no_numbers_are_an_error(bad):
    x = np.ones((Q, D))
    y = x.copy()
    y[5, 5] = bad
    for pair in ((x, y), (y, x), (y, y)):
        with pytest.raises(FloatingPointError, match="NaN or infinite"):
            t_squared(*pair)


@pytest.mark.parametrize("shape", [(Q, 15), (31, D), (Q,)])
def test_embeddings_of_other_shapes_are_an_error(shape):
    with pytest.raises(ValueError, match="expected two arrays"):
        t_squared(np.ones((Q, D)), np.ones(shape))


def test_an_unreliable_difference_does_not_count():
    x = noise(np.random.default_rng(5))[0]
    assert rpc((x, x + 1), (x, x)).distinguished
    verdict = rpc((x, x + 1), (x, x + 1))
    assert not verdict.reliable and not verdict.distinguished


def agrees(count, n, rate):
    """Whether `count` of n is what a true rate would give; wrong once in 10,000 correct rates, and the seed is fixed."""
    return binomtest(count, n, rate).pvalue > 1e-4


def test_false_positives_of_rpc():
    """The text's statistic errs in 5 % of the pairs that are equal; the program's, 32 times smaller, hardly ever."""
    random, n = np.random.default_rng(6), 3000
    T2 = np.array([t_squared(x, y) for x, y in zip(noise(random, n), noise(random, n), strict=True)])
    wrong = int((threshold(Q, D) < T2).sum())
    assert agrees(wrong, n, 0.05)
    assert (threshold(Q, D) < T2 / Q).sum() == 0


@pytest.mark.parametrize("p", [1, 2, 5])
def test_false_positives_of_rapc(p):
    """1/(2p + 1) for T²_test above the threshold, not the 1/2^(2p) of theorem E.1."""
    random, n, q, d = np.random.default_rng(p), 800, 8, 3
    above = distinguished = 0
    for _ in range(n):
        pairs = [tuple(random.standard_normal((2, q, d))) for _ in range(2 * p + 2)]
        verdict = rapc(pairs[0], pairs[1], pairs[2:])
        above += verdict.T2_test > verdict.threshold
        distinguished += verdict.distinguished
    assert agrees(above, n, 1 / (2 * p + 1)) and not agrees(above, n, 1 / 2 ** (2 * p))
    assert agrees(distinguished, n, 2 * p / ((2 * p + 1) * (2 * p + 2)))


def test_rapc_finds_a_real_difference_and_asks_for_groups():
    random = np.random.default_rng(7)
    x, *rest = noise(random, 9)
    groups = list(zip(rest[::2], rest[1::2], strict=True))
    assert rapc((x, x + 1), (x, x), groups).distinguished
    with pytest.raises(ValueError, match="groups"):
        rapc((x, x), (x, x), [])
