"""The packed store gives the batches of `dgl.batch`, never a wrong one, and costs no more when the dataset is larger."""

import json
import multiprocessing
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import dgl
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from data.errors import StoreError
from data.store import Field, Packed, PackedWriter, open_or_build, reader
from data.store.__main__ import describe, main
from data.store.checksums import BLOCK

ROOT = Path(__file__).resolve().parents[3]
FIELDS = (
    Field("node", "feat", "uint8", n_types=5),
    Field("node", "pos", "float32", (2,)),
    Field("node", "mask", "bool"),
    Field("edge", "feat", "int16"),
    Field("edge", "length", "float64"),
)
LABELS = {"graph": (3,), "node": (), "edge": (2,)}  # label shapes, to cover several targets as well


def fields_with_label(level):
    return [*FIELDS, Field(level, "label", "int8" if level == "node" else "float32", LABELS[level])]


def random_graph(seed, n_nodes, src, dst, level="graph"):
    """Arguments of `add` for given edges, with random fields."""
    random, n_edges = np.random.default_rng(seed), len(src)
    graph = {"n_nodes": n_nodes, "src": src, "dst": dst, "graph": {}}
    graph["node"] = {"feat": random.integers(0, 5, n_nodes), "mask": random.random(n_nodes) < 0.5}
    graph["node"]["pos"] = random.standard_normal((n_nodes, 2)).astype("float32")
    graph["edge"] = {"feat": random.integers(-300, 300, n_edges), "length": random.random(n_edges)}
    rows = {"graph": (), "node": (n_nodes,), "edge": (n_edges,)}[level]
    label = random.integers(-9, 9, (*rows, *LABELS[level]))
    graph[level]["label"] = label if level == "node" else label.astype("float32")
    return graph


def some_graphs(n_graphs=6, n_nodes=7, n_edges=20, level="graph"):
    random = np.random.default_rng(1)
    ends = random.integers(0, n_nodes, (n_graphs, 2, n_edges))
    return [random_graph(i, n_nodes, *ends[i], level) for i in range(n_graphs)]


def write(path, graphs, level="graph", ids="int32", generator=None, splits=None):
    with PackedWriter(path, "test", fields_with_label(level), generator or {"seed": 1}, ids) as writer:
        for graph in graphs:
            writer.add(**graph)
        for name, parts in (splits or {}).items():
            writer.add_split(name, **parts)
    return Packed(path)


@pytest.fixture
def store(tmp_path):
    return write(tmp_path / "store", some_graphs(), splits={"fold0": {"train": [0, 5, 2], "val": [1], "test": [3, 4]}})


def as_dgl(graph, ids="int32"):
    """(DGLGraph, label) with the edges sorted by destination, made without the store."""
    src, dst = np.asarray(graph["src"], np.int64), np.asarray(graph["dst"], np.int64)
    order = np.argsort(dst, kind="stable")
    ends = (torch.from_numpy(src[order]), torch.from_numpy(dst[order]))
    g = dgl.graph(ends, num_nodes=graph["n_nodes"], idtype=getattr(torch, ids))
    label = None
    for level, frame in (("graph", {}), ("node", g.ndata), ("edge", g.edata)):
        for name, values in graph[level].items():
            rows = torch.from_numpy(values[order] if level == "edge" else values)
            if name == "label":
                label = rows[None] if level == "graph" else rows
            else:
                frame[name] = rows
    return g, label


def assert_same_graph(g, expected):
    assert g.idtype == expected.idtype
    assert g.num_nodes() == expected.num_nodes()
    for mine, theirs in zip(g.edges(order="eid"), expected.edges(order="eid"), strict=True):
        assert torch.equal(mine, theirs)
    for mine, theirs in ((g.ndata, expected.ndata), (g.edata, expected.edata)):
        assert mine.keys() == theirs.keys()
        for name in theirs:
            assert mine[name].dtype == theirs[name].dtype
            assert torch.equal(mine[name], theirs[name])
    for name in ("batch_num_nodes", "batch_num_edges"):
        mine, theirs = getattr(g, name)(), getattr(expected, name)()
        assert mine.dtype == g.idtype  # as dgl 2.1 has it; dgl 1.1 has int64
        assert torch.equal(mine, theirs.to(g.idtype))


def assert_same_as_dgl(store, graphs, indices, ids="int32"):
    g, _, label = store.batch(indices)
    expected, labels = zip(*(as_dgl(graphs[i], ids) for i in indices), strict=True)
    assert_same_graph(g, dgl.batch(list(expected)))
    assert torch.equal(label, torch.cat(labels))


# Batches


