"""MNIST and CIFAR10 superpixels are the graphs of A.2, with the statistics of Tables 1 and 5; bad raw files are refused."""

import csv
import gzip
import io
import json
import os
import pickle
import struct
import tarfile
from pathlib import Path

import numpy as np
import pytest
import scipy.ndimage
import torch
from PIL import Image
from skimage.color import rgb2lab
from skimage.segmentation import slic

from data.dataset import DataConfig
from data.download import RawFile
from data.errors import DataError, StoreError
from data.superpixels import (
    CIFAR10,
    MNIST,
    CIFAR10First4000,
    PublishedCIFAR10,
    PublishedMNIST,
    nearest_neighbours,
    region_means,
    slic_settings,
    superpixel_graph,
    superpixels,
)

PROJECT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("GNN_DATA") or PROJECT.parent / "shared" / "data")
needs_mnist = pytest.mark.skipif(not (DATA / "MNIST").is_dir(), reason="no MNIST files (GNN_DATA)")
needs_cifar = pytest.mark.skipif(not (DATA / "CIFAR10").is_dir(), reason="no CIFAR10 files (GNN_DATA)")
SLIC_MNIST = {"max_nodes": 75, "n_segments": 95, "compactness": 0.25}
SLIC_CIFAR10 = {"max_nodes": 150, "n_segments": 200, "compactness": 10.0}


def table_row(table, dataset):
    with open(PROJECT / "paper_tables" / "benchmarking_gnns" / table, newline="") as file:
        return next(line for line in csv.DictReader(file) if line["dataset"] == dataset)


def blobs(shape, seed=0):
    """A smooth random image of bytes."""
    random = np.random.RandomState(seed).rand(*shape)
    smooth = scipy.ndimage.gaussian_filter(random, (2, 2, 0)[: len(shape)])
    return (255 * (smooth - smooth.min()) / np.ptp(smooth)).astype(np.uint8)


# --------------------------------------------------------------------------------------------------------------------
# Superpixels


@pytest.mark.parametrize(("shape", "options"), [((28, 28), SLIC_MNIST), ((32, 32, 3), SLIC_CIFAR10)], ids=str)
def test_superpixels_cover_the_image_are_connected_and_not_too_many(shape, options):
    for seed in range(3):
        region = superpixels(blobs(shape, seed) / 255, **options)
        n_regions = region.max() + 1
        assert 20 <= n_regions <= options["max_nodes"] and np.unique(region).tolist() == list(range(n_regions))
        assert all(scipy.ndimage.label(region == r)[1] == 1 for r in range(n_regions))


@pytest.mark.parametrize("value", [0, 255])
def test_an_image_of_one_colour_becomes_a_graph_too(value):
    feat, src, dst, weight = superpixel_graph(np.full((28, 28), value, np.uint8), k=8, **SLIC_MNIST)
    assert (feat[:, 0] == value / 255).all() and len(src) == len(dst) == len(weight) == 8 * len(feat)


def n_cells(shape, n_segments):
    return len(np.unique(slic(np.zeros(shape), n_segments, enforce_connectivity=False, channel_axis=None)))


def test_settings_of_slic_that_are_left_out_would_change_nothing():
    """Asking for 95, 94, 93, ... one by one: each has the grid and the sizes of regions of one of the few that are tried."""
    tried = {setting.n_segments: setting for setting in slic_settings(28, 28, 95)}
    assert list(tried)[:4] == [95, 94, 90, 87] and list(tried)[-1] < 5
    for n in range(95, 60, -1):
        chosen = min(m for m in tried if m >= n)
        sizes = tried[chosen].smallest, tried[chosen].largest
        assert n_cells((28, 28), chosen) == n_cells((28, 28), n) and sizes == (
            int(0.5 * 28 * 28 / n),
            int(3 * 28 * 28 / n),
        )


@pytest.mark.parametrize("compactness", [10, 30])
def test_superpixels_are_those_of_slic_as_a_whole(compactness):
    """Its last step, done here, gives what slic gives when the sizes of regions are told to it as shares of a cell."""
    image = blobs((90, 120, 3)) / 255
    region = superpixels(image, 60, 80, compactness)
    values = rgb2lab(image)
    for n, _, *sizes in slic_settings(90, 120, 80):
        cells = n_cells((90, 120), n)
        # slic cuts to integers: 0.5 keeps rounding errors away
        smallest, largest = ((size + 0.5) * cells / (90 * 120) for size in sizes)
        factors = {"min_size_factor": smallest, "max_size_factor": largest, "convert2lab": False, "start_label": 0}
        whole = slic(values, n, compactness / np.ptp(values), **factors)
        if whole.max() < 60:
            break
    assert np.array_equal(region, whole)


