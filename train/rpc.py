"""Reliable paired comparison (RPC) of the BREC paper, section 4.2, and its adaptive form (RAPC), appendix E.

Does a net give two graphs different embeddings, or is what differs only rounding? Each graph is embedded q times, its nodes
renumbered at random; Hotelling's T² asks whether the mean difference is larger than the differences among themselves allow. The
same test of copies of one and the same graph must not find a difference (reliability check).
"""

from typing import NamedTuple

import numpy as np
from scipy.stats import f

ALPHA = 0.95  # the quantile; section 4.2 calls it a level of 0.95, which is a test at 5 %

# Deviation: eq. (4) has the factor q, the published program has not, and both compare with 72.34, the threshold of the full
# statistic. Both can be asked for; every result says which it is.
STATISTICS = ("text", "program")


class Verdict(NamedTuple):
    """What the test says of a pair: T² of the two graphs, T² of copies of one graph, and the threshold for both."""

    T2_test: float
    T2_reliability: float
    threshold: float

    @property
    def reliable(self):
        return self.T2_reliability < self.threshold

    @property
    def distinguished(self):
        """T²_reliability < threshold < T²_test: a difference that is not trusted does not count."""
        return self.reliable and self.T2_test > self.threshold


def threshold(q, d, alpha=ALPHA):
    """(q-1) d / (q-d) F_{d,q-d}(alpha), eq. (6): 72.34 for q = 32 copies and embeddings of d = 16 numbers."""
    if not 0 < d < q:
        raise ValueError(f"q={q} copies, d={d} numbers: the test needs 0 < d < q")
    return (q - 1) * d / (q - d) * f.ppf(alpha, d, q - d)


def t_squared(x, y, statistic="text"):
    r"""Hotelling's T² of paired embeddings x, y (q, d), eq. (3)-(5).

        d_i = x_i - y_i        T² = q d̄ᵀ S⁻¹ d̄ = q Σ_k (v_kᵀ d̄)² / σ_k²        S = Σ_k σ_k² v_k v_kᵀ

    Computed in float64. A direction v_k cannot vary by less than the embeddings are rounded: σ_k is at least the distance of
    neighbouring numbers of their type, float32 or float64, each coordinate taken in units of its largest value. So equal
    embeddings give 0, differences that are constant and not rounding a very large T², and S may be of any rank.
    """
    if statistic not in STATISTICS:
        raise ValueError(f"statistic={statistic!r}: expected one of {', '.join(STATISTICS)}")
    x, y = np.asarray(x), np.asarray(y)
    if x.ndim != 2 or x.shape != y.shape or x.dtype != y.dtype or len(x) < 2:
        raise ValueError(
            f"embeddings {x.shape} {x.dtype} and {y.shape} {y.dtype}: expected two arrays (q, d) of one type, q at least 2"
        )
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise FloatingPointError(
            "an embedding is NaN or infinite: the net diverged on this pair, or its numbers leave the range of its type"
        )
    resolution = np.finfo(x.dtype).eps
    x, y = x.astype(np.float64), y.astype(np.float64)
    unit = np.maximum(np.abs(x).max(0), np.abs(y).max(0))
    d = (x - y) / np.where(unit > 0, unit, 1.0)  # T² does not depend on the unit of a coordinate
    mean = d.mean(0)
    _, s, v = np.linalg.svd(d - mean)  # of the differences, not of S: S would square their range
    sigma = np.zeros(d.shape[1])
    sigma[: len(s)] = s / np.sqrt(len(d) - 1)
    T2 = float(np.sum((v @ mean / np.maximum(sigma, resolution)) ** 2))
    return len(d) * T2 if statistic == "text" else T2


def rpc(test, reliability, statistic="text", alpha=ALPHA):
    """The verdict on a pair: `test` are embeddings (x, y) of the copies of its two graphs, `reliability` of copies of one."""
    q, d = np.shape(test[0])
    return Verdict(t_squared(*test, statistic), t_squared(*reliability, statistic), threshold(q, d, alpha))


def rapc(test, reliability, groups):
    """The same with the adaptive threshold of appendix E, the largest T² within a graph: `groups` are p pairs (x, y) of embeddings
    of copies of the first graph and p of the second.

    Deviation: eq. (11) and (13) print S where T² has its inverse. Theorem E.1 gives 1/2^(2p) as the rate of false positives, as
    if "T²_test exceeds T²_j" were independent for all j. They share T²_test: it is the largest of 2p + 1 equal ones with
    probability 1/(2p + 1), and beside a reliability check below the threshold with 2p / ((2p + 1)(2p + 2)).
    The factor q does not matter here.
    """
    if not groups:
        raise ValueError("groups: expected at least one pair of embeddings of copies of one graph")
    limit = max(t_squared(*group) for group in groups)
    return Verdict(t_squared(*test), t_squared(*reliability), limit)
