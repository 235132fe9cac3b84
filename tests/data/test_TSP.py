"""TSP is the dataset of A.3: uniform cities, their 25 nearest others, tours that are tours."""

import json
import os
import shlex
import signal
import stat
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import psutil
import pytest
import torch
from scipy.stats import chisquare
from sklearn.metrics import f1_score

import data.TSP as module
from data.dataset import DataConfig
from data.errors import DataError, StoreError
from data.solvers import tsp_solvers
from data.solvers.tsp_solvers import distances, solve_concorde
from data.store import fingerprint
from data.TSP import (
    TSP,
    PublishedTSP,
    TSPConcorde,
    TSPElkai,
    TSPSmall,
    instance,
    nearest_neighbours,
    tour_graph,
    unfinished,
)
from nets import NETS
from train.tasks import EdgeClassification

ROOT = Path(__file__).resolve().parents[2]


class Sample(TSP):
    """Like TSP, few graphs and a hasty solver."""

    name = "TSP-sample"
    parameters = TSP.parameters | {
        "graphs": {"train": 14, "val": 3, "test": 3},
        "effort": {"iterations_per_city": 3},
    }


class Quick(Sample):
    """Small graphs too, for the tests of building."""

    name = "TSP-quick"
    parameters = Sample.parameters | {"max_nodes": 60}


def build(dataset, folder, **config):
    return dataset(DataConfig(store_dir=str(folder), **{"workers": 1} | config))


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    return build(Sample, tmp_path_factory.mktemp("sample"))


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    return build(Quick, tmp_path_factory.mktemp("quick"))


# --------------------------------------------------------------------------------------------------------------------
# The graphs


