"""Packed files, unpacked no further than a limit and in little memory: gz, zip, tar, npy, npz, png and lines of text.

A few kilobytes can unpack to many gigabytes. Here every stream has a limit, which its reader declares or which is LIMIT, and
ends in an error when it holds more. A size that a file declares is compared with the limit before memory is taken. Whatever is
wrong with a file is a DataError that names it.
"""

import contextlib
import csv
import errno
import gzip
import io
import json
import math
import re
import struct
import sys
import warnings
import zipfile
import zlib

import numpy as np

from data.errors import REMEDY, DataError, WrongValue
from data.readers.arrays import check_shape, check_truth

LIMIT = 4 << 30  # bytes that one file may unpack to, where its reader does not say
TABLE = 1 << 30  # bytes of a table of numbers in text, which takes up to four times as much memory
PIECE = 1 << 16  # bytes unpacked at once
LINE = 1 << 20  # bytes of a line of text
TAR_BLOCK = 512  # bytes of a header in a tar file; contents are filled up to a multiple of it
HEADER = 10_000  # bytes of the header of an npy file
DAMAGE = (  # what a damaged file makes the unpacking modules raise
    ValueError, TypeError, LookupError, OverflowError, MemoryError, EOFError, OSError, RuntimeError,
    struct.error, zlib.error, zipfile.BadZipFile, csv.Error,
)  # fmt: skip


@contextlib.contextmanager
def damage(where):
    """Make what goes wrong with a damaged file an error that names it; those of the disk stay as they are."""
    try:
        yield
    except DAMAGE as error:
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):  # EINVAL: a place before the file
            raise
        raise DataError(f"{where}: damaged or cut short ({error or type(error).__name__}): {REMEDY}") from error


def too_large(where, limit):
    return DataError(f"{where}: it unpacks to more than {limit} bytes, the most that is expected: {REMEDY}")


# --------------------------------------------------------------------------------------------------------------------
# Streams


class Limited(io.RawIOBase):
    """The bytes of another stream, as far as the limit; closing it closes that and those `below` it."""

    def __init__(self, packed, where, limit, below=()):
        self.packed, self.where, self.limit, self.left, self.below = packed, where, limit, limit, below

    def readable(self):
        return True

    def readinto(self, buffer):
        with damage(self.where):
            content = self.packed.read(min(len(buffer), PIECE, self.left + 1))
        if len(content) > self.left:
            raise too_large(self.where, self.limit)
        self.left -= len(content)
        buffer[: len(content)] = content
        return len(content)

    def close(self):
        for stream in (self.packed, *self.below):
            stream.close()
        super().close()


def limited(packed, where, limit, below=()):
    return io.BufferedReader(Limited(packed, where, limit, below), PIECE)


def open_file(path, limit=LIMIT):
    """The content of a file, that of a gzip file unpacked, as a stream. `path` is a pathlib.Path or a zipfile.Path."""
    with contextlib.ExitStack() as stack:  # it closes the file if that is larger than the limit already
        with damage(path):
            file = stack.enter_context(limited(path.open("rb"), path, limit))
        packed = file.peek(2)[:2] == b"\x1f\x8b"
        stack.pop_all()
    return limited(gzip.GzipFile(fileobj=file), path, limit, below=(file,)) if packed else file


class ShortLines(io.RawIOBase):
    """The bytes of another stream, as long as its lines are no longer than about `longest` bytes."""

    def __init__(self, stream, where, longest):
        self.stream, self.where, self.longest, self.length = stream, where, longest, 0

    def readable(self):
        return True

    def readinto(self, buffer):
        n = self.stream.readinto(buffer)
        end = bytes(buffer[:n]).rfind(b"\n")
        self.length = self.length + n if end < 0 else n - end - 1
        if self.length > self.longest:
            raise DataError(f"{self.where}: a line of more than {self.longest} bytes, expected shorter ones: {REMEDY}")
        return n


def lines(stream, where, longest=LINE):
    """The lines of a stream as texts, one after the other. (Text that is not UTF-8 is a ValueError.)"""
    return io.TextIOWrapper(io.BufferedReader(ShortLines(stream, where, longest), PIECE), encoding="utf-8")


