"""Fields that refer to nodes, vocabularies per column, and splits of nodes."""

import json
import pickle

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from data.check import check_store
from data.store import Batch, Field, Packed, PackedWriter
from data.store.__main__ import describe

PAIRS = Field("pair", "of", "int16", (2,), refers_to="node")
PAIR_LABEL = Field("pair", "label", "float32", (), finite=False)
ORIGINAL = Field("node", "original", "int32", refers_to="node")
ATOMS = Field("node", "feat", "uint8", (3,), n_types=(119, 4, 12))


def write(path, fields, graphs, splits=()):
    with PackedWriter(path, "test", fields) as writer:
        for graph in graphs:
            writer.add(**graph)
        for split in splits:
            writer.add_split(**split)
    return Packed(path)


def path_graph(n, **levels):
    return {"n_nodes": n, "src": list(range(n - 1)), "dst": list(range(1, n)), **levels}


@st.composite
def graphs_with_pairs(draw):
    """Graphs of 1 to 5 nodes, each with 0 to 6 pairs of its nodes, a label for each pair and a node number for each node."""
    graphs = []
    for n in draw(st.lists(st.integers(1, 5), min_size=1, max_size=5)):
        random = np.random.default_rng(draw(st.integers(0, 2**31)))
        m = draw(st.integers(0, 6))
        pair = {"of": random.integers(0, n, (m, 2)), "label": random.standard_normal(m)}
        graphs.append(path_graph(n, pair=pair, node={"original": random.integers(0, n, n)}))
    return graphs, draw(st.lists(st.integers(0, len(graphs) - 1), min_size=1, max_size=6))


@settings(max_examples=40, deadline=None)
@given(graphs_with_pairs())
def test_node_numbers_shift_with_the_place_of_their_graph_in_the_batch(tmp_path_factory, case):
    graphs, chosen = case
    store = write(tmp_path_factory.mktemp("pairs") / "store", [PAIRS, PAIR_LABEL, ORIGINAL], graphs)
    batch = store.batch(chosen)
    of, y, original, first = [], [], [], 0
    for i in chosen:
        of.append(graphs[i]["pair"]["of"].reshape(-1, 2) + first)
        y.append(graphs[i]["pair"]["label"])
        original.append(graphs[i]["node"]["original"] + first)
        first += graphs[i]["n_nodes"]
    assert batch.of.dtype == torch.int64 and batch.of.tolist() == np.concatenate(of).T.tolist()
    assert batch.y.tolist() == np.concatenate(y).astype("float32").tolist()
    assert batch.g.ndata["original"].tolist() == np.concatenate(original).tolist()
    assert set(batch.g.ndata) == {"original"} and not batch.g.edata


def test_a_store_says_what_its_pairs_are(tmp_path):
    graphs = [path_graph(3, pair={"of": [[0, 2], [2, 0]]}), path_graph(2, pair={"of": []})]
    store = write(tmp_path / "store", [PAIRS], graphs, [{"name": "split", "train": [0], "val": [1], "test": []}])
    assert store.fields["pair.of"] == PAIRS and pickle.loads(pickle.dumps(store)).fields == store.fields
    assert store.rows("pair.of", 0).tolist() == [[0, 2], [2, 0]] and store.rows("pair.of", 1).shape == (0, 2)
    assert store.header["counts"]["pairs"] == 2 and "2 pairs; per graph 0 to 2" in describe(store)
    assert store.batch([1, 0]).of.tolist() == [[2, 4], [4, 2]] and store.batch([0]).y is None
    assert "no field is called label" not in str(list(check_store(store)))
    derived = store.derive(
        "far", level="pair", dtype="int8", refers_to="node", parameters={}, compute=lambda i: [2, 2][: 2 - 2 * i]
    )
    assert derived.fields["pair.far"].refers_to == "node" and derived.rows("pair.far", 0).tolist() == [2, 2]


def test_a_store_without_pairs_is_written_as_before(tmp_path):
    store = write(tmp_path / "store", [Field("graph", "label", "float32")], [path_graph(2, graph={"label": 1.0})])
    text = json.dumps(store.header)
    assert not any(word in text for word in ("pair", "refers_to", "split_levels"))
    with pytest.raises(ValueError, match="no level pair"):
        store.derive("x", level="pair", dtype="int8", parameters={}, compute=lambda i: [])


