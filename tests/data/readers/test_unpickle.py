"""Pickles and torch files become plain data equal to what was written, or one named error: nothing in a file is run."""

import gzip
import io
import json
import pickle
import random
import subprocess
import sys
import types
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import sparse

from data.errors import DataError
from data.readers.pickle_machine import OPCODES, Object
from data.readers.unpack import open_file
from data.readers.unpickle import UnpickleError, load_pickle, load_torch, stream_pickle
from tests.data.readers import attacks

ROOT = Path(__file__).resolve().parents[3]
PLAIN = (int, float, complex, bool, type(None), str, bytes, list, tuple, dict, set, np.ndarray, Object)


def loads(content, **options):
    return load_pickle(io.BytesIO(content), **options)


def saved(value, legacy=False):
    file = io.BytesIO()
    torch.save(value, file, _use_new_zipfile_serialization=not legacy)
    return file.getvalue()


def same(a, b):
    """Equal, to the types of the numbers in arrays; a tensor equals the array of its numbers."""
    if isinstance(b, torch.Tensor):
        b = b.numpy()
    if isinstance(b, np.ndarray):
        return type(a) is np.ndarray and a.dtype == b.dtype and a.shape == b.shape and np.array_equal(a, b)
    if isinstance(b, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in b)
    if isinstance(b, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b


# What is in good files

VALUES = {
    "numbers": [0, 1, 255, 256, 65536, -1, -(2**31), 2**31, 2**70, -(2**70), 0.0, -1.5, 1e300, True, False, None],
    "texts": ["", "a", "ä€𝄞", "x" * 300, "\\ \n '\"", b"", b"abc", bytes(range(256)) * 3],
    "containers": [[], (), {}, set(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), {"a": [1, {"b": ()}], 2: None}, {1, "a"}],
    "shared": [(item := [1, 2]), item, {"again": item}],
}
ARRAYS = {
    "types": [np.array([0, 1], kind) for kind in "?bBhHiIlLefdFD"],
    "orders": [
        np.arange(6).reshape(2, 3),
        np.arange(6).reshape(2, 3).T,
        np.arange(24.0).reshape(2, 3, 4).transpose(1, 0, 2),
    ],
    "swapped": [np.arange(3, dtype=">i4"), np.arange(3, dtype=">f8")],
    "views": [np.arange(10)[::3], np.arange(12).reshape(3, 4)[:, 1:3]],
    "empty": [np.array([]), np.empty((0, 3), np.int32), np.empty((3, 0))],
    "single": [np.array(7), np.array(2.5, np.float32)],
}
TENSORS = {
    "types": [torch.tensor([0, 1]).to(kind) for kind in (
        torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.float32, torch.float64,
        torch.complex64, torch.complex128,
    )],
    "views": [(base := torch.arange(12).view(3, 4)), base.T, base[1:, ::2], base[2], base[0, 3], base[:, :0]],
    "repeated": [torch.ones(1).expand(3), torch.ones(2, 1).expand(2, 3)],
    "empty": [torch.zeros(0), torch.zeros(0, 3), torch.zeros(2, 0)],
}  # fmt: skip


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("value", [*VALUES, *ARRAYS, *TENSORS], ids=str)
def test_what_was_pickled_comes_back(protocol, value):
    for group in (VALUES, ARRAYS, TENSORS):
        if value in group:
            assert same(loads(pickle.dumps(group[value], protocol)), group[value])


@pytest.mark.parametrize("legacy", [True, False], ids=["before torch 1.6", "zip"])
@pytest.mark.parametrize("group", [VALUES, ARRAYS, TENSORS], ids=["values", "arrays", "tensors"])
def test_what_torch_saved_comes_back(legacy, group):
    for value in group.values():
        assert same(load_torch(io.BytesIO(saved(value, legacy)), "file"), value)


@pytest.mark.parametrize("protocol", range(6))
def test_numbers_of_numpy_become_numbers_of_python(protocol):
    values = [np.float64(2.5), np.float32(0.1), np.int64(-3), np.bool_(True), np.complex128(1j)]
    assert same(loads(pickle.dumps(values, protocol)), [value.item() for value in values])


def test_names_of_both_ages_of_numpy_are_known():
    for protocol in (2, 5):
        content = pickle.dumps(np.arange(3), protocol)
        older = content.replace(b"numpy._core.", b"numpy.core.").replace(b"\x8c\x13numpy.core", b"\x8c\x12numpy.core")
        older = bytes(older) if protocol == 2 else older.replace(content[3:11], (len(older) - 11).to_bytes(8, "little"))
        assert b"numpy.core." in older and same(loads(older), np.arange(3))


def test_arrays_cannot_be_written_to_where_they_are_the_bytes_of_the_file():
    array = loads(pickle.dumps(np.arange(3)))
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1


def test_a_sparse_matrix_is_a_dictionary_of_its_arrays():
    matrix = sparse.csr_matrix(np.array([[0, 1.5], [2, 0]]))
    for protocol in range(2, 6):
        found = loads(pickle.dumps([matrix, matrix], protocol))
        assert found[0] is found[1] and found[0].name == "scipy.sparse._csr.csr_matrix"
        assert found[0]["_shape"] == (2, 2)
        assert all(same(found[0][key], getattr(matrix, key)) for key in ("data", "indices", "indptr"))


def test_a_graph_of_torch_geometric_is_a_dictionary(monkeypatch):
    """Its two classes as they are pickled: a graph has a store, the store has the tensors and refers back to the graph."""
    for path in (
        "torch_geometric",
        "torch_geometric.data",
        "torch_geometric.data.data",
        "torch_geometric.data.storage",
    ):
        monkeypatch.setitem(sys.modules, path, types.ModuleType(path))
    data, storage = sys.modules["torch_geometric.data.data"], sys.modules["torch_geometric.data.storage"]
    data.Data = type("Data", (), {"__module__": data.__name__})
    storage.GlobalStorage = type("GlobalStorage", (), {"__module__": storage.__name__})
    graph, tensors = data.Data(), {"x": torch.ones(3, 2), "edge_index": torch.tensor([[0, 1], [1, 2]])}
    graph._store = storage.GlobalStorage()
    graph._store.__dict__ |= {"_parent": graph, "_mapping": tensors}
    found, slices = load_torch(io.BytesIO(saved((graph, {"x": torch.tensor([0, 3])}))), "file")
    assert found.name == "torch_geometric.data.data.Data" and same(slices["x"], torch.tensor([0, 3]))
    assert same(found["_store"]["_mapping"], tensors) and "_parent" not in found["_store"]


def test_the_planetoid_files_are_read_as_numpy_and_scipy_read_them(real_data):
    files = [path for path in sorted((real_data / "node/planetoid").glob("ind.*")) if ".index" not in path.name]
    if not files:
        pytest.skip("no planetoid files")
    for path in files:
        with open_file(path) as file:
            found = load_pickle(file)
        content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of modules that scipy has renamed
            expected = pickle.loads(content, encoding="latin1")
        if sparse.issparse(expected):
            assert found["_shape"] == expected.shape
            assert all(same(found[key], getattr(expected, key)) for key in ("data", "indices", "indptr"))
        else:
            assert same(found, dict(expected) if isinstance(expected, dict) else expected)
    assert len(files) == 21


# Attacks


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    """All attacks in one process of their own: a crash would end it, and memory is bounded by the system."""
    folder = tmp_path_factory.mktemp("attacks")
    attacks.write(folder)
    command = [sys.executable, "-m", "tests.data.readers.read_attacks", str(folder), str(attacks.LIMIT)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def test_every_attack_gives_one_line_that_names_it(outcome):
    wrong = {}
    for name, (_, expected) in attacks.ATTACKS.items():
        result = outcome["results"][name]
        good = result == "read" if expected is None else "Error: " in result and expected in result
        if not good or "\n" in result or len(result) > 500:
            wrong[name] = result
    assert not wrong
    assert len(attacks.ATTACKS) > 200


def test_attacks_take_little_memory(outcome):
    largest = max(len(content) for content, _ in attacks.ATTACKS.values())
    assert largest / 1024 < outcome["grown"] < 2 * (largest + attacks.LIMIT) / 1024


GOOD = {f"protocol {p}": pickle.dumps([VALUES["containers"], np.arange(4), torch.ones(2)], p) for p in range(6)}
GOOD_TORCH = {form: saved({"a": torch.ones(2), "b": np.arange(2)}, form == "legacy") for form in ("legacy", "zip")}


def plain_or_refused(load, content):
    """None if a file is refused by one of the two errors; else True if its content is plain data."""
    try:
        todo = [load(io.BytesIO(content))]
    except (UnpickleError, DataError):
        return None
    while todo:
        value = todo.pop()
        if type(value) not in PLAIN or (type(value) is np.ndarray and value.dtype.kind not in "biufc"):
            return False
        todo += (
            [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, list | tuple) else []
        )
    return True


def load_small_torch(file):
    return load_torch(file, "file", attacks.LIMIT)


def load_small_pickle(file):
    return load_pickle(file, attacks.LIMIT)


@pytest.mark.parametrize("name", [*GOOD, *GOOD_TORCH])
def test_a_file_cut_off_anywhere_is_refused(name):
    content, load = (GOOD[name], load_small_pickle) if name in GOOD else (GOOD_TORCH[name], load_small_torch)
    assert plain_or_refused(load, content)
    assert [plain_or_refused(load, content[:n]) for n in range(len(content))] == [None] * len(content)


@pytest.mark.parametrize("name", [*GOOD, *GOOD_TORCH])
def test_a_file_with_other_bytes_is_plain_data_or_refused(name):
    content, load = (GOOD[name], load_small_pickle) if name in GOOD else (GOOD_TORCH[name], load_small_torch)
    dice, codes = random.Random(name), [code[0] for code in OPCODES]
    seen = set()
    for _ in range(1500):
        changed = bytearray(content)
        for _ in range(dice.choice((1, 1, 2, 8))):
            place = dice.randrange(len(changed))
            changed[place] = dice.choice((dice.randrange(256), dice.choice(codes)))
        if dice.random() < 0.3:  # a piece of it twice
            start, length, place = (dice.randrange(len(changed)) for _ in range(3))
            changed[place:place] = changed[start : start + length]
        seen.add(plain_or_refused(load, bytes(changed)))
    assert seen == {None, True}


def test_random_programs_are_plain_data_or_refused():
    """Opcodes and pieces of attacks in any order."""
    dice = random.Random(0)
    pieces = [attacks.array(), attacks.dtype(), attacks.BEGUN, attacks.tensor(attacks.stored(attacks.LEGACY_STORAGE))]
    pieces += [
        attacks.put(0),
        attacks.get(0),
        attacks.numbers(1, 2),
        attacks.keyed(a=b"]"),
        attacks.text("a"),
        attacks.name("numpy.dtype"),
    ]
    pieces += [code + bytes(dice.randrange(3) for _ in range(dice.randrange(9))) for code in OPCODES for _ in range(3)]
    pieces += list(OPCODES) * 2 + [b"]", b"}", b")", b"(", b"N"] * 20
    seen = [
        plain_or_refused(load_small_pickle, b"".join(dice.choices(pieces, k=dice.randrange(1, 30))) + b".")
        for _ in range(20_000)
    ]
    assert False not in seen and seen.count(True) > 100 and seen.count(None) > 100


def test_the_limit_counts_what_is_made():
    array = pickle.dumps(np.zeros(100_000))
    assert loads(array, limit=900_000).nbytes == 800_000
    with pytest.raises(UnpickleError, match="more data than its limit allows"):
        loads(array, limit=700_000)
    lists = b"]" * 1000 + b"0" * 999 + b"."
    assert loads(lists, limit=300_000) == []
    with pytest.raises(UnpickleError, match="more data than its limit allows"):
        loads(lists, limit=200_000)


# A list item by item


def graph_like(i):
    """As LRGB's graphs are pickled: tensors of half precision and whole numbers, and a numpy array."""
    ends = torch.randint(50, (2, 200), generator=torch.Generator().manual_seed(i))
    return torch.full((50, 14), i, dtype=torch.float16), torch.ones(200, 2), ends, np.arange(50, dtype=np.int32) + i


@pytest.mark.parametrize("protocol", (2, 4))
def test_a_long_list_item_by_item(protocol):
    """More than the thousand items that pickle writes at once; names and types of the first are used by all."""
    items = [graph_like(i) for i in range(1100)]
    content = pickle.dumps(items, protocol)
    read = list(stream_pickle(io.BytesIO(content)))
    assert len(read) == 1100 and all(same(read[i], items[i]) for i in (0, 999, 1000, 1099))


def test_a_list_item_by_item_is_never_all_in_memory():
    content = pickle.dumps([np.full(10_000, i) for i in range(3000)])  # 240 MB
    seen = sum(int(item[0]) for item in stream_pickle(io.BytesIO(content), limit=100 << 20))
    assert seen == sum(range(3000))
    with pytest.raises(UnpickleError, match="more data than its limit allows"):
        list(stream_pickle(io.BytesIO(content), limit=50 << 20))


def test_lists_item_by_item_that_are_none():
    assert list(stream_pickle(io.BytesIO(pickle.dumps([])))) == []
    assert list(stream_pickle(io.BytesIO(pickle.dumps([[1], [2, [3]]])))) == [[1], [2, [3]]]
    with pytest.raises(UnpickleError, match="it is no list"):
        list(stream_pickle(io.BytesIO(pickle.dumps({"a": 1}))))
    with pytest.raises(UnpickleError, match="it is cut off"):
        list(stream_pickle(io.BytesIO(pickle.dumps([1, 2, 3])[:-2])))
    shared = [0] * 100
    with pytest.raises(UnpickleError, match="is not in the memo"):
        list(stream_pickle(io.BytesIO(pickle.dumps([shared, *range(1000), shared]))))
