"""Other node features for any dataset: `--data.features degree`, degree-onehot, onehot; and categories in several columns."""

import json
import pickle

import networkx as nx
import numpy as np
import pytest
import torch

import main_CSL
from data.CSL import CSL
from data.dataset import DataConfig, GraphDataset, categories
from data.errors import DataError
from data.store import Field, PackedWriter


class Mine(GraphDataset):
    """A star of four nodes and a path of three, with a feature of their own or without."""

    name, version, parameters = "Mine", 1, {}
    own = False

    def build(self, path):
        fields = [Field("graph", "label", "int64", n_types=2)] + [Field("node", "feat", "float32", (2,))] * self.own
        with PackedWriter(path, self.name, fields) as writer:
            for label, graph in enumerate((nx.star_graph(3), nx.path_graph(3))):
                src, dst = np.array(graph.to_directed().edges).T
                node = {"feat": np.ones((len(graph), 2))} if self.own else {}
                writer.add(len(graph), src, dst, node=node, graph={"label": label})
            writer.add_split("all", train=[0, 1], val=[], test=[])


class MineWithFeatures(Mine):
    name, own = "MineWithFeatures", True


DEGREES = [3, 1, 1, 1, 1, 2, 1]


@pytest.mark.parametrize("dataset", [Mine, MineWithFeatures])
def test_degrees_are_numbers_or_types(tmp_path, dataset):
    number = dataset(DataConfig(store_dir=str(tmp_path), features="degree"))
    assert number.features.node == Field("node", "feat", "float32", (1,))
    feat = number.fold(0).store.batch([0, 1]).g.ndata["feat"]
    assert feat.dtype == torch.float32 and feat[:, 0].tolist() == DEGREES
    types = dataset(DataConfig(store_dir=str(tmp_path), features="degree-onehot"))
    assert types.features.node.n_types == 4 and types.features.node.shape == ()
    assert types.store.batch([0, 1]).g.ndata["feat"].tolist() == DEGREES


def test_the_dataset_itself_stays_what_it_is(tmp_path):
    """One folder for all choices: what is not the dataset's own is kept inside, and has a hash of its own."""
    stores = [
        MineWithFeatures(DataConfig(store_dir=str(tmp_path), features=name)).store
        for name in (None, "degree", "degree-onehot")
    ]
    assert len({store.path for store in stores}) == 1 and len({store.hash for store in stores}) == 3
    assert stores[0].fields["node.feat"].shape == (2,)
    assert stores[1].column("node.feat").shape == (7, 1)


def test_workers_see_them_too(tmp_path):
    store = MineWithFeatures(DataConfig(store_dir=str(tmp_path), features="degree")).store
    again = pickle.loads(pickle.dumps(store))
    assert again.fields == store.fields and again.batch([1]).g.ndata["feat"].flatten().tolist() == [1, 2, 1]


def test_csl_has_degree_four(store_dir):
    assert (CSL(DataConfig(store_dir=store_dir, features="degree")).store.column("node.feat") == 4).all()


def test_other_features_are_refused(store_dir):
    with pytest.raises(DataError, match=r"data.features='colour': CSL offers degree, degree-onehot, onehot"):
        CSL(DataConfig(store_dir=store_dir, features="colour"))


# Categories in several columns


class Columns(GraphDataset):
    """Paths of four nodes with three columns of categories, the last of which is the class of the graph, and edges with two."""

    name, version, parameters = "Columns", 1, {}
    n_types = (5, 2, 3)

    def build(self, path):
        random = np.random.RandomState(0)
        fields = [
            categories("node", self.n_types),
            categories("edge", (4, 2)),
            Field("graph", "label", "int64", n_types=self.n_types[-1]),
        ]
        with PackedWriter(path, self.name, fields) as writer:
            for i in range(60):
                src, dst = np.array([[0, 1], [1, 0], [1, 2], [2, 1], [2, 3], [3, 2]]).T
                x = np.stack([random.randint(n, size=4) for n in self.n_types], 1)
                x[:, -1] = i % 3
                e = np.stack([random.randint(n, size=6) for n in (4, 2)], 1)
                writer.add(4, src, dst, node={"feat": x}, edge={"feat": e}, graph={"label": i % 3})
            writer.add_split("fold0", train=range(30), val=range(30, 45), test=range(45, 60))


def test_one_hot_is_a_block_for_each_column(tmp_path):
    plain, one_hot = (Columns(DataConfig(store_dir=str(tmp_path), features=name)).store for name in (None, "onehot"))
    x, y = plain.column("node.feat"), one_hot.column("node.feat")
    assert y.shape == (240, 10) and one_hot.fields["node.feat"].n_types is None
    expected = np.zeros((240, 10))
    for row, (a, b, c) in enumerate(x):
        expected[row, [a, 5 + b, 7 + c]] = 1
    assert np.array_equal(y, expected)


def test_one_hot_needs_categories(tmp_path):
    for dataset in (Mine, MineWithFeatures):
        with pytest.raises(DataError, match=r"data.features='onehot': the nodes of Mine\w* have no categories"):
            dataset(DataConfig(store_dir=str(tmp_path), features="onehot"))


@pytest.mark.parametrize(
    ("words", "more"),
    [((), 10), (("--data.features", "onehot"), 10 + 1), (("--model", "GatedGCN", "--net.edge_feat", "true"), None)],
    ids=["embeddings", "onehot", "edges too"],
)
def test_columns_from_the_store_to_the_net(tmp_path, monkeypatch, words, more):
    """A main file trains on them: a table of 5 + 2 + 3 rows, or a linear map of 10 numbers, and the class is found."""
    monkeypatch.setitem(main_CSL.DATASETS, "Columns", Columns)
    keys = ["--dataset", "Columns", "--data.store_dir", str(tmp_path), "--out_dir", str(tmp_path)]
    keys += [
        "--net.encodings",
        "[]",
        "--net.hidden_dim",
        "16",
        "--net.L",
        "2",
        "--train.stop.epochs",
        "30",
        "--progress=false",
    ]
    main_CSL.main([*keys, "--train.optimizer.lr", "0.01", *words])
    (result,) = [json.loads(path.read_text()) for path in tmp_path.rglob("result.json")]
    assert result["metrics"]["last"]["test"]["accuracy"] == 100
    if more is not None:  # input, two layers with their normalisation, head
        assert result["params"] == 16 * more + 2 * (16 * 16 + 16 + 32) + (16 * 8 + 8) + (8 * 4 + 4) + (4 * 3 + 3)
