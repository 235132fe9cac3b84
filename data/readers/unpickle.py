"""Pickles and files of torch.save as plain data: numbers, texts, bytes, lists, tuples, dictionaries, sets and numpy arrays.

Nothing in a file is trusted: it is read by an interpreter of our own (pickle_machine.py), which knows the names in NAMES and
no other. Tensors come as arrays, sparse matrices and the graphs of torch_geometric as dictionaries of what they hold.
"""

import io

from data.readers import arrays, tensors
from data.readers.pickle_machine import Machine, Object, UnpickleError, make_set, plain
from data.readers.unpack import LIMIT, Zip


def empty_dict(machine, arguments):
    """An OrderedDict or a defaultdict, whose items come later; what the latter makes of missing keys is left out."""
    return {}


def some_set(machine, arguments):
    match arguments:
        case (list() as items,):
            return make_set(items)
    raise UnpickleError("a set that is not made of a list")


def no_bytes(machine, arguments):
    if arguments:
        raise UnpickleError("bytes that are made of something else")
    return b""


def encoded(machine, arguments):
    """How Python 3 writes bytes for Python 2."""
    match arguments:
        case (str() as text, "latin1"):
            machine.charge(len(text))
            return text.encode("latin1")
    raise UnpickleError("bytes that are not a text in latin1")


def some_object(name):
    return lambda machine, arguments: Object(name)


OBJECTS = (
    "scipy.sparse.csr.csr_matrix",
    "scipy.sparse._csr.csr_matrix",
    "torch_geometric.data.data.Data",
    "torch_geometric.data.storage.GlobalStorage",
)
NAMES = {
    "collections.OrderedDict": empty_dict,
    "collections.defaultdict": empty_dict,
    "_codecs.encode": encoded,
    **arrays.NAMES,
    **tensors.NAMES,
    **{name: some_object(name) for name in OBJECTS},
}
for module in ("builtins", "__builtin__"):
    NAMES |= {
        f"{module}.bytes": no_bytes,
        f"{module}.set": some_set,
        f"{module}.frozenset": some_set,
        f"{module}.list": None,
    }


def load_pickle(file, limit=LIMIT):
    """The content of an open pickle; UnpickleError if it holds anything but plain data, or more than `limit` bytes of it."""
    return plain(Machine(file, NAMES, limit).run(), limit)


def stream_pickle(file, limit=LIMIT):
    """The items of an open pickle that is a list, one after the other; `limit` is for about a thousand of them."""
    for item in Machine(file, NAMES, limit).items():
        yield plain(item, limit)


def load_torch(file, where, limit=LIMIT):
    """The content of an open file of torch.save, which can be searched; errors as above."""
    begin = file.read(4)
    file.seek(-len(begin), io.SEEK_CUR)
    if begin != b"PK\x03\x04":
        return plain(tensors.read_legacy(file, NAMES, limit), limit)
    with Zip(file, where) as archive:
        return plain(tensors.read_zip(archive, NAMES, limit), limit)
