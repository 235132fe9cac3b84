"""Packed files are unpacked as they are, and no further than their limit: small files that are large inside cost no memory."""

import gzip
import io
import itertools
import json
import random
import struct
import subprocess
import sys
import tarfile
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image, PngImagePlugin

from data.errors import DataError
from data.readers import ogb_raw, published, unpack
from data.readers.unpack import Zip, lines, open_file, read_indices, read_npy, read_npz, read_png, read_table, read_tar
from data.superpixels import read_idx
from data.TUs import TextFiles

ROOT = Path(__file__).resolve().parents[3]
TOO_MUCH = "unpacks to more than 1000 bytes"


def refused(message, function, *arguments, **options):
    with pytest.raises(DataError, match=message) as error:
        function(*arguments, **options)
    assert "\n" not in str(error.value) and "get" in str(error.value)


def read(path, limit):
    with open_file(path, limit) as file:
        return file.read()


def zip_file(path, members, compression=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return path


# gz


def test_a_plain_or_a_gzip_file_is_read_to_its_limit(tmp_path):
    path, content = tmp_path / "file", bytes(range(250)) * 4
    for packed in (content, gzip.compress(content), gzip.compress(content[:300]) + gzip.compress(content[300:])):
        path.write_bytes(packed)
        assert read(path, 1000) == read(path, 1 << 40) == content
    path.write_bytes(gzip.compress(content + b"x"))
    refused(TOO_MUCH, read, path, 1000)
    path.write_bytes(gzip.compress(bytes(1 << 20)))
    refused(TOO_MUCH, read, path, 1000)
    path.write_bytes(content + b"x")
    refused(TOO_MUCH, read, path, 1000)


@pytest.mark.parametrize(
    "change", [lambda b: b[:-9], lambda b: b[:-1] + b"\xff", lambda b: b[:30] + b"\xff" * 9 + b[39:]]
)
def test_a_damaged_gzip_file_is_named(tmp_path, change):
    path = tmp_path / "file"
    path.write_bytes(change(gzip.compress(np.random.RandomState(0).bytes(500))))
    refused("file: damaged or cut short", read, path, 1000)


# zip


def test_members_of_a_zip_are_read_to_their_limit(tmp_path):
    path = zip_file(tmp_path / "a.zip", [("x", bytes(1000)), ("large", bytes(1 << 20))])
    with Zip(path) as archive:
        assert archive.sizes == {"x": 1000, "large": 1 << 20} and archive.read("x", 1000) == bytes(1000)
        refused("a.zip, x: it unpacks to more than 999 bytes", archive.read, "x", 999)
        refused(f"a.zip, large: it {TOO_MUCH}", archive.open, "large", 1000)
        refused("a.zip, y: not in the archive", archive.open, "y")


def test_a_zip_that_lies_about_a_size_gives_no_more_than_it_says(tmp_path):
    path = zip_file(tmp_path / "a.zip", [("x", bytes(1 << 20))])
    for said in (1000, 1 << 21):
        changed = path.read_bytes().replace(struct.pack("<I", 1 << 20), struct.pack("<I", said))
        (tmp_path / "lies.zip").write_bytes(changed)
        with Zip(tmp_path / "lies.zip") as archive:
            refused("lies.zip, x: (damaged or cut short|1048576 bytes, expected)", archive.read, "x", 1 << 22)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_rare_zips_are_refused(tmp_path):
    path = tmp_path / "a.zip"
    refused("2 files of 1 names", Zip, zip_file(path, [("x", b"1"), ("x", b"2")]))
    for compression in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        refused("'x': encrypted, or packed in a rare way", Zip, zip_file(path, [("x", bytes(99))], compression))
    content = bytearray(zip_file(path, [("x", b"1")]).read_bytes())
    content[content.rindex(b"PK\x01\x02") + 8] |= 1  # the flag of encryption
    path.write_bytes(content)
    refused("'x': encrypted", Zip, path)
    path.write_bytes(b"no zip")
    refused("a.zip: damaged or cut short .File is not a zip file", Zip, path)


# tar


def tar_file(path, members, mode="w:gz", **options):
    with tarfile.open(path, mode, **options) as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def test_files_of_a_tar(tmp_path):
    members = {"a/x": b"12", "a/y": bytes(3000), "a/" + "long/" * 40: b"3", "b/" * 60 + "z": b"", "last": b"4" * 512}
    wanted = ["a/x", "b/" * 60 + "z", "last", "missing"]
    for form, mode in itertools.product((tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT), ("w", "w:gz")):
        path = tar_file(tmp_path / "a.tar", members, mode, format=form)
        found = read_tar(path, wanted)
        assert found == {name: members[name] for name in found} and {"a/x", "last"} <= set(found)
        assert len(found) == 2 + (form == tarfile.USTAR_FORMAT)  # it alone has room for long names
        refused(f"a.tar: it {TOO_MUCH}", read_tar, path, ["a/x"], limit=1000)


def changed_header(path, size, kind=b"0"):
    """A tar file whose only header has this field of the size, and a right sum."""
    header = bytearray(tarfile.TarInfo("x").tobuf())
    header[124:136], header[156:157], header[148:156] = size, kind, b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    path.write_bytes(header + bytes(5120))
    return path


@pytest.mark.parametrize("kind", [b"0", b"5", b"9", b"S", b"L", b"K", b"x", b"g"])
@pytest.mark.parametrize(
    "size", [b"7" * 11 + b"\0", b"\x80" + b"\x7f" * 11, b"\xff" * 11 + b"\xfe", b"\xff" + b"\x00" * 11]
)
def test_a_tar_with_an_absurd_size_ends_soon(tmp_path, kind, size):
    path = changed_header(tmp_path / "a.tar", size, kind)
    try:
        assert read_tar(path, ["x"], limit=10_000) == {}
    except DataError as error:
        assert "a.tar" in str(error)


def test_bombs_in_a_tar(tmp_path):
    path = tar_file(tmp_path / "a.tar", {"x": bytes(1 << 20), "y": b"2"})
    refused(TOO_MUCH, read_tar, path, ["y"], limit=1000)
    refused(
        "'x': it unpacks to more than 10000 bytes",
        read_tar,
        changed_header(path, b"00077777777\0"),
        ["x"],
        limit=10_000,
    )
    for size in (b"\x80" + bytes(11), b"-0000000001\0", b"0x000000010\0", b"00000000009\0"):
        refused("a.tar: damaged or cut short", read_tar, changed_header(path, size), ["x"])
    one = changed_header(path, b"00000000000\0", b"L").read_bytes()[:512]
    path.write_bytes(one * 50_000)  # a name for a name for a name …
    assert read_tar(path, ["x"]) == {}


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_a_tar_cut_off_or_changed_is_refused(tmp_path, mode):
    content = tar_file(tmp_path / "a.tar", {"x": bytes(2000)}, mode).read_bytes()
    for n in range(1, 2500 if mode == "w" else len(content), 7):
        (tmp_path / "a.tar").write_bytes(content[:n])
        refused("a.tar: damaged or cut short", read_tar, tmp_path / "a.tar", ["x"])
    if mode == "w":
        (tmp_path / "a.tar").write_bytes(b"y" + content[1:])
        refused("the sum of a header is wrong", read_tar, tmp_path / "a.tar", ["x"])


# npy, npz

ARRAYS = {
    **{f"type {kind}": np.array([0, 1], kind) for kind in "?bBhHiIlLefdFD"},
    "text": np.array(["a", "bcd"]),
    "bytes": np.array([b"a", b"bcd"]),
    "none": np.empty((0, 3)),
    "single": np.array(2.5),
    "columns": np.asfortranarray(np.arange(6).reshape(2, 3)),
    "swapped": np.arange(3, dtype=">i8"),
}


def npy(array=None, **header):
    """The content of an npy file, with other entries in its header than those of the array."""
    file = io.BytesIO()
    if header:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": (2,), **header})
        return file.getvalue() + bytes(16)
    np.save(file, array)
    return file.getvalue()


@pytest.mark.parametrize("array", ARRAYS.values(), ids=ARRAYS)
def test_arrays_are_read_as_numpy_reads_them(tmp_path, array):
    np.savez_compressed(tmp_path / "a.npz", a=array, b=np.arange(3))
    for found in (read_npy(io.BytesIO(npy(array)), "a.npy"), read_npz(tmp_path / "a.npz", "a")["a"]):
        assert found.dtype == array.dtype and found.shape == array.shape and np.array_equal(found, array)


def test_python_2_and_later_versions_of_the_header(tmp_path):
    content = npy(np.arange(6).reshape(2, 3))
    older = content.replace(b"(2, 3), ", b"(2L, 3L)").replace(b"}  ", b", }")
    assert b"2L" in older and read_npy(io.BytesIO(older), "a").tolist() == [[0, 1, 2], [3, 4, 5]]
    second = b"\x93NUMPY\x02\x00" + struct.pack("<I", len(content[10:128])) + content[10:]
    assert read_npy(io.BytesIO(second), "a").tolist() == [[0, 1, 2], [3, 4, 5]]


BAD_NPY = {
    "objects": (npy(np.array([{}])), "not an array of numbers or texts"),
    "records": (npy(np.zeros(2, "i4,f8")), "not an array of numbers or texts"),
    "dates": (npy(np.zeros(2, "M8[s]")), "not an array of numbers or texts"),
    "no file of arrays": (b"no file of arrays", "not an array of numbers|damaged"),
    "empty": (b"", "damaged or cut short"),
    "cut": (npy(np.arange(9))[:-1], "71 bytes for an array of shape"),
    "huge": (npy(shape=(1 << 40,)), "unpacks to more than"),
    "far too huge": (npy(shape=(1 << 62, 4)), "which is too large"),
    "huge and empty": (npy(shape=(0, 1 << 62)), "which is too large"),
    "negative": (npy(shape=(-2,)), "not an array of numbers or texts"),
    "no number": (npy(shape=(2.0,)), "not an array of numbers or texts"),
    "33 dimensions": (npy(shape=(1,) * 33), "an array of shape"),
    "odd type": (npy(descr="<f3"), "damaged or cut short"),
    "long texts": (npy(descr="<U999999999"), "unpacks to more than|cut short"),
    "code": (npy(descr="__import__('os').abort()"), "not an array of numbers or texts"),
    "truth of 2": (npy(np.array([True]))[:-1] + b"\x02", "neither 0 nor 1"),
    "long header": (b"\x93NUMPY\x02\x00" + struct.pack("<I", 1 << 31) + b"(" * 99999, "not an array of numbers"),
}


@pytest.mark.parametrize(("content", "message"), BAD_NPY.values(), ids=BAD_NPY)
def test_a_bad_array_is_refused(content, message):
    refused(f"a.npy: .*({message})", read_npy, io.BytesIO(content), "a.npy", 1 << 20)


def test_a_bad_npz_is_refused(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", a=np.zeros(1 << 20))
    refused("a.npz, b.npy: not in the archive", read_npz, tmp_path / "a.npz", "a", "b")
    refused("a.npz, a.npy: it unpacks to more than 1048576 bytes", read_npz, tmp_path / "a.npz", "a", limit=1 << 20)


# png


def chunk(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(width, height, pixels, *more):
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), *more, (b"IDAT", zlib.compress(pixels)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*one) for one in chunks)


def test_an_image_is_read_if_it_is_small_enough(tmp_path):
    path, pixels = tmp_path / "a.png", np.arange(60, dtype=np.uint8).reshape(4, 5, 3)
    Image.fromarray(pixels).save(path)
    assert np.array_equal(read_png(path, 20), pixels)
    refused("a.png: cannot be read as PNG .5 x 4 pixels, expected at most 19", read_png, path, 19)


BAD_PNG = {
    "large": png(30_000, 30_000, bytes(1 << 20)),
    "rather large": png(10_000, 10_000, bytes(1 << 20)),
    "largest": png((1 << 31) - 1, (1 << 31) - 1, b""),
    "of no width": png(0, 5, b""),
    "cut": png(10, 10, bytes(99)),
    "with a text of 200 MB": png(1, 1, bytes(4), (b"zTXt", b"a\0\0" + zlib.compress(bytes(200 << 20)))),
    "no image": b"no image",
}


@pytest.mark.parametrize("content", BAD_PNG.values(), ids=BAD_PNG)
def test_a_bad_image_is_refused(tmp_path, content):
    (tmp_path / "a.png").write_bytes(content)
    refused("a.png: cannot be read as PNG", read_png, tmp_path / "a.png", 10_000_000)


def test_texts_in_images_are_bounded_by_the_library():
    """`read_png` relies on it."""
    assert PngImagePlugin.MAX_TEXT_CHUNK <= 1 << 20 and PngImagePlugin.MAX_TEXT_MEMORY <= 1 << 26


# text


def test_lines_and_tables(tmp_path):
    text = "1, 2\n3,4\r\n-5,6"
    assert list(lines(io.BytesIO(text.encode()), "a")) == ["1, 2\n", "3,4\n", "-5,6"]
    assert read_table(io.BytesIO(text.encode()), "a", np.int64).tolist() == [[1, 2], [3, 4], [-5, 6]]


BAD_TABLES = {
    "no data": (b"", r"not a table of int64 numbers \(no data\)"),
    "a fraction": (b"1\n1.5\n", "not a table of int64 numbers"),
    "a comment": (b"1\n# 2\n", "not a table of int64 numbers"),
    "other columns": (b"1\n1,2\n", "not a table of int64 numbers"),
    "a large number": (b"99999999999999999999\n", "not a table of int64 numbers"),
    "no text": (b"\xff\xfe1\n", "not a table of int64 numbers"),
    "a line of 2 MB": (b"1\n" + b"0" * (2 << 20), "a line of more than 1048576 bytes"),
    "a line of 2 MB of commas": (b"1," * (1 << 20), "a line of more than 1048576 bytes"),
}


@pytest.mark.parametrize(("content", "message"), BAD_TABLES.values(), ids=BAD_TABLES)
def test_a_bad_table_is_refused(content, message):
    refused(f"a.txt: {message}", read_table, io.BytesIO(content), "a.txt", np.int64)


# The readers


def test_the_readers_unpack_to_their_limits(tmp_path, monkeypatch):
    monkeypatch.setattr(ogb_raw, "TABLE", 1000)
    (tmp_path / "edge.csv.gz").write_bytes(gzip.compress(b"0,1\n" * 1000))
    refused(f"edge.csv.gz: it {TOO_MUCH}", ogb_raw.read_csv, tmp_path / "edge.csv.gz", np.int64)
    torch.save({"edge": torch.zeros(1000, dtype=torch.int64)}, tmp_path / "train.pt")
    refused(f"train.pt: it {TOO_MUCH}", ogb_raw.read_arrays, tmp_path / "train.pt", ["edge"])
    monkeypatch.setattr(published, "MOST_BYTES", 1000)
    zip_file(tmp_path / "MNIST_v2.zip", [("a.pt", bytes(1 << 20))])
    options = {"node_dim": 1, "label": "graph"}
    refused(
        f"MNIST_v2.zip, a.pt: it {TOO_MUCH}",
        lambda: list(published.published_parts(tmp_path / "MNIST_v2.zip", **options)),
    )
    (tmp_path / "images.gz").write_bytes(gzip.compress(b"\0\0\x08\x01" + struct.pack(">I", 5) + bytes(1 << 20)))
    refused("images.gz: more values, expected 5", read_idx, tmp_path / "images.gz", (5,))


def npz_file(path):
    with open(path, "wb") as file:
        np.savez(file, a=np.arange(9))


def graph_file(path):
    graph = {"x": torch.ones(2, 1), "edge_index": torch.zeros(2, 1, dtype=torch.int64), "y": torch.tensor([0])}
    torch.save([[graph]] * 3, path)
    return path


def read_graphs(path):
    return [list(graphs) for _, _, graphs in published.published_parts(path, node_dim=1, label="graph")]


def read_npy_file(path):
    with open_file(path) as file:
        return read_npy(file, path, 1 << 20)


FILES = {  # name -> (how a good one is written, how it is read)
    "npy": (lambda path: path.write_bytes(npy(np.arange(9))), read_npy_file),
    "npz": (npz_file, lambda path: read_npz(path, "a", limit=1 << 20)),
    "tar": (lambda path: tar_file(path, {"x": b"12"}, "w"), lambda path: read_tar(path, ["x"], limit=1 << 20)),
    "tar.gz": (lambda path: tar_file(path, {"x": b"12"}), lambda path: read_tar(path, ["x"], limit=1 << 20)),
    "png": (lambda path: path.write_bytes(png(2, 2, bytes(14))), lambda path: read_png(path, 1 << 20)),
    "TU": (
        lambda path: zip_file(path, [("T_A.txt", "1,2\n")]),
        lambda path: TextFiles(path, "T").read("A", np.int64, 2),
    ),
    "torch": (graph_file, read_graphs),
    "idx": (
        lambda path: path.write_bytes(gzip.compress(b"\0\0\x08\x01\0\0\0\x05" + bytes(5))),
        lambda path: read_idx(path, (5,)),
    ),
}


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("name", FILES)
def test_a_changed_file_is_read_or_refused(tmp_path, name):
    path, (write, read), dice, results = tmp_path / "file", FILES[name], random.Random(name), set()
    write(path)
    read(path)
    content = path.read_bytes()
    for _ in range(400):
        changed = bytearray(content)
        for _ in range(dice.choice((1, 2, 8))):
            place = dice.randrange(len(changed))
            changed[place : place + 1] = dice.choice(
                (b"\0", b"\xff", b"9", b"", bytes(changed[:place]), dice.randbytes(1))
            )
        path.write_bytes(changed)
        try:
            read(path)
            results.add("read")
        except DataError as error:
            results.add("refused")
            assert str(path) in str(error)
    assert "refused" in results


MEASURE = """
import json, sys
from pathlib import Path
import numpy as np
from data.TUs import TextFiles
from data.errors import DataError
from data.readers.unpack import open_file, read_npz, read_tar
from data.superpixels import read_idx

def peak():
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])

folder, grown = Path(sys.argv[1]), {}
for name, read in {
    "T.zip": lambda path: TextFiles(path, "T").read("A", np.int64),
    "images.gz": lambda path: read_idx(path, (60000,)),
    "a.tar.gz": lambda path: read_tar(path, ["y"], limit=10**9),
    "a.npz": lambda path: read_npz(path, "a", limit=10**6),
}.items():
    before = peak()
    try:
        read(folder / name)
    except DataError:
        pass
    grown[name] = peak() - before
print(json.dumps(grown))
"""


def test_256_megabytes_of_zeros_in_a_small_file_take_no_memory(tmp_path):
    n, n_others = 256 << 20, 64 << 20
    with zipfile.ZipFile(tmp_path / "T.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("T/T_A.txt", bytes(n))
    assert (tmp_path / "T.zip").stat().st_size < 2 << 20
    header = b"\0\0\x08\x01" + struct.pack(">I", 60000)
    (tmp_path / "images.gz").write_bytes(gzip.compress(header + bytes(n_others), 1))
    tar_file(tmp_path / "a.tar.gz", {"x": bytes(n_others), "y": b"2"})
    np.savez_compressed(tmp_path / "a.npz", a=np.zeros(n_others // 8))
    command = [sys.executable, "-c", MEASURE, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    assert all(grown < 16_000 for grown in json.loads(done.stdout).values()), done.stdout
    assert n < unpack.LIMIT  # it is not the limit that keeps the memory flat


def test_indices_are_whole_numbers_of_the_right_rank(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, whole=np.arange(3, dtype=np.uint8), parts=np.array([0.0, 1.5]), table=np.ones((2, 2), int))
    assert read_indices(path, whole=1, table=2)["whole"].dtype == np.int64
    for name, rank, message in (("parts", 1, "float64: expected integers"), ("table", 1, "2 dimensions, expected 1")):
        with pytest.raises(DataError, match=message):
            read_indices(path, **{name: rank})


@pytest.mark.parametrize("order", "<>")
def test_texts_of_characters_that_do_not_exist(tmp_path, order):
    path = tmp_path / "a.npy"
    np.save(path, np.array(["ab", "c"], f"{order}U2"))
    with open(path, "rb") as file:
        assert unpack.read_npy(file, path).tolist() == ["ab", "c"]
    path.write_bytes(path.read_bytes()[:-4] + b"\x7f" * 4)
    with open(path, "rb") as file, pytest.raises(DataError, match="beyond the last of Unicode"):
        unpack.read_npy(file, path)


def test_a_heading_over_several_lines_is_named_in_one():
    with pytest.raises(DataError, match=r"here: no column 'smiles' among 'a\\nb', 'c': it is another table") as error:
        list(unpack.read_columns(io.BytesIO(b'"a\nb",c\n1,2\n'), "here", ("smiles",)))
    assert "\n" not in str(error.value)
