"""Pickled arrays and tensors, read without running code that a file may hold: only the types of plain data are made."""

import io
import pickle

import torch

from data.download import DataError

NUMPY = ("numpy", "numpy.core.multiarray", "numpy._core.multiarray", "numpy.core.numeric", "numpy._core.numeric")
ALLOWED = {
    ("collections", "OrderedDict"),
    ("_codecs", "encode"),  # how Python 2 wrote bytes
    ("torch._utils", "_rebuild_tensor_v2"),
    *((module, name) for module in NUMPY for name in ("_reconstruct", "ndarray", "dtype", "scalar", "_frombuffer")),
}


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module, name):
        if (module, name) == ("torch.storage", "_load_from_bytes"):
            return _load_storage
        if (module, name) not in ALLOWED:
            raise DataError(f"it holds {module}.{name}, which is neither a number, a text, an array nor a tensor")
        return super().find_class(module, name)


def _load_storage(content):
    return torch.load(io.BytesIO(content), weights_only=True)


def load_pickle(file, **options):
    """The content of an open pickle file of plain data; DataError if it holds anything else."""
    return _PlainUnpickler(file, **options).load()
