"""The pairs of BREC for the tests of this folder."""

import pytest


@pytest.fixture(scope="session")
def brec(real_data, store_dir):
    """[(category, part, g, h)]."""
    from data.BREC import BREC
    from data.dataset import DataConfig

    if not (real_data / "BREC").is_dir():
        pytest.skip("no folder BREC among the real data")
    dataset = BREC(DataConfig(store_dir=store_dir, data_dir=str(real_data)))
    return [(dataset[i].category, dataset[i].part, *dataset.edges(i)) for i in range(len(dataset))]
