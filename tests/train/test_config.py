"""A configuration is checked to the last key, and every refusal says what would be right."""

import json
from pathlib import Path

import pytest
from train.result_files import outdated

from nets import NETS
from train.config import Config, completed, identity, leaf_keys, parse_config

ROOT = Path(__file__).resolve().parents[2]
DEFAULT = "T3-CSL-{model}-LapPE-*"


def parse(*words):
    return parse_config([str(word) for word in words], family="CSL", datasets=["CSL"], default=DEFAULT)


@pytest.fixture
def config_file(tmp_path):
    """A copy of a row's file that a test may spoil."""

    def write(change=lambda content: None):
        content = json.loads((ROOT / "configs/CSL/T3-CSL-GCN-LapPE-L4.json").read_text())
        change(content)
        path = tmp_path / "row.json"
        path.write_text(json.dumps(content))
        return path

    return write


def test_the_default_row_and_the_row_of_a_model():
    assert parse().name == "T3-CSL-GCN-LapPE-L4"
    assert parse("--model", "MLP").name == parse("--config", "T3-CSL-MLP-LapPE-L4").name == "T3-CSL-MLP-LapPE-L4"


# an allowed value for each type, different from the defaults
SAMPLES = {
    "row": "x", "dataset": "CSL", "seed": 7, "folds": [1, 2], "device": "cpu", "out_dir": "o", "force": True, "progress": False,
    "data.store_dir": "s", "data.data_dir": "d", "data.raw_dir": "r", "data.offline": True, "data.workers": 1, "data.limit": 9,
    "net.model": "GCN", "net.L": 3, "net.hidden_dim": 8, "net.out_dim": 9, "net.readout": "sum",
    "net.in_feat_dropout": 0.5, "net.dropout": 0.25, "net.pos_enc": "abs", "net.pos_enc_dim": 5, "net.batch_norm": False,
    "net.residual": False, "net.graph_norm": True, "train.batch_size": 2, "train.init_lr": 1e-2, "train.lr_reduce_factor": 0.9,
    "train.lr_schedule_patience": 1, "train.min_lr": 1e-3, "train.weight_decay": 0.1, "train.max_time": 2.5, "train.epochs": 3,
    "train.select": "best_val", "train.first_step_alone": True, "train.workers": 2,
}  # fmt: skip


@pytest.mark.parametrize("key", [key for key, _ in leaf_keys(Config, net=NETS["GCN"].Config)])
def test_every_key_can_be_overridden(key):
    value = SAMPLES[key]
    seen = parse(f"--{key}", value if isinstance(value, str) else json.dumps(value))
    for part in key.split("."):
        seen = getattr(seen, part)
    assert seen == value or key == "row"


def test_help_explains_every_key(capsys):
    with pytest.raises(SystemExit) as stop:
        parse("--help")
    assert stop.value.code == 0
    text = " ".join(capsys.readouterr().out.split())
    for key, field in leaf_keys(Config, net=NETS["GCN"].Config):
        assert f"--{key}" in text and field.description.replace("%%", "%") in text


REFUSED = [
    (["--net.hiden_dim", 70], "--net.hiden_dim: unknown. Did you mean --net.hidden_dim?"),
    (["--net.L", 0], "net.L=0: expected int > 0"),
    (["--net.L", 4.5], "net.L=4.5: expected int > 0"),
    (["--net.L", "many"], "net.L='many': expected int > 0"),
    (["--net.dropout", 1.0], "net.dropout=1.0: expected float >= 0 and < 1"),
    (["--net.readout", "avg"], "net.readout='avg': expected one of mean, sum, max"),
    (["--device", "gpu"], "device='gpu': expected one of auto, cpu, cuda"),
    (["--net.batch_norm", "yes"], "net.batch_norm='yes': expected bool"),
    (["--net.pos_enc", "none"], "pos_enc_dim must be 0"),
    (["--model", "GCNN"], "--model GCNN: no such row. Did you mean GCN?"),
    (["--config", "T3-CSL-GCN-LapPE-L5"], "Did you mean T3-CSL-GCN-LapPE-L4?"),
    (["--config", "T3-CSL-GCN-LapPE-L4", "--model", "MLP"], "give one of them"),
    (["--dataset", "ZINC"], "--dataset ZINC: This program knows CSL"),
    (["--net.model", "MLP"], "net.model='MLP': T3-CSL-GCN-LapPE-L4.json is a row of GCN. Choose a row with --model"),
    (["--model", "MLP", "--net.residual", "true"], "--net.residual: unknown"),  # a key of another net
]


@pytest.mark.parametrize(("words", "message"), REFUSED, ids=lambda x: str(x)[:40])
def test_refused_on_the_command_line(words, message):
    with pytest.raises(SystemExit) as stop:
        parse(*words)
    assert message in str(stop.value)