@st.composite
def graph_lists(draw):
    """Graphs with 0 to 6 nodes: empty edge sets, isolated nodes, self loops and repeated edges all occur."""
    level, graphs = draw(st.sampled_from(list(LABELS))), []
    for seed, n_nodes in enumerate(draw(st.lists(st.integers(0, 6), min_size=1, max_size=5))):
        node = st.integers(0, max(n_nodes - 1, 0))
        edges = draw(st.lists(st.tuples(node, node), max_size=12 if n_nodes else 0))
        graphs.append(random_graph(seed, n_nodes, [s for s, _ in edges], [d for _, d in edges], level))
    indices = draw(st.lists(st.integers(0, len(graphs) - 1), min_size=1, max_size=8))
    return level, graphs, indices


@settings(max_examples=60, deadline=None)
@given(graph_lists(), st.sampled_from(["int32", "int64"]), st.sampled_from([0, 3, 1000]))
def test_batch_equals_dgl_batch(drawn, ids, long_run):
    level, graphs, indices = drawn
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "LONG_RUN", long_run)  # copying slices, gathering rows, or either
        store = write(Path(folder) / "store", graphs, level, ids)
        assert_same_as_dgl(store, graphs, indices, ids)
        for i, graph in enumerate(graphs):
            assert_same_graph(store.graph(i), as_dgl(graph, ids)[0])


@pytest.mark.parametrize("ids", ["int32", "int64"])
@pytest.mark.parametrize("indices", [[0], [3, 1, 2, 2], [0, 1, 2, 3, 4, 5]])
def test_batch_equals_dgl_batch_for_large_graphs(tmp_path, ids, indices):
    graphs = some_graphs(n_nodes=3000, n_edges=30000)
    store = write(tmp_path / "store", graphs, ids=ids)
    assert_same_as_dgl(store, graphs, indices, ids)


def test_stored_edges_are_those_given_whatever_their_order(store):
    """The edges are sorted by destination, each keeps its own features, and equal destinations keep their order."""
    for i, graph in enumerate(some_graphs()):
        src, dst = store.edges(i)
        feat, length = store.rows("edge.feat", i), store.rows("edge.length", i)
        stored = Counter(zip(src.tolist(), dst.tolist(), feat.tolist(), length.tolist(), strict=True))
        columns = (graph["src"], graph["dst"], graph["edge"]["feat"], graph["edge"]["length"])
        assert stored == Counter(zip(*(column.tolist() for column in columns), strict=True))
        assert (np.diff(dst) >= 0).all()
        for node in range(graph["n_nodes"]):
            assert feat[dst == node].tolist() == columns[2][columns[1] == node].tolist()


def test_aggregation_runs_along_the_edges(store):
    """copy_u_sum on a batch: each node gets the sum over its in-neighbours, counted by hand."""
    g, _, _ = store.batch([4, 1])
    expected = np.zeros(14)
    for place, i in enumerate([4, 1]):
        graph = some_graphs()[i]
        np.add.at(expected, graph["dst"] + 7 * place, graph["src"] + 7.0 * place)
    assert dgl.ops.copy_u_sum(g, torch.arange(14.0)).tolist() == expected.tolist()


def test_a_batch_is_a_copy(store):
    g, _, labels = store.batch([0])
    g.ndata["pos"].zero_()
    labels.zero_()
    assert_same_as_dgl(store, some_graphs(), [0])
    with pytest.raises(ValueError, match="read-only"):
        store.column("node.pos")[:] = 0


def test_one_large_graph_with_node_masks(tmp_path):
    graphs = some_graphs(n_graphs=1, n_nodes=2000, n_edges=9000, level="node")
    store = write(tmp_path / "store", graphs, level="node")
    assert_same_as_dgl(store, graphs, [0])
    assert store.graph(0).ndata["mask"].dtype == torch.bool


def test_array_that_ends_with_a_block_and_a_graph_without_rows(tmp_path):
    n_nodes = BLOCK - 128  # one byte per node after the header of the file
    with PackedWriter(tmp_path / "store", "test", [Field("node", "feat", "uint8")]) as writer:
        writer.add(n_nodes, [], [], node={"feat": np.arange(n_nodes) % 256})
        writer.add(0, [], [], node={"feat": []})
    assert (tmp_path / "store" / "node.feat.npy").stat().st_size == BLOCK
    assert Packed(tmp_path / "store").graph(1).num_nodes() == 0
    g, _, _ = Packed(tmp_path / "store").batch([1, 0])
    assert torch.equal(g.ndata["feat"], torch.arange(n_nodes) % 256)


