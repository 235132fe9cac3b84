"""Downloads against a real HTTP server on this machine that truncates, corrupts, stalls, redirects and fails."""

import hashlib
import json
import socket
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from data import download
from data.dataset import DataConfig
from data.download import RawFile, find, present
from data.errors import DataError

CONTENT = bytes(range(256)) * 2000
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Handler(BaseHTTPRequestHandler):
    """The first part of the path says how to misbehave; the number of requests for each path is counted."""

    def do_GET(self):
        self.server.requests.append((self.path, self.headers.get("Range")))
        n = sum(path == self.path for path, _ in self.server.requests)
        getattr(self, self.path.split("/")[1])(n)

    def send(self, content=CONTENT, status=200, length=None, headers=()):
        self.send_response(status)
        self.send_header("Content-Length", str(len(content) if length is None else length))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def good(self, n):
        self.send()

    def truncates(self, n):  # the first two answers stop in the middle; ranges are served
        begin = self.headers.get("Range")
        first = int(begin.removeprefix("bytes=").rstrip("-")) if begin else 0
        rest = CONTENT[first:]
        content = rest[: len(rest) // 2] if n <= 2 else rest
        assert self.headers.get("If-Range") == ('"v1"' if begin else None)
        where = [("Content-Range", f"bytes {first}-{len(CONTENT) - 1}/{len(CONTENT)}")] if begin else []
        self.send(content, 206 if begin else 200, len(rest), [("ETag", '"v1"'), *where])
        self.close_connection = True

    def rest_of(self, n, content=CONTENT, content_range=None, tag='"v1"', encoding=None):
        """The first answer stops in the middle. The second is `content` under `content_range`, later ones are right."""
        half = len(CONTENT) // 2
        if n == 1 or (n > 2 and self.headers.get("Range") is None):
            self.send(CONTENT[:half] if n == 1 else CONTENT, 200, len(CONTENT), [("ETag", '"v1"')])
        else:
            headers = [("ETag", tag)] + ([("Content-Encoding", encoding)] if encoding else [])
            if content_range:
                where = content_range.format(half=half, last=len(CONTENT) - 1, total=len(CONTENT))
                headers.append(("Content-Range", where))
            self.send(content[half:], 206, headers=headers)
        self.close_connection = True

    def rest_without_range(self, n):
        self.rest_of(n)

    def rest_from_elsewhere(self, n):
        self.rest_of(n, CONTENT[:1] + CONTENT, "bytes 5-{last}/{total}")

    def rest_of_another_length(self, n):
        self.rest_of(n, CONTENT, "bytes {half}-{last}/999999999")

    def rest_of_another_version(self, n):
        self.rest_of(n, b"!" * len(CONTENT), "bytes {half}-{last}/{total}", tag='"v2"')

    def rest_is_gibberish(self, n):
        self.rest_of(n, CONTENT, "pages one to two")

    def part_unasked(self, n):
        self.send(CONTENT[:1000], 206, headers=[("Content-Range", f"bytes 0-999/{len(CONTENT)}")])

    def encoded(self, n):
        self.send(CONTENT, headers=[("Content-Encoding", "gzip")])

    def odd_length(self, n):
        self.send(CONTENT, length="many")

    def changes(self, n):  # cut off in the middle of another version, which is gone when the rest is asked for
        old = self.headers.get("If-Range") in (None, '"v0"') and n == 1
        self.send(b"old" * 1000 if old else CONTENT, 200, 9000 if old else None, [("ETag", f'"v{int(not old)}"')])
        self.close_connection = True

    def unnamed(self, n):  # ranges, but no version: going on could join two files
        assert self.headers.get("Range") is None
        self.send(CONTENT[:1000] if n == 1 else CONTENT, 200, len(CONTENT))
        self.close_connection = True

    def no_ranges(self, n):  # stops in the middle once, and cannot go on from there
        self.send(CONTENT[:100000] if n == 1 else CONTENT, 200, len(CONTENT))
        self.close_connection = True

    def always_short(self, n):
        self.send(CONTENT[:1000], 200, len(CONTENT))
        self.close_connection = True

    def corrupts(self, n):
        self.send(CONTENT[:-1] + b"!")

    def stalls(self, n):
        self.send(CONTENT[:10], 200, len(CONTENT))
        self.wfile.flush()
        self.server.released.wait(20)
        self.close_connection = True

    def redirects(self, n):
        self.send(b"", 302, headers=[("Location", "/good/file")])

    def broken(self, n):
        self.send(b"oops", 500)

    def recovers(self, n):
        self.broken(n) if n == 1 else self.good(n)

    def missing(self, n):
        self.send(b"not here", 404)

    def empty(self, n):
        self.send(b"")

    def web_page(self, n):
        self.send(b"<html>please log in</html>", headers=[("Content-Type", "text/html; charset=utf-8")])

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(download, "PAUSE", 0.01)
    monkeypatch.setattr(download, "TIMEOUT", 1.0)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.requests, server.released = [], threading.Event()
    server.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.released.set()
    server.shutdown()
    thread.join()
    server.server_close()


def raw_file(server, *behaviours, sha256=SHA256):
    return RawFile("set/file.bin", tuple(f"{server.address}/{behaviour}/file" for behaviour in behaviours), sha256)


def config(tmp_path, **keys):
    return DataConfig(raw_dir=str(tmp_path / "raw"), data_dir=keys.pop("data_dir", None), **keys)


@pytest.mark.parametrize("behaviour", ["good", "truncates", "changes", "unnamed", "no_ranges", "redirects", "recovers"])
def test_the_file_arrives_whole(server, tmp_path, behaviour):
    path = find(raw_file(server, behaviour), config(tmp_path))
    assert path == tmp_path / "raw/set/file.bin" and path.read_bytes() == CONTENT
    assert json.loads((tmp_path / "raw/checksums.json").read_text()) == {"set/file.bin": SHA256}
    assert not list(path.parent.glob(".*"))


@pytest.mark.parametrize(
    "behaviour",
    [
        "rest_without_range",
        "rest_from_elsewhere",
        "rest_of_another_length",
        "rest_of_another_version",
        "rest_is_gibberish",
    ],
)
def test_a_rest_that_does_not_fit_is_not_joined(server, tmp_path, behaviour):
    """No checksum is known: what is joined wrongly would be recorded as right."""
    path = find(raw_file(server, behaviour, sha256=None), config(tmp_path))
    assert path.read_bytes() == CONTENT
    assert len(server.requests) == 3  # cut off, refused, from the beginning


def test_https_does_not_lead_to_plain_http():
    request = urllib.request.Request("https://127.0.0.1/file")
    arguments = (None, 302, "Found", {}, "http://127.0.0.1/file")
    with pytest.raises(DataError, match="from https to http://"):
        download.NoDowngrade().redirect_request(request, *arguments)


def test_no_address_is_plain_http():
    sources = [path.read_text() for path in Path(download.__file__).parent.rglob("*.py")]
    assert not [text for text in sources if '"http://' in text]


def test_it_goes_on_where_it_was_cut_off(server, tmp_path):
    find(raw_file(server, "truncates"), config(tmp_path))
    ranges = [begin for _, begin in server.requests]
    assert ranges == [None, f"bytes={len(CONTENT) // 2}-", f"bytes={len(CONTENT) * 3 // 4}-"]


@pytest.mark.parametrize(
    ("behaviour", "message"),
    [
        ("always_short", "IncompleteRead"), ("corrupts", "SHA-256"), ("stalls", "timed out"),
        ("broken", "HTTP 500"), ("missing", "HTTP 404"), ("empty", "empty"),
        ("part_unasked", "a part of the file"), ("encoded", "encoded"), ("odd_length", "Content-Length 'many'"),
    ],
)  # fmt: skip
def test_what_cannot_be_had_is_an_error_and_leaves_nothing(server, tmp_path, behaviour, message):
    with pytest.raises(DataError, match=message) as error:
        find(raw_file(server, behaviour, sha256=SHA256), config(tmp_path))
    assert f"/{behaviour}/file" in str(error.value) and "GNN_DATA" in str(error.value)
    assert not [p for p in (tmp_path / "raw").rglob("*") if p.is_file() and p.suffix != ".lock"]


def test_a_missing_file_is_not_asked_for_again_and_a_broken_server_is(server, tmp_path):
    for behaviour, n in (("missing", 1), ("broken", download.ATTEMPTS)):
        server.requests.clear()
        with pytest.raises(DataError):
            find(raw_file(server, behaviour), config(tmp_path))
        assert len(server.requests) == n


def test_a_host_that_does_not_exist_is_not_asked_for_again(tmp_path, monkeypatch):
    """What a machine without a network says; a name server that does not answer may do so later."""
    for code, n in ((socket.EAI_NONAME, 1), (socket.EAI_AGAIN, download.ATTEMPTS)):
        asked = []

        def look_up(*arguments, code=code, asked=asked, **options):
            asked.append(arguments)
            raise socket.gaierror(code, "no address")

        monkeypatch.setattr(socket, "getaddrinfo", look_up)
        with pytest.raises(DataError, match="no address"):
            find(RawFile("file", ("https://nowhere.invalid/file",), None), config(tmp_path))
        assert len(asked) == n


def test_the_next_mirror_is_tried(server, tmp_path):
    path = find(raw_file(server, "broken", "corrupts", "always_short", "good"), config(tmp_path))
    assert path.read_bytes() == CONTENT


def test_an_unknown_checksum_is_recorded_and_enforced_afterwards(server, tmp_path):
    path = find(raw_file(server, "good", sha256=None), config(tmp_path))
    path.write_bytes(b"changed")
    with pytest.raises(DataError, match=r"SHA-256 is .* expected"):
        find(raw_file(server, "good", sha256=None), config(tmp_path))
    path.unlink()
    with pytest.raises(DataError, match="SHA-256"):  # another file at the same address is refused from now on
        find(raw_file(server, "corrupts", sha256=None), config(tmp_path))
    assert find(raw_file(server, "good", sha256=None), config(tmp_path)).read_bytes() == CONTENT


def test_the_users_folder_comes_first_and_nothing_is_asked(server, tmp_path):
    own = tmp_path / "own"
    own.mkdir()
    (own / "file.bin").write_bytes(CONTENT)
    assert find(raw_file(server, "broken"), config(tmp_path, data_dir=str(own))) == own / "file.bin"
    (own / "set").mkdir()
    (own / "set/file.bin").write_bytes(CONTENT)
    assert find(raw_file(server, "broken"), config(tmp_path, data_dir=str(own))) == own / "set/file.bin"
    (own / "set/file.bin").write_bytes(b"")
    with pytest.raises(DataError, match="empty"):
        find(raw_file(server, "good"), config(tmp_path, data_dir=str(own)))
    with pytest.raises(DataError, match="no such folder"):
        find(raw_file(server, "good"), config(tmp_path, data_dir=str(tmp_path / "none")))
    assert not server.requests


def test_offline_and_without_an_address_nothing_is_asked(server, tmp_path):
    with pytest.raises(DataError, match="offline forbids"):
        find(raw_file(server, "good"), config(tmp_path, offline=True))
    with pytest.raises(DataError, match="no address"):
        find(raw_file(server), config(tmp_path))
    assert not server.requests
    find(raw_file(server, "good"), config(tmp_path))
    assert find(raw_file(server, "good"), config(tmp_path, offline=True)).read_bytes() == CONTENT


def test_folders_are_found(tmp_path):
    assert present("TU/X", config(tmp_path)) is None
    (tmp_path / "raw/TU/X").mkdir(parents=True)
    assert present("TU/X", config(tmp_path)) == tmp_path / "raw/TU/X"
    (tmp_path / "own/X").mkdir(parents=True)
    assert present("TU/X", config(tmp_path, data_dir=str(tmp_path / "own"))) == tmp_path / "own/X"


def test_a_web_page_is_not_trusted(server, tmp_path):
    with pytest.raises(DataError, match="web page"):
        find(raw_file(server, "web_page", sha256=None), config(tmp_path))
    assert find(raw_file(server, "web_page", "good", sha256=None), config(tmp_path)).read_bytes() == CONTENT


def test_a_bad_first_download_has_a_way_out(server, tmp_path):
    path = find(raw_file(server, "corrupts", sha256=None), config(tmp_path))
    path.unlink()
    with pytest.raises(DataError, match=r"delete its line in .*checksums.json"):
        find(raw_file(server, "good", sha256=None), config(tmp_path))
