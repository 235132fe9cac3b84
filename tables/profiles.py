"""Sensitivity profiles of datasets, and what they have in common: section 3 and appendix A.1 of the Taxonomy of Benchmarks.

    p_d[j] = log2(AUROC of dataset d under perturbation j / AUROC of d as it is), of one model

Datasets are clustered by Ward's method on the profiles as they are, and shown on their first two principal components, centred and
not scaled. The published scores (paper_tables/taxonomy) are those behind the paper's figures; every number here can be had of them
and of our own results.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import pdist

from runs.table_files import find_table
from tables.declare import lines_of, read_csv

FIGURES = ("figure4", "figure5", "figureB1")
METRIC = "AUROC"


class Scores(NamedTuple):
    """AUROC of n datasets: `original` (n,), and under each of m perturbations, `perturbed` (n, m); nan where a cell is missing."""

    names: tuple
    columns: tuple
    original: np.ndarray
    perturbed: np.ndarray

    @property
    def ratios(self):
        return self.perturbed / self.original[:, None]

    @property
    def profiles(self):
        """(n, m); a score of 0 has no profile."""
        ratios = self.ratios
        return np.log2(np.where(ratios > 0, ratios, np.nan))

    def only(self, keep):
        return self._replace(
            names=tuple(np.array(self.names, dtype=object)[keep]),
            original=self.original[keep],
            perturbed=self.perturbed[keep],
        )

    @property
    def is_complete(self):
        """Of each dataset whether no cell is missing, (n,)."""
        return np.isfinite(self.profiles).all(axis=1)

    def complete(self):
        return self.only(self.is_complete)

    def begun(self):
        return self.only(np.isfinite(self.original) | np.isfinite(self.perturbed).any(axis=1))


# --------------------------------------------------------------------------------------------------------------------
# Where scores come from


@cache
def published(figure):
    """The scores behind a figure of the paper."""
    lines = read_csv("taxonomy", figure)
    columns = tuple(key for key in lines[0] if key not in ("dataset", "cluster", "original"))
    original = np.array([float(line["original"]) for line in lines])
    perturbed = np.array([[float(line[column]) for column in columns] for line in lines])
    return Scores(tuple(line["dataset"] for line in lines), columns, original, perturbed)


@cache
def clusters_of_paper(figure):
    """{dataset: I-1, ...}: the clusters that the figure shows; those of Figure B.1 are those of Figure 4."""
    return {line["dataset"]: line["cluster"] for line in read_csv("taxonomy", figure)}


@cache
def printed_numbers():
    """{(where, what): (value, s.d. or None)}: the numbers of Figure 3 and of the text, in per cent."""
    lines = read_csv("taxonomy", "numbers")
    return {(x["where"], x["number"]): (float(x["value"]), float(x["sd"]) if x["sd"] else None) for x in lines}


def ours(figure, results, quick=False):
    """The scores of our results: a cell has the mean over its runs, and is missing until all of them are there.

    Deviation: a dataset with a missing cell is left out of clusters and components; the program takes the cell for no change.
    """
    lines = {line.name: line for line in lines_of(find_table(f"taxonomy_{figure}"), None, results, quick=quick)}
    return of_lines(lines, lambda line: bool(line.done) if quick else line.is_complete)


def of_lines(lines, is_done):
    """The scores of {"MUTAG": line, "MUTAG+NoEdges": line, ...}."""
    names = tuple(name for name in lines if "+" not in name)
    columns = tuple(dict.fromkeys(name.partition("+")[2] for name in lines if "+" in name))

    def cell(name):
        values = lines[name].scores("test", METRIC) if name in lines and is_done(lines[name]) else []
        return float(np.mean(values)) if values else np.nan

    original = np.array([cell(name) for name in names])
    perturbed = np.array([[cell(f"{name}+{column}") for column in columns] for name in names])
    return Scores(names, columns, original, perturbed.reshape(len(names), len(columns)))


# --------------------------------------------------------------------------------------------------------------------
# Clusters


def ward(profiles):
    """The tree of Ward's method, as scipy has it; None of fewer than two datasets."""
    return linkage(profiles, "ward", optimal_ordering=True) if len(profiles) > 1 else None


def order_of(profiles):
    """The datasets as the tree has them, from top to bottom."""
    tree = ward(profiles)
    return np.arange(len(profiles)) if tree is None else leaves_list(tree)


def cut(tree, n_clusters):
    """The number of each leaf's cluster, from 1 on, when all joins but the last n_clusters - 1 are made. Versions of scipy
    differ in how they cut a small tree."""
    n = len(tree) + 1
    cluster = np.arange(n)
    for join in range(n - n_clusters):
        cluster[leaves_below(tree, join)] = n + join
    return np.unique(cluster, return_inverse=True)[1] + 1


FEWEST = 5  # datasets of which there are clusters: the tree is cut into four at most


def cut_as_in_paper(profiles, figure):
    """The number of the cluster of each dataset, (n,), from 1 on.

    One graph (Figure 5): the tree is cut into three. Deviation: many graphs: into four, of which the two that join second last are
    one; the text does not say so, but so its three clusters come about.
    """
    tree = ward(profiles)
    if tree is None:
        return np.ones(len(profiles), int)
    three, four = cut(tree, 3), cut(tree, 4)
    if figure == "figure5" or len(profiles) < 4:
        return three
    joined = np.unique(four[leaves_below(tree, len(tree) - 2)])
    if len(joined) != 2:
        return three
    merged = np.where(four == joined[1], joined[0], four)
    return np.unique(merged, return_inverse=True)[1] + 1


