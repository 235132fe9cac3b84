"""torch tensors in pickles and in files of torch.save, as numpy arrays: what the names that torch writes mean to the interpreter.

A tensor is a view (offset, shape, strides) of a storage, which is an array of one dimension. In a file of torch.save the pickle
names its storages by persistent ids. They are members of a zip file, or since before torch 1.6 stand behind the pickle, each
with its length. In an ordinary pickle a storage is a file of that older form in bytes.
"""

import io
import struct

import numpy as np

from data.readers.arrays import check_shape, check_truth
from data.readers.pickle_machine import Machine, Mark, UnpickleError, shown

STORAGES = {
    "torch.BoolStorage": "?",
    "torch.ByteStorage": "<u1",
    "torch.CharStorage": "<i1",
    "torch.ShortStorage": "<i2",
    "torch.IntStorage": "<i4",
    "torch.LongStorage": "<i8",
    "torch.HalfStorage": "<f2",
    "torch.FloatStorage": "<f4",
    "torch.DoubleStorage": "<f8",
    "torch.ComplexFloatStorage": "<c8",
    "torch.ComplexDoubleStorage": "<c16",
}
MAGIC, PROTOCOL = 0x1950A86A20F9469CFC6C, 1001  # how a file of the older form begins
HEADER = 1 << 16  # bytes for what is said about a file, rather than in it


class Storage:
    """The numbers of one or more tensors; `array` is (n,)."""

    __slots__ = ("array",)

    def __init__(self, array):
        self.array = array


def storage_id(identifier):
    """(key, dtype, number of values) of a persistent id."""
    match identifier:
        case ("storage", Mark(kind), str() as key, str(), int() as n) | (
            "storage", Mark(kind), str() as key, str(), int() as n, None
        ) if kind in STORAGES and n >= 0:  # fmt: skip
            return key, np.dtype(STORAGES[kind]), n
    raise UnpickleError("a storage that is not (kind, key, place, number of values)")


# --------------------------------------------------------------------------------------------------------------------
# Files of torch.save


def read_zip(archive, names, limit):
    """What the pickle in a zip file of torch.save makes. `archive` is an open data.readers.unpack.Zip."""
    pickles = [name for name in archive.sizes if name.endswith("/data.pkl")]
    if len(pickles) != 1:
        raise UnpickleError(f"a zip file with {len(pickles)} files data.pkl, expected 1")
    folder, storages = pickles[0].removesuffix("data.pkl"), {}
    order = archive.read(f"{folder}byteorder", HEADER) if f"{folder}byteorder" in archive.sizes else b"little"
    if order != b"little":
        raise UnpickleError(f"numbers in the byte order {shown(repr(order))}, expected little")

    def storage(machine, identifier):
        key, dtype, n = storage_id(identifier)
        if key not in storages:
            member, size = f"{folder}data/{key}", n * dtype.itemsize
            machine.charge(size)
            if archive.sizes.get(member) != size:
                raise UnpickleError(f"storage {shown(key)}: {archive.sizes.get(member)} bytes, expected {size}")
            content = archive.read(member, size)
            storages[key] = Storage(check_truth(np.frombuffer(content, dtype) if n else np.empty(0, dtype)))
        return same(storages[key], key, dtype, n)

    with archive.open(pickles[0], limit) as file:
        return Machine(file, names, limit, storage).run()


def read_legacy(file, names, limit):
    """What the pickle in a file of the older form makes."""
    if Machine(file, {}, HEADER).run() != MAGIC or Machine(file, {}, HEADER).run() != PROTOCOL:
        raise UnpickleError("it does not begin as a torch file")
    system = Machine(file, {}, HEADER).run()
    if type(system) is not dict or system.get("little_endian") is not True:
        raise UnpickleError("numbers of a machine that is not little-endian")
    storages = {}

    def storage(machine, identifier):
        key, dtype, n = storage_id(identifier)
        if key not in storages:
            machine.charge(n * dtype.itemsize)
            storages[key] = Storage(np.zeros(n, dtype))  # filled below; memory is taken only then
        return same(storages[key], key, dtype, n)

    value = Machine(file, names, limit, storage).run()
    keys = Machine(file, {}, limit).run()
    if type(keys) is not list or any(type(key) is not str for key in keys) or sorted(keys) != sorted(storages):
        raise UnpickleError("its list of storages is not that of its tensors")
    for key in keys:
        fill(storages[key].array, file)
    return value


def same(storage, key, dtype, n):
    """The storage, if it is what a second reference to it says."""
    if storage.array.dtype != dtype or len(storage.array) != n:
        raise UnpickleError(f"storage {shown(key)} as {n} numbers of {dtype}, and as other ones elsewhere")
    return storage


def fill(array, file):
    length = file.read(8)
    if len(length) != 8 or struct.unpack("<q", length)[0] != len(array):
        raise UnpickleError(f"a storage of other than {len(array)} numbers, or none")
    if file.readinto(array.view(np.uint8)) != array.nbytes:
        raise UnpickleError("it is cut off")
    check_truth(array)


# --------------------------------------------------------------------------------------------------------------------
# Calls, with (machine, arguments)


def tensor(machine, arguments):
    """A view of a storage: offset, shape and strides in numbers, not in bytes, all of them inside of it."""
    match arguments:
        case (Storage() as storage, int() as offset, tuple() as shape, tuple() as strides, *_):
            base = storage.array
        case _:
            raise UnpickleError("a tensor that is not (storage, offset, shape, strides)")
    check_shape(shape, base.dtype)
    view = shown(f"a tensor of shape {shape} with offset {offset}, strides {strides}")
    if len(strides) != len(shape) or any(type(step) is not int or step < 0 for step in strides) or offset < 0:
        raise UnpickleError(view)
    if 0 in shape:
        return np.empty(shape, base.dtype)
    if offset + sum((n - 1) * step for n, step in zip(shape, strides, strict=True)) >= len(base):
        raise UnpickleError(f"{view} in {len(base)} numbers: it reaches beyond them")
    in_bytes = [step * base.itemsize for step in strides]
    return np.ndarray(shape, base.dtype, base, offset * base.itemsize, in_bytes)


def storage_in_bytes(machine, arguments):
    match arguments:
        case (bytes() as content,):
            storage = read_legacy(io.BytesIO(content), STORAGE_NAMES, len(content) + HEADER)
            if type(storage) is Storage:
                return storage
    raise UnpickleError("bytes that are no storage of a tensor")


STORAGE_NAMES = dict.fromkeys(STORAGES)
NAMES = STORAGE_NAMES | {
    "torch._utils._rebuild_tensor_v2": tensor,
    "torch.storage._load_from_bytes": storage_in_bytes,
}