@pytest.mark.parametrize(
    ("indices", "error", "text"),
    [
        ([0, -1], IndexError, "graph -1: expected 0 to 5"),
        ([6], IndexError, "graph 6: expected 0 to 5"),
        ([0.0], ValueError, "float64: expected integers"),
        ([True], ValueError, "bool: expected integers"),
        ([], ValueError, "at least one"),
        ([[0, 1]], ValueError, r"shape \(1, 2\)"),
        (torch.tensor([7]), IndexError, "graph 7"),
    ],
)
def test_bad_indices(store, indices, error, text):
    with pytest.raises(error, match=text):
        store.batch(indices)


def test_batch_too_large_for_int32(tmp_path):
    with PackedWriter(tmp_path / "store", "test", []) as writer:
        writer.add(1 << 20, [], [])
    store = Packed(tmp_path / "store")
    assert store.batch([0]).y is None
    with pytest.raises(ValueError, match=r"2148532224 nodes, more than int32.*ids='int64'"):
        store.batch([0] * 2049)


# What the store says of itself


def test_header_columns_and_splits(store):
    assert (len(store), store.n_graphs, store.n_nodes, store.n_edges) == (6, 6, 42, 120)
    assert store.name == "test"
    assert list(store.fields.values()) == fields_with_label("graph")
    assert store.header["counts"]["max_edges"] == store.header["counts"]["min_edges"] == 20
    labels = np.stack([graph["graph"]["label"] for graph in some_graphs()])
    assert np.array_equal(store.column("graph.label"), labels)
    assert np.array_equal(store.rows("graph.label", 2), labels[2])
    assert store.splits == ["fold0"]
    assert {part: rows.tolist() for part, rows in store.split("fold0").items()} == {
        "train": [0, 5, 2],
        "val": [1],
        "test": [3, 4],
    }
    assert all(rows.dtype == np.int64 for rows in store.split("fold0").values())
    with pytest.raises(KeyError, match=r"fold1.*fold0"):
        store.split("fold1")


def write_arrays(path, **arrays):
    with PackedWriter(path, "test", []) as writer:
        for name, values in arrays.items():
            writer.add_array(name.replace("__", "."), values)
        writer.add(2, [0], [1])
    return Packed(path)


def test_free_arrays_come_back_as_they_were(tmp_path):
    pairs, changed = np.arange(12, dtype=np.int32).reshape(6, 2), np.ones(3)
    with PackedWriter(tmp_path / "store", "test", []) as writer:
        writer.add_array("pairs.train", pairs)
        writer.add_array("empty", np.zeros((0, 2), np.int64))
        writer.add_array("changed", changed)
        changed[:] = 7  # a copy was taken
        writer.add(2, [0], [1])
    store = Packed(tmp_path / "store")
    assert store.column("free.pairs.train").dtype == np.int32
    assert np.array_equal(store.column("free.pairs.train"), pairs)
    assert store.column("free.empty").shape == (0, 2)
    assert store.column("free.changed").tolist() == [1, 1, 1]
    assert not store.fields and "free.pairs.train" in describe(store)
    store.verify()
    with pytest.raises(KeyError, match="does not belong to single graphs"):
        store.rows("free.pairs.train", 0)
    damage(store.path / "free.pairs.train.npy", -1)
    with pytest.raises(StoreError, match=r"free.pairs.train"):
        Packed(store.path).column("free.pairs.train")