def test_colours_are_not_stretched_image_by_image():
    """Half the contrast at half the compactness is the same problem."""
    image = blobs((28, 28)) / 255
    same = superpixels(image / 2, max_nodes=75, n_segments=95, compactness=0.125)
    other = superpixels(image / 2, max_nodes=75, n_segments=95, compactness=0.25)
    assert np.array_equal(superpixels(image, **SLIC_MNIST), same)
    assert not np.array_equal(superpixels(image, **SLIC_MNIST), other)


def test_more_superpixels_than_possible_are_refused():
    with pytest.raises(ValueError, match="max_nodes=0: no number of segments"):
        superpixels(np.zeros((28, 28)), max_nodes=0, n_segments=20, compactness=1.0)


@pytest.mark.parametrize("shape", [(28, 28), (20, 32, 3)], ids=str)
def test_region_means_are_those_of_a_slow_loop(shape):
    image = blobs(shape) / 255
    region = np.random.RandomState(1).permutation(np.arange(shape[0] * shape[1]) % 7).reshape(shape[:2])
    feat = region_means(image, region)
    for r in range(7):
        mask = region == r
        centre = np.array(scipy.ndimage.center_of_mass(mask)) / shape[:2]  # row, column
        assert feat[r] == pytest.approx(np.append(image[mask].mean(axis=0), centre))


# --------------------------------------------------------------------------------------------------------------------
# Neighbours, eq. (9)


def slow_weights(x, k):
    """{(i, j): W_ij} of eq. (9), made symmetric, pair by pair."""
    nodes = range(len(x))
    distance = {(i, j): np.linalg.norm(x[i] - x[j]) for i in nodes for j in nodes if i != j}
    sigma = {i: np.mean(sorted(d for (a, _), d in distance.items() if a == i)[:k]) for i in nodes}
    V = {(i, j): np.exp(-(d**2) / sigma[i] ** 2) for (i, j), d in distance.items()}
    return {(i, j): (V[i, j] + V[j, i]) / 2 for i, j in V}


@pytest.mark.parametrize("n", [2, 5, 9, 10, 40])
def test_edges_and_weights_are_those_of_equation_9(n):
    """Each node sends to the 8 nodes with the largest W."""
    x, k = np.random.RandomState(n).rand(n, 2), min(8, n - 1)
    src, dst, weight = nearest_neighbours(x, 8)
    W = slow_weights(x, k)
    assert len(src) == n * k
    for i in range(n):
        chosen = sorted((j for j in range(n) if j != i), key=lambda j: -W[i, j])[:k]
        assert dst[src == i].tolist() == chosen
        assert weight[src == i] == pytest.approx([W[i, j] for j in chosen], rel=1e-5)


def test_symmetric_weights_choose_other_nodes_than_distances():
    """Node 0 is nearer to 1 than to 2. But few nodes are near 2, so that it counts 0 as near, and 1 has many nearer ones."""
    crowd = [(1.0 + 0.01 * step, 0.0) for step in range(-4, 5)]
    x = np.array([(0.0, 0.0), (1.0, 0.02), (-1.05, 0.0), *crowd])
    src, dst, _ = nearest_neighbours(x, 8)
    assert 2 in dst[src == 0] and np.linalg.norm(x[0] - x[1:], axis=1).argmax() + 1 == 2


def test_of_nodes_equally_far_the_lower_number_is_nearer():
    grid = np.stack(np.meshgrid(np.arange(7), np.arange(7)), axis=-1).reshape(-1, 2)
    found = []
    for scale in (1.0, 0.1, 1 / 7, 1 / 28):  # not exact in binary: distances equal on paper differ in their last bits
        src, dst, weight = nearest_neighbours(grid * scale, 8)
        found.append(dst)
        assert weight[src == 24] == pytest.approx(np.exp(-np.array([1] * 4 + [2] * 4) / ((4 + 4 * 2**0.5) / 8) ** 2))
    assert all(np.array_equal(found[0], other) for other in found)
    assert found[0].reshape(49, 8)[24].tolist() == [17, 23, 25, 31, 16, 18, 30, 32]
    assert found[0].reshape(49, 8)[0].tolist() == [1, 7, 8, 2, 14, 9, 15, 16]


def test_one_node_has_no_edges_and_equal_centres_have_weight_1():
    assert [len(part) for part in nearest_neighbours(np.zeros((1, 2)), 8)] == [0, 0, 0]
    src, dst, weight = nearest_neighbours(np.full((2, 2), 0.3), 8)
    assert (src.tolist(), dst.tolist(), weight.tolist()) == ([0, 1], [1, 0], [1, 1])


