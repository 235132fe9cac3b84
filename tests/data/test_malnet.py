"""MalNet-Tiny: the real graphs, degree profiles by a loop, nodes without calls."""

import numpy as np
import pytest

from data.dataset import DataConfig
from data.errors import DataError, StoreError
from data.malnet import MalNetTiny, degree_profile, without_isolated


def config(folder, data_dir):
    return DataConfig(store_dir=str(folder), data_dir=str(data_dir), raw_dir="-", offline=True)


def test_degree_profile_by_a_loop():
    src, dst = np.array([0, 0, 0, 1, 1, 2, 4]), np.array([1, 2, 3, 2, 4, 0, 4])
    degree = [3, 2, 1, 0, 1]
    called = [[2, 1, 0], [1, 1], [3], [], [1]]
    expected = [
        [d, min(c, default=0), max(c, default=0), np.mean(c) if c else 0, np.std(c, ddof=1) if len(c) > 1 else 0]
        for d, c in zip(degree, called, strict=True)
    ]
    assert degree_profile(5, src, dst) == pytest.approx(np.array(expected), abs=1e-6)


def test_nodes_without_calls_are_left_out():
    """Node 1 has no edge, node 3 a self-loop alone; that of node 4 stays."""
    n, src, dst = without_isolated(np.array([0, 3, 4, 4]), np.array([2, 3, 4, 0]))
    assert n == 3 and src.tolist() == [0, 2, 2] and dst.tolist() == [1, 2, 0]


def write(folder, n_graphs, **changes):
    """Paths of calls of 4 functions, numbered 0, 2, 4, 6."""
    (folder / "MalNet").mkdir()
    arrays = {
        "num_nodes": np.full(n_graphs, 4, np.int32),
        "edge_ptr": np.arange(n_graphs + 1) * 3,
        "src_step": np.tile(np.array([0, 2, 2], np.uint16), n_graphs),
        "dst": np.tile(np.array([2, 4, 6], np.uint16), n_graphs),
        "label": (np.arange(n_graphs) % 5).astype(np.uint8),
    }
    np.savez(folder / "MalNet/malnet_tiny.npz", **arrays | changes)


def test_another_file_is_noticed(tmp_path):
    write(tmp_path, 100)
    with pytest.raises(StoreError, match=r"\(100, 4.0, 3.0\), of MalNet-Tiny"):
        MalNetTiny(config(tmp_path / "stores", tmp_path))


def test_the_graphs_of_a_file(tmp_path, monkeypatch):
    write(tmp_path, 100)
    monkeypatch.setattr(MalNetTiny, "check", lambda self, store: None)
    dataset = MalNetTiny(config(tmp_path / "stores", tmp_path))
    g, _, y = dataset.store.batch([7])
    assert [e.tolist() for e in g.edges()] == [[0, 1, 2], [1, 2, 3]] and y.tolist() == [2]
    assert g.ndata["feat"].tolist() == [[1, 1, 1, 1, 0], [1, 1, 1, 1, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 0]]
    assert len(dataset.folds) == 10 and np.bincount(y).sum() == 1


def test_with_a_limit_the_smallest_graphs_of_each_class(tmp_path):
    """Graph i of 100 has 100 - i calls; of the 20 graphs of each class the last 12 are read, ten where fewer are asked for."""
    pointer = np.concatenate([[0], np.cumsum(np.arange(100, 0, -1))])
    one = np.ones(pointer[-1], np.uint16)
    write(tmp_path, 100, edge_ptr=pointer, src_step=one, dst=0 * one)
    for limit, n_each in ((60, 12), (7, 10)):
        given = config(tmp_path / "stores", tmp_path).model_copy(update={"limit": limit})
        dataset = MalNetTiny(given)
        assert [int(dataset.store.edges(i)[0].size) for i in range(5 * n_each)] == list(range(5 * n_each, 0, -1))
        parts = dataset.fold(0).parts
        assert (
            len(dataset.store) == 5 * n_each
            and len(dataset.folds) == 10
            and len(parts["train"]) == min(limit, 4 * n_each)
        )


def test_a_function_with_a_huge_number_takes_no_memory(tmp_path, monkeypatch):
    write(tmp_path, 20, dst=np.tile([2, 4, 1 << 50], 20))
    monkeypatch.setattr(MalNetTiny, "check", lambda self, store: None)
    assert MalNetTiny(config(tmp_path / "stores", tmp_path)).store.n_nodes == 80


BAD = [
    ({"edge_ptr": np.arange(21) * 2}, "edge_ptr into src_step does not run from 0 to 60 over 20 graphs"),
    ({"dst": np.tile([2, 4, -6], 20)}, "graph 0: node -6, expected 0 or more"),
    ({"label": np.arange(20) / 4}, "label: values of type float64: expected integers"),
]


@pytest.mark.parametrize(("changes", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_files(tmp_path, changes, message):
    write(tmp_path, 20, **changes)
    with pytest.raises(DataError, match=message):
        MalNetTiny(config(tmp_path / "stores", tmp_path))
