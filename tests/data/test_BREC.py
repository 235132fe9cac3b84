"""BREC is the 400 pairs of the paper, and its copies are the same graphs in another numbering."""

import collections
import io

import networkx as nx
import numpy as np
import pytest
import torch

from data import card, check
from data.BREC import BREC, KINDS, measures, renumbered
from data.dataset import DataConfig
from data.errors import DataError, StoreError
from exact import METHODS
from exact.graphs import arrays
from exact.isomorphism import canonical_form
from tools.brec_generate import backbones, cfi, cycles

SIZES = {"basic": 60, "simple regular": 50, "strongly regular": 50, "extension": 100, "CFI": 100,
         "4-vertex condition": 20, "distance regular": 20}  # fmt: skip


def graph(n, src, dst):
    g = nx.empty_graph(n)
    g.add_edges_from(zip(src.tolist(), dst.tolist(), strict=True))
    return g


# Files of a small stand-in, in the kinds of arrays that the published ones are


def write_files(folder, change=None):
    """Files of the right lengths: all pairs are C_6 and two triangles, or C_8 and two C_4. `change`: {file: array}."""
    folder.mkdir(parents=True)
    words = []
    for n in (3, 4):
        pair = nx.cycle_graph(2 * n), nx.disjoint_union(nx.cycle_graph(n), nx.cycle_graph(n))
        words.append([nx.to_graph6_bytes(g, header=False).decode().strip() for g in pair])
    for kind in KINDS:
        array = np.array([words[i % 2] for i in range(kind.n_pairs)])
        array = array.reshape(-1) if kind.file in ("basic", "str", "4vtx", "dr") else array
        array = array.astype("S") if kind.file in ("regular", "cfi", "dr") else array
        np.save(folder / f"{kind.file}.npy", (change or {}).get(kind.file, array))


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A function that opens the stand-in."""
    monkeypatch.setattr(BREC, "sizes", (800, 800 * 7, 2 * 800 * 7, 6, 8))
    monkeypatch.setattr(BREC, "name", "BREC-standin")

    def open_it(change=None, **keys):
        folder = tmp_path / "files" / "BREC"
        if not folder.exists():
            write_files(folder, change)
        return BREC(DataConfig(store_dir=str(tmp_path / "s"), data_dir=str(folder.parent), offline=True, **keys))

    return open_it


def test_pairs_of_all_kinds_of_arrays(small):
    dataset = small()
    assert len(dataset) == len(list(dataset)) == 400
    assert collections.Counter(pair.part for pair in dataset) == SIZES
    sizes = collections.Counter(pair.category for pair in dataset)
    assert sizes == {"Basic": 60, "Regular": 140, "Extension": 100, "CFI": 100}
    for i in (0, 59, 60, 110, 399):
        pair = dataset[i]
        assert pair.index == i
        cycle, two = (graph(*edges) for edges in dataset.edges(i))
        assert nx.number_connected_components(cycle) == 1 and nx.number_connected_components(two) == 2
        for g, (n, src, dst) in zip((pair.g, pair.h), dataset.edges(i), strict=True):
            assert g.num_nodes() == n == 2 * (3 + i % 2) and len(src) == 2 * n and src.dtype == dst.dtype == np.int64
            assert [end.tolist() for end in g.edges()] == [src.tolist(), dst.tolist()]
            assert not g.ndata and not g.edata
    for i in (-1, 400):
        with pytest.raises(IndexError, match=rf"pair {i}: expected 0 to 399"):
            dataset[i]
    assert dataset.features == (None, None) and dataset.folds == []


def test_a_limit_gives_the_first_pairs_of_every_part(small):
    whole, some = small(), small(limit=30)
    assert [pair.index for pair in some] == [
        *range(30), *range(60, 90), *range(110, 140), *range(160, 190), *range(260, 290), *range(360, 400),
    ]  # fmt: skip
    assert some[60].part == "strongly regular" and some[60].index == 110
    for ours, theirs in zip(some.copies(60, 4, 7), whole.copies(110, 4, 7), strict=True):
        assert torch.equal(ours.edges()[0], theirs.edges()[0]) and torch.equal(ours.edges()[1], theirs.edges()[1])


@pytest.mark.parametrize(
    "array, message",
    [
        (np.array(["Bw"] * 119), r"shape \(119,\): expected the 120 graph6 strings of BREC, basic"),
        (np.zeros(120), "array of float64"),
        (np.array(["Bw", "B@"] + ["Bw"] * 118), "pair 0: 'B@': bits after the last of 3 pairs"),
        (np.array(["Bw"] * 119 + [""]), "pair 59: '': no character"),
        (np.array(["Bw"] * 120, dtype=object), "not an array of numbers or texts"),
    ],
)
def test_wrong_files_are_named_and_leave_no_store(small, tmp_path, array, message):
    with pytest.raises(DataError, match=rf"basic\.npy.*{message}"):
        small({"basic": array})
    assert not list(tmp_path.glob("s/*/header.json"))


def test_files_that_cannot_be_read(small, tmp_path):
    write_files(tmp_path / "files" / "BREC")
    file = tmp_path / "files" / "BREC" / "dr.npy"
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(DataError, match=r"dr\.npy: .*damaged"):
        small()
    file.unlink()
    with pytest.raises(DataError, match=r"BREC/dr\.npy: not found .*forbids a download.*GraphPKU/BREC"):
        small()


def test_other_graphs_than_those_published_are_refused(small, monkeypatch):
    small()
    monkeypatch.setattr(BREC, "sizes", (800, 27804, 229504, 7, 198))
    with pytest.raises(StoreError, match=r"\(800, 5600, 11200, 6, 8\), not \(800, 27804, 229504, 7, 198\)"):
        small()


# Copies


def blocks(batch):
    """The graphs of a batch, as lists of edges in their own numbering."""
    src, dst = (end.numpy() for end in batch.edges())
    sizes, n_edges = batch.batch_num_nodes().numpy(), batch.batch_num_edges().numpy()
    stops, starts = np.cumsum(n_edges), np.cumsum(sizes) - sizes
    for n, first, e, stop in zip(sizes, starts, n_edges, stops, strict=True):
        yield int(n), src[stop - e : stop] - first, dst[stop - e : stop] - first


def test_copies_are_the_same_graph_in_other_numberings(small):
    dataset = small()
    batches = dataset.copies(5, 12, seed=3)
    for batch, edges in zip(batches, dataset.edges(5), strict=True):
        copies = list(blocks(batch))
        assert batch.batch_size == 12 and [n for n, _, _ in copies] == [edges[0]] * 12
        assert {canonical_form(copy) for copy in copies} == {canonical_form(edges)}
        assert len({tuple(zip(src, dst, strict=True)) for _, src, dst in copies}) > 6
        for n, src, dst in copies:  # as a stored graph: both directions, sorted by dst
            assert sorted(zip(src, dst, strict=True)) == sorted(zip(dst, src, strict=True))
            assert (np.diff(dst * n + src) > 0).all()


def test_copies_depend_on_the_seed_and_the_pair_alone(small):
    dataset = small()

    def text(batches):
        return [end.tolist() for batch in batches for end in batch.edges()]

    first = text(dataset.copies(4, 8, seed=3))
    dataset.copies(6, 8, seed=3)
    assert text(dataset.copies(4, 8, seed=3)) == first
    assert text(dataset.reliability_copies(4, 8, 3)) == text(dataset.reliability_copies(4, 8, 3))
    others = (dataset.copies(4, 8, 4), dataset.copies(6, 8, 3), dataset.reliability_copies(4, 8, 3))
    assert all(text(batches) != first for batches in others)
    with pytest.raises(ValueError, match="q=0: expected one copy or more"):
        dataset.copies(4, 0, 3)


def test_reliability_copies_are_of_one_graph_chosen_by_chance(small):
    dataset, chosen = small(), []
    for i in range(40):
        a, b = dataset.reliability_copies(i, 3, seed=0)
        forms = {canonical_form(copy) for batch in (a, b) for copy in blocks(batch)}
        pair = [canonical_form(edges) for edges in dataset.edges(i)]
        assert len(forms) == 1 and a.batch_size == b.batch_size == 3
        assert [end.tolist() for end in a.edges()] != [end.tolist() for end in b.edges()]
        chosen.append(pair.index(forms.pop()))
    assert 8 < sum(chosen) < 32


def test_every_numbering_is_as_likely():
    """Of a path of 3 nodes there are 3 numberings, told by the middle node."""
    batch = renumbered(3, np.array([1, 0, 2, 1]), np.array([0, 1, 1, 2]), 3000, np.random.default_rng(0))
    middle = np.bincount([np.bincount(dst, minlength=3).argmax() for _, _, dst in blocks(batch)])
    assert np.abs(middle - 1000).max() < 110  # four deviations


def test_measures():
    src, dst = np.array([0, 1, 1, 2, 3, 4]), np.array([1, 0, 2, 1, 4, 3])
    assert measures(6, src, dst) == (6, 3, 1, 2, True)  # a path of three nodes, an edge, a node
    assert measures(3, src[:4], dst[:4]) == (3, 2, 4 / 3, 2, False)


def test_the_card_and_the_check(small, capsys):
    dataset = small()
    lines = {line.split("  ")[0]: line.split() for line in card.card(dataset).splitlines()}
    assert lines["graphs"][1:] == ["800", "800"] and lines["nodes per graph, from - to"][-2:] == ["10-198", "6-8"]
    assert lines["distance regular"][2:7] == ["40", "6", "-", "8", "(7.00)"] and lines["CFI (all)"][-1] == "100"
    assert check.main([str(dataset.store.path)]) == 0 and "0 errors, 0 warnings" in capsys.readouterr().out


def test_the_check_finds_a_graph_paired_with_itself(small, capsys):
    words = [nx.to_graph6_bytes(nx.cycle_graph(n), header=False).decode().strip() for n in (6, 6, 8, 8)]
    dataset = small({"basic": np.array(words * 30)})
    assert check.main([str(dataset.store.path)]) == 1
    assert "60 pairs are the same graph twice: 0, 1, 2 …" in capsys.readouterr().out


# The published files


@pytest.fixture(scope="module")
def brec(real_data, store_dir):
    if not (real_data / "BREC").is_dir():
        pytest.skip("no BREC files in the folder of real data")
    return BREC(DataConfig(store_dir=store_dir, data_dir=str(real_data), offline=True))


@pytest.fixture(scope="module")
def graphs(brec):
    return [tuple(graph(*edges) for edges in brec.edges(i)) for i in range(len(brec))]


@pytest.fixture(scope="module")
def forms(brec):
    return [tuple(map(canonical_form, brec.edges(i))) for i in range(len(brec))]


def test_the_dataset_never_changes_silently(brec):
    """The hash covers all graphs and their order. A deliberate change raises `version` and this value."""
    assert brec.store.hash == "6ae37aa9ab39345241b5466dc4617b9b7154aadd119aab127551a2d93e97f255"


def test_sizes_of_the_parts(brec):
    n_nodes = collections.defaultdict(set)
    for pair in brec:
        assert pair.g.num_nodes() == pair.h.num_nodes() and pair.g.num_edges() == pair.h.num_edges()
        n_nodes[pair.part].add(pair.g.num_nodes())
    assert collections.Counter(pair.part for pair in brec) == SIZES
    assert {part: (min(n), max(n)) for part, n in n_nodes.items()} == {
        "basic": (10, 10), "simple regular": (7, 10), "strongly regular": (16, 35), "extension": (10, 19), "CFI": (18, 198),
        "4-vertex condition": (63, 63), "distance regular": (30, 63),
    }  # fmt: skip


def test_the_same_pairs_as_in_the_one_file_form(real_data, brec):
    """brec_pairs.npz holds all pairs in the order of the benchmark; networkx reads them."""
    path = real_data / "BREC" / "brec_pairs.npz"
    if not path.exists():
        pytest.skip("no brec_pairs.npz")
    words = np.load(io.BytesIO(path.read_bytes()), allow_pickle=False)["g6"]
    for i in range(0, 400, 7):
        for word, (n, src, dst) in zip(words[i], brec.edges(i), strict=True):
            expected = nx.from_graph6_bytes(bytes(word))
            assert nx.utils.graphs_equal(expected, graph(n, src, dst))


def test_no_pair_is_isomorphic_and_1_WL_fails_on_all(brec, forms):
    assert sum(g != h for g, h in forms) == 400
    assert not any(METHODS["1-WL"](*brec.edges(i)) for i in range(400))


def test_two_graphs_are_in_two_pairs(forms):
    """Deviation: Table 1 says 800 core graphs."""
    places = collections.defaultdict(list)
    for i, pair in enumerate(forms):
        for form in pair:
            places[form].append(i)
    assert sorted(where for where in places.values() if len(where) > 1) == [[66, 210], [387, 388]]


def test_regular_pairs_are_what_they_are_called(brec, graphs):
    for pair, (g, h) in zip(brec, graphs, strict=True):
        if pair.category == "Regular":
            assert nx.is_regular(g) and nx.is_regular(h)
        if pair.part in ("strongly regular", "4-vertex condition"):
            parameters = [strongly_regular(x) for x in (g, h)]
            assert parameters[0] == parameters[1] and None not in parameters[0]


def strongly_regular(g):
    """(nodes, degree, lambda, mu); None in it if the number of common neighbours is not the same for all pairs alike."""
    a = nx.to_numpy_array(g, dtype=np.int64)
    common = a @ a
    values = [np.unique(common[(a == kind) & ~np.eye(len(g), dtype=bool)]) for kind in (1, 0)]
    return len(g), int(a[0].sum()), *(int(v[0]) if len(v) == 1 else None for v in values)


def test_virtual_nodes(forms):
    """Appendix K: five of the extension pairs are C_2l and C_l,l with a virtual node; l is 5 to 9."""
    pairs = [tuple(canonical_form(arrays(g)) for g in reversed(cycles(n))) for n in range(5, 10)]
    assert [forms.index(pair) for pair in pairs] == [*range(250, 255)]


def test_every_CFI_pair_comes_from_a_backbone_of_the_treewidth_that_the_paper_says(brec, forms):
    """60 pairs of treewidth 2 (3-WL tells them apart), 20 of treewidth 3 (4-WL does), 20 of more; all of 3 to 7 nodes."""
    wanted = {pair: i for i, pair in enumerate(forms) if 260 <= i < 360}
    sizes = {(n, len(src) // 2) for i in wanted.values() for n, src, _ in brec.edges(i)}
    found = {}
    for backbone in backbones(3, 7):
        n = sum(2 ** (d - 1) + 2 * d for _, d in backbone.degree)
        n_edges = sum(2 ** (d - 1) * d for _, d in backbone.degree) + 2 * backbone.number_of_edges()
        if (n, n_edges) in sizes:
            pair = tuple(canonical_form(arrays(g)) for g in cfi(backbone))
            if pair in wanted or pair[::-1] in wanted:
                found[wanted.get(pair, wanted.get(pair[::-1]))] = treewidth(backbone)
    assert sorted(found) == [*range(260, 360)]
    assert [found[i] for i in range(260, 340)] == [2] * 60 + [3] * 20
    assert all(found[i] >= 4 for i in range(340, 360))


def treewidth(g):
    """Exact, for few nodes: the best order in which nodes are taken away, their neighbours joined with each other."""
    if len(g) == 1:
        return 0
    best = len(g)
    for v in list(g):
        if g.degree(v) >= best:
            continue
        rest = g.copy()
        rest.add_edges_from((a, b) for a in g[v] for b in g[v] if a < b)
        rest.remove_node(v)
        best = min(best, max(g.degree(v), treewidth(rest)))
    return best