def test_a_graph_has_the_features_that_the_dataset_declares():
    for dataset, shape, options in ((MNIST, (28, 28), SLIC_MNIST), (CIFAR10, (32, 32, 3), SLIC_CIFAR10)):
        feat, src, dst, weight = superpixel_graph(blobs(shape), k=8, **options)
        assert feat.dtype == weight.dtype == np.float32 and weight.shape == (len(src), 1)
        assert feat.shape[1:] == dataset.declared.node.shape and weight.shape[1:] == dataset.declared.edge.shape
        assert feat.min() >= 0 and feat.max() <= 1 and weight.min() > 0 and weight.max() <= 1
        assert (np.bincount(src) == 8).all() and (src != dst).all()
        assert dataset.target == dataset.declared.target


# --------------------------------------------------------------------------------------------------------------------
# Real images


@pytest.fixture(scope="module")
def mnist(store_dir):
    return MNIST(DataConfig(store_dir=store_dir, data_dir=str(DATA), limit=80))


@needs_mnist
def test_statistics_of_mnist(mnist):
    counts, table1 = mnist.store.header["counts"], table_row("table1_datasets.csv", "MNIST")
    low, high = map(int, table1["n_nodes_range"].split("-"))
    assert low <= counts["min_nodes"] and counts["max_nodes"] <= high
    mean = float(table_row("table5_dataset_statistics.csv", "MNIST")["avg_nodes"])
    assert mean == pytest.approx(int(table1["total_nodes"].replace(",", "")) / 70000, abs=0.005) == mnist.mean_nodes
    # numbers of nodes spread by 6.9: the mean of 240 graphs strays by 0.45, and 4 times that nearly never
    assert counts["graphs"] == 240 and counts["nodes"] / 240 == pytest.approx(mean, abs=1.8)
    assert counts["edges"] == 8 * counts["nodes"]


@needs_mnist
def test_the_images_of_mnist(mnist):
    images, labels = mnist.read()
    assert images.shape == (70000, 28, 28) and labels.shape == (70000,)
    train, test = np.bincount(labels[:60000]).tolist(), np.bincount(labels[60000:]).tolist()
    assert train == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert test == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]


@needs_mnist
def test_graphs_and_labels_are_those_of_the_images_of_their_part(mnist):
    (images, labels), numbers = mnist.read(), mnist.split()
    parts = mnist.fold(0).parts
    assert mnist.folds == [0] and [len(parts[part]) for part in ("train", "val", "test")] == [80, 80, 80]
    assert parts["test"].tolist() == list(range(160, 240))  # training images first, then those of the test
    for part, graphs in parts.items():
        assert mnist.store.column("graph.label")[graphs].tolist() == labels[numbers[part]].tolist()
        for graph, image in zip(graphs[::40], numbers[part][::40], strict=True):
            feat, src, dst, weight = superpixel_graph(images[image], k=8, **SLIC_MNIST)
            order = np.argsort(dst, kind="stable")  # a store keeps the edges of a node that receives them together
            assert np.array_equal(mnist.store.rows("node.feat", graph), feat)
            assert np.array_equal(mnist.store.rows("edge.feat", graph), weight[order])
            assert np.array_equal(mnist.store.edges(graph), (src[order], dst[order]))


def assert_built_by_equation_9(store, graph):
    """Each node sends to 8 others, the nearest by W of the stored places; nodes equally near may take each other's place."""
    place, (src, dst) = store.rows("node.feat", graph)[:, -2:].astype(float), store.edges(graph)
    W, weight = slow_weights(place, 8), store.rows("edge.feat", graph)[:, 0]
    assert weight == pytest.approx([W[i, j] for i, j in zip(src.tolist(), dst.tolist(), strict=True)], abs=1e-5)
    for i in range(len(place)):
        largest = sorted((W[i, j] for j in range(len(place)) if j != i), reverse=True)[:8]
        assert sorted(weight[src == i], reverse=True) == pytest.approx(largest, abs=1e-5)


@needs_mnist
def test_edges_of_real_digits(mnist):
    for graph in (0, 120, 239):
        assert_built_by_equation_9(mnist.store, graph)


@needs_mnist
def test_a_limit_makes_the_same_first_graphs(mnist, tmp_path):
    few = MNIST(DataConfig(store_dir=str(tmp_path), data_dir=str(DATA), limit=3))
    for part, graphs in few.fold(0).parts.items():
        for a, b in zip(graphs, mnist.fold(0).parts[part], strict=False):
            assert np.array_equal(few.store.rows("node.feat", a), mnist.store.rows("node.feat", b))
    assert few.store.n_graphs == 9


@needs_mnist
def test_the_graphs_never_change_silently(mnist):
    """Numbers of nodes, not a hash: the last bits of the features are the machine's. A deliberate change raises `version`."""
    nodes = [len(mnist.store.rows("node.in_degree", i)) for i in (0, 1, 2, 3, 160, 161, 162, 163)]
    assert nodes == [71, 71, 75, 74, 74, 71, 46, 66]
    feat = mnist.store.rows("node.feat", 0)
    assert feat.mean(axis=0) == pytest.approx([0.1161, 0.4652, 0.4605], abs=1e-4)


