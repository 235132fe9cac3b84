"""PascalVOC-SP and COCO-SP: real photographs, look-alikes of the published files and of the folders they were made from."""

import io
import json
import pickle
import zipfile

import numpy as np
import pytest
import torch
from PIL import Image
from scipy.io import savemat

from data.dataset import DataConfig
from data.errors import DataError, StoreError
from data.LRGB import DATASETS
from data.LRGB_declared import DECLARED
from data.LRGB_photographs import coco_split, read_instances
from data.LRGB_statistics import PRINTED, Totals
from data.readers.images import Files
from data.splits import PARTS
from tables.stand_ins import STAND_INS
from train.tasks import task_of


def config(store_dir, data_dir, **keys):
    return DataConfig(store_dir=str(store_dir), data_dir=str(data_dir), raw_dir=str(store_dir), offline=True, **keys)


def picture(dataset):
    """Draw the first graph: something of every kind is on the axes."""
    plt = pytest.importorskip("matplotlib.pyplot")
    figure, axes = plt.subplots()
    dataset.draw(axes, 0)
    figure.canvas.draw()
    assert len(axes.lines) >= len(dataset.store.rows("edge.src", 0)) and axes.collections
    assert len(axes.images) == hasattr(dataset, "image")
    plt.close(figure)


def test_every_version_is_there():
    """Six of each: published, rebuilt, and of a few photographs; only the published ones are the paper's."""
    for base in (
        "PascalVOC-SP",
        "COCO-SP",
        "PascalVOC-SP-300",
        "COCO-SP-188",
        "PascalVOC-SP-rebuilt",
        "COCO-SP-rebuilt",
    ):
        for ending in ("", "-coo-slic30", "-coo-feat-slic30", "-rag-slic10", "-coo-slic10", "-coo-feat-slic10"):
            dataset = DATASETS[base + ending]
            assert dataset.name == base + ending and dataset.name not in STAND_INS
            assert dataset.declared.edge.shape == ((1,) if "coo" in ending else (2,))
            if base in DECLARED:
                assert dataset.declared == DECLARED[dataset.name] and dataset.name in PRINTED
    addresses = [DATASETS[name].raw_files[0].urls[0] for name in PRINTED if "-SP" in name]
    assert len(set(addresses)) == 12
    assert "slic10/voc_superpixels_edge_wt_only_coord.zip" in DATASETS["PascalVOC-SP-coo-slic10"].raw_files[0].path


def test_arithmetic_of_table_a1():
    """Graphs of the 8 nearest have 8 edges per node, but for 52 edges of COCO's at compactness 10."""
    missing = {name: 8 * totals.nodes - totals.edges for name, totals in PRINTED.items() if "-coo" in name}
    assert missing == {name: 52 if name in ("COCO-SP-coo-slic10", "COCO-SP-coo-feat-slic10") else 0 for name in missing}


# Real photographs


def test_some_photographs_of_voc(real_data, store_dir):
    dataset = DATASETS["PascalVOC-SP-300"](config(store_dir, real_data, limit=1, workers=1))
    store = dataset.store
    assert len(store) == 3 and store.header["counts"]["max_nodes"] <= 500 and store.n_nodes > 3 * 350
    assert 5.3 < store.n_edges / store.n_nodes < 5.9  # Table 2: 5.65
    g, of, y = next(iter(dataset.fold(0).loader("train", 1)))
    assert g.ndata["feat"].dtype == torch.float32 and g.ndata["feat"].shape[1] == 14 and g.edata["feat"].shape[1] == 2
    assert of is None and len(y) == g.num_nodes() and 1 < len(y.unique()) <= 5 and y.max() <= 20
    assert (g.ndata["feat"][:, :12] <= 1).all() and 200 < g.ndata["feat"][:, 12:].max() <= 500  # pixels
    task = task_of(dataset)
    assert task.weighted and task.n_out == 21 and task.metric().measures[0].name == "macro_F1"
    assert dataset.statistics()[1][1] == "-" and "background" in dataset.summary()[1]
    assert dataset.image(0).shape[2] == 3
    picture(dataset)


def test_some_photographs_of_coco(real_data, store_dir):
    dataset = DATASETS["COCO-SP-188-coo-slic10"](config(store_dir, real_data, limit=1, workers=1))
    assert len(dataset.store) == 3 and dataset.store.n_edges == 8 * dataset.store.n_nodes
    g, _, y = dataset.store.batch([0, 1, 2])
    assert g.edata["feat"].shape[1] == 1 and g.edata["feat"].min() > 0 and g.edata["feat"].max() <= 1
    assert y.max() <= 80 and len(y.unique()) > 3
    tested = set(
        dataset.store.rows("node.label", 2).tolist()
    )  # a car (category 3), a truck (8) and two stop signs (13)
    assert {0, 12} <= tested <= {0, 3, 8, 12}


