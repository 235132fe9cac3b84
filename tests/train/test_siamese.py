"""Every neural model of BREC is trained and tested on a pair by one protocol."""

import pytest

from data.BREC import BREC
from data.dataset import DataConfig
from runs.table_files import find_table
from train.pair_config import NetPairConfig
from train.siamese import NetJudge

ROWS = {name: row for name, row in find_table("brec_table2").rows.items() if "net" in row.config and not row.note}


@pytest.fixture(scope="module")
def brec(real_data, store_dir):
    return BREC(DataConfig(store_dir=store_dir, data_dir=str(real_data), offline=True))


def test_all_sixteen_have_a_row():
    assert len(ROWS) == 16


@pytest.mark.parametrize("name", ROWS)
def test_a_pair_is_trained_and_tested(brec, name):
    """Pair 0, one epoch: finite statistics, the same on a second call, also of a net that draws in evaluation."""
    changes = {"train.stop.epochs": 1, "test.q": 8, "test.d": 4}
    judge = NetJudge(NetPairConfig.model_validate(ROWS[name].changed(changes)), brec)
    answer = judge(0)
    assert answer["epochs"] == 1 and set(answer["T2"]) == {"text", "program"}
    assert answer["T2"]["program"][0] > 100 * answer["T2"]["program"][1] or name in ("DropGNN", "Graphormer", "OSAN")
    assert judge(0) == answer