@needs_cifar
def test_the_first_4000_images_of_cifar10(store_dir):
    dataset = CIFAR10First4000(DataConfig(store_dir=store_dir, data_dir=str(DATA), limit=40))
    images, labels = dataset.read()
    assert images.shape == (4000, 32, 32, 3) and labels[:10].tolist() == [6, 9, 9, 4, 1, 1, 2, 7, 8, 3]
    counts, table1 = dataset.store.header["counts"], table_row("table1_datasets.csv", "CIFAR10")
    low, high = map(int, table1["n_nodes_range"].split("-"))
    assert low <= counts["min_nodes"] and counts["max_nodes"] <= high
    mean = float(table_row("table5_dataset_statistics.csv", "CIFAR10")["avg_nodes"])
    # numbers of nodes spread by 4.4: the mean of 120 graphs strays by 0.4
    assert mean == CIFAR10.mean_nodes and counts["nodes"] / counts["graphs"] == pytest.approx(mean, abs=1.6)
    assert counts["edges"] == 8 * counts["nodes"]
    assert_built_by_equation_9(dataset.store, 0)
    whole = CIFAR10First4000.__new__(CIFAR10First4000).split()
    assert {part: len(numbers) for part, numbers in whole.items()} == {"train": 3000, "val": 500, "test": 500}


@pytest.mark.parametrize(("dataset", "sizes"), [(MNIST, (55000, 5000, 10000)), (CIFAR10, (45000, 5000, 10000))])
def test_splits_have_the_paper_s_sizes_and_the_first_images_validate(dataset, sizes):
    split = dataset.__new__(dataset).split()
    assert tuple(len(split[part]) for part in ("train", "val", "test")) == sizes
    n_train = sizes[0] + sizes[1]
    assert np.array_equal(split["val"], np.arange(5000)) and np.array_equal(split["train"], np.arange(5000, n_train))
    assert np.array_equal(split["test"], np.arange(n_train, n_train + 10000))


@needs_mnist
def test_a_store_with_other_statistics_is_refused(mnist):
    class Other(MNIST):
        mean_nodes = 75.0

    config = mnist.config.model_copy(update={"limit": None})
    other = Other.__new__(Other)
    other.config = config
    with pytest.raises(
        StoreError, match=r"graphs, most nodes, edges per node are \(240, .*, not 70000, at most 75 and 8"
    ):
        other.check(mnist.store)
    other.parameters = MNIST.parameters | {"n_train": 160, "n_val": 80, "n_test": 80}
    with pytest.raises(StoreError, match=r"nodes per graph, the paper has 75.0"):
        other.check(mnist.store)
    other.parameters = MNIST.parameters | {"limit": 80, "max_nodes": 60}
    with pytest.raises(StoreError, match="at most 60"):
        other.check(mnist.store)


@needs_mnist
def test_a_graph_can_be_drawn(mnist):
    figure = pytest.importorskip("matplotlib.figure").Figure()
    axes = figure.subplots()
    mnist.draw(axes, 0)
    n_nodes = len(mnist.store.rows("node.feat", 0))
    assert len(axes.lines) == 8 * n_nodes and len(axes.collections[0].get_offsets()) == n_nodes
    row, column = mnist.store.rows("node.feat", 0)[3, -2:]
    assert axes.collections[0].get_offsets()[3].tolist() == pytest.approx([column, row])
    assert axes.get_ylim() == (1, 0) and len(axes.images) == 1  # row 0 is at the top, as in the image
    figure.savefig(io.BytesIO())


# --------------------------------------------------------------------------------------------------------------------
# Look-alike raw files, and damaged ones


class SmallMNIST(MNIST):
    parameters = MNIST.parameters | {"n_train": 12, "n_val": 3, "n_test": 4}
    contents = (None,) * 4
    mean_nodes = None


def idx(array):
    return bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