def test_free_arrays_are_part_of_the_hash(tmp_path):
    hashes = [write_arrays(tmp_path / str(k), pairs=np.array([k // 2])).hash for k in range(3)]
    assert hashes[0] == hashes[1] != hashes[2]


@pytest.mark.parametrize(
    ("name", "values", "text"),
    [
        ("split__fold0__train", [0], "array 'split.fold0.train': expected words"),
        ("a/b", [0], "array 'a/b'"),
        ("", [0], "array ''"),
        ("a", 3, r"array a: int64, shape \(\): expected rows"),
        ("a", ["x"], "array a: <U1"),
        ("a", [1.0, np.nan], "array a: nan: expected finite"),
        ("a", np.zeros((3, 0)), r"shape \(3, 0\)"),
    ],
)
def test_bad_free_arrays(tmp_path, name, values, text):
    with pytest.raises(ValueError, match=text):
        write_arrays(tmp_path / "store", **{name: values})
    assert not [path for path in tmp_path.iterdir() if path.suffix != ".lock"]


def test_a_free_array_is_given_once(tmp_path):
    with pytest.raises(ValueError, match="array a is given twice"), PackedWriter(tmp_path / "s", "test", []) as writer:
        writer.add_array("a", [1])
        writer.add_array("a", [2])


def test_arrays_are_plain_npy(store):
    for name, entry in store.header["arrays"].items():
        assert np.array_equal(np.load(store.path / entry["file"], allow_pickle=False), store.column(name))


def test_hash_depends_on_content_and_generator_only(tmp_path):
    graphs = some_graphs()
    generators = [{"a": 1, "b": 2}, {"b": 2, "a": 1}]
    hashes = [write(tmp_path / str(k), graphs, generator=generators[k]).hash for k in range(2)]
    assert hashes[0] == hashes[1]
    assert write(tmp_path / "2", graphs, generator={"a": 2, "b": 2}).hash != hashes[0]
    graphs[3]["node"]["mask"][0] ^= True
    assert write(tmp_path / "3", graphs, generator={"a": 1, "b": 2}).hash != hashes[0]


def test_with_fields_reads_only_those(store):
    view = store.with_fields("node.feat")
    damage(store.path / "edge.length.npy", -1)
    g, _, labels = view.batch([0, 1])
    assert (list(g.ndata), list(g.edata), labels) == (["feat"], [], None)
    with pytest.raises(StoreError, match=r"edge.length"):
        store.batch([0, 1, 5])
    with pytest.raises(KeyError, match=r"node.foo.*node.feat"):
        store.with_fields("node.foo")


def test_info_and_verify(store, capsys):
    assert main(["info", str(store.path)]) == 0
    assert "6 graphs" in capsys.readouterr().out
    assert main(["verify", str(store.path)]) == 0
    damage(store.path / "node.feat.npy", 20)
    assert main(["verify", str(store.path)]) == 1
    assert "node.feat.npy does not match its SHA-256" in capsys.readouterr().err
    assert main(["info", str(store.path / "nowhere")]) == 1
    assert "nowhere" in capsys.readouterr().err


# Damage


def damage(path, position):
    content = bytearray(path.read_bytes())
    content[position] ^= 1
    path.write_bytes(content)


def use_everything(path):
    store = Packed(path)
    store.batch(range(len(store)))
    for name in store.splits:
        store.split(name)


def test_a_flipped_bit_in_any_array_is_found(store, tmp_path):
    files = [entry["file"] for entry in store.header["arrays"].values()] + ["checksums.npy"]
    assert len(files) == 4 + len(store.fields) + 3 + 1
    assert {*files, "header.json"} == {path.name for path in store.path.iterdir()}
    for file in files:
        size = (store.path / file).stat().st_size
        for position in (0, 70, (128 + size) // 2, size - 1):
            copy = tmp_path / "copy"
            shutil.copytree(store.path, copy)
            damage(copy / file, position)
            with pytest.raises(StoreError, match=f"{file}.*delete the folder"):
                use_everything(copy)
            shutil.rmtree(copy)


def test_the_damaged_block_is_named_and_the_others_stay_usable(tmp_path):
    graphs = some_graphs(n_nodes=5000, n_edges=20)
    store = write(tmp_path / "store", graphs)
    damage(store.path / "node.pos.npy", 3 * BLOCK + 5)  # node 24,561: graph 4 of 0 to 5
    store = Packed(store.path)
    assert_same_as_dgl(store, graphs, [0, 1, 2, 3])
    for _ in range(2):
        with pytest.raises(StoreError, match=r"node.pos.npy: bytes 196608 to 240127 do not match"):
            store.batch([1, 4])


def test_every_byte_of_the_header_counts(store):
    path = store.path / "header.json"
    whole = path.read_bytes()
    for position in range(0, len(whole), 5):
        damage(path, position)
        with pytest.raises(StoreError, match=r"header.json"):
            Packed(store.path)
        path.write_bytes(whole)
    Packed(store.path)


@pytest.mark.parametrize("file", ["header.json", "edge.src.npy", "node_offsets.npy", "checksums.npy"])
@pytest.mark.parametrize("keep", [None, 0, -1])
def test_missing_and_truncated_files(store, file, keep):
    path = store.path / file
    if keep is None:
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(StoreError, match=file):
        Packed(store.path)


def test_file_cut_short_while_the_store_is_open(store):
    os.truncate(store.path / "node.feat.npy", 130)
    with pytest.raises(StoreError, match=r"node.feat.npy"):
        store.batch([5])


def test_wrong_version(store):
    header = json.loads((store.path / "header.json").read_text()) | {"version": 99}
    (store.path / "header.json").write_text(json.dumps(header))
    with pytest.raises(StoreError, match=r"header.json.*99.*expected.*1.*delete the folder"):
        Packed(store.path)


# Writing


def bad_graph(**changes):
    graph = some_graphs()[0]
    for key, value in changes.items():
        level, _, name = key.partition("_")
        if level in ("node", "edge", "graph") and name:
            graph[level] = {**graph[level], name: value} if value is not None else {"feat": graph[level]["feat"]}
        else:
            graph[key] = value
    return graph


@pytest.mark.parametrize(
    ("graph", "text"),
    [
        (bad_graph(src=np.full(20, 7)), "src: node 7: expected 0 to 6"),
        (bad_graph(dst=np.full(20, -1)), "dst: node -1: expected 0 to 6"),
        (bad_graph(src=np.zeros(20)), "src: values of type float64"),
        (bad_graph(src=np.zeros(19, int)), "19 sources but 20 destinations"),
        (bad_graph(n_nodes=6.0), "n_nodes=6.0"),
        (bad_graph(n_nodes=-1), "n_nodes=-1"),
        (bad_graph(n_nodes=8), r"node.feat: shape \(7,\): expected \(8,\)"),
        (bad_graph(node_feat=np.full(7, 5)), "node.feat: 5: expected 0 to 4"),
        (bad_graph(node_feat=np.full(7, -1)), "node.feat: -1: expected 0 to 4"),
        (bad_graph(node_feat=np.full(7, 1.0)), "node.feat: float64 values would be cut to uint8"),
        (bad_graph(node_pos=np.full((7, 2), np.nan)), "node.pos: nan: expected finite"),
        (bad_graph(node_pos=torch.full((7, 2), -torch.inf)), "node.pos: -inf: expected finite"),
        (bad_graph(node_pos=np.full((7, 2), 1e300)), "node.pos: 1e[+]300 does not fit into float32"),
        (bad_graph(node_pos=np.full((7, 2), 2**24 + 1)), "node.pos: 16777217 does not fit into float32"),
        (bad_graph(node_pos=np.zeros((7, 3))), r"node.pos: shape \(7, 3\): expected \(7, 2\)"),
        (bad_graph(node_mask=np.full(7, 2)), "node.mask: 2 does not fit into bool"),
        (bad_graph(node_mask=np.full(7, "a")), "node.mask: values of type <U1"),
        (bad_graph(node_other=np.zeros(7)), "node fields .*'other'.*expected .*'feat'"),
        (bad_graph(node_pos=None), "node fields .*expected"),
        (bad_graph(edge_feat=np.full(20, 40000)), "edge.feat: 40000: expected -32768 to 32767"),
        (bad_graph(edge_length=np.zeros(21)), r"edge.length: shape \(21,\): expected \(20,\)"),
        (bad_graph(graph_label=1.0), r"graph.label: shape \(\): expected \(3,\)"),
    ],
)
def test_bad_graphs_are_refused_and_nothing_is_left(tmp_path, graph, text):
    with (
        pytest.raises(ValueError, match=f"graph 1.*{text}"),
        PackedWriter(tmp_path / "store", "test", fields_with_label("graph")) as writer,
    ):
        writer.add(**some_graphs()[0])
        writer.add(**graph)
    assert not [path for path in tmp_path.iterdir() if path.suffix != ".lock"]


def test_a_refused_graph_leaves_no_trace(tmp_path):
    graphs = some_graphs()
    with PackedWriter(tmp_path / "store", "test", fields_with_label("graph")) as writer:
        for graph in graphs:
            with pytest.raises(ValueError, match="label"):
                writer.add(**{**graph, "graph": {"label": [np.inf] * 3}})
            writer.add(**graph)
    assert_same_as_dgl(Packed(tmp_path / "store"), graphs, range(6))


def test_unsigned_values_that_torch_cannot_hold(tmp_path):
    with (
        pytest.raises(ValueError, match="9223372036854775808: expected 0 to 9223372036854775807"),
        PackedWriter(tmp_path / "store", "test", [Field("graph", "id", "uint64")]) as writer,
    ):
        writer.add(1, [], [], graph={"id": np.uint64(1 << 63)})


def test_non_finite_values_where_the_field_allows_them(tmp_path):
    with PackedWriter(tmp_path / "store", "test", [Field("graph", "label", "float32", (2,), finite=False)]) as writer:
        writer.add(1, [], [], graph={"label": [np.nan, np.inf]})
    assert torch.isnan(Packed(tmp_path / "store").batch([0]).y).tolist() == [[True, False]]


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ({"train": [0, 6]}, "split s, train: graph 6: expected 0 to 5"),
        ({"train": [0, -1]}, "split s, train: graph -1: expected 0 to 5"),
        ({"train": [0, 0]}, "graph 0 is in train and again in train"),
        ({"train": [0, 1], "test": [1]}, "graph 1 is in train and again in test"),
        ({"train": [0.5]}, "float64.*expected a list of integers"),
    ],
)
def test_bad_splits(tmp_path, parts, text):
    with pytest.raises(ValueError, match=text):
        write(tmp_path / "store", some_graphs(), splits={"s": parts})
    assert not [path for path in tmp_path.iterdir() if path.suffix != ".lock"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"level": "link"}, "level='link': expected one of graph, node, edge, pair"),
        ({"level": "edge", "name": "src"}, "name='src'"),
        ({"name": "a.b"}, "name='a.b'"),
        ({"dtype": "float128"}, "dtype='float128': expected one of bool"),
        ({"shape": (0,)}, r"shape=\(0,\)"),
        ({"n_types": 4}, "n_types=4"),
        ({"dtype": "uint8", "n_types": 257}, "n_types=257"),
    ],
)
def test_bad_fields(arguments, text):
    with pytest.raises(ValueError, match=text):
        Field(**{"level": "node", "name": "feat", "dtype": "float32"} | arguments)


