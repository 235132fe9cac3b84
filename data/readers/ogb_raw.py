"""OGB's raw format of a link prediction dataset, read without OGB's package: csv tables and saved dictionaries of arrays.

    NAME/raw/edge.csv.gz, node-feat.csv.gz, …      one line per row, no heading
    NAME/split/KIND/{train,valid,test}.pt          torch.save of {"edge": (m, 2), …}, numpy arrays or tensors

They are in a zip file or in a folder unpacked from it: `root` is a pathlib.Path or its double, a zipfile.Path. Whatever is not
as it should be is a DataError that names the file, the value and the remedy.
"""

import io
import zipfile

import numpy as np

from data.errors import REMEDY, DataError
from data.readers.unpack import TABLE, Zip, open_file, read_table, whole_numbers
from data.readers.unpickle import UnpickleError, load_torch


def open_zip(path, name):
    """The folder `name` in the zip file at `path`."""
    return zipfile.Path(Zip(path).archive) / name


def _open(file):
    """The stream of one file below the root."""
    if not file.exists():
        raise DataError(f"{file}: missing: get the archive again, or complete the folder")
    return open_file(file, TABLE)


def read_csv(file, dtype, n_columns=None):
    """A table as a 2-d array; n_columns is checked when it is given. `dtype` int64 refuses what is not a whole number."""
    with _open(file) as stream:
        table = read_table(stream, file, dtype)
    if n_columns is not None and table.shape[1] != n_columns:
        raise DataError(f"{file}: {table.shape[1]} columns: expected {n_columns}")
    if table.dtype.kind == "f" and not np.isfinite(table).all():
        row, column = np.argwhere(~np.isfinite(table))[0]
        raise DataError(f"{file}: {table[row, column]} in line {row + 1}, column {column + 1}: expected finite numbers")
    return table


def read_arrays(file, names):
    """{name: int64 array} of a file written by torch.save; only arrays of whole numbers are let in."""
    with _open(file) as stream:
        content = io.BytesIO(stream.read())
    try:
        saved = load_torch(content, file)
    except UnpickleError as error:
        raise DataError(f"{file}: damaged, or holds something else than arrays ({error}): {REMEDY}") from error
    if not isinstance(saved, dict) or not set(names) <= set(saved):
        found = list(saved) if isinstance(saved, dict) else type(saved).__name__
        raise DataError(f"{file}: holds {found}: expected a dictionary with {', '.join(names)}")
    return {name: whole_numbers(saved[name], f"{file}, {name}") for name in names}


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
