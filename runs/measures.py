"""What a metric is: its name, which way is better, how it is printed and which values it can have. Every result says it of its
own."""

import math
from typing import NamedTuple


class Measure(NamedTuple):
    """A metric as result files describe it. Scores in per cent run from 0 to 100."""

    name: str
    better: str  # "max" or "min"
    digits: int = 3
    percent: bool = False
    low: float | None = 0
    high: float | None = None

    def allows(self, value):
        """Whether `value` can be a value of this metric; a billionth beyond a bound is rounding."""
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            return False
        return (self.low is None or value >= self.low - 1e-9) and (self.high is None or value <= self.high + 1e-9)

    @property
    def unit(self):
        return " (%)" if self.percent else ""


ACCURACY = Measure("accuracy", "max", percent=True, high=100)
F1 = Measure("F1", "max", high=1)
MAE = Measure("MAE", "min")


def hits(name):
    return Measure(name, "max", percent=True, high=100)


# as fractions, with the digits that the papers print
MACRO_F1 = Measure("macro_F1", "max", digits=4, high=1)
AP = Measure("AP", "max", digits=4, high=1)
AUROC = Measure("AUROC", "max", digits=4, high=1)
R2 = Measure("R2", "max", digits=4, low=None, high=1)


def ranking(name):
    """Of ranks inside graphs: MRR, or Hits@k as a fraction."""
    return Measure(name, "max", digits=4, high=1)
