"""Raw files of a dataset: from the folder the user names, the project's own, or a download.

A download tries several addresses, resumes where it was cut off, is compared with its SHA-256 and gets its name only when it
is complete. What a server says of a resumed file (range, length, version) must fit what was received before. Where no SHA-256
is known beforehand, that of the first download is recorded in raw/checksums.json and enforced ever after.
"""

import contextlib
import hashlib
import http.client
import json
import os
import re
import socket
import time
import urllib.error
import urllib.request
import zipfile
import zlib
from pathlib import Path
from typing import NamedTuple

from filelock import FileLock
from tqdm import tqdm

from data.errors import REMEDY, DataError

CHECKSUMS = "checksums.json"
PIECE = 1 << 16  # bytes read at once
TIMEOUT = 30  # seconds without a byte before an address counts as dead
ATTEMPTS = 4  # at each address; what was received stays
PAUSE = 1.0  # seconds before the second attempt, twice as long before each further one
# what the readers of archives, arrays, pickles and text raise when the content is not what it should be
UNREADABLE = (
    ValueError, TypeError, AttributeError, LookupError, EOFError, OverflowError, RecursionError, OSError,
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip


class RawFile(NamedTuple):
    """A file of a dataset: its place below a data folder, where it can be had, and its SHA-256 if it is known."""

    path: str  # "MNIST/train-images-idx3-ubyte.gz"
    urls: tuple = ()
    sha256: str | None = None


def find(file, config, also=()):
    """The path of a raw file: in config.data_dir, in the project's raw/, or downloaded into raw/.

    `also`: other paths below a data folder that will do, such as the unpacked file.
    """
    looked = []
    if config.data_dir is not None:
        folder = Path(config.data_dir).expanduser()
        if not folder.is_dir():
            raise DataError(f"data_dir={config.data_dir}: no such folder (--data.data_dir or GNN_DATA)")
        for name in (file.path, Path(file.path).name, *also):
            path = folder / name
            if path.exists():
                _check(path, None if name in also else file.sha256)
                return path
            looked.append(path)
    for name in (file.path, *also):
        path = Path(config.raw_dir).expanduser() / name
        if path.exists():
            _check(path, None if name in also else file.sha256 or _read_checksums(config.raw_dir).get(name))
            return path
        looked.append(path)
    places = ", ".join(map(str, looked))
    if not file.urls:
        raise DataError(
            f"{file.path}: not found (looked for {places}), and there is no address to download it from: "
            "put it into a folder and name that with --data.data_dir or GNN_DATA"
        )
    if config.offline:
        raise DataError(
            f"{file.path}: not found (looked for {places}), and --data.offline forbids a download. "
            f"Get it from {' or '.join(file.urls)}, or run once without --data.offline"
        )
    return download(file, config.raw_dir)


def present(path, config):
    """A file or folder in config.data_dir or the project's raw/, as it is; None if there is none."""
    places = [Path(config.raw_dir).expanduser() / path]
    if config.data_dir is not None:
        folder = Path(config.data_dir).expanduser()
        places = [folder / path, folder / Path(path).name, *places]
    return next((place for place in places if place.exists()), None)


@contextlib.contextmanager
def reading(path):
    """Turn what goes wrong inside a damaged or malformed file into an error that names it; a DataError does that already."""
    try:
        yield
    except UNREADABLE as error:
        if isinstance(error, OSError) and error.errno is not None:  # the disk, not the content
            raise
        raise DataError(f"{path}: {error or type(error).__name__}: the file is damaged or of another format") from error


def download(file, raw_dir):
    """Fetch `file` to raw_dir and return its path; the addresses are tried one after the other."""
    target = Path(raw_dir).expanduser() / file.path
    target.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{target}.lock"):
        if target.exists():  # another process was faster
            return target
        part, problems = target.with_name(f".{target.name}.part"), []
        expected = file.sha256 or _read_checksums(raw_dir).get(file.path)
        sums = Path(raw_dir) / CHECKSUMS
        origin = "" if file.sha256 else f" (of the first download; if that was bad, delete its line in {sums})"
        for url in file.urls:
            try:
                _fetch(url, part, target.name)
                if part.stat().st_size == 0:
                    raise DataError("the file is empty")
                found = sha256_of(part)
                if expected is not None and found != expected:
                    raise DataError(f"SHA-256 is {found}, expected {expected}{origin}")
            except DataError as problem:
                problems.append(f"  {url}: {problem}")
                part.unlink(missing_ok=True)  # the next address may have another file
                version_note(part).unlink(missing_ok=True)
                continue
            _record(raw_dir, file.path, found)
            os.replace(part, target)
            version_note(part).unlink(missing_ok=True)
            return target
    raise DataError(
        f"{file.path}: no address gave the file.\n"
        + "\n".join(problems)
        + "\nGet it by other means, put it into a folder "
        f"and name that with --data.data_dir or GNN_DATA (as {file.path} below it)"
    )


def _fetch(url, part, name):
    """All bytes behind `url` into the file `part`, in several attempts, each going on where the last one stopped."""
    problem = None
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(PAUSE * 2 ** (attempt - 1))
        try:
            return _receive(url, part, name)
        except urllib.error.HTTPError as error:
            problem = f"HTTP {error.code} {error.reason}"
            if error.code == 416:  # what we have is longer than the file: begin again
                part.unlink(missing_ok=True)
            elif error.code < 500 and error.code not in (408, 429):
                break  # asking again will not help
        except Changed as error:
            problem = error
            part.unlink(missing_ok=True)
        except (urllib.error.URLError, http.client.HTTPException, ConnectionError, TimeoutError) as error:
            problem = getattr(error, "reason", None) or f"{type(error).__name__}: {error}"
            if isinstance(problem, socket.gaierror) and problem.errno == socket.EAI_NONAME:
                break  # no such host, or no network
    raise DataError(str(problem))


class Changed(DataError):
    """The rest of a file does not fit its beginning: begin again."""


class NoDowngrade(urllib.request.HTTPRedirectHandler):
    """Refuses to be sent from https to plain http, where anybody on the way could change the file."""

    def redirect_request(self, request, *arguments):
        new = super().redirect_request(request, *arguments)
        if new is not None and request.type == "https" and new.type != "https":
            raise DataError(f"it leads from https to {new.full_url}")
        return new


def _receive(url, part, name):
    """One request. Goes on from the bytes that are there if they are of the same version of the same address, and raises if fewer
    arrive than announced. The version is what the server calls it (ETag or date), noted beside the bytes with the length."""
    note = version_note(part)
    noted = note.read_text().split("\n") if note.exists() and part.exists() else []
    have = part.stat().st_size if len(noted) == 3 and noted[0] == url and noted[1] else 0
    headers = {"Range": f"bytes={have}-", "If-Range": noted[1]} if have else {}
    request = urllib.request.Request(url, headers={"Accept-Encoding": "identity", **headers})
    with contextlib.ExitStack() as stack:
        answer = stack.enter_context(urllib.request.build_opener(NoDowngrade).open(request, timeout=TIMEOUT))
        if answer.headers.get_content_type() == "text/html":  # of a login or an error: it would be trusted ever after
            raise DataError("the answer is a web page, not the file")
        if (encoding := answer.headers.get("Content-Encoding", "identity")).lower() != "identity":
            raise DataError(f"the answer is encoded ({encoding}), which was not asked for")
        length = length_of(answer)
        if answer.status == 206:
            check_rest(answer, have, length, *(noted[1:] or ("", "")))
        else:  # everything from the beginning
            have = 0
            note.write_text(f"{url}\n{version_of(answer)}\n{'' if length is None else length}")
        total = have + length if length is not None else None
        bar = stack.enter_context(tqdm(total=total, initial=have, desc=name, unit="B", unit_scale=True, disable=None))
        file = stack.enter_context(open(part, "ab" if have else "wb"))
        while piece := answer.read(PIECE):
            file.write(piece)
            bar.update(len(piece))
        file.flush()
        os.fsync(file.fileno())
    received = part.stat().st_size
    if total is not None and received != total:
        raise http.client.IncompleteRead(b"", total - received)


def length_of(answer):
    """The number of bytes that are announced, None if none is."""
    text = answer.headers.get("Content-Length")
    if text is not None and not re.fullmatch(r"[0-9]{1,18}", text):
        raise DataError(f"Content-Length {text!r} is not a number")
    return None if text is None else int(text)


def check_rest(answer, have, length, version, whole):
    """Raise unless the answer is the rest of the file, from byte `have`, of the same version and length as its beginning."""
    if not have:
        raise DataError("the answer is a part of the file, and the whole was asked for")
    text = answer.headers.get("Content-Range", "")
    found = re.fullmatch(r"bytes ([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18}|\*)", text)
    if not found:
        raise Changed(f"Content-Range {text!r} does not say which part of the file it is")
    first, last, total = found.groups()
    fits = int(first) == have and (length is None or int(last) + 1 == have + length)
    if not fits or (total != "*" and (int(total) != int(last) + 1 or total != (whole or total))):
        raise Changed(f"Content-Range {text!r} does not go on from byte {have} to the end of {whole or 'the file'}")
    if (now := version_of(answer)) and now != version:
        raise Changed(f"it is another version now ({now} instead of {version})")


def version_note(part):
    return part.with_name(f"{part.name}.version")


def version_of(answer):
    """The strong ETag or the date of the file; empty if the server tells neither, and a download cannot be resumed."""
    tag = answer.headers.get("ETag") or ""
    return answer.headers.get("Last-Modified") or "" if tag.startswith("W/") or not tag else tag


def sha256_of(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _check(path, expected):
    if not path.is_file():
        raise DataError(f"{path}: expected a file")
    if path.stat().st_size == 0:
        raise DataError(f"{path}: the file is empty: {REMEDY}")
    if expected is not None and (found := sha256_of(path)) != expected:
        raise DataError(f"{path}: SHA-256 is {found}, expected {expected}: {REMEDY}")


def _read_checksums(raw_dir):
    path = Path(raw_dir).expanduser() / CHECKSUMS
    if not path.exists():
        return {}
    try:
        return json.loads(path.read_text())
    except ValueError as error:
        raise DataError(f"{path}: not JSON ({error}): delete it, the sums are recorded again") from error


def _record(raw_dir, name, sha256):
    path = Path(raw_dir).expanduser() / CHECKSUMS
    with FileLock(f"{path}.lock"):
        sums = _read_checksums(raw_dir) | {name: sha256}
        temporary = path.with_name(f".{path.name}.tmp")  # one at a time, by the lock
        temporary.write_text(json.dumps(sums, indent=2, sort_keys=True) + "\n")
        os.replace(temporary, path)
