"""PATTERN and CLUSTER are drawn as A.1 says: sizes, probabilities, features and labels, against the text and Tables 1 and 5."""

import csv
import zipfile

import numpy as np
import pytest
import torch

from data.dataset import ROOT, DataConfig
from data.errors import DataError, StoreError
from data.SBMs import CLUSTER, PATTERN, PublishedCLUSTER, PublishedPATTERN, block_probability, random_graph
from data.splits import PARTS


@pytest.fixture(scope="module", params=[PATTERN, CLUSTER], ids=lambda c: c.name)
def sample(request, store_dir):
    """300 graphs of each part."""
    return request.param(DataConfig(store_dir=store_dir, limit=300))


def sizes(dataset):
    return np.diff(dataset.store.column("node_offsets")), np.diff(dataset.store.column("edge_offsets"))


def within(values, mean, n_deviations=5):
    return abs(np.mean(values) - mean) < n_deviations * np.std(values) / np.sqrt(len(values))


def test_averages_of_the_paper_within_sampling_error(sample):
    nodes, edges = sizes(sample)
    # PATTERN's row of Table 5 is of an earlier version (q = 0.2, patterns of 20 nodes): Table 1 instead, and what follows for edges
    expected = {"PATTERN": (118.89, 6080), "CLUSTER": (117.20, 4301.72)}[sample.name]
    assert within(nodes, expected[0]) and within(edges, expected[1])


def test_expected_numbers_of_the_text(sample):
    """What `check` compares with: Σ n_c (n_c - 1) p + Σ n_c n_d q directed edges, and for PATTERN those of patterns of m nodes."""
    n = np.arange(5, 35)
    first, second = n.mean(), (n**2).mean()
    if sample.name == "PATTERN":
        m = np.array([len(feat) for _, feat in sample.patterns])
        nodes = 5 * first + m.mean()
        communities = 5 * (second - first) * 0.5 + 20 * first**2 * 0.35
        edges = communities + (m * (m - 1)).mean() * 0.5 + 2 * 5 * first * m.mean() * 0.5
    else:
        nodes, edges = 6 * first, 6 * (second - first) * 0.55 + 30 * first**2 * 0.25
    assert sample.moments["nodes"][0] == pytest.approx(nodes) and sample.moments["edges"][0] == pytest.approx(
        edges, rel=2e-3
    )
    spread = [deviation for _, deviation in sample.moments.values()]
    assert spread == pytest.approx([values.std() for values in sizes(sample)], rel=0.1)


def table_1(name):
    """(fewest nodes, most nodes, nodes of all graphs)."""
    with open(ROOT / "paper_tables/benchmarking_gnns/table1_datasets.csv", newline="") as file:
        row = next(row for row in csv.DictReader(file) if row["dataset"] == name)
    return *map(int, row["n_nodes_range"].split("-")), int(row["total_nodes"].replace(",", ""))


def test_all_graphs_have_the_sizes_of_table_1(sample):
    """The size of each of the 14,000 or 12,000 graphs: the sizes of its communities are what its random stream gives first."""
    seed, n_communities = sample.parameters["seed"], sample.parameters["n_communities"]
    size_of_pattern = [len(feat) for _, feat in sample.patterns] if sample.name == "PATTERN" else [0]
    nodes = {
        part: [
            np.random.RandomState([seed, number, i]).randint(5, 35, n_communities).sum()
            + size_of_pattern[i % len(size_of_pattern)]
            for i in range(sample.parameters["n_graphs"][part])
        ]
        for number, part in enumerate(PARTS)
    }
    assert sizes(sample)[0].tolist() == [n for part in PARTS for n in nodes[part][:300]]
    every = np.concatenate(list(nodes.values()))
    low, high, total = table_1(sample.name)
    if sample.name == "PATTERN":
        assert (every.min(), every.max()) == (low, high) and every.sum() == pytest.approx(total, rel=1e-3)
    else:  # a draw of its own: the smallest and the largest of 12,000 stray by some nodes, the sum by 0.2 %
        assert abs(every.min() - low) <= 6 and abs(every.max() - high) <= 6
        assert every.sum() == pytest.approx(total, rel=5e-3)


