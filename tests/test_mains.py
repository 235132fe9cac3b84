"""Every main file trains one epoch of every model it supports on a small part of its data, by its command line."""

import importlib
import json
import resource
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from data.dataset import DataConfig, GraphDataset
from data.store import Field, PackedWriter
from runs.result import problem_of
from train import run_main
from train.loop import say_once

ROOT = Path(__file__).resolve().parents[1]
MODELS = ("MLP", "GCN", "GraphSage", "MoNet", "GAT", "GatedGCN", "GIN", "RingGNN", "3WLGNN")


@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    """Small look-alikes of the raw files: molecules in arrays, and a TU dataset of two classes."""
    folder, random = tmp_path_factory.mktemp("raw"), np.random.RandomState(0)
    n = 12000
    (folder / "ZINC").mkdir()
    np.savez(
        folder / "ZINC/zinc12k_graphs.npz",
        atom_type=random.randint(0, 28, 3 * n).astype(np.uint8),
        node_ptr=np.arange(n + 1) * 3,
        edge=np.tile([[0, 1], [1, 2]], (n, 1)).astype(np.uint8),
        bond_type=random.randint(1, 4, 2 * n).astype(np.uint8),
        edge_ptr=np.arange(n + 1) * 2,
        y=random.randn(n).astype(np.float32),
        split=np.repeat([0, 1, 2], [10000, 1000, 1000]),
    )
    (folder / "TU").mkdir()
    graph = np.repeat(np.arange(40), 5)
    ring = np.arange(200), np.arange(200) // 5 * 5 + (np.arange(200) + 1) % 5
    edges = np.concatenate([np.stack(ring, 1), np.stack(ring[::-1], 1)]) + 1
    with zipfile.ZipFile(folder / "TU/TINY.zip", "w") as archive:
        archive.writestr("TINY_A.txt", "\n".join(f"{a}, {b}" for a, b in edges))
        archive.writestr("TINY_graph_indicator.txt", "\n".join(map(str, graph + 1)))
        archive.writestr("TINY_graph_labels.txt", "\n".join(map(str, np.arange(40) % 2)))
        archive.writestr("TINY_node_labels.txt", "\n".join(map(str, random.randint(0, 3, 200))))
    return folder


def words(raw, store_dir, out, dataset, *more):
    return [
        "--dataset", dataset, "--data.data_dir", str(raw), "--data.store_dir", store_dir, "--out_dir", str(out),
        "--data.limit", "4", "--data.workers", "1", "--data.offline", "--train.stop.epochs", "1", "--folds", "0",
        "--progress", "false", *more,
    ]  # fmt: skip


def run_csl(store_dir, out, *more):
    folders = ["--data.store_dir", store_dir, "--out_dir", str(out), "--progress", "false", "--data.limit", "4"]
    importlib.import_module("main_CSL").main([*folders, "--train.stop.epochs", "1", "--folds", "0,1", *more])
    return [json.loads(path.read_text()) for path in out.rglob("result.json")]


LRGB_ENCODINGS = {  # as the rows of LRGB and of its tuned baselines have them, and beside each other
    "walks": '[{"kind":"RWSE","k":16}]',
    "DeepSet": '[{"kind":"LapPE","k":10,"norm":"none","trivial":true,"signs":"flip","net":"DeepSet","dim":16}]',
    "Transformer": '[{"kind":"LapPE","k":10,"trivial":true,"signs":"flip","net":"Transformer","dim":16}]',
    "both": '[{"kind":"RWSE","k":20,"batch_norm":true,"dead_end":"end","dim":28},{"kind":"LapPE","k":8},{"kind":"Degree"}]',
}


@pytest.mark.parametrize("encodings", LRGB_ENCODINGS.values(), ids=LRGB_ENCODINGS)
def test_encodings_on_the_command_line(store_dir, tmp_path, encodings):
    """Walks ended in a traceback once."""
    results = run_csl(store_dir, tmp_path, "--net.encodings", encodings)
    assert len(results) == 2 and all(result["status"] == "ok" for result in results)
    given, kept = json.loads(encodings), results[0]["config"]["net"]["encodings"]
    assert all(one.items() <= other.items() for one, other in zip(given, kept, strict=True))