SPOILED = [
    (lambda c: c["train"].update(batchsize=5), "train.batchsize=5: unknown key. Did you mean train.batch_size?"),
    (lambda c: c.update(sed=1), "sed=1: unknown key. Did you mean seed?"),
    (lambda c: c["train"].pop("init_lr"), "train.init_lr: missing. Expected float > 0"),
    (lambda c: c["net"].update(L="4"), "net.L='4': expected int > 0"),
    (lambda c: c["net"].update(model="GCNN"), "net.model='GCNN': expected one of MLP, GCN"),
    (lambda c: c["net"].update(batch_norm=1), "net.batch_norm=1: expected bool"),
    (lambda c: c.pop("train"), "train: missing"),
]


@pytest.mark.parametrize(("change", "message"), SPOILED, ids=lambda x: x if isinstance(x, str) else "")
def test_refused_in_a_file(config_file, change, message):
    path = config_file(change)
    with pytest.raises(SystemExit) as stop:
        parse("--config", path)
    assert message in str(stop.value) and str(path) in str(stop.value)


def test_a_file_that_is_not_json_is_named(tmp_path):
    (tmp_path / "x.json").write_text("{")
    with pytest.raises(SystemExit, match=r"x\.json: not a JSON file"):
        parse("--config", tmp_path / "x.json")


def test_a_changed_configuration_is_not_the_papers_row():
    changed = parse("--net.L", 8, "--seed", 3)
    assert changed.row is None and changed.name == "T3-CSL-GCN-LapPE-L4+net.L=8"
    same = parse("--seed", 3, "--device", "cpu", "--folds", "[1]", "--net.L", 4)
    assert same.row == same.name == "T3-CSL-GCN-LapPE-L4"


def test_the_folder_of_a_run_says_what_it_is(tmp_path):
    run = parse("--out_dir", tmp_path, "--seed", 3, "--net.L", 8).run(2)
    assert run.path == tmp_path / "CSL" / "T3-CSL-GCN-LapPE-L4+net.L=8" / "seed_3" / "fold_2"
    other = parse("--out_dir", tmp_path / "elsewhere", "--seed", 3, "--net.L", 8, "--force").run(2)
    assert run.identity == other.identity  # where and how it runs does not change what it is


def test_very_many_changes_still_give_a_file_name():
    words = []
    for key, value in SAMPLES.items():
        if key.startswith(("net", "train")):
            words += [f"--{key}", value if isinstance(value, str) else json.dumps(value)]
    assert len(parse(*words).name) < 150


def test_a_first_try_is_on_the_small_dataset(capsys):
    def parse_tsp(*words):
        return parse_config(list(words), "TSP", ["TSP", "TSP-small"], "T2-TSP-{model}-[Lh]*", first_try="TSP-small")

    for words, name in ([], "T2-TSP-GCN-L4"), (["--model", "MLP"], "T2-TSP-MLP-L4"):
        config = parse_tsp(*words)
        assert config.dataset == "TSP-small" and config.row is None and config.name == f"{name}+dataset=TSP-small"
        whole = parse_tsp(*words, "--dataset", "TSP")
        assert whole.dataset == "TSP" and whole.row == whole.name == name
    assert parse_tsp("--config", "T2-TSP-GCN-L4").row == "T2-TSP-GCN-L4"
    with pytest.raises(SystemExit):
        parse_tsp("--help")
    assert "on TSP-small, a first try, unless --dataset names another" in " ".join(capsys.readouterr().out.split())
    with pytest.raises(SystemExit):
        parse("--help")
    assert "first try, unless" not in " ".join(capsys.readouterr().out.split())


def test_the_version_of_a_net_belongs_to_what_the_numbers_depend_on():
    """A result of MoNet before its layer was changed says no version: it is of the first, and no result of the row any more."""
    gcn, monet = (identity(parse("--model", model)) for model in ("GCN", "MoNet"))
    assert "version" not in gcn["net"] and monet["net"]["version"] == NETS["MoNet"].Config.version == 2
    assert completed(gcn, Config) == gcn and completed(monet, Config) == monet
    before = monet | {"net": {key: value for key, value in monet["net"].items() if key != "version"}}
    assert completed(before, Config)["net"] == monet["net"] | {"version": 1}
    made = {"name": "T3-CSL-MoNet-LapPE-L4", "config": monet | {"seed": 3}}
    assert not outdated(made)
    assert "this would be T3-CSL-MoNet-LapPE-L4+net.version=1 now" in outdated(made | {"config": before})


def test_gat_has_a_second_version_where_edges_are_studied():
    def version(layer_type):
        return NETS["GAT"].Config(L=1, hidden_dim=2, out_dim=2, n_heads=1, layer_type=layer_type).version

    assert version("dgl") == 1 and version("isotropic") == version("edgefeat") == version("edgereprfeat") == 2
