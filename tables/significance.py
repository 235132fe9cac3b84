"""Which models of a table differ? Scores are paired by seed and fold, and p is corrected for the number of comparisons.

    python -m tables.significance table3
    python -m tables.significance --runs out/ESOL

Wilcoxon's signed-rank test, two-sided, and Holm's correction over all pairs of rows of a dataset that have at least six runs in
common (with fewer, no outcome could be significant). Two models differ if the corrected p is below 0.05.
"""

import argparse
import sys
from itertools import combinations
from statistics import fmean

import numpy as np

from runs.signals import end_with_pipe
from tables.compare import LEVEL
from tables.formats import aligned
from tables.table import add_what, read_view

FEWEST = 6  # the smallest two-sided p of n pairs is 2 / 2^n: 0.0625 for 5


def holm(p_values):
    """Corrected p-values in the same order: the k-th smallest of n times n - k + 1, never smaller than one before, at most 1."""
    order = np.argsort(p_values, kind="stable")
    n, corrected, largest = len(p_values), np.empty(len(p_values)), 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, (n - rank) * p_values[i]))
        corrected[i] = largest
    return corrected


def paired_p(a, b):
    """p of the hypothesis that the differences a - b are symmetric around 0; 1 if all are 0.

    Exact, also with ties and zeros: all choices of signs of the ranks are counted. Doubled ranks of ties are whole numbers.
    """
    differences = np.round(np.asarray(a, float) - np.asarray(b, float), 9)
    size = abs(differences)
    ranks = 2 * (size[:, None] > size).sum(1) + (size[:, None] == size).sum(1) + 1
    free = ranks[differences != 0]
    chances = np.eye(1, free.sum() + 1)[0]  # of every sum of the positive ranks
    for rank in free:
        chances = (chances + np.concatenate([np.zeros(rank), chances[:-rank]])) / 2
    observed = ranks[differences > 0].sum()
    return min(1.0, 2 * float(min(chances[: observed + 1].sum(), chances[observed:].sum())))


def compare(rows):
    """[(row a, row b, pairs, mean difference a - b, p, corrected p)] of all pairs of {row: {(seed, fold): score}}."""
    found = []
    for (name_a, a), (name_b, b) in combinations(rows.items(), 2):
        common = sorted(a.keys() & b.keys())
        if len(common) >= FEWEST:
            pair = [a[key] for key in common], [b[key] for key in common]
            found.append((name_a, name_b, len(common), fmean(pair[0]) - fmean(pair[1]), paired_p(*pair)))
    corrected = holm([line[-1] for line in found])
    return [(*line, p) for line, p in zip(found, corrected, strict=True)]


def scores_by_dataset(view):
    """{(dataset, metric): {row: {(seed, fold): test score}}}; a row that pools models is left out."""
    datasets = {}
    for score in view.test_scores():
        for line in view.lines:
            keys, values = [(r["seed"], r["fold"]) for r in line.done], score.values(line)
            if keys and len(set(keys)) == len(keys) == len(values):
                rows = datasets.setdefault((line.dataset, score.measure.name), {})
                rows[line.name] = dict(zip(keys, values, strict=True))
    return datasets


def main(argv=None):
    parser = argparse.ArgumentParser(
        prog="python -m tables.significance", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", nargs="?", help="table3, table2_ZINC, ...")
    add_what(parser)
    view = read_view(parser, parser.parse_args(argv))
    lines = [line for rows in scores_by_dataset(view).values() for line in compare(rows)]
    if not lines:
        print(f"{view.name}: no two rows have {FEWEST} runs in common")
        return 0
    header = ("row A", "row B", "runs", "difference", "p", "corrected", "differ")
    texts = [
        (a, b, str(n), f"{d:+.3f}", f"{p:.2g}", f"{q:.2g}", "yes" if q < LEVEL else "no") for a, b, n, d, p, q in lines
    ]
    print("\n".join(aligned([header, *texts])))
    return 0


if __name__ == "__main__":
    end_with_pipe()
    sys.exit(main())