def test_number_of_cities_is_uniform_and_the_sum_that_of_table_1():
    p = TSP.parameters
    sizes = np.array([len(instance(p, part, i)) for part in p["graphs"] for i in range(p["graphs"][part])])
    assert len(sizes) == 12_000 and sizes.min() == 50 and sizes.max() == 500
    assert chisquare(np.bincount((sizes - 50) // 41)).pvalue > 1e-3  # 451 sizes, 11 classes of 41
    deviation = np.sqrt((451**2 - 1) / 12 * 12_000)
    assert abs(sizes.sum() - 3_309_140) < 4 * np.sqrt(2) * deviation  # two draws


def test_cities_are_uniform_in_the_unit_square():
    points = np.concatenate([instance(TSP.parameters, "train", i) for i in range(200)])
    assert points.dtype == np.float32 and points.min() >= 0 and points.max() <= 1
    square = (points * 5).astype(int).clip(0, 4)
    assert chisquare(np.bincount(square[:, 0] * 5 + square[:, 1])).pvalue > 1e-3


def test_no_two_graphs_are_the_same():
    seen = {instance(TSP.parameters, part, i).tobytes() for part in TSP.parameters["graphs"] for i in range(300)}
    assert len(seen) == 900


def test_neighbours_are_those_of_a_full_sort():
    points = instance(TSPSmall.parameters, "train", 0)
    near = nearest_neighbours(distances(points), 25)
    for i, p in enumerate(points.astype(float)):
        others = sorted((np.hypot(*(p - q)), j) for j, q in enumerate(points.astype(float)) if j != i)
        assert near[i].tolist() == [j for _, j in others[:25]]


def test_labels_are_those_of_a_slow_loop():
    points = instance(TSPSmall.parameters, "train", 1)
    tour = np.random.RandomState(0).permutation(len(points))  # a bad tour: some of its edges are not among the 25
    src, dst, lengths, label = tour_graph(points, tour, 25)
    order = tour.tolist()
    steps = {frozenset((order[k], order[(k + 1) % len(order)])) for k in range(len(order))}
    assert label.tolist() == [int(frozenset(edge) in steps) for edge in zip(src.tolist(), dst.tolist(), strict=True)]
    assert 0 < label.sum() < 2 * len(points)
    for edge in range(0, len(src), 97):
        expected = np.linalg.norm(points[src[edge]].astype(float) - points[dst[edge]].astype(float))
        assert lengths[edge, 0] == pytest.approx(expected, rel=1e-6)


def test_the_store_has_the_features_of_table_5(sample):
    store = sample.store
    assert (store.fields["node.feat"].shape, store.fields["edge.feat"].shape) == ((2,), (1,))
    assert store.fields["edge.label"].n_types == 2 and store.n_edges == 25 * store.n_nodes
    assert list(store.splits) == ["split"]
    assert {part: len(graphs) for part, graphs in store.split("split").items()} == Sample.parameters["graphs"]
    assert np.concatenate([*store.split("split").values()]).tolist() == list(range(20))
    number = 0
    for part in ("train", "val", "test"):
        for i in range(Sample.parameters["graphs"][part]):
            assert np.array_equal(store.rows("node.feat", number), instance(Sample.parameters, part, i))
            number += 1


def test_every_edge_starts_at_the_city_whose_neighbour_it_leads_to(sample):
    for i in range(3):
        src, _ = sample.store.edges(i)
        assert np.bincount(src).tolist() == [25] * len(sample.store.rows("node.feat", i))


def test_every_city_has_two_tour_edges_and_nearly_all_are_among_the_25(sample):
    store, missing, total = sample.store, 0, 0
    for i in range(store.n_graphs):
        (src, dst), label = store.edges(i), store.rows("edge.label", i) == 1
        n = len(store.rows("node.feat", i))
        edges = {frozenset(edge) for edge in zip(src[label].tolist(), dst[label].tolist(), strict=True)}
        degree = np.bincount([city for edge in edges for city in edge], minlength=n)
        assert degree.max() == 2 and len(edges) >= n - 2
        missing, total = missing + 2 * n - label.sum(), total + 2 * n
    assert missing / total < 2e-3


def test_the_heuristic_of_the_two_nearest_scores_as_in_table_2(sample):
    """Table 2: F1 0.693."""
    net = NETS["kNN"](NETS["kNN"].Config(k=2), sample.features, EdgeClassification())
    g, _, label = sample.store.batch(range(sample.store.n_graphs))
    assert 0.67 < f1_score(label.numpy(), net(g).argmax(1).numpy()) < 0.72


def test_draw_shows_cities_and_tour(quick):
    class Axes:
        lines, points = 0, 0

        def plot(self, x, y, color, **_):
            assert len(x) == len(y) == 2 and color == "red"
            self.lines += 1

        def scatter(self, x, y, **_):
            self.points = len(x)

        def set_aspect(self, _): ...
        def set_title(self, text):
            assert text.startswith("TSP-quick 3: ")

    axes = Axes()
    quick.draw(axes, 3)
    assert axes.points == len(quick.store.rows("node.feat", 3))
    assert axes.lines == quick.store.rows("edge.label", 3).sum()


# --------------------------------------------------------------------------------------------------------------------
# Other solvers


def fake_concorde(folder, monkeypatch, body):
    """NOT Concorde: a script of that name on the PATH, which only shows that we write and read its file formats."""
    program, script = folder / "concorde", folder / "concorde.py"
    script.write_text(f"import sys\n{body}\n")
    # by way of a shell: the path of an interpreter after #! may have no spaces
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {shlex.quote(str(script))} "$@"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


FAKE = """
words = open(sys.argv[-1]).read().split()
n = int(words[words.index("DIMENSION:") + 1])
cities = words[words.index("NODE_COORD_SECTION") + 1 : words.index("EOF")]
assert len(cities) == 3 * n and all(word.isdigit() for word in cities), cities
order = sorted(range(n), key=lambda i: int(cities[3 * i + 1]))
out = open(sys.argv[sys.argv.index("-o") + 1], "w")
out.write(f"{n}\\n" + " ".join(map(str, order[:5])) + " \\n" + " ".join(map(str, order[5:])) + "\\n")
"""


def test_file_formats_with_a_fake_concorde(tmp_path, monkeypatch):
    fake_concorde(tmp_path, monkeypatch, FAKE)
    points = np.random.RandomState(0).rand(12, 2)
    assert solve_concorde(points, 0).tolist() == np.argsort(points[:, 0]).tolist()
    dataset = build(TSPConcorde, tmp_path / "stores", limit=1)
    assert dataset.store.name == "TSP-concorde" and dataset.store.n_graphs == 3


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("print('no licence'); sys.exit(3)", "code 3 and no tour of 12 cities. Its last words: 'no licence'"),
        ("", "code 0 and no tour"),
        (FAKE.replace('f"{n}', 'f"{n + 1}'), r"is of \[13\] cities: expected 12"),
        (FAKE + "out.write('x')", "expected only whole numbers"),
        (FAKE.replace("out = open", "out = open(sys.argv[-1]) and open").replace("order[:5]", "[]"), None),
    ],
    ids=["fails", "writes nothing", "another number", "no number", "cities missing"],
)
def test_a_concorde_that_fails_is_an_error(tmp_path, monkeypatch, body, message):
    fake_concorde(tmp_path, monkeypatch, body)
    if message:
        with pytest.raises(DataError, match=message):
            solve_concorde(np.random.RandomState(0).rand(12, 2), 0)
        return
    with pytest.raises(DataError, match="does not visit each of them once"):
        build(TSPConcorde, tmp_path / "stores", limit=1)
    assert not list((tmp_path / "stores").glob("*/header.json"))