def leaves_below(tree, join):
    """The leaves under a join, a row of the tree."""
    n, found, open_nodes = len(tree) + 1, [], [join + len(tree) + 1]
    while open_nodes:
        node = int(open_nodes.pop())
        if node < n:
            found.append(node)
        else:
            open_nodes += list(tree[node - n, :2])
    return found


def named_clusters(names, numbers, known):
    """["I-1", ...]: a cluster is called after the one of the paper that most of its members are in; a second one "I-1, 2"."""
    called = {}
    for number in dict.fromkeys(numbers):
        members = [known[name] for name, k in zip(names, numbers, strict=True) if k == number and name in known]
        name = max(sorted(set(members)), key=members.count) if members else "?"
        taken = sum(other.partition(", ")[0] == name for other in called.values())
        called[number] = f"{name}, {taken + 1}" if taken else name
    return [called[number] for number in numbers]


def clusters(scores, figure):
    """{dataset: cluster} of the datasets that have all columns; of too few each would be a cluster of its own: then {}."""
    whole = scores.complete()
    if len(whole.names) < FEWEST:
        return {}
    numbers = cut_as_in_paper(whole.profiles, figure)
    return dict(zip(whole.names, named_clusters(whole.names, list(numbers), clusters_of_paper(figure)), strict=True))


# --------------------------------------------------------------------------------------------------------------------
# Principal components, correlations, permutations


class Components(NamedTuple):
    """`at` (n, k) are the datasets, `loadings` (k, m) the perturbations, `explained` (k,) the share of the variance in per cent."""

    at: np.ndarray
    loadings: np.ndarray
    explained: np.ndarray
    mean: np.ndarray

    def place(self, profile):
        return (profile - self.mean) @ self.loadings.T


def principal_components(profiles, k=2):
    """Of centred profiles, always k. The sign of a component is that of its largest loading."""
    mean = profiles.mean(axis=0)
    _, lengths, V = np.linalg.svd(profiles - mean, full_matrices=False)
    V, lengths = (np.concatenate([part, np.zeros((k, *part.shape[1:]))]) for part in (V, lengths))  # of few columns
    V = V * np.sign(V[np.arange(len(V)), np.abs(V).argmax(axis=1)])[:, None]
    total = (lengths**2).sum()
    explained = 100 * lengths**2 / total if total > 0 else np.zeros(len(lengths))
    return Components((profiles - mean) @ V[:k].T, V[:k], explained[:k], mean)


def ranks(values):
    """Mid-ranks: equal values share the mean of their ranks."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[inverse]


def pearson(a, b):
    return float(np.corrcoef(a, b)[0, 1])


def kendall(a, b):
    """tau-b."""
    i, j = np.triu_indices(len(a), 1)
    x, y = np.sign(a[i] - a[j]), np.sign(b[i] - b[j])
    return float((x * y).sum() / np.sqrt((x**2).sum() * (y**2).sum()))


def model_correlation(first, second):
    """(cells, Pearson, Spearman, Kendall) of log2 AUROC, over the cells that both models have."""
    rows = [(first.names.index(name), second.names.index(name)) for name in first.names if name in second.names]
    a, b = (
        np.log2(np.concatenate([s.original[[r[k] for r in rows], None], s.perturbed[[r[k] for r in rows]]], axis=1))
        for k, s in enumerate((first, second))
    )
    both = np.isfinite(a) & np.isfinite(b)
    a, b = a[both], b[both]
    if len(a) < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return len(a), None, None, None
    return len(a), pearson(a, b), pearson(ranks(a), ranks(b)), kendall(a, b)


def perturbation_correlation(profiles):
    """(m, m): of standardised columns, X^T X / (n - 1)."""
    return np.corrcoef(profiles, rowvar=False)


def permutation_p(profiles, n=1000, seed=0):
    """How often profiles with their entries in a random order, each its own, are as near to each other as the real ones.

    Nearness is the mean distance of two profiles. A small p says that datasets agree in which perturbation does what.
    """
    random, real = np.random.default_rng(seed), pdist(profiles).mean()
    return float(np.mean([pdist(random.permuted(profiles, axis=1)).mean() <= real for _ in range(n)]))


# --------------------------------------------------------------------------------------------------------------------
# The text of appendix B.2

FEATURES = ("NoNodeFtrs", "NodeDeg", "LowPass", "MidPass", "HighPass")  # all others change the edges


def text_numbers(scores):
    """{what: (per cent of the original, s.d. or None)}: the three numbers of the text, of the datasets that have them."""
    found, ratios, columns = {}, 100 * scores.ratios, list(scores.columns)
    frag = ratios[:, columns.index("Frag-k3")]
    frag = frag[np.isfinite(frag)]
    if len(frag):
        found["Frag-k3"] = frag.mean(), frag.std(ddof=1) if len(frag) > 1 else None
    structure = [k for k, column in enumerate(columns) if column not in FEATURES]
    if np.isfinite(ratios[:, structure]).any():
        i, j = np.unravel_index(np.nanargmin(ratios[:, structure]), (len(ratios), len(structure)))
        where = f"{scores.names[i]}, {columns[structure[j]]}"
        found[f"lowest without structure ({where})"] = ratios[i, structure[j]], None
    name = "WikiNet-squir"
    if name in scores.names and np.isfinite(value := ratios[scores.names.index(name), columns.index("NodeDeg")]):
        found[f"{name} under NodeDeg"] = value, None
    return found
