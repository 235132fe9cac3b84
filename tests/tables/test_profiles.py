"""The analysis of the Taxonomy gives the paper's clusters and numbers from the published scores."""

import numpy as np
import pytest

from runs.table_files import find_table
from tables import profiles
from tests.tables.records import result

CLUSTERS = {
    "figure4": {
        "I-1": "MNIST CIFAR10 ENZYMES",
        "I-2": "DD PROTEINS MUTAG MalNet-Tiny ogbg-molhiv ogbg-moltox21 Small-world Scale-free",
        "I-3": "PATTERN COLLAB IMDB-BINARY REDDIT-BINARY REDDIT-MULTI-5K NCI1 NCI109 Synthie CLUSTER SYNTHETICnew",
    },
    "figure5": {
        "T-1": "WebKB-Cor WebKB-Wis Actor DzEu",
        "T-2": "WikiNet-cham CF-CiteSeer CF-Cora CF-CoraML CF-DBLP CF-PubMed WikiCS Coau-CS Coau-Phy FBPP LFMA Flickr",
        "T-3": "WikiNet-squir Github Am-Comp Am-Phot Twitch-DE Twitch-EN Twitch-ES Twitch-PT WebKB-TeX",
    },
}
EXPLAINED = {"figure4": (51.8, 29.6), "figure5": (75.6, 13.3)}  # printed in Figure 3


def groups(names, numbers):
    return {frozenset(n for n, k in zip(names, numbers, strict=True) if k == number) for number in set(numbers)}


@pytest.mark.parametrize("figure", CLUSTERS)
def test_the_clusters_of_the_paper(figure):
    expected = {name: cluster for cluster, names in CLUSTERS[figure].items() for name in names.split()}
    assert profiles.clusters(profiles.published(figure), figure) == profiles.clusters_of_paper(figure) == expected


@pytest.mark.parametrize("figure", profiles.FIGURES)
def test_the_published_scores_are_those_of_our_rows(figure):
    names = profiles.published(figure).names
    rows = find_table(f"taxonomy_{figure}").rows
    assert set(rows) == {*names, *(f"{n}+{c}" for n in names for c in profiles.published(figure).columns)}


def test_three_clusters_are_not_a_cut_of_the_tree_of_many_graphs():
    scores = profiles.published("figure4")
    three = groups(scores.names, profiles.cut(profiles.ward(scores.profiles), 3))
    assert frozenset({"CLUSTER", "SYNTHETICnew"}) in three
    assert frozenset(" ".join(CLUSTERS["figure4"][k] for k in ("I-1", "I-2")).split()) in three


def test_GIN_has_other_clusters():
    scores = profiles.published("figureB1")
    tree = profiles.ward(scores.profiles)
    structure = frozenset({"CLUSTER", "PATTERN", "COLLAB", "IMDB-BINARY", "SYNTHETICnew"})
    assert structure in groups(scores.names, profiles.cut(tree, 2))
    five = groups(scores.names, profiles.cut(tree, 5))
    assert {
        frozenset({"MNIST", "CIFAR10", "ENZYMES"}),
        frozenset({"NCI1", "NCI109", "REDDIT-BINARY", "REDDIT-MULTI-5K"}),
        structure - {"CLUSTER"},
        frozenset({"CLUSTER"}),
    } < five


@pytest.mark.parametrize("figure", EXPLAINED)
def test_the_variance_that_figure_3_prints(figure):
    part = {"figure4": "a", "figure5": "b"}[figure]
    found = profiles.principal_components(profiles.published(figure).profiles)
    printed = [profiles.printed_numbers()[f"Figure 3{part}", f"PC{k}"][0] for k in (1, 2)]
    assert tuple(np.round(found.explained, 1)) == tuple(printed) == EXPLAINED[figure]
    assert np.allclose(found.loadings @ found.loadings.T, np.eye(2))
    assert np.allclose(found.at, found.place(profiles.published(figure).profiles))


def test_the_loadings_are_those_of_the_figure():
    """PC1 of many graphs is structure, PC2 features; of one graph both are features."""
    for figure, first, second in (
        ("figure4", {"NoEdges", "FullyConn"}, {"NodeDeg", "NoNodeFtrs"}),
        ("figure5", {"NodeDeg", "NoNodeFtrs"}, {"NoNodeFtrs", "LowPass"}),
    ):
        scores = profiles.published(figure)
        loadings = profiles.principal_components(scores.profiles).loadings
        for row, names in zip(loadings, (first, second), strict=True):
            assert {scores.columns[k] for k in np.argsort(-np.abs(row))[:2]} == names
            assert row[np.abs(row).argmax()] > 0  # the sign


def test_principal_components_are_those_of_the_covariance():
    X = np.random.default_rng(0).normal(size=(9, 4))
    values, vectors = np.linalg.eigh(np.cov(X, rowvar=False))
    found = profiles.principal_components(X)
    assert np.allclose(found.explained, 100 * values[::-1][:2] / values.sum())
    assert np.allclose(np.abs(np.sum(found.loadings * vectors.T[::-1][:2], axis=1)), 1)
    assert (profiles.principal_components(np.ones((3, 4))).explained == 0).all()