def test_a_dataset_without_node_features_says_so_once(store_dir, tmp_path, capsys):
    """Two folds, one line, and only where nothing else tells the nodes apart."""
    say_once.cache_clear()
    row = ("--config", "table3/GCN-none-L4")
    run_csl(store_dir, tmp_path / "none", *row)
    assert capsys.readouterr().err.count("CSL has no node features, so all nodes start alike") == 1
    say_once.cache_clear()
    run_csl(store_dir, tmp_path / "none", *row)  # finished: nothing is trained
    run_csl(store_dir, tmp_path / "LapPE")
    run_csl(store_dir, tmp_path / "WL", "--config", "table3/3WLGNN-none-L3-100k")
    results = run_csl(store_dir, tmp_path / "degree", *row, "--data.features", "degree")
    assert "node features" not in capsys.readouterr().err
    assert len(results) == 2 and all(result["config"]["data"]["features"] == "degree" for result in results)
    assert all(result["params"] == 100927 + 146 for result in results)  # a linear map of one number, not one vector


def test_a_tu_dataset_without_node_features_says_so(raw, store_dir, tmp_path, capsys):
    folder = raw / "TU" / "BARE"
    folder.mkdir()
    with zipfile.ZipFile(raw / "TU/TINY.zip") as archive:
        for kind in ("A", "graph_indicator", "graph_labels"):
            (folder / f"BARE_{kind}.txt").write_bytes(archive.read(f"TINY_{kind}.txt"))
    say_once.cache_clear()
    main = importlib.import_module("main_TUs").main
    main(words(raw, store_dir, tmp_path, "TU/BARE"))
    assert "TU/BARE has no node features" in capsys.readouterr().err
    say_once.cache_clear()
    for features in ("degree", "degree-onehot", "constant"):
        main(words(raw, store_dir, tmp_path, "TU/BARE", "--data.features", features))
    assert "node features" not in capsys.readouterr().err and len(list(tmp_path.rglob("result.json"))) == 4


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("program", "dataset"),
    [
        ("main_SBMs", "PATTERN"),
        ("main_SBMs", "CLUSTER"),
        ("main_molecules", "ZINC-redrawn"),
        ("main_TUs", "TU/TINY"),
    ],
)
def test_one_epoch_of_every_model(raw, store_dir, tmp_path, capsys, program, dataset, model):
    importlib.import_module(program).main(words(raw, store_dir, tmp_path, dataset, "--model", model))
    (result,) = [json.loads(path.read_text()) for path in tmp_path.rglob("result.json")]
    assert problem_of(result) == "" and result["status"] == "ok" and result["epochs"] == 1
    assert result["config"]["net"]["model"] == model and result["config"]["dataset"] == dataset
    assert "not a row of a paper" in capsys.readouterr().out


ENCODING = ("--net.encodings", '[{"kind": "LapPE", "k": 4, "signs": "flip"}]')


def test_as_a_program(raw, store_dir, tmp_path, child_env):
    command = [sys.executable, ROOT / "main_SBMs.py", *words(raw, store_dir, tmp_path, "CLUSTER", *ENCODING)]
    done = subprocess.run(command, env=child_env, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "epochs" in done.stdout, done.stderr


@pytest.mark.parametrize(("program", "dataset"), [("main_molecules", "ZINC-redrawn"), ("main_TUs", "TU/TINY")])
def test_with_an_encoding(raw, store_dir, tmp_path, program, dataset):
    importlib.import_module(program).main(words(raw, store_dir, tmp_path, dataset, *ENCODING))
    (result,) = [json.loads(path.read_text()) for path in tmp_path.rglob("result.json")]
    assert result["status"] == "ok" and result["config"]["net"]["encodings"] == [
        {"kind": "LapPE", "k": 4, "signs": "flip"}
    ]


def error_of(program, *arguments):
    """The line with which a program ends; anything else than an expected error would come through."""
    with pytest.raises(SystemExit) as stop:
        run_main(lambda: importlib.import_module(program).main(list(arguments)))
    assert isinstance(stop.value.code, str)
    return stop.value.code


@pytest.mark.parametrize(
    ("program", "dataset", "message"),
    [("main_molecules", "ZINC", "ZINC/molecules.zip: not found"), ("main_TUs", "TU/MUTAG", "TU/MUTAG.zip: not found")],
)
def test_missing_raw_files_end_with_one_line(raw, tmp_path, program, dataset, message):
    error = error_of(program, *words(raw, str(tmp_path), tmp_path, dataset, "--data.raw_dir", str(tmp_path)))
    assert error.startswith(f"error: {message}")


def test_folds_and_folders_that_cannot_be_end_with_one_line(raw, store_dir, tmp_path):
    given = words(raw, store_dir, tmp_path, "TU/TINY")
    assert error_of("main_TUs", *given, "--folds", "0,99") == (
        'error: folds=[0, 99]: TU/TINY has the folds 0 to 9: name these, or correct "folds" in the table file: 10'
    )
    assert "folds=[]" in error_of("main_TUs", *given, "--folds", "[]")
    assert not list(tmp_path.rglob("result.json"))
    (tmp_path / "file").touch()
    assert "no folder can be made there" in error_of(
        "main_TUs", *given, "--data.store_dir", str(tmp_path / "file/stores")
    )


def program(*words, python=sys.executable, **options):
    """(exit code, what it says) of a program in a process of its own."""
    done = subprocess.run([python, *words], cwd=ROOT, capture_output=True, text=True, **options)
    return done.returncode, done.stdout + done.stderr


def test_a_net_that_does_not_fit_into_memory_ends_with_one_line(child_env, tmp_path):
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))

    words = ("main_CSL.py", "--net.hidden_dim", "1000000000", "--out_dir", str(tmp_path))
    code, text = program(*words, env=child_env, preexec_fn=limit)
    assert code == 1 and "do not fit into memory" in text and "Traceback" not in text