@pytest.fixture
def idx_folder(tmp_path):
    """A data folder with four small idx files."""
    folder = tmp_path / "data" / "MNIST"
    folder.mkdir(parents=True)
    for name, n in (("train", 12), ("t10k", 4)):
        images = np.stack([blobs((28, 28), i) for i in range(n)])
        (folder / f"{name}-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(images)))
        labels = (np.arange(n) % 10).astype(np.uint8)
        (folder / f"{name}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(labels)))
    return folder


def config_of(tmp_path, **options):
    folders = {
        "store_dir": str(tmp_path / "stores"),
        "data_dir": str(tmp_path / "data"),
        "raw_dir": str(tmp_path / "raw"),
    }
    return DataConfig(**folders, offline=True, **options)


def no_store(tmp_path):
    folder = tmp_path / "stores"
    return not folder.exists() or not any(path.is_dir() for path in folder.iterdir())


def test_idx_files_may_be_plain_or_in_torchvisions_folder(tmp_path, idx_folder):
    first = SmallMNIST(config_of(tmp_path)).store
    for path in list(idx_folder.iterdir()):
        plain = idx_folder / "raw" / path.stem if path.name.startswith("train") else idx_folder / path.stem
        plain.parent.mkdir(exist_ok=True)
        plain.write_bytes(gzip.decompress(path.read_bytes()))
        path.unlink()
    again = SmallMNIST(config_of(tmp_path).model_copy(update={"store_dir": str(tmp_path / "again")})).store
    assert first.hash == again.hash and first.n_graphs == 16 and first.column("graph.label")[:12].max() == 9
    batch, _, y = first.batch([0, 15])
    assert batch.ndata["feat"].shape[1] == 3 and batch.edata["feat"].shape[1] == 1 and y.tolist() == [0, 3]


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        (
            "train-images-idx3",
            lambda b: gzip.compress(b"\0\0\x08\x01" + b[4:]),
            "begins with 00000801, expected 00000803",
        ),
        ("train-images-idx3", lambda b: gzip.compress(b"\0\0\x0d\x03" + b[4:]), "begins with 00000d03"),
        ("train-images-idx3", lambda b: gzip.compress(b)[:-30], "damaged or cut short"),
        ("train-images-idx3", lambda b: gzip.compress(b)[:200] + b"x" + gzip.compress(b)[201:], "damaged or cut short"),
        ("train-images-idx3", lambda b: gzip.compress(b[:-1]), "9407 values, expected 9408"),
        ("train-images-idx3", lambda b: gzip.compress(b + b"\0"), "more values, expected 9408"),
        ("train-images-idx3", lambda b: b[:9], "shape cut off, expected"),
        ("train-images-idx3", lambda b: b"no images", "begins with 6e6f2069"),
        ("train-images-idx3", lambda b: b"", "file is empty"),
        (
            "train-images-idx3",
            lambda b: idx(np.zeros((12, 28, 27), np.uint8)),
            r"\(12, 28, 27\), expected \(12, 28, 28\)",
        ),
        ("train-labels-idx1", lambda b: idx(np.zeros(11, np.uint8)), r"shape \(11,\), expected \(12,\)"),
        ("train-labels-idx1", lambda b: idx(np.full(12, 10, np.uint8)), "labels .10.: expected integers 0 to 9"),
        ("t10k-images-idx3", lambda b: idx(np.zeros((5, 28, 28), np.uint8)), r"expected \(4, 28, 28\)"),
    ],
)
def test_a_wrong_idx_file_is_refused(tmp_path, idx_folder, file, change, message):
    path = idx_folder / f"{file}-ubyte.gz"
    path.write_bytes(change(gzip.decompress(path.read_bytes())))
    with pytest.raises(DataError, match=f"{file}-ubyte.gz: .*{message}"):
        SmallMNIST(config_of(tmp_path))
    assert no_store(tmp_path)


def test_other_images_in_the_same_form_are_refused(tmp_path, idx_folder):
    class Strict(SmallMNIST):
        contents = MNIST.contents

    with pytest.raises(DataError, match=r"train-images-idx3-ubyte.gz: SHA-256 of the content is .*not this dataset"):
        Strict(config_of(tmp_path))
    assert no_store(tmp_path)


@pytest.mark.parametrize("dataset", [MNIST, CIFAR10, CIFAR10First4000, PublishedMNIST, PublishedCIFAR10])
def test_a_missing_file_is_named(tmp_path, dataset):
    (tmp_path / "data").mkdir()
    with pytest.raises(DataError, match=f"{dataset.raw_files[0].path}: not found"):
        dataset(config_of(tmp_path))
    assert no_store(tmp_path)


class SmallCIFAR10(CIFAR10):
    parameters = CIFAR10.parameters | {"n_train": 10, "n_val": 2, "n_test": 3}
    raw_files = (RawFile("CIFAR10/cifar-10-python.tar.gz"),)
    contents = dict.fromkeys(CIFAR10.contents)
    binary = dict.fromkeys(CIFAR10.binary)
    mean_nodes = None


class Python2Pickler(pickle._Pickler):
    """Writes strings and arrays as Python 2 did when the files of CIFAR10 were made."""

    dispatch = pickle._Pickler.dispatch.copy()

    def save_text(self, text):
        text = text.encode() if isinstance(text, str) else text
        self.write(pickle.BINSTRING + struct.pack("<i", len(text)) + text)

    dispatch[bytes] = dispatch[str] = save_text

    def reducer_override(self, value):
        if isinstance(value, np.dtype):  # 0 and 1 where it is False and True today
            function, (name, _, _), state = value.__reduce__()
            return function, (name, 0, 1), state
        return NotImplemented

    def save_global(self, value, name=None):
        if value is np.empty(0).__reduce__()[0]:
            self.write(pickle.GLOBAL + b"numpy.core.multiarray\n_reconstruct\n")
        else:
            super().save_global(value, name)

    dispatch[type] = save_global
    dispatch[type(np.empty(0).__reduce__()[0])] = save_global