@pytest.mark.parametrize(
    ("pair", "problem"),
    [
        ({"of": [[0, 3]]}, "pair.of: 3: expected 0 to 2"),
        ({"of": [[-1, 0]]}, "pair.of: -1: expected 0 to 2"),
        ({"of": [[0.0, 1.0]]}, "would be cut"),
        ({"of": [0, 1]}, "expected \\(2, 2\\)"),
        ({}, "pair fields \\[\\]: expected \\['of'\\]"),
    ],
)
def test_wrong_pairs_are_refused(tmp_path, pair, problem):
    with pytest.raises(ValueError, match=problem):
        write(tmp_path / "store", [PAIRS], [path_graph(3, pair=pair)])


def test_wrong_fields_are_refused():
    with pytest.raises(ValueError, match="refers_to='edge': expected node"):
        Field("pair", "of", "int8", (2,), refers_to="edge")
    with pytest.raises(ValueError, match="need an integer dtype"):
        Field("pair", "of", "float32", (2,), refers_to="node")
    with pytest.raises(ValueError, match="level='pairs'"):
        Field("pairs", "of", "int8", (2,))
    with pytest.raises(ValueError, match="expected one per column"):
        Field("node", "feat", "uint8", (2,), n_types=(5, 4, 3))
    with pytest.raises(ValueError, match="so many values"):
        Field("node", "feat", "uint8", (2,), n_types=(5, 257))


def test_what_is_asked_must_be_nodes_at_the_level_of_the_label(tmp_path):
    for fields, problem in (
        ([Field("pair", "of", "int8", (2,))], "refers_to='node'"),
        ([Field("pair", "of", "int8", (3,), refers_to="node")], "pairs of nodes"),
        ([PAIRS, Field("graph", "label", "float32")], "both at one level"),
        ([PAIRS, Field("graph", "of", "int8", refers_to="node")], "only one level can have the of"),
    ):
        with pytest.raises(ValueError, match=problem):
            PackedWriter(tmp_path / "store", "test", fields)


def test_one_node_of_each_graph_can_be_asked_of(tmp_path):
    of, label = Field("graph", "of", "int8", refers_to="node"), Field("graph", "label", "int8")
    graphs = [path_graph(n, graph={"of": n - 1, "label": n}) for n in (2, 3)]
    batch = write(tmp_path / "store", [of, label], graphs).batch([1, 0, 1])
    assert batch.of.tolist() == [2, 4, 7] and batch.y.tolist() == [3, 2, 3]
    moved = batch.to(torch.device("cpu"))
    assert (
        isinstance(moved, Batch) and moved.of.tolist() == [2, 4, 7] and Batch(batch.g, None, None).to("cpu").y is None
    )


# Vocabularies per column


def test_each_column_has_its_own_number_of_types(tmp_path):
    graph = path_graph(2, node={"feat": [[118, 3, 11], [0, 0, 0]]})
    store = write(tmp_path / "store", [ATOMS], [graph])
    assert store.fields["node.feat"].n_types == (119, 4, 12)
    assert store.batch([0]).g.ndata["feat"].tolist() == [[118, 3, 11], [0, 0, 0]]
    with pytest.raises(ValueError, match=r"node\.feat: 4: expected 0 to 3"):
        write(tmp_path / "other", [ATOMS], [path_graph(1, node={"feat": [[118, 4, 11]]})])


# Splits of nodes


def test_a_split_of_the_nodes_of_one_graph(tmp_path):
    label = Field("node", "label", "int8", n_types=2)
    graph = path_graph(5, node={"label": [0, 1, 0, 1, 0]})
    nodes = {"name": "masks", "level": "node", "train": [4, 0], "val": [1], "test": [3]}
    store = write(tmp_path / "store", [label], [graph], [nodes])
    assert store.split_level("masks") == "node" and store.split("masks")["train"].tolist() == [4, 0]
    found = [text for kind, text in check_store(store) if kind == "error"]
    assert found == ["split masks: classes 1 are tested but never trained"]


def test_wrong_splits_of_nodes_are_refused(tmp_path):
    label, graph = Field("node", "label", "int8"), path_graph(2, node={"label": [0, 1]})
    for number, (graphs, parts, problem) in enumerate(
        (
            ([graph], {"train": [2]}, "node 2: expected 0 to 1"),
            ([graph, graph], {"train": [0]}, "a store of one graph"),
            ([graph], {"train": [0], "val": [0]}, "node 0 is in train and again in val"),
        )
    ):
        with pytest.raises(ValueError, match=problem):
            write(tmp_path / str(number), [label], graphs, [{"name": "masks", "level": "node", **parts}])
    with pytest.raises(ValueError, match="level='edge'"):
        write(tmp_path / "edge", [label], [graph], [{"name": "masks", "level": "edge", "train": [0]}])