def test_the_division_of_coco():
    """113,286 and 5,000 of 118,287 photographs, one is left over: number 68,268."""
    train, val = coco_split(118_287, 5_000)
    assert len(train) == 113_286 and train[:5].tolist() == [31048, 25996, 61513, 100785, 111404]
    assert val[:5].tolist() == [99801, 113294, 45038, 68261, 35371]
    assert set(range(118_287)) - set(train.tolist()) - set(val.tolist()) == {68268}


# Look-alikes of the published files


def published(path, graphs, folder="voc_superpixels_edge_wt_region_boundary"):
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for part, some in zip(PARTS, graphs, strict=True):
            archive.writestr(f"{folder}/{part}.pickle", pickle.dumps(some, protocol=4))


def graph(n, label, edge_dim=2, seed=0):
    random = torch.Generator().manual_seed(seed)
    ends = torch.stack([torch.arange(n), (torch.arange(n) + 1) % n])
    ends = torch.cat([ends, ends.flip(0)], 1)
    x = (300 * torch.rand(n, 14, generator=random)).half()
    return x, torch.rand(2 * n, edge_dim, generator=random), ends, label


@pytest.fixture
def small_voc(tmp_path, monkeypatch):
    graphs = [[graph(n, np.full(n, n, np.int32), seed=n)] for n in (4, 5, 6)]
    published(tmp_path / "LRGB" / "slic30" / "voc_superpixels_edge_wt_region_boundary.zip", graphs)
    dataset = DATASETS["PascalVOC-SP"]
    monkeypatch.setattr(dataset, "sizes", dict.fromkeys(PARTS, 1))
    monkeypatch.setitem(PRINTED, "PascalVOC-SP", Totals(3, 15, 30, (1, 0), (2, 0)))
    return dataset, graphs


def test_published_graphs_of_voc(tmp_path, small_voc):
    dataset, graphs = small_voc
    made = dataset(config(tmp_path / "stores", tmp_path))
    picture(made)
    store = made.store
    g, _, y = store.batch([1])
    assert y.tolist() == [5] * 5 and torch.equal(g.ndata["feat"], graphs[1][0][0].float())
    src, dst = (end.tolist() for end in g.edges())
    _, edge, ends, _ = graphs[1][0]
    expected = dict(zip(zip(*ends.tolist(), strict=True), edge.tolist(), strict=True))
    assert dict(zip(zip(src, dst, strict=True), g.edata["feat"].tolist(), strict=True)) == expected
    assert {part: graphs.tolist() for part, graphs in store.split("split").items()} == {
        "train": [0],
        "val": [1],
        "test": [2],
    }


def test_published_graphs_of_another_version_are_refused(tmp_path, small_voc, monkeypatch):
    monkeypatch.setitem(PRINTED, "PascalVOC-SP", Totals(3, 14, 30, (1, 0), (2, 0)))
    with pytest.raises(StoreError, match=r"are \(3, 15, 30\), of PascalVOC-SP \(3, 14, 30\)"):
        small_voc[0](config(tmp_path / "stores", tmp_path))


def test_labels_of_coco_are_categories(tmp_path, monkeypatch):
    labels = [np.array(values, np.uint8) for values in ([0, 1, 13], [90, 0, 0], [1, 1, 1])]
    name = "coco_superpixels_edge_wt_only_coord"
    path = tmp_path / "LRGB" / "slic10" / f"{name}.zip"
    published(path, [[graph(3, y, 1)] for y in labels], name)
    dataset = DATASETS["COCO-SP-coo-slic10"]
    monkeypatch.setattr(dataset, "sizes", dict.fromkeys(PARTS, 1))
    monkeypatch.setitem(PRINTED, "COCO-SP-coo-slic10", Totals(3, 9, 18, (1, 0), (2, 0)))
    store = dataset(config(tmp_path / "stores", tmp_path)).store
    assert store.column("node.label").tolist() == [0, 1, 12, 80, 0, 0, 1, 1, 1]
    assert store.column("edge.feat").dtype == np.float16
    published(path, [[graph(3, y + 11, 1)] for y in labels], name)
    with pytest.raises(DataError, match="train, graph 0: category 12"):
        dataset(config(tmp_path / "other", tmp_path))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda x, e, i, y: (x[:, :13], e, i, y), r"x: shape \(4, 13\): expected \(nodes, 14\)"),
        (lambda x, e, i, y: (x, i, e, y), "edge_index"),
        (lambda x, e, i, y: (x, e, i + 1, y), "edge_index: node 4: expected 0 to 3"),
        (lambda x, e, i, y: (x, e, i, y + 30), r"node\.label: 34: expected 0 to 20"),
        (lambda x, e, i, y: (x, e, i, y[:2]), r"y: shape \(2, 1\): expected \(4, 1\)"),
        (lambda x, e, i, y: (x, e, i), "3 entries: expected"),
    ],
)
def test_damaged_graphs(tmp_path, small_voc, change, text):
    dataset, graphs = small_voc
    graphs[0][0] = change(*graphs[0][0])
    published(tmp_path / "LRGB" / "slic30" / "voc_superpixels_edge_wt_region_boundary.zip", graphs)
    with pytest.raises(DataError, match=text):
        dataset(config(tmp_path / "stores", tmp_path))


