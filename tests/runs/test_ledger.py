"""The ledger: one line per key, whatever is killed, torn, damaged or doubled."""

import json
import multiprocessing
import os
import signal

import pytest

from runs.files import RunError
from runs.ledger import Ledger


@pytest.fixture
def path(tmp_path):
    return tmp_path / "answers.jsonl"


def keys(path):
    return [json.loads(line)["key"] for line in path.read_text().splitlines()]


def test_a_ledger_that_is_opened_again_has_all_lines(path):
    ledger = Ledger(path)
    assert ledger.missing(["a", "b"]) == ["a", "b"]
    assert ledger.append("a", value=1.5) and ledger.append("b", value=None)
    again = Ledger(path)
    assert again.missing(["a", "b", "c"]) == ["c"]
    assert again.lines["a"]["value"] == 1.5 and again.lines["b"]["value"] is None


def test_one_line_per_key_whoever_writes_first(path):
    """A worker that outlives its killed parent and the restarted run both have an answer: the first stays."""
    parent, worker = Ledger(path), Ledger(path)
    assert worker.append("a", value=1)
    assert not parent.append("a", value=2)
    assert keys(path) == ["a"] and parent.lines["a"]["value"] == 1


def test_a_torn_last_line_is_dropped_at_every_byte(path):
    Ledger(path).append("a", value=1)
    Ledger(path).append("b", value=2)
    content = path.read_bytes()
    first = content.index(b"\n") + 1
    for cut in range(first, len(content)):
        path.write_bytes(content[:cut])
        ledger = Ledger(path)
        assert ledger.missing(["a", "b"]) == ["b"]
        ledger.append("b", value=2)
        assert path.read_bytes() == content


def test_damaged_lines_are_named_and_their_work_is_done_again(path, capsys):
    for key in "abc":
        Ledger(path).append(key, value=1)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(lines[0] + lines[1].replace('"value": 1', '"value": 7') + lines[2] + lines[0])
    ledger = Ledger(path)
    assert ledger.missing(["a", "b", "c"]) == ["b"]
    assert capsys.readouterr().err.count("a damaged line is dropped") == 2
    assert keys(path) == ["a", "c"]


@pytest.mark.parametrize(
    "garbage", [b"[]\n", b"null\n", b"\xff\xfe\n", b"{}\n", b'{"key": 1, "sum": "x"}\n', b"[" * 5000 + b"\n"]
)
def test_foreign_lines_are_dropped(path, garbage, capsys):
    Ledger(path).append("a", value=1)
    with open(path, "ab") as file:
        file.write(garbage)
    assert list(Ledger(path).lines) == ["a"]
    assert "damaged" in capsys.readouterr().err


def write(path, start, n):
    ledger = Ledger(path)
    for i in range(start, start + n):
        ledger.append(str(i), value=i)


def test_several_processes_write_every_key_once(path):
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=write, args=(path, start, 60)) for start in (0, 30)]  # 30 to 59 twice
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sorted(map(int, keys(path))) == list(range(90))
    assert len(Ledger(path).lines) == 90


def test_a_killed_writer_leaves_whole_lines(path):
    context = multiprocessing.get_context("spawn")
    worker = context.Process(target=write, args=(path, 0, 100_000))
    worker.start()
    while not path.exists() or path.stat().st_size < 4000:
        assert worker.is_alive()
    os.kill(worker.pid, signal.SIGKILL)
    worker.join()
    n = len(Ledger(path).lines)
    assert n > 10 and list(map(int, keys(path))) == list(range(n))
    assert Ledger(path).append("new", value=1)  # the lock of the dead is free


def test_an_error_of_the_disk_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match=r"file/answers\.jsonl"):
        Ledger(tmp_path / "file" / "answers.jsonl")
