"""What the targets are made of: files in code, and a dataset that is built from them in a folder."""

import io
import zipfile
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from data.dataset import DataConfig
from data.errors import DataError, StoreError
from runs.errors import ConfigError
from runs.files import RunError

NAMED = (DataError, StoreError, ConfigError, RunError)


class Target(NamedTuple):
    """`files` {name: bytes}; `read(folder)` returns something or raises. `packed`: {archive: names of its files}: these
    are spoiled, then packed without their first folder, so that what lies behind a checksum is reached too."""

    name: str
    files: dict
    read: Callable
    packed: dict = {}  # noqa: RUF012 - read only

    def write(self, folder, files):
        inside = {name for names in self.packed.values() for name in names}
        for name, content in files.items():
            if name not in inside:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(content)
        for archive, names in self.packed.items():
            (folder / archive).parent.mkdir(parents=True, exist_ok=True)
            with zipfile.ZipFile(folder / archive, "w") as file:
                for name in names:
                    file.writestr(name.partition("/")[2] or name, files[name])


def config(folder, **keys):
    return DataConfig(
        data_dir=str(folder), raw_dir=str(folder / "raw"), store_dir=str(folder / "stores"), offline=True, **keys
    )


def opened(dataset, folder, **keys):
    """Builds a dataset and reads a batch of it."""
    made = dataset(config(folder, **keys))
    fold = made.fold(made.folds[0])
    return made.store.hash, fold


def lines(*rows):
    return "".join(f"{row}\n" for row in rows).encode()


def npz(**arrays):
    content = io.BytesIO()
    np.savez(content, **arrays)
    return content.getvalue()


def members(folder, /, **arrays):
    """{"folder/NAME.npy": bytes} of arrays, to be spoiled one by one and packed as an .npz file."""
    return {f"{folder}/{name}.npy": npy(values) for name, values in arrays.items()}


def npy(values):
    content = io.BytesIO()
    np.save(content, values)
    return content.getvalue()