def test_a_name_that_is_too_long_ends_with_one_line(child_env, tmp_path):
    code, text = program("main_CSL.py", "--out_dir", str(tmp_path / ("x" * 300)), env=child_env)
    assert code == 1 and "the name is too long" in text and "Traceback" not in text


@pytest.mark.parametrize(
    "words", [("main_CSL.py",), ("-m", "tables.table", "table3"), ("-m", "launch.reproduce", "table3")]
)
def test_without_the_packages_one_line_says_how_to_get_them(words, tmp_path):
    """A Python without any package: -S leaves the site's packages out."""
    code, text = program("-S", "-E", *words)
    assert code == 1 and "bash install.sh requirements.txt" in text and "Traceback" not in text, text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--model", "GatedGCN", "--net.edge_feat"], "net.edge_feat=True, but the dataset has no edge features"),
        (["--net.encodings", '[{"kind": "NodeIndex", "n": 5}]'], "NodeIndex has n=5, but a graph has 41 nodes"),
    ],
)
def test_a_net_that_does_not_suit_the_data_ends_with_one_line(store_dir, tmp_path, words, message):
    folders = ["--data.store_dir", store_dir, "--out_dir", str(tmp_path), "--progress", "false", "--folds", "0"]
    error = error_of("main_CSL", *folders, *words)
    assert message in error and "\n" not in error


class OwnDataset(GraphDataset):
    """Three graphs; a test says what is wrong with them."""

    name, version, parameters, wrong = "own", 1, {}, ""

    def build(self, path):
        fields = [Field("node", "feat", "float32", (2,)), Field("graph", "label", "int64", n_types=2)]
        with PackedWriter(path, self.name, fields) as writer:
            for label in (0, 1, 2 if self.wrong == "label" else 0):
                feat = np.zeros((3, 1 if self.wrong == "width" else 2))
                writer.add(
                    3, [0, 1], [1, 7 if self.wrong == "edge" else 2], node={"feat": feat}, graph={"label": label}
                )
            val = [1, 5] if self.wrong == "number" else [0] if self.wrong == "twice" else [1]
            writer.add_split("fold0", train=[0], val=val, test=[2])
        if self.wrong == "bug":
            raise IndexError("a bug")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("label", "graph 2, graph.label: 2: expected 0 to 1"),
        ("width", "graph 0, node.feat: shape (3, 1): expected (3, 2)"),
        ("edge", "graph 0, dst: node 7: expected 0 to 2"),
        ("number", "split fold0, val: graph 5: expected 0 to 2"),
        ("twice", "split fold0: graph 0 is in train and again in val"),
    ],
)
def test_what_is_wrong_with_a_dataset_of_ones_own_is_said_in_one_line(tmp_path, wrong, message):
    OwnDataset.wrong = wrong
    with pytest.raises(SystemExit) as stop:
        run_main(lambda: OwnDataset(DataConfig(store_dir=str(tmp_path))))
    assert message in stop.value.code and "\n" not in stop.value.code
    OwnDataset.wrong = "bug"  # another error is a mistake in the program: its traceback shows where
    with pytest.raises(IndexError):
        run_main(lambda: OwnDataset(DataConfig(store_dir=str(tmp_path))))