def test_bad_declarations(tmp_path):
    label = Field("graph", "label", "float32")
    for fields, text in (([label, label], "twice"), ([label, Field("node", "label", "int8")], "only one level")):
        with pytest.raises(ValueError, match=text):
            PackedWriter(tmp_path / "store", "test", fields)
    with pytest.raises(ValueError, match="generator must be plain JSON"):
        PackedWriter(tmp_path / "store", "test", [], generator={"seed": np.zeros(2)})
    with pytest.raises(ValueError, match="no graph"), PackedWriter(tmp_path / "store", "test", []):
        pass
    message = "1 graphs were added, but total=2"
    with pytest.raises(ValueError, match=message), PackedWriter(tmp_path / "store", "test", [], total=2) as writer:
        writer.add(1, [], [])
    assert not [path for path in tmp_path.iterdir() if path.suffix != ".lock"]


def test_an_existing_store_is_not_overwritten(store):
    with pytest.raises(StoreError, match=f"{store.path} exists and is not overwritten.*delete"):
        write(store.path, some_graphs()[:1])
    use_everything(store.path)
    assert {path.name for path in store.path.parent.iterdir()} == {"store", "store.lock"}


def test_of_two_writers_the_second_one_fails(tmp_path):
    with PackedWriter(tmp_path / "store", "first", []) as first:
        first.add(1, [], [])
        with pytest.raises(StoreError, match="another writer is at work"):
            write(tmp_path / "store", some_graphs())
    assert Packed(tmp_path / "store").name == "first"
    assert {path.name for path in tmp_path.iterdir()} == {"store", "store.lock"}


