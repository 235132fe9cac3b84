"""The command line is checked to the last key, and every refusal says what would be right."""

import json

import pytest

from runs.table_files import find_row, table_files
from train.cli import all_keys, parse_config
from train.config import Config
from train.selection import SelectionConfig

DEFAULT = "table3/GCN-LapPE-L4"
ENCODINGS = '[{"kind": "RWSE", "k": 5}]'


def parse(*words):
    return parse_config([str(word) for word in words], main="CSL", datasets=["CSL"], default=DEFAULT)


def get(config, key):
    for part in key.split("."):
        config = getattr(config, part)
    return config


def test_the_default_row_and_the_row_of_a_model():
    assert parse().name == DEFAULT
    for words in (["--model", "MLP"], ["--config", "table3/MLP-LapPE-L4"], ["--config", "MLP-LapPE-L4"]):
        assert parse(*words).name == "table3/MLP-LapPE-L4"
    assert parse().seed == find_row(DEFAULT).seeds[0] == 14


# an allowed value for each key, different from the row's
SAMPLES = {
    "dataset": "CSL", "seed": 7, "seeds": [7, 8], "folds": [1, 2], "device": "cpu", "out_dir": "o", "force": True,
    "log": ["wandb"], "progress": False, "data.store_dir": "s", "data.data_dir": "d", "data.raw_dir": "r", "data.offline": True,
    "data.workers": 1, "data.limit": 9,
    "data.features": "labels", "data.splits": "fair", "data.seed": 3,
    "data.transforms": '[{"kind": "FiedlerFrag", "matrix": "laplacian", "iterations": 3, "max_size": 9}]',
    "net.model": "GCN", "net.L": 3, "net.hidden_dim": 8, "net.in_feat_dropout": 0.5, "net.dropout": 0.25,
    "net.batch_norm": False, "net.residual": False, "net.graph_norm": True, "net.head.pool": "sum", "net.head.mlp": [0.5],
    "net.head.activation": "gelu", "net.head.l2_norm": True, "net.head.dropout": 0.5, "net.head.pair": "dot",
    "net.keep_residual": True,
    **{f"net.standardise.{level}_{name}": [0.5] for level in ("node", "edge") for name in ("mean", "sd")},
    "net.encodings": ENCODINGS,
    "train.batch_size": 2, "train.workers": 2, "train.processes": 1,  # as many as torchrun started
    "train.optimizer.kind": "adam", "train.optimizer.lr": 1e-2, "train.optimizer.weight_decay": 0.1,
    "train.optimizer.clip_norm": 2.0, "train.optimizer.accumulate": 3, "train.optimizer.accumulated": "sum",
    "train.optimizer.first_step": "alone",
    "train.schedule.kind": "plateau", "train.schedule.patience": 1, "train.schedule.factor": 0.9, "train.schedule.of": "metric",
    "train.schedule.threshold": 0.01, "train.schedule.min_lr": 1e-8,
    "train.stop.epochs": 3, "train.stop.hours": 2.5, "train.stop.min_lr": 1e-3, "train.stop.loss": 0.5, "train.stop.patience": 9,
    "train.stop.of": "metric", "train.stop.ties": "renew",
    "train.select.epoch": "best_val", "train.select.of": "loss", "train.select.ties": "first",
    "train.select.digits": 5, "train.select.every": 5,
}  # fmt: skip
KEYS = all_keys(Config, find_row(DEFAULT).config)


def as_word(value):
    return value if isinstance(value, str) else json.dumps(value)


@pytest.mark.parametrize("key", KEYS)
def test_every_key_can_be_overridden(key):
    value = SAMPLES[key]
    seen = get(parse(f"--{key}", as_word(value)), key)
    if key in ("net.encodings", "data.transforms"):
        assert json.loads(value)[0].items() <= seen[0].model_dump().items()
    else:
        assert seen == value


@pytest.mark.parametrize("text", ["1,2,3", "[1, 2, 3]", "1, 2, 3", "1 2 3", "1,2,3,"])
@pytest.mark.parametrize("key", ["seeds", "folds"])
def test_lists_are_accepted_as_people_type_them(key, text):
    """As one word of the command line and as several."""
    assert get(parse(f"--{key}", text), key) == get(parse(f"--{key}", *text.split()), key) == [1, 2, 3]
    assert get(parse(f"--{key}", "4"), key) == [4]
    assert get(parse("--net.head.mlp", "0.5,0.25"), "net.head.mlp") == [0.5, 0.25]


def test_several_seeds_are_the_runs_of_each():
    runs = parse("--seeds", "5,6", "--folds", "0,2").runs([0, 2])
    assert [(run.seed, run.fold) for run in runs] == [(5, 0), (5, 2), (6, 0), (6, 2)]
    assert {run.path for run in runs} == {parse("--seed", seed).run(fold).path for seed in (5, 6) for fold in (0, 2)}


