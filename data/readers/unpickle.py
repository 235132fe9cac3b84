"""Pickled arrays and tensors, read without running code that a file may hold: only the types of plain data are made."""

import _codecs
import collections
import io
import pickle

import numpy as np
import torch

from data.errors import DataError


def _load_storage(content):
    return torch.load(io.BytesIO(content), weights_only=True)


def _dtype(description, align=False, copy=False):
    """numpy.dtype; old pickles give 0 and 1 as truth values."""
    return np.dtype(description, align=bool(align), copy=bool(copy))


# How arrays and tensors are put together, under the names that pickles of different ages know; never more than this.
RECONSTRUCT, _, _ = np.empty(0).__reduce__()
SCALAR, _ = np.float64(0).__reduce__()
ALLOWED = {
    ("collections", "OrderedDict"): collections.OrderedDict,
    ("_codecs", "encode"): _codecs.encode,  # how bytes are written for Python 2
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): _dtype,
    ("torch._utils", "_rebuild_tensor_v2"): torch._utils._rebuild_tensor_v2,
    ("torch.storage", "_load_from_bytes"): _load_storage,
}
for module in ("numpy.core", "numpy._core"):
    ALLOWED[f"{module}.multiarray", "_reconstruct"] = RECONSTRUCT
    ALLOWED[f"{module}.multiarray", "scalar"] = SCALAR
    ALLOWED[f"{module}.numeric", "_frombuffer"] = np._core.numeric._frombuffer


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module, name):
        if (module, name) not in ALLOWED:
            raise DataError(f"it holds {module}.{name}, which is neither a number, a text, an array nor a tensor")
        return ALLOWED[module, name]


def load_pickle(file, **options):
    """The content of an open pickle file of plain data; DataError if it holds anything else."""
    return _PlainUnpickler(file, **options).load()