# Several processes

BUILD = """
import sys, time
from pathlib import Path
from data.store import PackedWriter, open_or_build

def build(path):
    with open(sys.argv[2], "a") as log:
        log.write("build\\n")
    with PackedWriter(path, "test", []) as writer:
        for _ in range(1000):
            writer.add(3, [0, 1], [1, 2])
        for _ in range(2000):
            if not Path(sys.argv[3]).exists():
                time.sleep(0.01)

print(open_or_build(sys.argv[1], build).hash)
"""


def start(code, *arguments, **options):
    environment = {**os.environ, "DGLBACKEND": "pytorch", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE, **options)


def wait_for(folder, pattern):
    for _ in range(3000):
        if list(folder.glob(pattern)):
            return
        time.sleep(0.01)
    raise TimeoutError(f"{folder}/{pattern}")


def test_killed_build_leaves_nothing_under_the_final_name(tmp_path):
    path, log = tmp_path / "store", tmp_path / "log"
    with start(BUILD, path, log, tmp_path / "go") as process:
        wait_for(tmp_path, ".store.tmp/edge.src.npy")
        process.kill()
    assert not path.exists()
    assert (tmp_path / ".store.tmp").exists()  # it was in the middle of it
    store = open_or_build(path, lambda path: write(path, some_graphs()))
    assert_same_as_dgl(store, some_graphs(), [1, 0])
    assert list(tmp_path.glob(".store*")) == []


def test_two_processes_build_once(tmp_path):
    path, log = tmp_path / "store", tmp_path / "log"
    with start(BUILD, path, log, tmp_path / "go") as first:
        wait_for(tmp_path, "log")
        with start(BUILD, path, log, tmp_path / "go", stderr=subprocess.PIPE) as second:
            said = next((line for line in second.stderr if "waiting" in line), None)
            (tmp_path / "go").touch()
            assert first.communicate()[0] == second.communicate()[0] == f"{Packed(path).hash}\n"
    assert said == f"{path}: another process is building it, waiting\n"
    assert log.read_text() == "build\n"