def test_a_dataset_of_the_collection_is_suggested_by_its_full_name():
    with pytest.raises(SystemExit, match=r"--dataset NCI109: Did you mean TU/NCI109\?"):
        parse_config(["--dataset", "NCI109"], "TUs", ["ENZYMES", "CIFAR10"], "table6/ENZYMES-GCN-L4", prefix="TU/")


def test_help_lists_the_datasets_and_says_whose_keys_these_are(capsys):
    with pytest.raises(SystemExit):
        parse_config(["--model", "GIN", "--help"], "CSL", ["CSL", "CSL-published"], DEFAULT)
    text = " ".join(capsys.readouterr().out.split())
    assert "name of the dataset (one of CSL, CSL-published; here" in text
    assert "net: the keys of GIN, the model of this row; --model NAME --help shows those of another" in text


def test_help_explains_every_key(capsys):
    with pytest.raises(SystemExit) as stop:
        parse("--help")
    assert stop.value.code == 0
    text = " ".join(capsys.readouterr().out.split())
    for key, field in KEYS.items():
        assert f"--{key}" in text and field.description in text


REFUSED = [
    (["--net.hiden_dim", 70], "--net.hiden_dim: unknown. Did you mean --net.hidden_dim?"),
    (["--hidden_dim", 70], "--hidden_dim: unknown. Did you mean --net.hidden_dim?"),
    (["--train.stop.epoch", 3], "--train.stop.epoch: unknown. Did you mean --train.stop.epochs?"),
    (["--train.lr", 3], "--train.lr: unknown. Did you mean --train.optimizer.lr?"),
    (["--net.lr", 3], "--net.lr: unknown. Did you mean --train.optimizer.lr?"),
    (["--lr", 3], "--lr: unknown. Did you mean --train.optimizer.lr?"),
    (["--layers", 3], "--layers: unknown. Did you mean --net.L?"),
    (["--batch", 3], "--batch: unknown. Did you mean --train.batch_size?"),
    (["--patience", 3], "Did you mean --train.schedule.patience or --train.stop.patience?"),
    (["--foo", 3], "--foo: unknown. --help lists all keys"),  # nothing is near
    (["--train.schedule.warmup", 3], "--train.schedule.warmup: unknown. plateau has no such key, cosine has."),
    (["--net.edge_feat", "true"], "--net.edge_feat: unknown. GCN has no such key, GraphSage, GAT, GatedGCN"),
    (["GIN"], "GIN: unexpected. Keys are given as --key value"),
    (["--seeds", "1,1"], "with the command line: seeds=[1, 1]: expected different numbers >= 0"),
    (["--seeds", "1,two"], "seeds.1='two': Input should be a valid integer"),
    (["--seed", "1,2"], "--seed 1,2: expected one number. Several seeds are given by --seeds 1,2"),
    (["--seed", "1", "--seeds", "1,2"], "--seed and --seeds: give one of them"),
    (["--net.L", 0], "net.L=0: expected int > 0"),
    (["--net.L", 4.5], "net.L=4.5: expected int > 0"),
    (["--net.L", "many"], "net.L='many': expected int > 0"),
    (["--net.dropout", 1.0], "net.dropout=1.0: expected float >= 0 and < 1"),
    (["--net.head.pool", "avg"], "net.head.pool='avg': expected one of mean, sum, max"),
    (["--device", "gpu"], "device='gpu': expected one of auto, cpu, cuda"),
    (["--net.batch_norm", "yes"], "net.batch_norm='yes': expected bool"),
    (["--train.schedule.kind", "cos"], "train.schedule: 'cos': expected one of 'plateau', 'step'"),
    (["--train.optimizer.kind", "sgd"], "train.optimizer.lr: missing. Expected float > 0"),
    (
        ["--net.encodings", '[{"kind": "LapP", "k": 2}]'],
        "net.encodings.0: 'LapP': expected one of 'LapPE', 'RWSE', 'Degree', 'NodeIndex'",
    ),
    (["--net.encodings", '[{"kind": "LapPE", "k": 0}]'], "net.encodings.0.k=0: Input should be greater than 0"),
    (["--net.encodings", '[{"kind": "LapPE", "k": 2}, {"kind": "LapPE", "k": 3}]'], "encodings need laplacian with"),
    (["--model", "GCNN"], "--model GCNN: no such row of CSL. Did you mean GCN?"),
    (["--config", "table3/GCN-LapPE-L5"], "Did you mean GCN-LapPE-L4?"),
    (["--config", "table33/GCN-LapPE-L4"], "table33: no such table. Did you mean table3?"),
    (["--config", "table2_TSP/GCN-L4"], "table2_TSP/GCN-L4: main_TSP.py runs it, not main_CSL.py"),
    (["--config", DEFAULT, "--model", "MLP"], "give one of them"),
    (["--dataset", "ZINC"], "--dataset ZINC: main_molecules.py runs it. This program knows CSL"),
    (["--dataset", "NCI109"], "--dataset NCI109: This program knows CSL"),
    (["--dataset", "csl"], "--dataset csl: Did you mean CSL?"),
    (["--model", "GNC"], "Did you mean GCN?"),
    (["--net.model", "MLP"], f"net.model='MLP': {DEFAULT} is a row of another. Choose a row with --model"),
    (["--model", "MLP", "--net.residual", "true"], "--net.residual: unknown"),  # a key of another net
]


