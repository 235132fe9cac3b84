"""Degrees in place of node features, for any dataset: `--data.features degree`."""

import pickle

import networkx as nx
import numpy as np
import pytest
import torch

from data.CSL import CSL
from data.dataset import DataConfig, GraphDataset
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
    with pytest.raises(DataError, match=r"data.features='colour': CSL offers degree, degree-onehot"):
        CSL(DataConfig(store_dir=store_dir, features="colour"))