def pickled(content):
    file = io.BytesIO()
    Python2Pickler(file, protocol=2).dump(content)
    return file.getvalue()


def cifar_batch(name, seed):
    n = 3 if name == "test_batch" else 2
    images = np.stack([blobs((32, 32, 3), seed + i) for i in range(n)])
    data = np.ascontiguousarray(images.transpose(0, 3, 1, 2)).reshape(n, 3072)
    return images, {
        "batch_label": name,
        "labels": [(seed + i) % 10 for i in range(n)],
        "data": data,
        "filenames": ["a"] * n,
    }


def write_archive(path, files):
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(f"cifar-10-batches-py/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


@pytest.fixture
def cifar_files():
    return {name: pickled(cifar_batch(name, 10 * i)[1]) for i, name in enumerate(CIFAR10.contents)}


@pytest.fixture
def archive(tmp_path, cifar_files):
    path = tmp_path / "data" / "CIFAR10" / "cifar-10-python.tar.gz"
    write_archive(path, cifar_files | {"readme.html": b"hello"})
    return path


def test_cifar10_is_read_from_the_archive_or_the_folder(tmp_path, archive, cifar_files):
    dataset = SmallCIFAR10(config_of(tmp_path))
    images, labels = dataset.read()
    expected = [cifar_batch(name, 10 * i) for i, name in enumerate(CIFAR10.contents)]
    assert np.array_equal(images, np.concatenate([e[0] for e in expected]))
    assert labels.tolist() == [label for e in expected for label in e[1]["labels"]]
    assert dataset.store.n_graphs == 13 and dataset.features.node.shape == (5,)
    archive.unlink()
    for folder in (tmp_path / "data" / "CIFAR10", tmp_path / "data"):
        (folder / "cifar-10-batches-py").mkdir()
        for name, content in cifar_files.items():
            (folder / "cifar-10-batches-py" / name).write_bytes(content)
        assert np.array_equal(dataset.read()[0], images)
        (folder / "cifar-10-batches-py" / "data_batch_3").unlink()
        with pytest.raises(DataError, match="data_batch_3: not found: unpack all"):
            dataset.read()
        for name in set(cifar_files) - {"data_batch_3"}:
            (folder / "cifar-10-batches-py" / name).unlink()


def write_sheets(folder, **labels):
    """The batches of the look-alike as PNG sheets, an image per row; labels of all in two JSON files."""
    folder.mkdir(parents=True, exist_ok=True)
    found = {"train": [], "test": []}
    for i, name in enumerate(CIFAR10.binary):
        images, batch = cifar_batch(name, 10 * i)
        Image.fromarray(images.reshape(-1, 1024, 3)).save(folder / f"{name}.png")
        found["test" if name == "test_batch" else "train"] += batch["labels"]
    for part, values in (found | labels).items():
        (folder / f"{part}_lables.json").write_text(values if isinstance(values, str) else json.dumps(values))


def test_cifar10_in_sheets_is_that_of_the_archive(tmp_path, archive):
    images, labels = SmallCIFAR10(config_of(tmp_path)).read()
    dataset = SmallCIFAR10(config_of(tmp_path))
    archive.unlink()
    write_sheets(archive.parent)
    assert np.array_equal(dataset.read()[0], images) and np.array_equal(dataset.read()[1], labels)


WRONG_LABELS = {
    "few": ([1] * 9, "train_lables.json: 9 labels: expected a list of 10 labels"),
    "other form": ({"a": 1}, "train_lables.json: dict: expected a list"),
    "text": ("no JSON", "train_lables.json: cannot be read as JSON"),
    "label 10": ([10] * 10, "labels .* expected integers 0 to 9"),
}


@pytest.mark.parametrize(("train", "message"), WRONG_LABELS.values(), ids=WRONG_LABELS.keys())
def test_wrong_labels_of_sheets_are_refused(tmp_path, train, message):
    write_sheets(tmp_path / "data" / "CIFAR10", train=train)
    with pytest.raises(DataError, match=message):
        SmallCIFAR10(config_of(tmp_path))
    assert no_store(tmp_path)


def test_other_images_in_sheets_are_refused(tmp_path):
    folder = tmp_path / "data" / "CIFAR10"
    write_sheets(folder)

    class Strict(SmallCIFAR10):
        binary = CIFAR10.binary

    with pytest.raises(DataError, match=r"data_batch_1.png with labels: MD5 as binary batch is .*, expected 5dd7e06a"):
        Strict(config_of(tmp_path))
    Image.fromarray(np.zeros((1, 1024, 3), np.uint8)).save(folder / "data_batch_4.png")
    with pytest.raises(DataError, match=r"data_batch_4.png: 1 images, expected 2"):
        SmallCIFAR10(config_of(tmp_path))
    (folder / "test_batch.png").unlink()
    (folder / "data_batch_4.png").unlink()
    with pytest.raises(DataError, match=r"data_batch_4.png: cannot be read as PNG"):
        SmallCIFAR10(config_of(tmp_path))


@pytest.mark.skipif(not (DATA / "CIFAR10/data_batch_1.png").is_file(), reason="no sheets of CIFAR10 (GNN_DATA)")
def test_the_whole_cifar10_in_sheets():
    """Every MD5 agrees, and the first images are those of the sheets that others have published."""
    dataset = CIFAR10.__new__(CIFAR10)
    dataset.config = DataConfig(data_dir=str(DATA), offline=True)
    images, labels = dataset.read()
    assert images.shape == (60000, 32, 32, 3) and labels[:10].tolist() == [6, 9, 9, 4, 1, 1, 2, 7, 8, 3]
    assert (images[:50000].mean(axis=(0, 1, 2)) / 255).round(4).tolist() == [0.4914, 0.4822, 0.4465]
    assert np.bincount(labels[:50000]).tolist() == [5000] * 10 and np.bincount(labels[50000:]).tolist() == [1000] * 10


class Harmful:
    def __reduce__(self):
        return print, ("code of the file was run",)


def wrong_batches():
    good = cifar_batch("data_batch_2", 0)[1]
    objects = np.array([None, 1], dtype=object)
    return {
        "code": (pickle.dumps(Harmful()), "it holds builtins.print"),
        "inner code": (pickle.dumps(good | {"labels": Harmful()}), "it holds builtins.print"),
        "objects": (pickle.dumps(good | {"data": objects}), "array of type O8, expected one of numbers"),
        "cut": (pickled(good)[:-50], "no batch of CIFAR10"),
        "text": (b"no pickle", "no batch of CIFAR10"),
        "list": (pickled([1, 2]), "no batch of CIFAR10"),
        "no labels": (pickled({"data": good["data"]}), "KeyError: 'labels'"),
        "few labels": (pickled(good | {"labels": [1]}), r"data \(2, 3072\), 1 labels: expected 2 images"),
        "few images": (pickled(good | {"data": good["data"][:1]}), r"data \(1, 3072\), 2 labels: expected 2 images"),
        "no array": (pickled(good | {"data": [1]}), "data list"),
        "floats": (pickled(good | {"data": good["data"].astype(float)}), "expected 2 images of 3072 bytes"),
        "label 10": (pickled(good | {"labels": [0, 10]}), "labels .* expected integers 0 to 9"),
        "text labels": (pickled(good | {"labels": ["a", "b"]}), "labels .* expected integers 0 to 9"),
    }


@pytest.mark.parametrize(("content", "message"), wrong_batches().values(), ids=wrong_batches().keys())
def test_a_wrong_batch_of_cifar10_is_refused_and_runs_nothing(tmp_path, archive, cifar_files, capsys, content, message):
    write_archive(archive, cifar_files | {"data_batch_2": content})
    with pytest.raises(DataError, match=f"cifar-10-python.tar.gz, data_batch_2: .*{message}"):
        SmallCIFAR10(config_of(tmp_path))
    assert no_store(tmp_path) and capsys.readouterr().out == ""


def test_a_wrong_archive_of_cifar10_is_refused(tmp_path, archive, cifar_files):
    class Strict(SmallCIFAR10):
        contents = CIFAR10.contents

    with pytest.raises(DataError, match=r"data_batch_1: MD5 is .*, expected c99cafc1"):
        Strict(config_of(tmp_path))
    with pytest.raises(DataError, match=r"SHA-256 is .*, expected 6d958be0"):
        CIFAR10(config_of(tmp_path))
    archive.write_bytes(archive.read_bytes()[:-100])
    with pytest.raises(DataError, match="damaged or cut short"):
        SmallCIFAR10(config_of(tmp_path))
    archive.write_bytes(b"no archive")
    with pytest.raises(DataError, match="damaged or cut short"):
        SmallCIFAR10(config_of(tmp_path))
    write_archive(archive, {name: content for name, content in cifar_files.items() if name != "test_batch"})
    with pytest.raises(DataError, match="cifar-10-batches-py/test_batch is not in the archive"):
        SmallCIFAR10(config_of(tmp_path))
    assert no_store(tmp_path)


class SmallCIFAR10First4000(CIFAR10First4000):
    parameters = CIFAR10First4000.parameters | {"n_train": 6, "n_val": 2, "n_test": 2}


def test_wrong_sheets_and_labels_are_refused(tmp_path):
    folder = tmp_path / "data" / "CIFAR10"
    folder.mkdir(parents=True)
    images = np.stack([blobs((32, 32, 3), i) for i in range(8)])
    for i in range(4):
        sheet = images[2 * i : 2 * i + 2].reshape(2, 1024, 3)
        Image.fromarray(sheet).save(folder / f"cifar10_train_batch_{i}.png")
    labels = folder / "cifar10_train_batch_labels.txt"
    labels.write_text("\n".join(map(str, range(8))))
    dataset = SmallCIFAR10First4000(config_of(tmp_path))
    assert np.array_equal(dataset.read()[0], images) and dataset.read()[1].tolist() == list(range(8))
    for text, message in (
        ("1 2 3", "3 labels for 8 images, expected 8"),
        ("a b", "invalid literal .* expected one integer"),
        ("0 1 2 3 4 5 6 10", "expected integers 0 to 9"),
        (" ", "0 labels"),
    ):
        labels.write_text(text)
        with pytest.raises(DataError, match=f"labels.txt: .*{message}"):
            dataset.read()
    png = folder / "cifar10_train_batch_2.png"
    for content, message in (
        (png.read_bytes()[:-600], "cannot be read as PNG"),
        (b"no image", "cannot be read as PNG"),
    ):
        png.write_bytes(content)
        with pytest.raises(DataError, match=f"batch_2.png: {message}"):
            dataset.read()
    Image.fromarray(images[0]).save(png)
    with pytest.raises(DataError, match=r"batch_2.png: 32 pixels in a row, expected 1024"):
        dataset.read()


# --------------------------------------------------------------------------------------------------------------------
# The published graphs


class SmallPublished(PublishedCIFAR10):
    parameters = PublishedCIFAR10.parameters | {"n_graphs": [3, 2, 2]}
    mean_nodes = None


def published_graph(seed):
    feat, src, dst, weight = map(torch.from_numpy, superpixel_graph(blobs((32, 32, 3), seed), k=8, **SLIC_CIFAR10))
    order = torch.argsort(dst, stable=True)  # that of a store
    edge_index, weight = torch.stack([src, dst])[:, order], weight[order]
    return {
        "x": feat[:, :3],
        "pos": feat[:, 3:],
        "edge_index": edge_index,
        "edge_attr": weight,
        "y": torch.tensor([seed]),
    }


def test_published_graphs_are_stored_as_they_are(tmp_path):
    content = [[published_graph(i) for i in part] for part in ((0, 1, 2), (3, 4), (5, 6))]
    path = tmp_path / "data" / "benchmarking-gnns" / "CIFAR10_v2.zip"
    path.parent.mkdir(parents=True)
    torch.save(content, path)  # the reader takes a torch file in place of the zip, too
    dataset = SmallPublished(config_of(tmp_path))
    parts = dataset.fold(0).parts
    assert {part: graphs.tolist() for part, graphs in parts.items()} == {
        "train": [0, 1, 2],
        "val": [3, 4],
        "test": [5, 6],
    }
    for i, graph in enumerate(graph for part in content for graph in part):
        assert np.array_equal(dataset.store.rows("node.feat", i), torch.cat([graph["x"], graph["pos"]], dim=1))
        assert np.array_equal(dataset.store.rows("edge.feat", i), graph["edge_attr"])
        assert np.array_equal(dataset.store.edges(i), graph["edge_index"])
    assert dataset.store.column("graph.label").tolist() == list(range(7))
    assert [dataset.features.node.shape, dataset.features.edge.shape] == [(5,), (1,)]
    assert len(SmallPublished(config_of(tmp_path, limit=2)).fold(0).parts["train"]) == 2

    new = {"store_dir": str(tmp_path / "stores2")}
    torch.save([content[0][:2], *content[1:]], path)
    with pytest.raises(DataError, match="2 graphs in train, expected 3"):
        SmallPublished(config_of(tmp_path).model_copy(update=new))
    content[1][1]["y"] = torch.tensor([10])
    torch.save(content, path)
    with pytest.raises(DataError, match=r"CIFAR10_v2.zip, val: labels .10.: expected integers 0 to 9"):
        SmallPublished(config_of(tmp_path).model_copy(update=new))
    assert not any(p.is_dir() for p in (tmp_path / "stores2").iterdir())


def test_published_sizes_are_the_paper_s():
    assert PublishedMNIST.parameters["n_graphs"] == [55000, 5000, 10000] and PublishedMNIST.n_channels == 1
    assert PublishedCIFAR10.parameters["n_graphs"] == [45000, 5000, 10000] and PublishedCIFAR10.n_channels == 3