@pytest.mark.parametrize(("words", "message"), REFUSED, ids=lambda x: str(x)[:40])
def test_refused_on_the_command_line(words, message):
    with pytest.raises(SystemExit) as stop:
        parse(*words)
    assert message in str(stop.value)


def test_another_kind_of_section_brings_its_own_keys():
    """In any order; what both kinds have must be said anew."""
    kind, lr, more = (
        ["--train.optimizer.kind", "sgd"],
        ["--train.optimizer.lr", "0.1"],
        ["--train.optimizer.momentum", "0.9"],
    )
    for words in (kind + lr + more, more + lr + kind):
        assert parse(*words).train.optimizer.model_dump(exclude_defaults=True) == {"lr": 0.1, "momentum": 0.9}
    config = parse("--train.schedule.warmup=5", "--train.schedule.kind=cosine")
    assert (
        config.train.schedule.warmup == 5
        and config.name == f"{DEFAULT}+train.schedule.kind=cosine+train.schedule.warmup=5"
    )
    with pytest.raises(SystemExit, match=r"--train\.schedule\.patience: unknown"):
        parse("--train.schedule.kind", "cosine", "--train.schedule.patience", "5")


def test_help_is_that_of_the_asked_kind(capsys):
    with pytest.raises(SystemExit):
        parse("--train.schedule.kind", "milestones", "--help")
    text = " ".join(capsys.readouterr().out.split())
    assert "--train.schedule.at" in text and "--train.schedule.patience" not in text
    assert "one of plateau, step, milestones, cosine, constant" in text


@pytest.fixture
def table_file(tmp_path):
    """A table file with one row, that of the default, which a test may spoil."""

    def write(change=lambda row: None, **keys):
        row = json.loads(json.dumps(find_row(DEFAULT).config))
        change(row)
        path = tmp_path / "mine.json"
        path.write_text(json.dumps({"main": "CSL", "seeds": [3, 4], "rows": {"A": row}, **keys}))
        return path

    return write


SPOILED = [
    (lambda c: c["train"].update(batchsize=5), "train.batchsize=5: unknown key. Did you mean train.batch_size?"),
    (lambda c: c["train"]["stop"].update(epoch=5), "train.stop.epoch=5: unknown key. Did you mean train.stop.epochs?"),
    (lambda c: c.update(sed=1), "sed=1: unknown key. Did you mean seed or data.seed?"),
    (lambda c: c["train"]["optimizer"].pop("lr"), "train.optimizer.lr: missing. Expected float > 0"),
    (lambda c: c["train"]["optimizer"].pop("kind"), "train.optimizer: 'no kind': expected one of"),
    (lambda c: c["train"]["schedule"].update(kind="x"), "train.schedule: 'x': expected one of 'plateau'"),
    (lambda c: c["net"].update(L="4"), "net.L='4': expected int > 0"),
    (lambda c: c["net"].update(model="GCNN"), "net.model='GCNN': expected one of MLP, GCN"),
    (lambda c: c["net"].update(model=["GCN"]), "net.model=['GCN']: expected one of MLP, GCN"),
    (lambda c: c["net"].update(batch_norm=1), "net.batch_norm=1: expected bool"),
    (lambda c: c.update(net=4), "net.model=None: expected one of MLP, GCN"),
    (lambda c: c.update(train=4), "train=4:"),
    (lambda c: c["train"].update(stop=4), "train.stop=4:"),
    (lambda c: c.pop("train"), "train: missing"),
    (lambda c: c.pop("dataset"), "dataset is missing"),
    (lambda c: c.update(dataset=5), "row A: dataset 5: expected a name"),
]


@pytest.mark.parametrize(("change", "message"), SPOILED, ids=lambda x: x if isinstance(x, str) else "")
def test_refused_in_a_file(table_file, change, message):
    path = table_file(change)
    with pytest.raises(SystemExit) as stop:
        parse("--config", path)
    assert message in str(stop.value) and "mine" in str(stop.value)


