"""The process is set up for the tests as a main file sets it up, before torch is loaded; temporary stores, never the user's."""

import os
import shutil

# The tensors of the tests are small: a second thread costs more than it brings, above all beside other programs.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from pathlib import Path

import pytest

import process  # noqa: F401 - before any test loads torch


@pytest.fixture(scope="session")
def real_data():
    """The folder of real raw files: GNN_DATA, or shared/data beside the project. Tests that need it are skipped without it."""
    folder = Path(os.environ.get("GNN_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
    if not folder.is_dir():
        pytest.skip("no folder of real data: set GNN_DATA")
    return folder


@pytest.fixture
def project_copy(tmp_path):
    """A copy of the project without what is made by running it, in a folder with spaces in its name."""
    root, target = Path(__file__).resolve().parents[1], tmp_path / "a folder with spaces"
    target.mkdir()
    for path in root.iterdir():
        if path.name in ("out", "stores", "raw", "results") or path.name.startswith("."):
            continue
        (shutil.copytree if path.is_dir() else shutil.copy)(path, target / path.name)
    return target


@pytest.fixture(scope="session")
def store_dir(tmp_path_factory):
    return str(tmp_path_factory.mktemp("stores"))


@pytest.fixture(scope="session")
def csl(store_dir):
    from data.CSL import CSL
    from data.dataset import DataConfig

    return CSL(DataConfig(store_dir=store_dir), needs={"laplacian": {"k": 20}})


@pytest.fixture(scope="session")
def child_env(store_dir):
    """For programs that tests start: two of them may run at once, so one thread each."""
    return {**os.environ, "GNN_STORES": store_dir, "OMP_NUM_THREADS": "1"}
