"""Every row of the tables has a configuration, and every configuration builds the net whose parameters the paper counted."""

import json

import pytest
import torch
from data.catalogue import CATALOGUE
from train.rows import ROOT, WITHOUT_CONFIG, build, config_files, main, printed_rows

from nets import NETS, count_parameters
from tests.nets.graphs import random_batch
from train.config import Config, parse_config

PATHS = sorted(path for paths in config_files().values() for path in paths)


def test_the_tables_have_249_results_of_222_rows():
    """Tables 2, 3, 4, 6, 7, 8: 123 + 16 + 16 + 27 + 28 + 12, the two results of Table 2's legend among them."""
    tables = [row.split("-")[0] for row in printed_rows()]
    assert {t: tables.count(t) for t in sorted(set(tables))} == {
        "T2": 123,
        "T3": 16,
        "T4": 16,
        "T6": 27,
        "T7": 28,
        "T8": 12,
    }


def test_every_row_has_a_configuration_or_a_reason():
    files = config_files()
    assert set(files) | set(WITHOUT_CONFIG) == set(printed_rows())
    assert not set(files) & set(WITHOUT_CONFIG)
    assert [row for row, paths in files.items() if len(paths) > 1] == ["T3-CSL-MP-GNNs-none-L4"]


def test_212_printed_counts_agree(capsys):
    assert main(["--check_params"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "212 of 212 printed counts agree"


def test_a_wrong_width_is_found(monkeypatch, capsys):
    """The check can fail: one channel more in one configuration."""
    monkeypatch.setattr("train.rows.count_parameters", lambda net: count_parameters(net) + 1)
    assert main(["--check_params"]) == 1
    assert "0 of 212" in capsys.readouterr().out


def test_the_list_names_configuration_and_command(capsys):
    assert main([]) == 0
    text = capsys.readouterr().out
    assert (
        "T3-CSL-GCN-LapPE-L4\n    configs/CSL/T3-CSL-GCN-LapPE-L4.json\n    python main_CSL.py --config T3-CSL-GCN-LapPE-L4\n"
        in text
    )


def test_the_encodings_of_table_3_are_the_programs():
    """Absolute values for the message-passing nets, raw eigenvectors for the WL-GNNs; section 4's flipped signs are Table 7's."""
    contents = [json.loads(path.read_text()) for path in PATHS if "-LapPE-" in path.stem]
    found = {(content["net"]["model"], content["net"]["pos_enc"]) for content in contents}
    dense = {"RingGNN", "3WLGNN"}
    models = dense | {"MLP", "GCN", "GraphSage", "MoNet", "GAT", "GatedGCN", "GIN"}
    assert found == {(model, "eigvecs" if model in dense else "abs") for model in models}
    rand_sign = json.loads((ROOT / "configs/CSL/T7-CSL-Rand_sign_EigVecs.json").read_text())
    assert rand_sign["net"]["pos_enc"] == "rand_sign"


@pytest.mark.parametrize("path", PATHS, ids=lambda p: p.stem)
def test_configuration_is_that_of_its_row(path):
    content = json.loads(path.read_text())
    config = parse_config(["--config", str(path)], path.parent.name, CATALOGUE, default="-")
    row = printed_rows()[content["row"]]
    assert path.parent.name == CATALOGUE[config.dataset].family and row["dataset"] == config.dataset
    assert config.name == path.stem
    if row["L"] and config.net.model != "MF":
        assert int(row["L"]) == config.net.L


@pytest.mark.parametrize("path", [p for p in PATHS if "kNN" not in p.stem], ids=lambda p: p.stem)
def test_every_parameter_receives_a_finite_gradient(path):
    torch.manual_seed(0)
    config = Config.model_validate_json(path.read_text())
    net = build(path)
    g, _ = random_batch(config.dataset, n_eigenvectors=config.net.n_eigenvectors)
    net(g).square().mean().backward()
    for name, p in net.named_parameters():
        assert p.grad is not None and torch.isfinite(p.grad).all(), name


def test_every_model_has_rows():
    contents = [json.loads(path.read_text()) for path in (ROOT / "configs").glob("*/*.json")]
    assert {content["net"]["model"] for content in contents if "net" in content} == set(NETS)