def test_edges_are_symmetric_simple_and_without_loops(sample):
    for i in range(0, 900, 90):
        src, dst = sample.store.edges(i)
        edges = set(zip(src.tolist(), dst.tolist(), strict=True))
        assert len(edges) == len(src) and all((b, a) in edges for a, b in edges) and not (src == dst).any()


def edge_rates(dataset, choose):
    """Share of joined pairs among the pairs that `choose(labels)` marks, over 200 graphs."""
    joined = pairs = 0
    for i in range(200):
        label = dataset.store.rows("node.label", i).astype(int)
        A = np.zeros((len(label), len(label)), bool)
        A[dataset.store.edges(i)] = True
        wanted = choose(label)
        np.fill_diagonal(wanted, False)
        joined, pairs = joined + (A & wanted).sum(), pairs + wanted.sum()
    return joined / pairs


def test_probabilities_of_cluster(store_dir):
    cluster = CLUSTER(DataConfig(store_dir=store_dir, limit=300))
    assert edge_rates(cluster, lambda c: c[:, None] == c[None, :]) == pytest.approx(0.55, abs=0.006)
    assert edge_rates(cluster, lambda c: c[:, None] != c[None, :]) == pytest.approx(0.25, abs=0.004)


def test_probabilities_of_pattern(store_dir):
    pattern = PATTERN(DataConfig(store_dir=store_dir, limit=300))
    # pattern and graph: q_P = 0.5; within the graph between p and q, weighted with the pairs: 3751 of 97.5 nodes
    assert edge_rates(pattern, lambda c: c[:, None] != c[None, :]) == pytest.approx(0.5, abs=0.004)
    assert edge_rates(pattern, lambda c: (c[:, None] == 1) & (c[None, :] == 1)) == pytest.approx(0.5, abs=0.02)
    assert edge_rates(pattern, lambda c: (c[:, None] == 0) & (c[None, :] == 0)) == pytest.approx(0.382, abs=0.006)


def test_labels_and_features(sample):
    shown = np.zeros(sample.n_node_types, int)
    for i in range(0, 900, 9):
        label, feat = sample.store.rows("node.label", i), sample.store.rows("node.feat", i)
        shown += np.bincount(feat, minlength=sample.n_node_types)
        if sample.name == "PATTERN":
            assert label.sum() == len(sample.patterns[i % 100][1])
        else:
            known = np.flatnonzero(feat)
            assert sorted(label[known].tolist()) == list(range(6)) and (feat[known] == label[known] + 1).all()
            assert (np.bincount(label, minlength=6) >= 5).all() and (np.bincount(label) <= 34).all()
    if sample.name == "PATTERN":
        assert shown / shown.sum() == pytest.approx(np.full(3, 1 / 3), abs=0.02)


def test_each_of_100_fixed_patterns_serves_every_part(store_dir):
    """Graphs i and i + 100 of a part hide the same pattern: 100, 20 and 20 graphs of the whole dataset have it."""
    dataset = PATTERN(DataConfig(store_dir=store_dir, limit=300))
    known = [
        (sorted(np.bincount(src, minlength=len(feat)).tolist()), sorted(feat.tolist()))
        for (src, _), feat in dataset.patterns
    ]
    n_nodes = [len(feat) for _, feat in known]
    assert len(known) == 100 == len(set(map(str, known))) and min(n_nodes) >= 5 and max(n_nodes) <= 34
    for i in (0, 1, 99, 100, 101, 300, 301, 399, 600, 601, 899):
        inside = np.flatnonzero(dataset.store.rows("node.label", i))
        src, dst = dataset.store.edges(i)
        degrees = np.bincount(src[np.isin(src, inside) & np.isin(dst, inside)], minlength=src.max() + 1)[inside]
        assert (sorted(degrees.tolist()), sorted(dataset.store.rows("node.feat", i)[inside].tolist())) == known[i % 100]
    assert {part: n / 100 for part, n in PATTERN.parameters["n_graphs"].items()} == {
        "train": 100,
        "val": 20,
        "test": 20,
    }


