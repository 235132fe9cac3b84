"""Arrays of .mat files: equal to what scipy reads, and nothing but ValueError of damaged ones."""

import io
import struct
import zlib

import numpy as np
import pytest
from scipy.io import loadmat, savemat

from data.readers.matlab import read_field


def mat_file(packed=False, **fields):
    content = io.BytesIO()
    savemat(content, {"other": np.eye(2), "S": fields}, do_compression=packed)
    return content.getvalue()


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i2", "u4", "i4", "f4", "f8", "u8"])
def test_arrays_are_those_that_scipy_reads(packed, dtype):
    x = np.arange(12).reshape(3, 4).astype(dtype)
    content = mat_file(packed, name="a text", empty=np.zeros((0, 2)), x=x, cells=np.array([1, "b"], object))
    found = read_field(content, b"S", b"x")
    assert np.array_equal(found, loadmat(io.BytesIO(content))["S"]["x"][0, 0]) and np.array_equal(found, x)
    assert read_field(content, b"S", b"empty").shape == (0, 2)


def element(kind, content, order):
    return struct.pack(f"{order}II", kind, len(content)) + content + bytes(-len(content) % 8)


def by_hand(order, sizes=(2, 3)):
    """A structure S with the field x, of bytes 0 to 5; numbers in an order of bytes."""

    def matrix(kind, *rest, name=b""):
        head = (6, struct.pack(f"{order}II", kind, 0)), (5, struct.pack(f"{order}2i", *sizes)), (1, name)
        return b"".join(element(*part, order) for part in (*head, *rest))

    x = matrix(9, (2, bytes(range(6))))
    small = struct.pack(f"{order}Ii", 4 << 16 | 5, 2)  # the length of names, in the short form
    content = matrix(2, name=b"S") + small + element(1, b"x\0", order) + element(14, x, order)
    return bytes(124) + {"<": b"\0\1IM", ">": b"\1\0MI"}[order] + element(14, content, order)


@pytest.mark.parametrize("order", ["<", ">"])
def test_both_orders_of_bytes(order):
    assert read_field(by_hand(order), b"S", b"x").tolist() == [[0, 2, 4], [1, 3, 5]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a .mat file"),
        (by_hand("<")[:-8], "an element of"),
        (by_hand("<", (2, 4)), r"6 numbers for a matrix of \[2, 4\]"),
        (by_hand("<", (-2, -3)), "6 numbers"),
        (mat_file(y=np.eye(2)), "b'x' is not in list"),
        (mat_file(x="a text"), "not a matrix of numbers"),
        (mat_file(x=np.eye(2) * 1j), "unpack"),
        (by_hand("<").replace(b"S", b"T"), "no S in it"),
        (bytes(124) + b"\0\1IM" + bytes(8 * 2000), "an element of 0 bytes"),
    ],
)
def test_what_is_damaged_is_a_ValueError(content, message):
    with pytest.raises(ValueError, match=message):
        read_field(content, b"S", b"x")


def test_every_cut_and_every_flipped_byte_is_read_or_refused():
    content = mat_file(packed=True, x=np.arange(6, dtype=np.uint8).reshape(2, 3))
    spoiled = [content[:n] for n in range(len(content))]
    spoiled += [content[:n] + bytes([content[n] ^ 255]) + content[n + 1 :] for n in range(len(content))]
    for one in spoiled:
        try:
            read_field(one, b"S", b"x")
        except (ValueError, struct.error, zlib.error):
            continue
