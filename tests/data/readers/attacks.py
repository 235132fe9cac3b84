"""Pickles and torch files that want more than to be read, written opcode by opcode, and what the error of each says."""

import io
import json
import struct
import zipfile

MEGABYTE = 1 << 20
LIMIT = 32 * MEGABYTE  # of what a file may make

# --------------------------------------------------------------------------------------------------------------------
# An assembler

MARK, STOP, NONE, TRUE, FALSE, BUILD, REDUCE = b"(", b".", b"N", b"\x88", b"\x89", b"b", b"R"


def name(path):
    module, _, last = path.rpartition(".")
    return f"c{module}\n{last}\n".encode()


def text(value):
    return b"X" + struct.pack("<I", len(value.encode())) + value.encode()


def data(content):
    return b"B" + struct.pack("<I", len(content)) + content


def number(value):
    if isinstance(value, bool):
        return TRUE if value else FALSE
    if isinstance(value, float):
        return b"G" + struct.pack(">d", value)
    content = value.to_bytes((value.bit_length() + 8) // 8, "little", signed=True)
    return b"\x8a" + struct.pack("<B", len(content)) + content


def numbers(*values):
    return items(*map(number, values))


def items(*values):
    """A tuple."""
    return MARK + b"".join(values) + b"t"


def listed(*values):
    return b"]" + MARK + b"".join(values) + b"e"


def keyed(**values):
    return b"}" + MARK + b"".join(text(key) + value for key, value in values.items()) + b"u"


def call(function, *arguments):
    return name(function) + items(*arguments) + REDUCE


def put(index):
    return b"r" + struct.pack("<I", index)


def get(index):
    return b"j" + struct.pack("<I", index)


PLAIN_STATE = (number(3), text("<"), NONE, NONE, NONE, number(-1), number(-1), number(0))


def dtype(description="f8", state=PLAIN_STATE):
    made = call("numpy.dtype", text(description), FALSE, TRUE)
    return made if state is None else made + items(*state) + BUILD


def forged_dtype(**changes):
    """The state of a dtype with other values at these places: order, subarray, names, fields, size, alignment, flags."""
    places = ("version", "order", "subarray", "names", "fields", "size", "alignment", "flags")
    return dtype("f8", [changes.get(place, value) for place, value in zip(places, PLAIN_STATE, strict=True)])


BEGUN = call("numpy._core.multiarray._reconstruct", name("numpy.ndarray"), numbers(0), data(b"b"))


def array(shape=(2,), kind=None, content=bytes(16), order=FALSE):
    return BEGUN + items(number(1), numbers(*shape), kind or dtype(), order, data(content)) + BUILD


def buffered(content=bytes(16), kind=None, shape=(2,), order="C", *more):
    return call("numpy._core.numeric._frombuffer", data(content), kind or dtype(), numbers(*shape), text(order), *more)


# --------------------------------------------------------------------------------------------------------------------
# torch files


def storage_id(kind="torch.FloatStorage", key="0", n=4, *more):
    return items(text("storage"), name(kind), text(key), text("cpu"), number(n), *more) + b"Q"


def tensor(storage=None, offset=0, shape=(4,), strides=(1,)):
    storage = storage_id() if storage is None else storage
    empty = name("collections.OrderedDict") + b")" + REDUCE
    return call(
        "torch._utils._rebuild_tensor_v2", storage, number(offset), numbers(*shape), numbers(*strides), FALSE, empty
    )


def torch_zip(pickle, records=None, byteorder=b"little", compression=zipfile.ZIP_STORED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        archive.writestr("archive/data.pkl", pickle + STOP)
        archive.writestr("archive/byteorder", byteorder)
        for key, content in ({"0": bytes(16)} if records is None else records).items():
            archive.writestr(f"archive/data/{key}", content)
    return file.getvalue()


FOUR_NUMBERS = struct.pack("<q", 4) + bytes(16)


def legacy(pickle, keys=("0",), contents=(FOUR_NUMBERS,), magic=0x1950A86A20F9469CFC6C, little=TRUE):
    parts = (number(magic), number(1001), keyed(little_endian=little), pickle, listed(*map(text, keys)))
    return b"".join(b"\x80\x02" + part + STOP for part in parts) + b"".join(contents)


def stored(content):
    """A storage as it is in an ordinary pickle."""
    return call("torch.storage._load_from_bytes", data(content))


OLD_ID = (NONE,)  # what the persistent id of the older form has at its end
LEGACY_STORAGE = legacy(storage_id("torch.FloatStorage", "0", 4, *OLD_ID))

# --------------------------------------------------------------------------------------------------------------------
# Attacks: name -> (file, what the error says)

NOT_KNOWN = "which is neither a number"
TOO_MUCH = "more data than its limit allows"
TOO_LITTLE = "more from the stack than there is"
UNKNOWN_NAMES = (
    "os.system", "posix.system", "subprocess.Popen", "builtins.eval", "builtins.exec", "builtins.getattr", "builtins.print",
    "builtins.object", "builtins.__import__", "antigravity.x", "numpy.load", "numpy.lib.stride_tricks.as_strided", "numpy.matrix",
    "numpy.ndarray.tofile", "numpy.memmap", "torch.load", "torch.Tensor", "torch.BFloat16Storage", "torch.UntypedStorage",
    "torch.storage.UntypedStorage", "torch._utils._rebuild_sparse_tensor", "torch._utils._rebuild_meta_tensor_no_storage",
    "torch._utils._rebuild_tensor_v3", "functools.partial", "operator.attrgetter", "copyreg._reconstructor", "types.CodeType",
    "collections.Counter", "data.readers.pickle_machine.Mark", "data.readers.unpickle.load_pickle",
)  # fmt: skip

NAMES = {f"names {path}": (name(path) + STOP, NOT_KNOWN) for path in UNKNOWN_NAMES} | {
    "names after the stack": (text("os") + text("system") + b"\x93" + STOP, NOT_KNOWN),
    "name of bytes": (data(b"os") + data(b"system") + b"\x93" + STOP, "name of a class is of type bytes"),
    "name of a list": (b"]]\x93" + STOP, "name of a class is of type list"),
    "name of a number": (text("numpy") + number(1) + b"\x93" + STOP, "name of a class is of type int"),
    "name with a line feed": (text("os") + text("sys\ntem") + b"\x93" + STOP, NOT_KNOWN),
    "name of a megabyte": (text("x" * MEGABYTE) + text("y") + b"\x93" + STOP, NOT_KNOWN),
    "name without text": (b"c\n\n" + STOP, NOT_KNOWN),
    "name that is no UTF-8": (b"cos\xff\nsystem\n" + STOP, "it is damaged"),
    "name as the product": (name("numpy.dtype") + STOP, "numpy.dtype, which is not plain data"),
    "name in a list": (listed(name("numpy.ndarray")) + STOP, "numpy.ndarray, which is not plain data"),
    "dtype in a list": (listed(dtype()) + STOP, "DType, which is not plain data"),
    "storage as the product": (stored(LEGACY_STORAGE) + STOP, "Storage, which is not plain data"),
    "call of a text": (text("numpy.dtype") + b")R" + STOP, "it calls numpy.dtype"),
    "call of a name that is only named": (name("numpy.ndarray") + numbers(3) + REDUCE + STOP, "it calls numpy.ndarray"),
    "call with a list": (name("numpy.dtype") + b"]R" + STOP, "it calls numpy.dtype with list"),
    "new object of a name that is only named": (
        name("numpy.ndarray") + numbers(3) + b"\x81" + STOP,
        "it calls numpy.nd",
    ),
    "instance, older form": (MARK + b"ios\nsystem\n" + STOP, "opcode b'i'"),
    "object, older form": (MARK + name("numpy.dtype") + b"o" + STOP, "opcode b'o'"),
    "new object with keywords": (name("numpy.dtype") + b")}\x92" + STOP, r"opcode b'\x92'"),
    "extension": (b"\x82\x01" + STOP, r"opcode b'\x82'"),
    "buffer beside the file": (b"\x97" + STOP, r"opcode b'\x97'"),
    "twice on the stack": (b"]2" + STOP, "opcode b'2'"),
    "persistent id": (text("0") + b"Q" + STOP, "it refers to 0 of another file"),
    "persistent id in a line": (b"P/etc/passwd\n" + STOP, "it refers to /etc/passwd of another file"),
}

STATES = {
    "state of a name": (name("numpy.dtype") + keyed(__defaults__=numbers(1)) + BUILD + STOP, "state of numpy.dtype"),
    "state of a class": (name("numpy.ndarray") + keyed(x=number(1)) + BUILD + STOP, "state of numpy.ndarray"),
    "state of a list": (b"]" + keyed(x=number(1)) + BUILD + STOP, "state of list"),
    "state of a dictionary": (b"}" + keyed(__class__=number(1)) + BUILD + STOP, "state of dict"),
    "state of a text": (text("a") + keyed(x=number(1)) + BUILD + STOP, "state of a"),
    "state of an array": (array() + items(number(1), numbers(9), dtype(), FALSE, data(b"")) + BUILD + STOP, "ndarray"),
    "state of an ordered dictionary": (
        call("collections.OrderedDict") + keyed(x=number(1)) + BUILD + STOP,
        "it changes the state of dict",
    ),
    "state of a tensor": (tensor(stored(LEGACY_STORAGE)) + keyed(data=number(1)) + BUILD + STOP, "state of ndarray"),
    "state of a storage": (stored(LEGACY_STORAGE) + keyed(array=number(1)) + BUILD + STOP, "state of Storage"),
    "state of a matrix is a list": (name("scipy.sparse.csr.csr_matrix") + b")\x81]" + BUILD + STOP, "of type list"),
    "array from the memo, twice": (
        BEGUN + put(0) + items(number(1), numbers(2), dtype(), FALSE, data(bytes(16))) + BUILD
        + get(0) + items(number(1), numbers(1 << 40), dtype(), FALSE, data(bytes(16))) + BUILD + STOP,
        "state of ndarray",
    ),
}  # fmt: skip

ARRAYS = {f"array of {kind}": (array(kind=dtype(kind)) + STOP, f"array of type {kind}") for kind in (
    "O8", "O", "V8", "V16", "S8", "U2", "M8", "m8", "f16", "i16", "g", "T", "i8,O8", "float64", "numpy.object_",
)} | {
    "objects over a buffer": (buffered(kind=dtype("O8")) + STOP, "array of type O8"),
    "dtype of a number": (call("numpy.dtype", number(8)) + STOP, "array type without a name"),
    "dtype of nothing": (call("numpy.dtype") + STOP, "array type without a name"),
    "dtype of a dictionary": (call("numpy.dtype", keyed(names=listed(text("a")))) + STOP, "array type without a name"),
    "dtype with an order": (array(kind=forged_dtype(order=text("O"))) + STOP, "state of the array type f8"),
    "dtype with a subarray": (array(kind=forged_dtype(subarray=items(dtype(), numbers(9)))) + STOP, "state of the array"),
    "dtype with names": (array(kind=forged_dtype(names=items(text("a")))) + STOP, "state of the array type"),
    "dtype with fields": (
        array(kind=forged_dtype(fields=keyed(a=items(dtype(), number(-64))))) + STOP,
        "state of the array type",
    ),
    "dtype with a size": (array(kind=forged_dtype(size=number(1 << 40))) + STOP, "state of the array type"),
    "dtype without size": (array(kind=forged_dtype(size=number(0))) + STOP, "state of the array type"),
    "dtype with an alignment": (array(kind=forged_dtype(alignment=number(3))) + STOP, "state of the array type"),
    "dtype with the flag of objects": (array(kind=forged_dtype(flags=number(63))) + STOP, "state of the array type"),
    "dtype with the state of an array": (dtype(state=(numbers(2), data(bytes(16)))) + STOP, "state of the array type"),
    "array of another class": (
        call("numpy._core.multiarray._reconstruct", name("numpy.dtype"), numbers(0), data(b"b")) + STOP,
        "does not begin as numpy",
    ),
    "array that begins large": (
        call("numpy._core.multiarray._reconstruct", name("numpy.ndarray"), numbers(1 << 40), data(b"b")) + STOP,
        "does not begin as numpy",
    ),
    "array without state": (BEGUN + STOP, "UnbuiltArray, which is not plain data"),
    "array without state in a list": (listed(BEGUN) + STOP, "UnbuiltArray, which is not plain data"),
    "array before its state": (BEGUN + put(0) + b"0" + get(0) + STOP, "used before its content is there"),
    "array in its own state": (BEGUN + put(0) + items(number(1), get(0)) + BUILD + STOP, "before its content is there"),
    "array with a list as state": (BEGUN + b"]" + BUILD + STOP, "state of an array is not"),
    "array of a list": (
        BEGUN + items(number(1), numbers(1), dtype(), FALSE, listed(number(1))) + BUILD + STOP,
        "state of an array is not",
    ),
    "array of a name": (
        BEGUN + items(number(1), numbers(1), name("numpy.dtype"), FALSE, data(b"")) + BUILD + STOP,
        "state of an array is not",
    ),
    "array larger than its bytes": (array(shape=(3,)) + STOP, r"shape (3,) and type float64 in 16 bytes"),
    "array smaller than its bytes": (array(shape=(1,)) + STOP, r"shape (1,) and type float64 in 16 bytes"),
    "array of a negative size": (array(shape=(-2,)) + STOP, "array of shape (-2,)"),
    "array of two negative sizes": (array(shape=(-2, -1)) + STOP, "array of shape (-2, -1)"),
    "array of half a size": (array(shape=(2.0,)) + STOP, "array of shape (2.0,)"),
    "array of a truth": (array(shape=(True, 2)) + STOP, "array of shape (True, 2)"),
    "array of 2^62": (array(shape=(1 << 62,)) + STOP, "which is too large"),
    "array that overflows to its size": (array(shape=(1 << 32, 1 << 32, 2)) + STOP, "which is too large"),
    "empty array of 2^63": (array(shape=(0, 1 << 63), content=b"") + STOP, "which is too large"),
    "array of 33 dimensions": (array(shape=(1,) * 33, content=bytes(8)) + STOP, "array of shape"),
    "truth of 2": (array(kind=dtype("b1"), content=b"\x01\x02") + STOP, "neither 0 nor 1"),
    "number of two": (call("numpy._core.multiarray.scalar", dtype(), data(bytes(16))) + STOP, "in 16 bytes"),
    "number of objects": (call("numpy._core.multiarray.scalar", dtype("O8"), data(bytes(8))) + STOP, "type O8"),
    "number of nothing": (call("numpy._core.multiarray.scalar") + STOP, "a number that is not"),
    "buffer in another order": (buffered(order="A") + STOP, "not (bytes, type, shape, order)"),
    "buffer with wrong axes": (buffered(bytes(16), None, (2,), "K", numbers(7)) + STOP, "not (bytes, type"),
    "buffer with axes of texts": (
        buffered(bytes(16), None, (1, 2), "K", items(number(0), text("a"))) + STOP,
        "not (bytes, type",
    ),
    "buffer of a text": (
        call("numpy._core.numeric._frombuffer", text("a" * 16), dtype(), numbers(2), text("C")) + STOP,
        "not (bytes, type",
    ),
    "bytes in another code": (call("_codecs.encode", text("AAAA"), text("zlib")) + STOP, "not a text in latin1"),
    "bytes of a number": (call("builtins.bytes", number(1 << 40)) + STOP, "bytes that are made of something else"),
    "set of a set": (call("builtins.set", b"\x8f") + STOP, "a set that is not made of a list"),
}  # fmt: skip


def doubled(times):
    """A list that holds a list twice, that holds a list twice, …"""
    return listed(number(1)) + put(0) + b"".join(b"0" + listed(get(i), get(i)) + put(i + 1) for i in range(times))


STACKS = {
    "empty file": (b"", "it is cut off"),
    "nothing on the stack": (STOP, TOO_LITTLE),
    "append to nothing": (b"a" + STOP, TOO_LITTLE),
    "items without a mark": (b"t" + STOP, TOO_LITTLE),
    "tuple of too few": (number(1) + b"\x87" + STOP, TOO_LITTLE),
    "pop of nothing": (b"0" + STOP, TOO_LITTLE),
    "put of nothing": (put(0) + STOP, TOO_LITTLE),
    "call of nothing": (REDUCE + STOP, TOO_LITTLE),
    "state of nothing": (BUILD + STOP, TOO_LITTLE),
    "key without value": (b"}" + MARK + text("a") + b"u" + STOP, "a key without a value"),
    "append to a tuple": (b")" + number(1) + b"a" + STOP, "appended to tuple"),
    "append to an array": (array() + number(1) + b"a" + STOP, "appended to ndarray"),
    "item of a name": (name("numpy.dtype") + text("a") + number(1) + b"s" + STOP, "keys are set in numpy.dtype"),
    "item of a matrix": (name("scipy.sparse.csr.csr_matrix") + b")\x81" + text("a") + number(1) + b"s" + STOP, "csr_matrix"),
    "add to a list": (b"]" + MARK + number(1) + b"\x90" + STOP, "added to list"),
    "list as a key": (b"}]" + number(1) + b"s" + STOP, "list as a key"),
    "tuple as a key": (b"})" + number(1) + b"s" + STOP, "tuple as a key"),
    "deep tuple as a key": (b"})" + b"\x85" * 200_000 + number(1) + b"s" + STOP, "tuple as a key"),
    "deep tuple in a set": (b"\x8f" + MARK + b")" + b"\x85" * 200_000 + b"\x90" + STOP, "tuple as a key"),
    "array as a key": (b"}" + array() + number(1) + b"s" + STOP, "ndarray as a key"),
    "keys that collide": (b"}" + number((1 << 61) - 1 << 20) + NONE + b"s" + STOP, "int as a key"),
    "memo without the index": (get(7) + STOP, "7 is not in the memo"),
    "memo, negative index": (b"]p-1\n" + STOP, "-1 as an index"),
    "memo, large index": (b"]p99999999999\n" + STOP, "as an index of the memo"),
    "memo, no index": (b"]px\n" + STOP, "it is damaged"),
    "unknown opcode": (b"\xff" + STOP, r"opcode b'\xff'"),
    "negative length": (b"T" + struct.pack("<i", -1) + STOP, "-1 bytes are to follow"),
    "negative length of a number": (b"\x8b" + struct.pack("<i", -5) + STOP, "-5 bytes are to follow"),
    "number of 65 bytes": (b"\x8a\x41" + bytes(65) + STOP, "integer of 65 bytes"),
    "number of a megabyte": (b"\x8b" + struct.pack("<i", MEGABYTE) + bytes(MEGABYTE) + STOP, "an integer of 1048576"),
    "number of many digits": (b"I" + b"9" * MEGABYTE + b"\n" + STOP, "integer of 1048576 digits"),
    "number of no digits": (b"I12x\n" + STOP, "it is damaged"),
    "number without an end": (b"I" + b"1" * MEGABYTE, "it is cut off"),
    "fraction of no digits": (b"Fx\n" + STOP, "it is damaged"),
    "text of half a character": (b"X\x03\x00\x00\x00\xed\xa0\x80" + STOP, "it is damaged"),
    "line of half a character": (rb"V\ud800" + b"\n" + STOP, "it is damaged"),
    "string without quotes": (b"Sabc\n" + STOP, "string without quotes"),
    "string with a wrong escape": (rb"S'\x1'" + b"\n" + STOP, "it is damaged"),
}  # fmt: skip

BOMBS = {
    "bytes of 2^62": (b"\x8e" + struct.pack("<Q", 1 << 62) + b"abc", TOO_MUCH),
    "bytes of 2^64 - 1": (b"\x8e" + struct.pack("<Q", (1 << 64) - 1) + b"abc", TOO_MUCH),
    "bytes within the limit that are not there": (b"\x8e" + struct.pack("<Q", 20 * MEGABYTE) + b"abc", "it is cut off"),
    "text of 2^62": (b"\x8d" + struct.pack("<Q", 1 << 62) + b"abc", TOO_MUCH),
    "text of 4 GB": (b"X" + struct.pack("<I", (1 << 32) - 1) + b"abc", TOO_MUCH),
    "a line of 33 MB": (b"V" + b"x" * (33 * MEGABYTE) + b"\n" + STOP, "it is cut off"),
    "frame of 2^64 - 1": (b"\x95" + b"\xff" * 8 + b"]" + STOP, None),  # a hint that is not needed
    "lists in a list": (b"]" + b"](" * 600_000, TOO_MUCH),
    "marks": (MARK * 600_000, TOO_MUCH),
    "dictionaries": (b"}" * 600_000, TOO_MUCH),
    "sets": (b"\x8f" * 600_000, TOO_MUCH),
    "a memo of everything": (b"]" + b"\x94" * 600_000, TOO_MUCH),
    "lists, 100,000 deep": (b"]" * 100_000 + b"a" * 99_999 + STOP, "nested more than 64 levels deep"),
    "lists, 65 deep": (b"]" * 65 + b"a" * 64 + STOP, "nested more than 64 levels deep"),
    "tuples, 200,000 deep": (b")" + b"\x85" * 200_000 + STOP, "nested more than 64 levels deep"),
    "depth by sharing": (
        b"](]\x94" + b"".join(b"]" + get(i) + b"a\x94" for i in range(70)) + b"e" + STOP,
        "nested more than 64 levels deep",
    ),
    "doubled 60 times": (doubled(60) + STOP, TOO_MUCH),
    "doubled 25 times": (doubled(25) + STOP, TOO_MUCH),
    "list in itself": (b"]" + put(0) + get(0) + b"a" + STOP, "contains itself"),
    "dictionary in itself": (b"}" + put(0) + text("a") + get(0) + b"s" + STOP, "contains itself"),
    "circle of two": (b"]" + put(0) + listed(get(0)) + b"a" + STOP, "contains itself"),
    "array of 8 kB, 20,000 times": (
        b"](" + array((1000,), content=bytes(8000)) + put(0) + get(0) * 20_000 + b"e" + STOP,
        TOO_MUCH,
    ),
    "text of 8 kB, 20,000 times": (b"](" + text("x" * 8000) + put(0) + get(0) * 20_000 + b"e" + STOP, TOO_MUCH),
    "storage of 16 bytes, seen as 2^40": (
        tensor(stored(LEGACY_STORAGE), shape=(1 << 40,), strides=(0,)) + STOP,
        TOO_MUCH,
    ),
    "storage of 16 bytes, seen 100 times as 1 MB": (
        stored(LEGACY_STORAGE) + put(0) + listed(*[tensor(get(0), 0, (1 << 18,), (0,))] * 100) + STOP,
        TOO_MUCH,
    ),
    "storage that says 2^40": (
        stored(legacy(storage_id("torch.FloatStorage", "0", 1 << 40, *OLD_ID))) + STOP,
        TOO_MUCH,
    ),
    "storage in a storage in a storage": (stored(legacy(stored(legacy(stored(LEGACY_STORAGE))))) + STOP, NOT_KNOWN),
}  # fmt: skip

OUTSIDE = "it reaches beyond them"
VIEWS = {  # arguments of `tensor` -> the error
    "offset before the storage": ({"offset": -1}, "offset -1"),
    "offset far before the storage": ({"offset": -(1 << 62)}, "offset -4611686018427387904"),
    "offset behind the storage": ({"offset": 1}, OUTSIDE),
    "offset far behind the storage": ({"offset": 1 << 62}, OUTSIDE),
    "offset that overflows": ({"offset": 1 << 64}, OUTSIDE),
    "shape beyond the storage": ({"shape": (5,)}, OUTSIDE),
    "shape that overflows": ({"shape": (1 << 33, 1 << 33), "strides": (0, 0)}, "which is too large"),
    "negative shape": ({"shape": (-1,)}, "array of shape (-1,)"),
    "shape of a fraction": ({"shape": (2.0,)}, "array of shape (2.0,)"),
    "strides beyond the storage": ({"strides": (2,)}, OUTSIDE),
    "strides far beyond the storage": ({"shape": (2,), "strides": (1 << 61,)}, OUTSIDE),
    "strides that overflow": ({"shape": (2,), "strides": (1 << 64,)}, OUTSIDE),
    "negative strides": ({"strides": (-1,)}, "strides (-1,)"),
    "strides of a fraction": ({"strides": (1.0,)}, "strides (1.0,)"),
    "more strides than sizes": ({"strides": (1, 1)}, "strides (1, 1)"),
    "fewer strides than sizes": ({"shape": (2, 2)}, "shape (2, 2) with offset 0, strides (1,)"),
}
TENSORS = {
    **{f"tensor, {key}": (tensor(stored(LEGACY_STORAGE), **view) + STOP, says) for key, (view, says) in VIEWS.items()},
    "tensor of a list": (tensor(b"]") + STOP, "a tensor that is not (storage"),
    "tensor of bytes": (tensor(data(bytes(16))) + STOP, "a tensor that is not (storage"),
    "tensor of a name": (tensor(name("torch.FloatStorage")) + STOP, "a tensor that is not (storage"),
    "tensor of nothing": (call("torch._utils._rebuild_tensor_v2") + STOP, "a tensor that is not (storage"),
    "storage of a list": (call("torch.storage._load_from_bytes", b"]") + STOP, "bytes that are no storage"),
    "storage of other bytes": (stored(b"abc") + STOP, TOO_LITTLE),
    "storage of a number": (stored(legacy(number(1), (), ())) + STOP, "bytes that are no storage"),
    "storage of a call": (stored(legacy(call("os.system", text("true")))) + STOP, NOT_KNOWN),
    "storage of fewer numbers": (
        stored(legacy(storage_id("torch.FloatStorage", "0", 8, *OLD_ID))) + STOP,
        "a storage of other than 8 numbers",
    ),
    "storage of a negative number": (
        stored(legacy(storage_id("torch.FloatStorage", "0", -4, *OLD_ID))) + STOP,
        "a storage that is not",
    ),
    "storage cut off": (stored(LEGACY_STORAGE[:-1]) + STOP, "it is cut off"),
    "storage without content": (stored(LEGACY_STORAGE[:-24]) + STOP, "a storage of other than 4 numbers, or none"),
    "storage that is not listed": (
        stored(legacy(storage_id("torch.FloatStorage", "0", 4, *OLD_ID), keys=())) + STOP,
        "not that of its tensors",
    ),
    "storage listed twice": (
        stored(legacy(storage_id("torch.FloatStorage", "0", 4, *OLD_ID), keys=("0", "0"))) + STOP,
        "not that of its tensors",
    ),
    "storage with a view": (
        stored(legacy(storage_id("torch.FloatStorage", "0", 4, items(text("0"), number(-9), number(4))))) + STOP,
        "a storage that is not",
    ),
    "storage of another machine": (stored(legacy(storage_id(), little=FALSE)) + STOP, "not little-endian"),
}  # fmt: skip

TORCH_FILES = {
    **{f"zip, {key}": (torch_zip(tensor(**view)), says) for key, (view, says) in VIEWS.items()},
    "zip, key that is not there": (torch_zip(tensor(storage_id(key="9"))), "storage 9: None bytes, expected 16"),
    "zip, key that leaves the folder": (torch_zip(tensor(storage_id(key="../../etc/passwd"))), "storage ../../etc/passwd"),
    "zip, key with a line feed": (torch_zip(tensor(storage_id(key="a\nb"))), r"storage 'a\nb'"),
    "zip, key that is a number": (
        torch_zip(items(text("storage"), name("torch.FloatStorage"), number(0), text("cpu"), number(4)) + b"Q"),
        "a storage that is not",
    ),
    "zip, persistent id of a text": (torch_zip(text("0") + b"Q"), "a storage that is not"),
    "zip, persistent id of a module": (torch_zip(items(text("module"), text("os"), text("x")) + b"Q"), "a storage that"),
    "zip, storage of a class": (torch_zip(tensor(storage_id("numpy.ndarray"))), "a storage that is not"),
    "zip, storage of bfloat16": (torch_zip(tensor(storage_id("torch.BFloat16Storage"))), NOT_KNOWN),
    "zip, too many numbers": (torch_zip(tensor(storage_id(n=1 << 40))), TOO_MUCH),
    "zip, more numbers than there are": (torch_zip(tensor(storage_id(n=5))), "16 bytes, expected 20"),
    "zip, negative numbers": (torch_zip(tensor(storage_id(n=-4))), "a storage that is not"),
    "zip, one storage as two": (
        torch_zip(items(tensor(), tensor(storage_id("torch.LongStorage", n=2), shape=(2,)))),
        "and as other ones elsewhere",
    ),
    "zip, truth of 2": (torch_zip(tensor(storage_id("torch.BoolStorage")), {"0": b"\0\1\2\0"}), "neither 0 nor 1"),
    "zip, other byte order": (torch_zip(tensor(), byteorder=b"big"), "byte order"),
    "zip, call": (torch_zip(call("os.system", text("true"))), NOT_KNOWN),
    "zip, storage that unpacks to 64 MB": (
        torch_zip(tensor(storage_id(n=1 << 24)), {"0": bytes(64 * MEGABYTE)}, compression=zipfile.ZIP_DEFLATED),
        TOO_MUCH,
    ),
    "zip, storage as the product": (torch_zip(storage_id()), "Storage, which is not plain data"),
    "zip, cut off": (torch_zip(tensor())[:-40], "damaged or cut short"),
    "older form, other magic": (legacy(tensor(), magic=7), "does not begin as a torch file"),
    "older form, cut off": (legacy(tensor(storage_id("torch.FloatStorage", "0", 4, *OLD_ID)))[:-1], "it is cut off"),
    "older form, 2^40 numbers": (legacy(tensor(storage_id("torch.FloatStorage", "0", 1 << 40, *OLD_ID))), TOO_MUCH),
    "older form, no pickle": (b"hello", "101 is not in the memo"),
}  # fmt: skip

ATTACKS = {
    f"{key}.pickle": attack
    for group in (NAMES, STATES, ARRAYS, STACKS, BOMBS, TENSORS)
    for key, attack in group.items()
}
ATTACKS |= {f"{key}.pt": attack for key, attack in TORCH_FILES.items()}


def write(folder):
    """The files of ATTACKS by their numbers, with a list of their names."""
    for i, (content, _) in enumerate(ATTACKS.values()):
        (folder / str(i)).write_bytes(content)
    (folder / "names.json").write_text(json.dumps(list(ATTACKS)))