def test_open_or_build_opens_what_is_there_and_retries_what_failed(tmp_path, store):
    assert open_or_build(store.path, None).hash == store.hash
    with pytest.raises(StoreError, match="without writing"):
        open_or_build(tmp_path / "other", lambda path: None)
    with pytest.raises(ZeroDivisionError):
        open_or_build(tmp_path / "other", lambda path: 1 / 0)
    assert len(open_or_build(tmp_path / "other", lambda path: write(path, some_graphs()))) == 6
    damage(store.path / "header.json", 100)
    with pytest.raises(StoreError, match="delete the folder"):
        open_or_build(store.path, None)


def test_pickle_sends_the_path_and_keeps_views(store):
    view = store.derive("sum", level="node", dtype="int32", parameters={}, compute=lambda i: np.full(7, i))
    view = view.with_fields("node.sum", "graph.label")
    view.batch([0])
    content = pickle.dumps(view)
    assert len(content) < 1000
    g, _, labels = pickle.loads(content).batch([2, 3])
    assert list(g.ndata) == ["sum"]
    assert labels.shape == (2, 3)
    shutil.rmtree(store.path)
    write(store.path, some_graphs()[:3])
    with pytest.raises(StoreError, match="built anew"):
        pickle.loads(content)


# Cost

WRITE_LARGE = """
import resource, sys
import numpy as np
from data.store import Field, PackedWriter

peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
with PackedWriter(sys.argv[1], "large", [Field("node", "feat", "float32", (64,))]) as writer:
    for i in range(300):
        if i == 3:
            before = peak()
        writer.add(4096, [0, i], [i, 1], node={"feat": np.full((4096, 64), i, np.float32)})
print(peak() - before)
"""


@pytest.fixture(scope="module")
def large_store(tmp_path_factory):
    """300 MB in 300 graphs; (path, growth of the writer's peak memory in MB after the third graph)."""
    path = tmp_path_factory.mktemp("large") / "store"
    with start(WRITE_LARGE, path) as process:
        growth = float(process.communicate()[0])
    yield path, growth
    shutil.rmtree(path.parent)


def test_writing_takes_constant_memory(large_store):
    path, growth = large_store
    assert (path / "node.feat.npy").stat().st_size > 300e6
    assert growth < 150  # all 300 graphs would be 300