def test_the_three_numbers_of_the_text():
    """Appendix B.2: Frag-k3 99 % ± 1.6 % (s.d. of n - 1), at least 92 % without structure (Flickr), +11 % for WikiNet-squir."""
    found = profiles.text_numbers(profiles.published("figure5"))
    for number, (value, sd) in found.items():
        printed, printed_sd = profiles.printed_numbers()["B.2", number.partition(" (")[0]]
        assert round(value) == printed and (sd is None or round(sd, 1)) == (printed_sd is None or printed_sd)
    assert "lowest without structure (Flickr, NoEdges)" in found and len(found) == 3


def test_two_clear_groups():
    X = np.array([[0, 0], [0.1, 0], [5, 5], [5.1, 5], [0, 0.1]])
    names = list("abcde")
    assert groups(names, profiles.cut(profiles.ward(X), 2)) == {frozenset("abe"), frozenset("cd")}
    assert profiles.named_clusters(names, [1, 1, 2, 2, 1], {"a": "I-2", "b": "I-2", "c": "I-1", "e": "I-1"}) == [
        "I-2", "I-2", "I-1", "I-1", "I-2"
    ]  # fmt: skip
    assert profiles.named_clusters(names[:3], [1, 2, 3], {"a": "I-2", "b": "I-2"}) == ["I-2", "I-2, 2", "?"]


@pytest.mark.parametrize("n", range(6))
def test_few_datasets_have_clusters_too(n):
    X = np.random.default_rng(n).normal(size=(n, 3))
    for figure in profiles.FIGURES:
        numbers = profiles.cut_as_in_paper(X, figure)
        assert len(numbers) == n and len(set(numbers)) <= 3
    assert sorted(profiles.order_of(X)) == list(range(n))


def test_correlations():
    """scipy's, with ties."""
    from scipy import stats

    random = np.random.default_rng(0)
    a, b = random.integers(0, 6, 40).astype(float), random.integers(0, 6, 40).astype(float)
    assert np.isclose(profiles.kendall(a, b), stats.kendalltau(a, b).statistic)
    assert np.isclose(profiles.pearson(profiles.ranks(a), profiles.ranks(b)), stats.spearmanr(a, b).statistic)
    gcn, gin = profiles.published("figure4"), profiles.published("figureB1")
    n, r, rho, tau = profiles.model_correlation(gcn, gin)
    assert n == 21 * 12 and 0.85 < r < 1 and tau < rho < 1
    assert profiles.model_correlation(gcn, gcn)[1:] == pytest.approx((1, 1, 1))
    assert profiles.model_correlation(gcn, gin.only([False] * 21)) == (0, None, None, None)
    X = gcn.profiles
    Z = (X - X.mean(0)) / X.std(0, ddof=1)
    assert np.allclose(profiles.perturbation_correlation(X), Z.T @ Z / (len(Z) - 1))


def test_permutations():
    """Of one graph no permutation comes near (p = 0 in the program); of random numbers about half do."""
    assert profiles.permutation_p(profiles.published("figure5").profiles) == 0
    noise = np.random.default_rng(1).normal(size=(10, 8))
    assert 0.02 < profiles.permutation_p(noise, 200) < 0.98


def runs_of(row, value, n=10):
    return [result(f"taxonomy_figure4/{row}", 0, None, fold, metric={"AUROC": value}) for fold in range(n)]


def test_a_cell_is_there_when_all_its_runs_are():
    made = [*runs_of("MUTAG", 0.8), *runs_of("MUTAG+NoEdges", 0.4), *runs_of("MUTAG+Frag-k1", 0.8, 9)]
    scores = profiles.ours("figure4", made).begun()
    assert scores.names == ("MUTAG",) and scores.original == pytest.approx([0.8])
    cells = dict(zip(scores.columns, scores.profiles[0], strict=True))
    assert cells["NoEdges"] == pytest.approx(-1) and np.isnan(cells["Frag-k1"]) and np.isnan(cells["NodeDeg"])
    assert not scores.complete().names
    whole = [*made, *(r for c in scores.columns if c != "NoEdges" for r in runs_of(f"MUTAG+{c}", 0.6))]
    assert profiles.ours("figure4", whole).complete().names == ("MUTAG",)


def test_few_datasets_are_in_no_cluster():
    """Four would be cut into four."""
    whole = profiles.published("figure4")
    few, enough = (
        profiles.Scores(whole.names[:n], whole.columns, whole.original[:n], whole.perturbed[:n]) for n in (4, 5)
    )
    assert profiles.clusters(few, "figure4") == {} and set(profiles.clusters(enough, "figure4")) == set(whole.names[:5])


def test_a_score_of_0_has_no_profile():
    scores = profiles.Scores(("a",), ("NoEdges",), np.array([0.5]), np.array([[0.0]]))
    assert np.isnan(scores.profiles).all() and not scores.is_complete.any()
