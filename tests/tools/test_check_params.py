"""Every row builds the net whose parameters the paper counted, and trains all of it."""

import pytest
import torch

from data.registry import DATASETS, declared
from nets import NETS, count_parameters
from runs.table_files import table_files
from tables.declare import read_csv
from tests.nets.graphs import counted_only, random_batch
from tools import check_params
from train.cli import parse_config
from train.config import Config

ROWS = {str(row): (row, table, line) for table, line in check_params.printed_rows() for row in line.rows}


def test_212_printed_counts_agree(capsys):
    assert check_params.main([]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "212 of 212 printed counts agree"


def test_a_wrong_width_is_found(monkeypatch, capsys):
    """The check can fail: one parameter more in every net."""
    monkeypatch.setattr(check_params, "count_parameters", lambda net: count_parameters(net) + 1)
    assert check_params.main([]) == 1
    assert "0 of 212" in capsys.readouterr().out


@pytest.mark.parametrize("name", ROWS)
def test_a_row_is_that_of_its_line(name):
    row, table, line = ROWS[name]
    csv, prefix = table.printed.args
    printed = next(p for p in read_csv("benchmarking_gnns", csv) if p["row_id"] == prefix + line.name)
    config = parse_config(["--config", name], row.table.main, DATASETS, default="-")
    assert config.dataset == line.dataset == printed["dataset"] and config.name == name
    if printed["L"] and config.net.model != "MF":
        assert int(printed["L"]) == config.net.L


@pytest.mark.parametrize("name", [name for name in ROWS if "kNN" not in name])
def test_every_parameter_receives_a_finite_gradient(name):
    torch.manual_seed(0)
    row, _, _ = ROWS[name]
    config = Config.model_validate(row.config)
    net = check_params.build(row)
    k = config.net.needs.get("laplacian", {}).get("k", 0)
    g, _ = random_batch(config.dataset, n_eigenvectors=k)
    of = torch.stack(g.edges()).long() if declared(config.dataset).target.level == "pair" else None
    net(g, of).square().mean().backward()
    for parameter, p in net.named_parameters():
        assert p.grad is None if parameter in counted_only(net) else torch.isfinite(p.grad).all(), parameter


def test_every_model_has_rows():
    rows = [row for table in table_files().values() for row in table.rows.values()]
    assert {row.config["net"]["model"] for row in rows if "net" in row.config} == set(NETS)
    paper = [row for row in rows if row.table.paper == "benchmarking_gnns"]
    assert all(declared(row.config["dataset"]) for row in paper)
