"""Arrays in .mat files of MATLAB 5, the format of SBD's masks, read without scipy, whose reader crashes on some damaged files.

After 128 bytes the file is a sequence of elements: kind, size, content. A matrix is an element made of elements (flags, sizes,
name, numbers), a structure one whose last elements are the matrices of its fields. Only what is asked for is looked into.
"""

import struct
import zlib

import numpy as np

HEAD, MOST_BYTES, MOST_ELEMENTS = 128, 1 << 26, 1000
NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
MATRIX, PACKED = 14, 15  # kinds of elements
STRUCTURE, NUMERIC, COMPLEX = 2, range(6, 16), 0x800  # classes of matrices, and a flag


def read_field(content, variable, field):
    """The array in a field of a structure, both named by bytes; ValueError if there is none or the file is damaged."""
    order = {b"IM": "<", b"MI": ">"}.get(content[126:128])
    if order is None:
        raise ValueError("not a .mat file of MATLAB 5")
    for kind, piece in elements(memoryview(content)[HEAD:], order):
        if kind == PACKED:
            ((kind, piece),) = elements(unpacked(piece), order)
        if kind != MATRIX:
            raise ValueError(f"an element of kind {kind}: expected a matrix")
        flags, _, (_, name), *rest = elements(piece, order)
        if bytes(name) != variable:
            continue
        if class_of(flags, order) != STRUCTURE:
            raise ValueError(f"{variable.decode()} is no structure")
        length, names, *values = (content for _, content in rest)
        (length,), names = struct.unpack(f"{order}i", length), bytes(names)
        if length < 1:
            raise ValueError(f"names of {length} bytes")
        names = [names[i : i + length].rstrip(b"\0") for i in range(0, len(names), length)]
        return numbers(values[names.index(field)], order)
    raise ValueError(f"no {variable.decode()} in it")


def elements(content, order):
    """[(kind, content)]: a small element has its size beside its kind, and its content in the next four bytes."""
    place, found = 0, []
    while place + 8 <= len(content):
        kind, size = struct.unpack_from(f"{order}II", content, place)
        start, padding = place + 8, 0 if kind == PACKED else -size % 8
        if kind >> 16:
            kind, size, start = kind & 0xFFFF, kind >> 16, place + 4
            padding = 4 - size
        if padding < 0 or start + size > len(content) or len(found) == MOST_ELEMENTS:
            raise ValueError(f"an element of {size} bytes at byte {place} of {len(content)}")
        found.append((kind, content[start : start + size]))
        place = start + size + padding
    return found


def unpacked(piece):
    content = zlib.decompressobj().decompress(piece, MOST_BYTES)
    if len(content) == MOST_BYTES:
        raise ValueError(f"it unpacks to {MOST_BYTES} bytes or more")
    return memoryview(content)


def class_of(element, order):
    flags, _ = struct.unpack(f"{order}II", element[1])
    return flags & (COMPLEX | 0xFF)


def numbers(piece, order):
    """The array of a matrix of numbers."""
    flags, (_, sizes), _, (kind, content) = elements(piece, order)
    if class_of(flags, order) not in NUMERIC or kind not in NUMBERS:
        raise ValueError("not a matrix of numbers")
    sizes = np.frombuffer(sizes, f"{order}i4")
    values = np.frombuffer(content, f"{order}{NUMBERS[kind]}")
    if len(sizes) > 8 or (sizes < 0).any() or np.prod(sizes, dtype=float) != len(values):
        raise ValueError(f"{len(values)} numbers for a matrix of {sizes.tolist()}")
    return values.reshape(sizes, order="F")