def test_a_graph_does_not_depend_on_how_many_are_made(sample, store_dir, tmp_path):
    small = type(sample)(DataConfig(store_dir=str(tmp_path), limit=5))
    large = sample.fold(0).parts
    for part, graphs in small.fold(0).parts.items():
        for k, i in enumerate(graphs):
            same = large[part][k]
            assert all((a == b).all() for a, b in zip(small.store.edges(i), sample.store.edges(same), strict=True))
            assert (small.store.rows("node.feat", i) == sample.store.rows("node.feat", same)).all()
    again = type(sample)(DataConfig(store_dir=str(tmp_path / "again"), limit=5))
    assert again.store.hash == small.store.hash


def test_parts_have_the_papers_sizes():
    assert PATTERN.parameters["n_graphs"] == {"train": 10000, "val": 2000, "test": 2000}
    assert CLUSTER.parameters["n_graphs"] == {"train": 10000, "val": 1000, "test": 1000}


def test_random_graph_equals_a_loop():
    probability = block_probability(np.array([0, 0, 1, 1, 1]), 0.9, 0.2)
    src, dst = random_graph(probability, np.random.RandomState(3))
    draws = np.random.RandomState(3).random_sample((5, 5))
    expected = {
        (i, j) for i in range(5) for j in range(5) if draws[min(i, j), max(i, j)] < probability[i, j] and i != j
    }
    assert set(zip(src.tolist(), dst.tolist(), strict=True)) == expected


def test_another_dataset_in_its_place_is_refused(sample, monkeypatch):
    monkeypatch.setattr(type(sample), "moments", {"nodes": (100.0, 19.0), "edges": (5891.0, 1950.0)})
    with pytest.raises(StoreError, match=r"nodes a graph, expected 100\.00"):
        type(sample)(sample.config)


@pytest.mark.parametrize(("published", "n_types"), [(PublishedPATTERN, 3), (PublishedCLUSTER, 7)])
def test_published_graphs(tmp_path, monkeypatch, published, n_types):
    """A look-alike of the published file: three lists of dictionaries of tensors."""

    def graph(n):
        edges = torch.tensor([[0, 1], [1, 0]])
        return {"x": torch.eye(n_types)[torch.arange(n) % n_types], "edge_index": edges, "y": torch.arange(n) % 2}

    parts = [[graph(3), graph(4)], [graph(5)], [graph(2)]]
    sizes = {"train": 2, "val": 1, "test": 1}
    monkeypatch.setattr(published, "parameters", published.parameters | {"n_graphs": sizes})
    name = published.parameters["file"]
    torch.save(parts, tmp_path / f"{name}.pt")
    with zipfile.ZipFile(tmp_path / f"{name}.zip", "w") as archive:
        archive.write(tmp_path / f"{name}.pt", f"{name}.pt")
    config = DataConfig(store_dir=str(tmp_path / "stores"), data_dir=str(tmp_path), offline=True)
    store = published(config).store
    assert np.diff(store.column("node_offsets")).tolist() == [3, 4, 5, 2]
    assert store.rows("node.feat", 2).tolist() == (np.arange(5) % n_types).tolist()
    assert store.rows("node.label", 2).tolist() == [0, 1, 0, 1, 0]
    monkeypatch.setattr(published, "parameters", published.parameters | {"n_graphs": sizes | {"val": 3}})
    with pytest.raises(DataError, match="1 graphs in val, expected 3"):
        published(config)