def read_columns(stream, where, names, longest=LINE, delimiter=","):
    """Tuples of the texts in these columns of a csv table with a heading, line by line."""
    csv.field_size_limit(longest)
    with damage(where):
        table = csv.reader(lines(stream, where, longest), delimiter=delimiter, strict=True)
        heading = next(table, [])
        missing = [name for name in names if name not in heading]
        if missing:
            raise DataError(
                f"{where}: no column {missing[0]!r} among {', '.join(map(repr, heading))[:200]}: it is another table"
            )
        places = [heading.index(name) for name in names]
        for row in table:
            if len(row) != len(heading):
                raise DataError(
                    f"{where}, line {table.line_num}: {len(row)} columns, expected {len(heading)}: {REMEDY}"
                )
            yield tuple(row[place] for place in places)


def read_table(stream, where, dtype):
    """A 2-d array of the numbers in a stream, a row per line, separated by commas; int64 refuses what is not a whole number."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # numpy only warns of an empty file, and of 1.5 read as an integer
            return np.loadtxt(lines(stream, where), dtype=dtype, delimiter=",", comments=None, ndmin=2)
    except (ValueError, Warning) as error:
        problem = "no data" if isinstance(error, UserWarning) else error
        raise DataError(f"{where}: not a table of {np.dtype(dtype).name} numbers ({problem}): {REMEDY}") from error


# --------------------------------------------------------------------------------------------------------------------
# Archives


class Zip:
    """An open zip file in which every name is there once, none is encrypted, and all are packed in the common way."""

    def __init__(self, file, where=None):
        self.where = file if where is None else where
        with contextlib.ExitStack() as stack:  # it closes the archive that is refused
            with damage(self.where):
                self.archive = stack.enter_context(zipfile.ZipFile(file))
            self.sizes = self._check(self.archive.infolist())
            stack.pop_all()

    def _check(self, members):
        """The size of each member by its name."""
        for member in members:
            if member.flag_bits & 1 or member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise DataError(f"{self.where}, {member.filename!r}: encrypted, or packed in a rare way: {REMEDY}")
        sizes = {member.filename: member.file_size for member in members}
        if len(sizes) != len(members):
            raise DataError(f"{self.where}: {len(members)} files of {len(sizes)} names: {REMEDY}")
        return sizes

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.archive.close()

    def open(self, name, limit=LIMIT):
        """A member as a stream."""
        where = f"{self.where}, {name}"
        if name not in self.sizes:
            raise DataError(f"{where}: not in the archive: {REMEDY}")
        if self.sizes[name] > limit:
            raise too_large(where, limit)
        with damage(where):
            return limited(self.archive.open(name), where, limit)

    def read(self, name, limit=LIMIT):
        with self.open(name, limit) as file:
            content = file.read(self.sizes[name])
        if len(content) != self.sizes[name]:
            raise DataError(f"{self.where}, {name}: {len(content)} bytes, expected {self.sizes[name]}: {REMEDY}")
        return content


def read_tar(path, names, limit=LIMIT):
    """{name: content} of those of these files that a tar file (plain or gz) holds; nothing is written to the disk.

    Python's own tarfile searches for ever where a header has an absurd size. Names of more than 100 characters are not known here.
    """
    files = {}
    with open_file(path, limit) as stream, damage(path):
        while any(header := stream.read(TAR_BLOCK)):
            name, size, kind = tar_header(header)
            if size > limit:
                raise too_large(f"{path}, {name!r}", limit)
            padding = -size % TAR_BLOCK
            if name in names and kind in (b"\0", b"0"):
                files[name] = stream.read(size)
                size -= len(files[name])
            for start in range(0, size + padding, PIECE):
                piece = min(PIECE, size + padding - start)
                if len(stream.read(piece)) != piece:
                    raise EOFError(f"{name!r} is not all there")
    return files


def tar_header(header):
    """(name, bytes that follow, kind) of a file in a tar file."""
    name, size, checksum, kind = header[:100].partition(b"\0")[0], header[124:136], header[148:156], header[156:157]
    size, expected = (int(digits.strip(b" \0") or b"0", 8) for digits in (size, checksum))
    if len(header) != TAR_BLOCK or sum(header) - sum(checksum) + len(checksum) * ord(" ") != expected:
        raise ValueError("the sum of a header is wrong")
    if header[257:263] == b"ustar\0" and header[345]:
        name = header[345:500].partition(b"\0")[0] + b"/" + name
    if size < 0:
        raise ValueError(f"{name!r} of {size} bytes")
    return name.decode(), 0 if kind in b"123456" else size, kind  # links, devices, folders


# --------------------------------------------------------------------------------------------------------------------
# Arrays and images

NPY = re.compile(  # as numpy writes it; in Python 2, numbers ended in L
    rb"\{'descr': '([<>|]?[biufcSU]\d{1,9})', 'fortran_order': (True|False), 'shape': \(([\dL, ]*)\),? *\} *\n"
)


def read_npz(path, *names, limit=LIMIT):
    """The arrays of these names of an .npz file, by name."""
    with Zip(path) as archive:
        arrays = {}
        for name in names:
            with archive.open(f"{name}.npy", limit) as file:
                arrays[name] = read_npy(file, f"{path}, {name}", limit)
        return arrays


def read_indices(path, **ranks):
    """{name: array of int64} of members of an .npz file that hold whole numbers, with as many dimensions as `ranks` says."""
    arrays = read_npz(path, *ranks)
    for name, rank in ranks.items():
        arrays[name] = whole_numbers(arrays[name], f"{path}, {name}")
        if arrays[name].ndim != rank:
            raise DataError(f"{path}, {name}: {arrays[name].ndim} dimensions, expected {rank}: {REMEDY}")
    return arrays


def whole_numbers(values, where):
    """An array of integers as int64; fractions are refused, not rounded."""
    if not isinstance(values, np.ndarray):
        raise DataError(f"{where}: {type(values).__name__}: expected an array")
    if values.dtype.kind not in "iu":
        raise DataError(f"{where}: values of type {values.dtype}: expected integers")
    return values.astype(np.int64)


def without_fraction(values, where):
    """An array of numbers of any type, or a list of them, as int64; fractions are refused, and what is too large."""
    values = np.asarray(values)
    if values.dtype.kind not in "biuf":
        raise WrongValue(f"{where}: values of type {values.dtype}: expected whole numbers")
    with np.errstate(invalid="ignore"):
        whole = values.astype(np.int64)
    if (wrong := whole != values).any():
        raise WrongValue(f"{where}: {values[wrong][0]}: expected whole numbers")
    return whole


def check_pointer(pointer, n, end, where):
    """Raise unless `pointer` says where each of n graphs begins, and that the last ends at `end`."""
    if len(pointer) != n + 1 or pointer[0] != 0 or pointer[-1] != end or (np.diff(pointer) < 0).any():
        raise DataError(f"{where} does not run from 0 to {end} over {n} graphs: {REMEDY}")


def parse_json(content, where):
    """What a text of JSON holds, in which no object has a key twice."""

    def unique(pairs):
        if len(found := dict(pairs)) < len(pairs):
            keys = [key for key, _ in pairs]
            raise ValueError(f"the key {next(key for key in found if keys.count(key) > 1)!r} is there twice")
        return found

    try:
        return json.loads(content, object_pairs_hook=unique)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where}: cannot be read as JSON ({error}): {REMEDY}") from error


def read_npy(file, where, limit=LIMIT):
    """The array of numbers or texts in a stream of the npy format, read-only."""
    with damage(where):
        magic, major = file.read(6), file.read(2)[:1]
        form = "<H" if major == b"\x01" else "<I"
        (length,) = struct.unpack(form, file.read(struct.calcsize(form)))
        header = NPY.fullmatch(file.read(min(length, HEADER)))
        if magic != b"\x93NUMPY" or header is None:
            raise DataError(f"{where}: not an array of numbers or texts in the npy format: {REMEDY}")
        dtype, order = np.dtype(header[1].decode()), "F" if header[2] == b"True" else "C"
        shape = tuple(int(n.removesuffix(b"L")) for n in header[3].replace(b" ", b"").split(b",") if n)
        check_shape(shape, dtype)
        size = math.prod(shape) * dtype.itemsize
        if size > limit:
            raise too_large(where, limit)
        content = file.read(size)
        if len(content) != size:
            raise EOFError(f"{len(content)} bytes for an array of shape {shape} and type {dtype}")
        array = np.frombuffer(content, dtype) if size else np.empty(math.prod(shape), dtype)
        if dtype.kind == "U" and size and array.view(f"{dtype.str[0]}u4").max() > sys.maxunicode:
            raise ValueError("a character beyond the last of Unicode")  # numpy would make Python raise a SystemError
        return check_truth(array).reshape(shape, order=order)


def read_png(path, most_pixels):
    """The pixels (height, width, 3) of a PNG."""
    from PIL import Image  # scikit-image needs it too

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path, formats=["PNG"]) as image:
                if math.prod(image.size) > most_pixels:
                    raise ValueError(f"{image.size[0]} x {image.size[1]} pixels, expected at most {most_pixels}")
                return np.asarray(image.convert("RGB"))
    except (*DAMAGE, SyntaxError, Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise DataError(f"{path}: cannot be read as PNG ({error}): {REMEDY}") from error
