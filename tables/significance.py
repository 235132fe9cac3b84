"""Which models of a table differ? Their scores are paired by seed and fold, compared two by two and corrected for the number of
comparisons.

    python -m train.significance table3

Wilcoxon's signed-rank test, two-sided, and Holm's correction over all pairs of rows of a dataset that have at least six runs in
common (with fewer, no outcome could be significant). Two models differ if the corrected p is below 0.05.
"""

import argparse
import sys
from itertools import combinations
from statistics import fmean

import numpy as np
from scipy.stats import wilcoxon
from train.naming import run_name
from train.result_files import add_folders, read_results, report
from train.signals import end_with_pipe
from train.table import aligned, compared_metric, config_files, printed_lines, results_of

LEVEL = 0.05
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
    """p of the hypothesis that the differences a - b are symmetric around 0; 1 if all are 0."""
    differences = np.asarray(a, float) - np.asarray(b, float)
    return 1.0 if not differences.any() else float(wilcoxon(differences, zero_method="zsplit", method="auto").pvalue)


def scores_by_run(results):
    """{(seed, fold): test score} of finished runs."""
    values = {(r["seed"], r["fold"]): r["metrics"][r["select"]]["test"] for r in results if r["status"] == "ok"}
    return {key: value[compared_metric(value)] for key, value in values.items()}


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


def main(argv=None):
    parser = argparse.ArgumentParser(
        prog="python -m train.significance", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", help="table3, table2_ZINC, ...")
    parser.add_argument("--dataset", help="results of the same rows on another dataset, as ZINC-redrawn")
    add_folders(parser)
    arguments = parser.parse_args(argv)
    results, problems = read_results(arguments.out_dir)
    suffix, files = run_name("", {"dataset": arguments.dataset} if arguments.dataset else {}), config_files()
    datasets = {}
    for line in printed_lines(arguments.name):
        found = results_of(line, results, files, suffix)
        if (
            len({r["name"] for r in found}) == 1
        ):  # a row that pools models has several scores a seed and fold: not paired
            datasets.setdefault(line["dataset"], {})[line["row_id"]] = scores_by_run(found)
    lines = [line for rows in datasets.values() for line in compare(rows)]
    report(problems)
    if not lines:
        print(f"{arguments.name}: no two rows have {FEWEST} runs in common")
        return 0
    header = ("row", "and row", "runs", "difference", "p", "corrected", "differ")
    texts = [
        (a, b, str(n), f"{d:+.3f}", f"{p:.2g}", f"{q:.2g}", "yes" if q < LEVEL else "no") for a, b, n, d, p, q in lines
    ]
    print("\n".join(aligned([header, *texts])))
    return 0


if __name__ == "__main__":
    end_with_pipe()
    sys.exit(main())
