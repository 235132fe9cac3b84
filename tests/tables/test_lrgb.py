"""The tables of the Long Range Graph Benchmark: every printed line has a row, the rows have the protocol."""

import pytest

from runs.table_files import find_table
from tables.declare import lines_of
from tables.papers.lrgb import PAPER
from tables.table import table_view
from train.config import Config

TABLES = {table.name.removeprefix("lrgb_"): table for table in PAPER.tables}
ROWS = [row for table in PAPER.tables for row in find_table(table.name).rows.values()]


@pytest.mark.parametrize("name", TABLES)
def test_every_printed_line_has_a_row_and_every_row_a_line(name):
    lines = lines_of(find_table(f"lrgb_{name}"), TABLES[name])
    assert lines and all(len(line.rows) == 1 and len(line.asked) == 4 and line.printed for line in lines)
    assert all(any(key.startswith("test ") for key in line.printed) for line in lines)


@pytest.mark.parametrize(
    ("table", "line", "key", "text"),
    [
        ("table3_VOC", "GCN", "test macro F1", "0.1268 ± 0.0060"),
        ("table4_func", "GCN", "train AP", "0.8840 ± 0.0131"),
        ("table4_struct", "GCN", "test MAE", "0.3496 ± 0.0013"),
        ("table5", "GCN", "test MRR", "0.3234 ± 0.0006"),
        ("tableA3", "SAN+RWSE-struct", "test R2", "0.7716 ± 0.0034"),
        ("tableD4", "GatedGCN+RWSE", "test Hits@10", "0.8036 ± 0.0008"),
        ("table5_tuned", "GPS", "test MRR_filtered_noself", "0.4703 ± 0.0014"),
        ("table4_func", "SAN+LapPE", "epoch_time_s", "54.7"),
        ("table3_COCO", "GatedGCN", "params", "509k"),
    ],
)
def test_what_is_printed(table, line, key, text):
    assert TABLES[table].printed()[line][key].text == text


def test_the_tables_of_ranks_have_three_settings_and_say_which_is_printed():
    table = TABLES["table5"]
    assert "raw ranks, as printed" in table.title
    names = [column.header for column in table.columns]
    assert {"test MRR", "test MRR_filtered", "test MRR_filtered_noself", "test Hits@3_filtered"} <= set(names)
    agrees = next(column for column in table.columns if column.header == "agrees")
    assert {score.header for score in agrees.scores} == {"test MRR", "test Hits@1", "test Hits@3", "test Hits@10"}
    view = table_view("lrgb_table5", [])
    assert len(view.lines) == 8


@pytest.mark.parametrize("row", {str(row): row for row in ROWS}.values(), ids=str)
def test_the_protocol(row):
    """Seeds 0-3, the best validation epoch; SAN on graphs of superpixels and peptides sums the gradients of four batches."""
    config = Config.model_validate(row.config)
    train, tuned = config.train, "tuned" in row.table.name
    assert row.seeds == [0, 1, 2, 3] and train.select.epoch == "best_val" and train.select.ties == "first"
    assert train.select.digits == (None if config.dataset == "PCQM-Contact" else 5)
    optimizer = train.optimizer
    sums = config.net.model == "SAN" and config.dataset != "PCQM-Contact"
    assert (optimizer.accumulate, optimizer.accumulated) == ((4, "sum") if sums else (1, "mean"))
    assert optimizer.weight_decay == 0
    if tuned:
        assert train.schedule.kind == "cosine" and optimizer.lr == 0.001
        superpixels = "-SP" in config.dataset
        assert optimizer.clip_norm == (None if superpixels and config.net.model != "GPS" else 1.0)
    else:
        schedule = train.schedule
        assert (schedule.kind, schedule.of, schedule.factor, schedule.min_lr) == ("plateau", "loss", 0.5, 1e-5)
        assert train.stop.hours == 60 and optimizer.clip_norm is None