def test_a_file_that_is_not_json_is_named(tmp_path):
    (tmp_path / "x.json").write_text("{")
    with pytest.raises(SystemExit, match=r"x\.json: not a JSON file"):
        parse("--config", tmp_path / "x.json")


def test_a_table_file_of_ones_own(table_file):
    path = table_file()
    for words in ([path], [f"{path}/A"]):
        config = parse("--config", *words)
        assert config.name == "mine/A" and config.seed == 3 and config.run().id == find_row(DEFAULT).id()
    with pytest.raises(SystemExit, match=r"mine\.json has no such row\. It has A"):
        parse("--config", f"{path}/AA")


def test_a_changed_configuration_says_so_in_its_name():
    assert parse("--net.L", 8, "--seed", 3).name == f"{DEFAULT}+net.L=8"
    same = parse("--seed", 3, "--device", "cpu", "--folds", "[1]", "--net.L", 4)
    assert same.name == DEFAULT and same.run().id == find_row(DEFAULT).id()


def test_the_folder_of_a_run_says_what_it_is(tmp_path):
    run = parse("--out_dir", tmp_path, "--seed", 3, "--net.L", 8).run(2)
    assert run.path == tmp_path / "CSL" / f"table3_GCN-LapPE-L4+net.L=8-{run.id}" / "seed_3" / "fold_2"
    other = parse("--out_dir", tmp_path / "elsewhere", "--seed", 3, "--net.L", 8, "--force").run(2)
    assert run.identity == other.identity  # where and how it runs does not change what it is


def test_very_many_changes_still_give_a_file_name(tmp_path):
    words = ["--out_dir", tmp_path]
    for key, value in SAMPLES.items():
        if key.startswith(("net", "train")):
            words += [f"--{key}", as_word(value)]
    config = parse(*words)
    assert len(config.name) < 150
    config.run().path.mkdir(parents=True)


def test_the_default_row_follows_the_dataset():
    def row(*words):
        return parse_config(
            list(words), "SBMs", ["PATTERN", "CLUSTER", "CLUSTER-published"], "table2_PATTERN/GCN-L4"
        ).name

    assert row() == "table2_PATTERN/GCN-L4"
    assert row("--dataset", "CLUSTER", "--model", "GatedGCN") == "table2_CLUSTER/GatedGCN-L4"
    assert row("--dataset", "CLUSTER") == "table2_CLUSTER/GCN-L4"
    assert row("--dataset", "CLUSTER-published") == "table2_CLUSTER/GCN-L4+dataset=CLUSTER-published"
    assert row("--model", "3WLGNN") == "table2_PATTERN/3WLGNN-L3-100k"


def test_rows_of_a_longer_name_and_models_by_the_name_of_a_row():
    """The GCN of LRGB is another model than the first paper's: its row is called GCN."""

    def row(*words):
        return parse_config(list(words), "LRGB", ["PascalVOC-SP-300", "Peptides-func"], "lrgb_table4_func/GCN").name

    assert row("--dataset", "Peptides-func", "--model", "GCN") == "lrgb_table4_func/GCN"
    assert row("--dataset", "PascalVOC-SP-300", "--model", "GCN") == "lrgb_table3_VOC/GCN+dataset=PascalVOC-SP-300"
    assert row("--dataset", "PascalVOC-SP-300", "--model", "GINE") == "lrgb_table3_VOC/GINE+dataset=PascalVOC-SP-300"


def test_a_first_try_is_on_the_small_dataset(capsys):
    def parse_tsp(*words):
        return parse_config(list(words), "TSP", ["TSP", "TSP-small"], "table2_TSP/GCN-L4", first_try="TSP-small")

    for words, name in ([], "table2_TSP/GCN-L4"), (["--model", "MLP"], "table2_TSP/MLP-L4"):
        config = parse_tsp(*words)
        assert config.dataset == "TSP-small" and config.name == f"{name}+dataset=TSP-small"
        whole = parse_tsp(*words, "--dataset", "TSP")
        assert whole.dataset == "TSP" and whole.name == name
    assert parse_tsp("--config", "table2_TSP/GCN-L4").name == "table2_TSP/GCN-L4"
    with pytest.raises(SystemExit):
        parse_tsp("--help")
    assert "on TSP-small, a first try, unless --dataset names another" in " ".join(capsys.readouterr().out.split())
    with pytest.raises(SystemExit):
        parse("--help")
    assert "first try, unless" not in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("name", [name for name, table in table_files().items() if table.main != "BREC"])
def test_every_row_can_be_asked_for_by_its_name(name):
    table = table_files()[name]
    for row in table.rows.values():
        schema = SelectionConfig if "grid" in row.config else Config
        config = parse_config(
            ["--config", str(row)], table.main, [row.config["dataset"]], str(row), schema_of=lambda content, s=schema: s
        )
        assert config.name == str(row) and config.run().id == row.id()