def test_missing_solvers_are_named_with_a_remedy(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(tsp_solvers.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(DataError, match=r"no program `concorde` on the PATH: put .*or use the dataset TSP"):
        build(TSPConcorde, tmp_path / "stores")
    with pytest.raises(DataError, match=r"pip install elkai==2.0.1 .*non-commercial"):
        build(TSPElkai, tmp_path / "stores")
    with pytest.raises(DataError, match="needs the package numba"):
        build(Quick, tmp_path / "stores")
    assert not [path for path in (tmp_path / "stores").iterdir() if path.suffix != ".lock"]


def test_another_version_of_elkai_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(tsp_solvers.importlib.util, "find_spec", lambda name: name)
    monkeypatch.setattr(tsp_solvers.importlib.metadata, "version", lambda name: "1.0")
    with pytest.raises(DataError, match=r"elkai 1.0 is installed, expected 2.0.1"):
        build(TSPElkai, tmp_path)


# --------------------------------------------------------------------------------------------------------------------
# Building


def test_the_dataset_never_changes_silently(quick):
    """The hash covers cities, tours and parts. A deliberate change raises `version`, or LK_VERSION, and this value."""
    assert quick.store.hash == "b738857884766b6c7fe229138d7c70d7759eee719daa262383822be3819d3deb"


def test_a_limit_makes_the_first_graphs_of_each_part(quick, tmp_path):
    few = build(Quick, tmp_path, limit=2)
    assert few.store.n_graphs == 6 and few.store.path.name != quick.store.path.name
    for part in ("train", "val", "test"):
        for a, b in zip(few.fold(0).parts[part], quick.store.split("split")[part][:2], strict=True):
            for key in ("node.feat", "edge.feat", "edge.label"):
                assert np.array_equal(few.store.rows(key, a), quick.store.rows(key, b))


def test_every_dataset_has_a_store_of_its_own():
    assert list(module.DATASETS) == ["TSP", "TSP-small", "TSP-concorde", "TSP-elkai", "TSP-published"]
    assert len({fingerprint(dataset.parameters) for dataset in module.DATASETS.values()}) == 5


def test_statistics_of_another_dataset_are_refused(quick):
    for other in (TSP, TSPSmall):
        with pytest.raises(StoreError, match=f"not those of {other.name}: delete the folder"):
            other.check(other.__new__(other), quick.store)


SLOW_BUILD = """
import json, sys, time
import data.TSP as module
from data import parallel
from data.dataset import DataConfig

solve, need = module.SOLVERS["lk"]  # executed in the workers as well
module.SOLVERS["lk"] = (lambda *a, **k: time.sleep(0.3) or solve(*a, **k), need)
module.CHUNK = 2
parallel.PATIENCE = -1  # workers at once

class Quick(module.TSP):
    name = "TSP-quick"
    parameters = json.loads(sys.argv[2])

if __name__ == "__main__":
    Quick(DataConfig(store_dir=sys.argv[1], workers=2))
"""


def count_solved(monkeypatch):
    """The cities of each instance that is solved from now on."""
    solved, (solve, need) = [], module.SOLVERS["lk"]

    def counted(points, *rest, **effort):
        solved.append(points.tobytes())
        return solve(points, *rest, **effort)

    monkeypatch.setitem(module.SOLVERS, "lk", (counted, need))
    return solved


def test_killed_and_started_again_it_finds_only_what_is_missing(quick, tmp_path, monkeypatch, child_env):
    program = tmp_path / "program.py"
    program.write_text(SLOW_BUILD)
    stores = tmp_path / "stores"
    words = [sys.executable, str(program), str(stores), json.dumps(Quick.parameters)]
    child = subprocess.Popen(words, cwd=ROOT, env=child_env | {"PYTHONPATH": str(ROOT)})
    done = []
    while len(done) < 3:
        assert child.poll() is None, "the build ended before it could be killed"
        done = list(stores.glob(".*.solving/*.npz"))
        time.sleep(0.02)
    workers = psutil.Process(child.pid).children(recursive=True)
    child.send_signal(signal.SIGKILL)
    child.wait()
    _, alive = psutil.wait_procs(workers, timeout=20)
    assert len(workers) >= 2 and not alive and not list(stores.glob("*/header.json"))

    done = {path: path.stat().st_mtime_ns for path in stores.glob(".*.solving/*.npz")}
    assert 3 <= len(done) < 10
    monkeypatch.setattr(module, "CHUNK", 2)
    solved = count_solved(monkeypatch)
    again = build(Quick, stores)
    assert len(solved) == len(set(solved)) == 20 - 2 * len(done)
    assert again.store.hash == quick.store.hash
    assert not unfinished(again.store.path).exists()


def interrupted(folder, monkeypatch):
    """A build that stops when all tours are found."""
    monkeypatch.setattr(module, "CHUNK", 4)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(module, "PackedWriter", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
        build(Quick, folder)
    return sorted(folder.glob(".*.solving/*.npz"))


def test_damaged_files_of_tours_are_found_again(quick, tmp_path, monkeypatch, capsys):
    files = interrupted(tmp_path, monkeypatch)
    assert len(files) == 5
    files[0].write_bytes(files[0].read_bytes()[:-200])
    content = bytearray(files[1].read_bytes())
    content[len(content) // 2] ^= 4
    files[1].write_bytes(content)
    files[2].write_bytes(b"")
    np.savez(files[3], **{str(k): np.zeros(50, np.int32) for k in range(4)})
    solved = count_solved(monkeypatch)
    again = build(Quick, tmp_path)
    assert again.store.hash == quick.store.hash and len(solved) == 16
    assert capsys.readouterr().err.count(": damaged (") == 4


def test_what_a_finished_build_left_behind_is_removed(tmp_path):
    path = build(Quick, tmp_path, limit=1).store.path
    unfinished(path).mkdir()
    (unfinished(path) / "tours-00000.npz").write_bytes(b"x")
    build(Quick, tmp_path, limit=1)
    assert not unfinished(path).exists()


def test_published_graphs(tmp_path, monkeypatch):
    """A look-alike of the published file: three lists of dictionaries of tensors."""

    def graph(n):
        src, dst = np.repeat(np.arange(n), 2), (np.repeat(np.arange(n), 2) + np.tile([1, 2], n)) % n
        label = torch.from_numpy((dst == (src + 1) % n).astype(np.int64))
        ends = torch.from_numpy(np.stack([src, dst]))
        return {"x": torch.rand(n, 2), "edge_index": ends, "edge_attr": torch.rand(2 * n), "y": label}

    sizes = {"train": 2, "val": 1, "test": 1}
    small = PublishedTSP.parameters | {"graphs": sizes, "neighbours": 2, "min_nodes": 5, "max_nodes": 9}
    monkeypatch.setattr(PublishedTSP, "parameters", small)
    torch.save([[graph(5), graph(9)], [graph(7)], [graph(6)]], tmp_path / "TSP_v2.pt")
    with zipfile.ZipFile(tmp_path / "TSP_v2.zip", "w") as archive:
        archive.write(tmp_path / "TSP_v2.pt", "TSP_v2.pt")
    config = DataConfig(store_dir=str(tmp_path / "stores"), data_dir=str(tmp_path), offline=True)
    store = PublishedTSP(config).store
    assert np.diff(store.column("node_offsets")).tolist() == [5, 9, 7, 6]
    src, dst = store.edges(1)
    assert (store.rows("edge.label", 1) == ((src + 1) % 9 == dst)).all()
    monkeypatch.setattr(PublishedTSP, "parameters", small | {"graphs": sizes | {"val": 3}})
    with pytest.raises(DataError, match="1 graphs in val, expected 3"):
        PublishedTSP(config)
