"""OGB's raw format of a link prediction dataset, read without OGB's package: csv tables and saved dictionaries of arrays.

    NAME/raw/edge.csv.gz, node-feat.csv.gz, …      one line per row, no heading
    NAME/split/KIND/{train,valid,test}.pt          torch.save of {"edge": (m, 2), …}, numpy arrays or tensors

They are in a zip file or in a folder unpacked from it: `root` is a pathlib.Path or its double, a zipfile.Path. Whatever is not
as it should be is a DataError that names the file, the value and the remedy.
"""

import gzip
import io
import re
import warnings
import zipfile
import zlib

import numpy as np
import torch

from data.errors import REMEDY, DataError


def open_zip(path, name):
    """The folder `name` in the zip file at `path`."""
    try:
        return zipfile.Path(path) / name
    except zipfile.BadZipFile as error:
        raise DataError(f"{path}: not a zip file, or not all of it ({error}): {REMEDY}") from error


def _read(file):
    """All bytes of one file below the root."""
    if not file.exists():
        raise DataError(f"{file}: missing: get the archive again, or complete the folder")
    try:
        return file.read_bytes()
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise DataError(f"{file}: damaged ({error}): {REMEDY}") from error


def read_csv(file, dtype, n_columns=None):
    """A table as a 2-d array; n_columns is checked when it is given. `dtype` int64 refuses what is not a whole number."""
    content = io.BytesIO(_read(file))
    try:
        with gzip.open(content, "rt", encoding="ascii") as lines, warnings.catch_warnings():
            warnings.simplefilter("error")  # numpy only warns of an empty file, and of 1.5 read as an integer
            table = np.loadtxt(lines, dtype=dtype, delimiter=",", comments=None, ndmin=2)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{file}: damaged or cut short ({error}): {REMEDY}") from error
    except (ValueError, Warning) as error:
        raise DataError(f"{file}: not a table of {np.dtype(dtype).name} numbers ({error}): {REMEDY}") from error
    if n_columns is not None and table.shape[1] != n_columns:
        raise DataError(f"{file}: {table.shape[1]} columns: expected {n_columns}")
    if table.dtype.kind == "f" and not np.isfinite(table).all():
        row, column = np.argwhere(~np.isfinite(table))[0]
        raise DataError(f"{file}: {table[row, column]} in line {row + 1}, column {column + 1}: expected finite numbers")
    return table


def _numpy_globals():
    """What a pickled numpy array of numbers names, in numpy 1 and in numpy 2; nothing else may be called while loading."""
    reconstruct = np.zeros(0).__reduce__()[0]
    types = {type(np.dtype(name)) for name in ("bool", "int32", "int64", "float32", "float64")}
    names = [(reconstruct, f"numpy.{core}.multiarray._reconstruct") for core in ("core", "_core")]
    return [*names, (bytes, "builtins.bytes"), np.ndarray, np.dtype, *types]  # bytes(): the content of an empty array


def read_arrays(file, names):
    """{name: int64 array} of a file written by torch.save; only arrays of whole numbers are let in."""
    content = io.BytesIO(_read(file))
    try:
        with torch.serialization.safe_globals(_numpy_globals()):
            saved = torch.load(content, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged pickle can raise anything
        # torch's own text is a page of advice how to load the file all the same
        other = re.search(r"Unsupported global: GLOBAL (\S+)", str(error))
        problem = f"it names {other[1]}" if other else type(error).__name__
        raise DataError(f"{file}: damaged, or holds something else than arrays ({problem}): {REMEDY}") from error
    if not isinstance(saved, dict) or not set(names) <= set(saved):
        found = list(saved) if isinstance(saved, dict) else type(saved).__name__
        raise DataError(f"{file}: holds {found}: expected a dictionary with {', '.join(names)}")
    return {name: _whole_numbers(saved[name], f"{file}, {name}") for name in names}


def _whole_numbers(values, where):
    if not isinstance(values, np.ndarray | torch.Tensor):
        raise DataError(f"{where}: {type(values).__name__}: expected an array")
    values = np.asarray(values)
    if values.dtype.kind not in "iu":
        raise DataError(f"{where}: values of type {values.dtype}: expected integers")
    return values.astype(np.int64)


def check_range(values, low, high, where):
    """All values in low … high (None: no bound), or a DataError with the first that is not."""
    wrong = (values < low) | (values > (np.inf if high is None else high))
    if wrong.any():
        row = np.argwhere(wrong)[0]
        bounds = f"{low} or more" if high is None else f"{low} to {high}"
        raise DataError(f"{where}: {values[tuple(row)]} in row {row[0] + 1}: expected {bounds}")


def check_shape(values, shape, where):
    """The shape, in which None stands for any size."""
    if len(values.shape) != len(shape) or any(
        b is not None and a != b for a, b in zip(values.shape, shape, strict=True)
    ):
        wanted = ", ".join("any" if size is None else str(size) for size in shape)
        raise DataError(f"{where}: shape {values.shape}: expected ({wanted})")