def anonymous_memory():
    """MB of this process that are not pages of files."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Anonymous:")) / 1024


def read_in_worker(store):
    """Sums of all graphs, batch by batch, and the growth of memory meanwhile, from before anything was mapped."""
    before, sums = anonymous_memory(), []
    for first in range(0, len(store), 5):
        g, _, _ = store.batch(range(first, first + 5))
        sums.append(float(g.ndata["feat"].sum(dtype=torch.float64)))
    return sums, anonymous_memory() - before


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="needs Linux")
def test_spawned_workers_share_the_pages(large_store):
    store = Packed(large_store[0])
    expected = [float(4096 * 64 * sum(range(first, first + 5))) for first in range(0, 300, 5)]
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        for sums, growth in pool.map(read_in_worker, [store] * 3, chunksize=1):
            assert sums == expected
            assert growth < 150  # a copy of the store would be 300


@pytest.fixture(scope="module")
def many_graphs(tmp_path_factory):
    """Stores of 1,000 and of 200,000 graphs of one node."""
    folder = tmp_path_factory.mktemp("many")
    for n_graphs in (1000, 200_000):
        with PackedWriter(folder / str(n_graphs), "many", [Field("graph", "label", "int64")]) as writer:
            nothing = np.empty(0, np.int64)
            for i in range(n_graphs):
                writer.add(1, nothing, nothing, graph={"label": i})
    return folder


def bytes_read(function):
    def count():
        return int(Path("/proc/self/io").read_text().split()[1])

    count()
    between = -count() + count()  # what counting itself reads
    before = count()
    result = function()
    return count() - before - between, result


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="needs Linux")
def test_opening_reads_the_header_only(many_graphs):
    sizes = {}
    for n_graphs in (1000, 200_000):
        path = many_graphs / str(n_graphs)
        n_bytes, store = bytes_read(lambda path=path: Packed(path))
        assert len(store) == n_graphs
        sizes[n_graphs] = n_bytes
        assert abs(n_bytes - (path / "header.json").stat().st_size) < 100
    assert abs(sizes[200_000] - sizes[1000]) < 100  # digits of the counts


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="needs Linux")
def test_a_batch_reads_its_own_blocks_once(many_graphs):
    store = Packed(many_graphs / "200000")
    wanted = [150_000, 50_000, 150_001]
    n_bytes, (_, _, labels) = bytes_read(lambda: store.batch(wanted))
    assert labels.tolist() == wanted
    # two places in each of node_offsets, edge_offsets, label and in_degree, and the checksums
    assert 7 * BLOCK < n_bytes < 9 * BLOCK
    assert bytes_read(lambda: store.batch(wanted))[0] < 100
    n_bytes, _ = bytes_read(lambda: store.batch(range(200_000)))
    total = sum(entry["bytes"] for entry in store.header["arrays"].values())
    assert total - 9 * BLOCK < n_bytes < total
    assert bytes_read(lambda: store.batch(range(200_000)))[0] < 100


# Derived arrays


def test_derive_is_cached_and_keyed_by_parameters(store):
    calls = []

    def degrees(scale):
        def compute(i):
            calls.append(i)
            return np.bincount(some_graphs()[i]["dst"], minlength=7)[:, None] * scale

        return store.derive(
            "deg", level="node", dtype="float32", shape=(1,), parameters={"scale": scale}, compute=compute
        )

    view = degrees(2)
    assert calls == [0, 1, 2, 3, 4, 5]
    assert view.fields["node.deg"] == Field("node", "deg", "float32", (1,))
    assert "node.deg" not in store.fields
    assert view.hash == store.hash
    g, _, labels = view.batch([3, 0])
    assert torch.equal(g.ndata["deg"][:, 0], 2.0 * g.in_degrees())
    assert torch.equal(labels, store.batch([3, 0]).y)
    degrees(2)
    assert len(calls) == 6
    g = degrees(3).graph(1)
    assert torch.equal(g.ndata["deg"][:, 0], 3.0 * g.in_degrees())
    assert len(calls) == 12
    assert len([path for path in (store.path / "derived").iterdir() if path.is_dir()]) == 2


@pytest.mark.parametrize("level", ["graph", "node", "edge"])
def test_derive_at_each_level(store, level):
    n_rows = {"graph": 1, "node": 7, "edge": 20}[level]
    shape = () if level == "graph" else (n_rows,)
    view = store.derive("x", level=level, dtype="int16", parameters={}, compute=lambda i: np.full(shape, i))
    assert view.column(f"{level}.x").tolist() == [i for i in range(6) for _ in range(n_rows)]


def test_failed_derive_leaves_nothing(store):
    with pytest.raises(ZeroDivisionError):
        store.derive("x", level="node", dtype="int16", parameters={}, compute=lambda i: np.full(7, 6 // (3 - i)))
    with pytest.raises(ValueError, match=r"graph 0, node.x: shape \(6,\): expected \(7,\)"):
        store.derive("x", level="node", dtype="int16", parameters={}, compute=lambda i: np.zeros(6, int))
    with pytest.raises(ValueError, match="declared twice"):
        store.derive("feat", level="node", dtype="int16", parameters={}, compute=None)
    assert [path for path in (store.path / "derived").iterdir() if path.is_dir()] == []


def test_damaged_derived_array_is_found(store, capsys):
    def derive():
        return store.derive("x", level="node", dtype="int16", parameters={}, compute=lambda i: np.full(7, i))

    folder = derive()._arrays["node.x"].path.parent
    damage(folder / "node.x.npy", -1)
    with pytest.raises(StoreError, match=f"node.x.npy.*delete the folder {folder}"):
        derive().batch([5])
    assert main(["verify", str(store.path)]) == 1
    assert "node.x.npy" in capsys.readouterr().err
    store.batch([5])
    shutil.rmtree(folder)
    assert derive().graph(5).ndata["x"].tolist() == [5] * 7


def test_half_precision_takes_half_the_disk_and_is_float32_in_a_batch(tmp_path):
    fields = [Field("node", "feat", "float16", (2,)), Field("edge", "feat", "float16")]
    with PackedWriter(tmp_path / "half", "half", fields) as writer:
        writer.add(2, [0, 1], [1, 0], node={"feat": [[0.1, 300.3], [2.0, 700.7]]}, edge={"feat": [0.5, 0.25]})
        with pytest.raises(ValueError, match=r"70000\.0 does not fit into float16"):
            writer.add(1, [], [], node={"feat": [[0.0, 70000.0]]}, edge={"feat": []})
    store = Packed(tmp_path / "half")
    assert store.column("node.feat").dtype == np.float16
    g = store.graph(0)
    assert g.ndata["feat"].dtype == g.edata["feat"].dtype == torch.float32
    assert g.ndata["feat"].tolist() == [[np.float16(0.1), 300.25], [2.0, 700.5]]
