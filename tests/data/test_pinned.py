"""Which raw files have a SHA-256 that is known before the first download, and that the published files at hand have it."""

import gzip
import hashlib

import pytest

from data.citation import SUMS
from data.dataset import DataConfig, GraphDataset
from data.registry import DATASETS

PINNED = {
    "CIFAR10/cifar-10-python.tar.gz",
    "LRGB/peptide_multi_class_dataset.csv.gz",
    "ZINC/jtvae_train.txt",
    *(f"node/planetoid/{name}" for name in SUMS),
}  # MNIST is compared after unpacking; all others are trusted on first use


@pytest.fixture
def raw_files(monkeypatch):
    """{path: RawFile} of all datasets that can be downloaded, without building one."""
    monkeypatch.setattr(GraphDataset, "__init__", lambda self, config=None, needs=None: None)
    found = {}
    for dataset in DATASETS.values():
        if not hasattr(dataset, "raw_files") and not getattr(dataset, "generated", False):
            dataset = dataset(DataConfig())  # it says them when it is made
        found |= {file.path: file for file in getattr(dataset, "raw_files", ()) if file.urls}
    return found


def test_what_is_pinned(raw_files):
    assert {path for path, file in raw_files.items() if file.sha256} == PINNED
    assert len(raw_files) > 100  # of which the sums of the others are not known


@pytest.mark.parametrize("path", sorted(PINNED))
def test_published_files_have_the_pinned_sum(real_data, raw_files, path):
    place, packed = real_data / path, real_data / f"{path}.gz"
    if not place.exists() and not packed.exists():
        pytest.skip(f"{path} is not at hand")
    content = place.read_bytes() if place.exists() else gzip.decompress(packed.read_bytes())
    assert hashlib.sha256(content).hexdigest() == raw_files[path].sha256