def test_a_pickle_that_would_run_something(tmp_path, small_voc):
    path = tmp_path / "LRGB" / "slic30" / "voc_superpixels_edge_wt_region_boundary.zip"
    published(path, [[print], [], []])
    with pytest.raises(DataError, match=r"train: cannot be read as a list of graphs.*print"):
        small_voc[0](config(tmp_path / "stores", tmp_path))


# Look-alikes of the folders of photographs


def write_photograph(path, seed):
    path.parent.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(seed)
    blocks = random.integers(0, 255, (6, 8, 3), dtype=np.uint8).repeat(10, 0).repeat(10, 1)
    Image.fromarray(blocks).save(path)


def test_photographs_of_sbd(tmp_path, monkeypatch):
    root = tmp_path / "LRGB" / "benchmark_RELEASE" / "dataset"
    for k, name in enumerate("abcd"):
        write_photograph(root / "img" / f"{name}.jpg", k)
        mask, content = np.full((60, 80), k + 1, np.uint8), io.BytesIO()
        savemat(content, {"GTcls": {"Boundaries": np.zeros(2), "Segmentation": mask, "CategoriesPresent": k}})
        (root / "cls").mkdir(exist_ok=True)
        (root / "cls" / f"{name}.mat").write_bytes(content.getvalue())
    (root / "train.txt").write_text("a\nb\n")
    (root / "val.txt").write_text("c\nd\n")
    (tmp_path / "LRGB" / "VOC_val.index").write_text("1\n")
    (tmp_path / "LRGB" / "VOC_test.index").write_text("0\n1\n")  # the second line is not used
    dataset = DATASETS["PascalVOC-SP-rebuilt"]
    monkeypatch.setattr(dataset, "sizes", {"train": 2, "val": 1, "test": 1})
    store = dataset(config(tmp_path / "stores", tmp_path)).store
    assert [int(store.rows("node.label", i)[0]) for i in range(4)] == [1, 2, 4, 3]
    with pytest.raises(DataError, match=r"LRGB/benchmark_RELEASE: no such folder below .* unpack it from https"):
        dataset(config(tmp_path / "stores2", tmp_path / "stores"))


def test_photographs_of_coco(tmp_path, monkeypatch):
    root = tmp_path / "LRGB" / "COCO"
    whole = [[0, 0, 80, 0, 80, 60, 0, 60]]
    for part, ids in (("train", (7, 5, 9, 2)), ("val", (3,))):
        for i in ids:
            write_photograph(root / f"{part}2017" / f"{i:03}.jpg", i)
        images = [{"id": i, "file_name": f"{i:03}.jpg"} for i in ids]
        annotations = [{"image_id": i, "category_id": i, "segmentation": whole} for i in ids]
        (root / "annotations").mkdir(exist_ok=True)
        content = {"images": images, "annotations": annotations}
        (root / "annotations" / f"instances_{part}2017.json").write_text(json.dumps(content))
    assert list(read_instances(Files(root), "annotations/instances_train2017.json")) == [
        "007.jpg",
        "005.jpg",
        "009.jpg",
        "002.jpg",
    ]
    dataset = DATASETS["COCO-SP-rebuilt-coo-feat-slic30"]
    monkeypatch.setattr(dataset, "sizes", {"train": 2, "val": 1, "test": 1})
    store = dataset(config(tmp_path / "stores", tmp_path)).store
    order = np.random.RandomState(0).permutation(4)[:3]
    assert [int(store.rows("node.label", i)[0]) for i in range(4)] == [*np.array([7, 5, 9, 2])[order], 3]
    monkeypatch.setattr(dataset, "sizes", {"train": 3, "val": 1, "test": 1})
    with pytest.raises(DataError, match=r"photographs, expected \{'train': 3"):
        dataset(config(tmp_path / "other", tmp_path))
