"""Names lead to datasets, and a dataset has the features that it declares to the nets."""

import pytest

from data.dataset import DataConfig
from data.errors import DataError
from data.registry import DATASETS, declared, open_dataset
from runs.table_files import table_files
from tables.stand_ins import STAND_INS


def same_features(dataset, name):
    entry = declared(name)
    for ours, promised in ((dataset.features.node, entry.node), (dataset.features.edge, entry.edge)):
        assert (ours is None) == (promised is None)
        if ours is not None:
            assert (ours.n_types, ours.shape) == (promised.n_types, promised.shape)
    assert dataset.target == entry.target
    assert len(dataset.folds) == entry.n_folds


@pytest.mark.parametrize("name", ["CSL", "PATTERN", "CLUSTER"])
def test_generated_datasets(store_dir, name):
    same_features(open_dataset(name, DataConfig(store_dir=store_dir, limit=4)), name)


@pytest.mark.parametrize(
    "name", ["ZINC-redrawn", "ZINC-rebuilt", "CSL-published", "MNIST", "CIFAR10-4k", "ENZYMES", "DD", "PROTEINS"]
)
def test_real_datasets(real_data, store_dir, name):
    config = DataConfig(store_dir=store_dir, data_dir=str(real_data), limit=4, offline=True)
    same_features(open_dataset(name, config), name.split("-")[0])


def test_every_dataset_of_a_table_is_there_and_declared():
    """Nets of all rows can be built without data, and a table's number of folds is that of its datasets."""
    for table in table_files().values():
        for row in table.rows.values():
            entry = declared(row.config["dataset"])
            assert entry is None or entry.n_folds == row.folds, str(row)


def test_a_dataset_that_stands_for_another_is_one_of_ours_and_the_other_a_papers():
    of_tables = {row.config["dataset"] for table in table_files().values() for row in table.rows.values()}
    for name, (paper, reason) in STAND_INS.items():
        assert name in DATASETS and paper in of_tables and name not in of_tables and reason and "\n" not in reason


def test_names():
    with pytest.raises(DataError, match=r"NCI109: no such dataset\. Of the TU collection it would be TU/NCI109"):
        open_dataset("NCI109", None)
    with pytest.raises(DataError, match=r"ZINK: no such dataset\. Did you mean ZINC"):
        open_dataset("ZINK", DataConfig())
