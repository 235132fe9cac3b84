"""Trained nets for use: what load and predict give equals the result of the run, and wrong input ends in one line."""

import json
import re
import shutil
import zipfile
from pathlib import Path

import dgl
import numpy as np
import pytest
import torch

from data.COLLAB import OwnCOLLAB
from data.dataset import DataConfig
from data.errors import DataError, WrongValue
from data.molecules import RedrawnZINC
from data.registry import declared
from data.SBMs import PATTERN
from main_COLLAB import main as main_COLLAB
from main_molecules import main as main_molecules
from main_SBMs import main as main_SBMs
from nets import build_net
from runs.files import RunError
from runs.table_files import find_row
from tests.test_mains import raw  # noqa: F401 - a fixture
from tests.train.toy import run_in, same_weights, toy
from tools import collab_lookalike
from train import fit, load, predict
from train.cli import validate
from train.config import Config
from train.metrics import HitsAtK
from train.prediction import read_graphs
from train.weights import Use

LIKE_TOY = ("--net.encodings", "[]", "--net.L", "2", "--net.hidden_dim", "16")  # the net of toy()
LAPPE = ("--net.encodings", '[{"kind": "LapPE", "k": 4}]')


def trained(main, out, *words):
    """The folder of the one run of a main file."""
    main(["--out_dir", str(out), "--progress", "false", "--data.workers", "1", "--train.stop.epochs", "2", *words])
    (path,) = out.rglob("result.json")
    return path.parent


def test_score(folder):
    """The measures of the test split as the result has them."""
    return json.loads((folder / "result.json").read_text())["metrics"]["last"]["test"]


test_score.__test__ = False


@pytest.fixture(scope="module")
def molecules(raw, store_dir, tmp_path_factory):  # noqa: F811 - the fixture
    """A regression with categorical nodes and edges, and an encoding: (folder of the run, dataset, words of its main file)."""
    data = DataConfig(store_dir=store_dir, data_dir=str(raw), limit=12, workers=1)
    words = [
        "--dataset",
        "ZINC-redrawn",
        "--model",
        "GatedGCN",
        "--net.edge_feat",
        "true",
        *LAPPE,
        "--data.limit",
        "12",
    ]
    words += ["--data.store_dir", store_dir, "--data.data_dir", str(raw)]
    out = tmp_path_factory.mktemp("zinc")
    return trained(main_molecules, out, *words), RedrawnZINC(data), [*words, "--out_dir", str(out)]


def as_arrays(store, i, edge=True):
    src, dst = store.edges(i)
    feats = [store.rows("node.feat", i), store.rows("edge.feat", i) if edge else None]
    return len(store.rows("node.in_degree", i)), src, dst, *feats


def test_regression(molecules):
    folder, dataset, _ = molecules
    net, features, config = load(folder)
    assert not net.training and config.net.model == "GatedGCN" and features == dataset.features
    store, test = dataset.store, dataset.fold(0).parts["test"]
    scores = predict(net, [as_arrays(store, i) for i in test], batch_size=5)
    target = np.array([store.rows("graph.label", i) for i in test])
    assert scores.shape == (12, 1)
    assert np.abs(scores[:, 0] - target).mean() == pytest.approx(test_score(folder)["MAE"], rel=1e-5)
    graphs = [store.graph(i) for i in test]
    assert np.allclose(predict(net, graphs), scores, atol=1e-6)
    named = [
        dict(zip(("n_nodes", "src", "dst", "node_feat", "edge_feat"), as_arrays(store, i), strict=True)) for i in test
    ]
    assert np.array_equal(predict(net, named[:3], batch_size=5), predict(net, graphs[:3], batch_size=5))


def test_nodes(store_dir, tmp_path):
    words = ["--dataset", "PATTERN", "--data.store_dir", store_dir, "--data.limit", "4", *LAPPE]
    folder = trained(main_SBMs, tmp_path, *words)
    dataset = PATTERN(DataConfig(store_dir=store_dir, limit=4, workers=1))
    net = load(folder)[0]
    store, test = dataset.store, dataset.fold(0).parts["test"]
    scores = predict(net, [store.graph(i) for i in test], batch_size=3)
    labels = [store.rows("node.label", i) for i in test]
    assert [part.shape for part in scores] == [(len(label), 2) for label in labels]
    found, label = np.concatenate(scores).argmax(1), np.concatenate(labels)
    accuracy = 100 * np.mean([(found[label == c] == c).mean() for c in (0, 1)])
    assert accuracy == pytest.approx(test_score(folder)["accuracy"], abs=1e-3)


def test_links(store_dir, tmp_path):
    raw_dir = collab_lookalike.write(tmp_path / "raw")
    words = ["--dataset", "COLLAB-own", "--data.data_dir", str(raw_dir), "--data.store_dir", store_dir]
    folder = trained(main_COLLAB, tmp_path / "out", *words, "--data.limit", "300", "--train.batch_size", "1024")
    dataset = OwnCOLLAB(DataConfig(store_dir=store_dir, data_dir=str(raw_dir), limit=300, workers=1))
    net, fold = load(folder)[0], dataset.fold(0)
    pairs = [fold.parts["test"], fold.negatives["test"]]
    true, false = (predict(net, [fold.g], pairs=[some])[0] for some in pairs)
    assert true.shape == (len(pairs[0]), 1)
    metric = HitsAtK()
    metric.update(torch.from_numpy(np.concatenate([true, false])), torch.arange(len(true) + len(false)) < len(true))
    assert metric.compute()["Hits@50"] == pytest.approx(test_score(folder)["Hits@50"], abs=1e-6)
    with pytest.raises(WrongValue, match="graph 0: no pairs: this net scores pairs of nodes"):
        predict(net, [fold.g])
    with pytest.raises(WrongValue, match=r"graph 0, pair.of: 999999: expected 0 to"):
        predict(net, [fold.g], pairs=[[[0, 999999]]])


def test_edges_are_answered_in_the_order_in_which_they_are_given(tmp_path):
    run = run_in(tmp_path, *LIKE_TOY)
    net, fold, task, config = toy(tmp_path, "edge")
    fit(net, fold, task, config, run)
    n, random = 6, np.random.RandomState(0)
    src, dst = np.nonzero(~np.eye(n, dtype=bool))
    x, order = random.rand(n, 2).astype(np.float32), random.permutation(len(src))
    (one,), (other,) = (predict(load(run.path)[0], [(n, src[k], dst[k], x)]) for k in (np.arange(len(src)), order))
    assert one.shape == (len(src), 2) and np.allclose(one[order], other, atol=1e-5) and np.ptp(one[:, 0]) > 1e-4


# --------------------------------------------------------------------------------------------------------------------
# Which weights


def test_the_best_and_the_last_net(tmp_path):
    """Both as they were, and by default the one that the result is of."""
    run = run_in(tmp_path, *LIKE_TOY)
    net, fold, task, config = toy(tmp_path, train={"stop.epochs": 30, "optimizer.lr": 0.5})
    result = fit(net, fold, task, config, run)
    assert result["best_val_epoch"] < result["epochs"]
    state = torch.load(run.path / "checkpoint.pt", weights_only=True)
    last, best = load(run.path, "last")[0], load(run.path, "best")[0]
    for loaded, weights in ((last, state["net"]), (best, state["best"]["weights"])):
        assert all(torch.equal(value, weights[name]) for name, value in loaded.state_dict().items())
    assert not same_weights(last, best) and same_weights(load(run.path)[0], last)
    written = json.loads((run.path / "config.json").read_text())
    written["config"]["train"]["select"]["epoch"] = "best_val"
    (run.path / "config.json").write_text(json.dumps(written))
    assert same_weights(load(run.path)[0], best)
    batch = fold.store.batch([0, 1, 2])
    with torch.no_grad():
        assert np.allclose(predict(best, [fold.store.graph(i) for i in range(3)]), best(batch.g), atol=1e-6)


def test_a_run_that_did_not_end_well_has_no_weights(tmp_path):
    run = run_in(tmp_path)
    net, fold, task, config = toy(tmp_path, train={"optimizer.lr": 1e30}, batch_norm=False)
    assert fit(net, fold, task, config, run)["status"] == "Diverged"
    with pytest.raises(RunError, match=r"weights\.pt: no such file"):
        load(run.path)


# --------------------------------------------------------------------------------------------------------------------
# What is refused


@pytest.fixture
def copy(molecules, tmp_path):
    return shutil.copytree(molecules[0], tmp_path / "fold_0")


def flip(path, place):
    data = bytearray(path.read_bytes())
    data[int(place * len(data))] ^= 255
    path.write_bytes(bytes(data))


DAMAGE = {
    "cut off": lambda path: path.write_bytes(path.read_bytes()[:5000]),
    "a flipped bit": lambda path: flip(path, 0.5),
    "empty": lambda path: path.write_bytes(b""),
    "not a file of torch": lambda path: zipfile.ZipFile(path, "w").writestr("a", "b"),
    "a pickled function": lambda path: torch.save({"format": 1, "last": shutil.rmtree}, path),
    "other tensors": lambda path: torch.save({"weight": torch.ones(2)}, path),
    "a list": lambda path: torch.save([1, 2], path),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_and_foreign_weights_are_refused(copy, damage):
    DAMAGE[damage](copy / "weights.pt")
    with pytest.raises(RunError, match=r"weights\.pt(: not the weights of a run| is damaged)") as error:
        load(copy)
    assert "\n" not in str(error.value)


def test_weights_of_another_net_are_refused(copy, tmp_path):
    content = torch.load(copy / "weights.pt", weights_only=True)
    torch.save({**content, "belongs_to": {"id": "0123"}}, copy / "weights.pt")
    with pytest.raises(RunError, match=r"weights\.pt is of another configuration \(0123\)"):
        load(copy)
    content["last"].pop(next(iter(content["last"])))
    torch.save(content, copy / "weights.pt")
    with pytest.raises(RunError, match=r"was made by another version of this net \(.*\): train it again with --force"):
        load(copy)
    torch.save({**content, "format": 99}, copy / "weights.pt")
    with pytest.raises(RunError, match="weights of another version of this project"):
        load(copy)
    with pytest.raises(RunError, match="not the folder of a run"):
        load(tmp_path / "nowhere")
    with pytest.raises(RunError, match="epoch='first': expected one of best, last"):
        load(copy, "first")


def ring(n=4, atom=0, **changes):
    i = np.arange(n)
    src, dst = np.concatenate([i, (i + 1) % n]), np.concatenate([(i + 1) % n, i])
    return {
        "n_nodes": n,
        "src": src,
        "dst": dst,
        "node_feat": np.full(n, atom),
        "edge_feat": np.ones(2 * n, int),
    } | changes


WRONG = [
    ([ring(), ring(atom=99)], r"graph 1, node.feat: 99: expected 0 to 27"),
    ([ring(node_feat=np.zeros((4, 3), int))], r"graph 0, node.feat: shape \(4, 3\): expected \(4,\)"),
    ([ring(node_feat=np.zeros(4))], r"graph 0, node.feat: float64 values would be cut to uint8"),
    ([ring(edge_feat=np.ones(3, int))], r"graph 0, edge.feat: shape \(3,\): expected \(8,\)"),
    ([ring(dst=[1, 2, 3, 9, 0, 1, 2, 3])], r"graph 0, dst: node 9: expected 0 to 3"),
    (
        [ring(edge_feat=None)],
        r"features are missing: this net was trained with node features \(n\) of \w+, categories below 28",
    ),
    ([ring(), ring(edge_feat=None)], r"graph 1: no edge features, other graphs have them"),
    ([ring(src=[0], dst=[1], edge_feat=[1])], r"an edge in one direction only: add the reverse edges"),  # for LapPE
    ([(4, [0])], r"graph 0: expected a DGLGraph, or arrays n_nodes, src, dst"),
    ([7], r"graph 0: expected a DGLGraph, or arrays"),
    ([ring(pairs=[[0, 1]])], r"pairs of nodes are given, but this net was trained without"),
    ([], r"predict wants a list of graphs"),
    (ring(), r"predict wants a list of graphs"),
    ([dgl.batch([dgl.graph(([0], [1]))] * 2)], r"graph 0: expected one homogeneous graph; dgl.unbatch"),
]


@pytest.mark.parametrize(("graphs", "message"), WRONG, ids=[message[:50] for _, message in WRONG])
def test_graphs_that_the_net_cannot_read_are_refused_in_one_line(molecules, graphs, message):
    with pytest.raises(WrongValue, match=message) as error:
        predict(load(molecules[0])[0], graphs)
    assert "\n" not in str(error.value)


def test_a_net_that_was_not_loaded_is_refused(tmp_path):
    with pytest.raises(WrongValue, match=r"predict wants a net of train\.load"):
        predict(toy(tmp_path)[0], [ring()])


# --------------------------------------------------------------------------------------------------------------------
# From the command line


def packed(graphs):
    """The arrays of a file with these graphs."""
    names = {"src": "src", "dst": "dst", "node_feat": "node_feat", "edge_feat": "edge_feat"}
    arrays = {name: np.concatenate([graph[key] for graph in graphs]) for name, key in names.items()}
    arrays["node_offsets"] = np.cumsum([0, *(graph["n_nodes"] for graph in graphs)])
    arrays["edge_offsets"] = np.cumsum([0, *(len(graph["src"]) for graph in graphs)])
    return arrays


def test_the_command_prints_what_predict_gives(molecules, tmp_path, capsys):
    folder, _, words = molecules
    graphs = [ring(4, 1), ring(6, 5)]
    np.savez(tmp_path / "mine.npz", **packed(graphs))
    expected = predict(load(folder)[0], graphs)
    words = [*words, "--train.stop.epochs", "2", "--predict", str(tmp_path / "mine.npz")]
    with pytest.raises(SystemExit) as stop:
        main_molecules(words)
    assert not stop.value.code
    header, *lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert header == ["graph", "score_0"] and [line[0] for line in lines] == ["0", "1"]
    assert np.allclose([[float(line[1])] for line in lines], expected, atol=1e-6)
    with pytest.raises(SystemExit):
        main_molecules([*words, "--scores", str(tmp_path / "scores.npz"), "--weights", "best"])
    with np.load(tmp_path / "scores.npz") as found:
        assert np.array_equal(found["scores"], predict(load(folder, "best")[0], graphs))
        assert found["offsets"].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: a.pop("dst"), "no array dst. Expected some of"),
        (lambda a: a.update(node_fea=a.pop("node_feat")), "unknown array node_fea. Did you mean node_feat?"),
        (lambda a: a.update(node_offsets=np.array([0, 9, 4])), "node_offsets: expected 3 whole numbers from 0 to 4"),
        (lambda a: a.update(edge_offsets=np.array([0, 8])), "edge_offsets: expected 3 whole numbers from 0 to 20"),
        (lambda a: a.update(dst=a["dst"][:5]), "dst: 5 rows: expected 20, one per edge"),
        (lambda a: a.update(pairs=np.zeros((1, 2), int)), "no array pair_offsets"),
        (lambda a: a.update(src=np.array(["a"] * 20, object)), "src: not an array of numbers or texts"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_in_one_line(tmp_path, change, message):
    arrays = packed([ring(4), ring(6)])
    change(arrays)
    if message.startswith("node_offsets"):
        arrays.pop("node_feat")
    np.savez(tmp_path / "mine.npz", **arrays)
    with pytest.raises(DataError) as error:
        read_graphs(tmp_path / "mine.npz")
    assert message in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            ["--scores", "/nonexist/out.npz"],
            "--scores /nonexist/out.npz: there is no folder /nonexist: make it or name",
        ),
        (["--scores", "out.csv"], "--scores out.csv: expected a name that ends in .npz, as out.npz"),
        (["--scores", "FOLDER/taken.npz"], "taken.npz: it cannot be written there: name another place"),
        (["--weights", "first"], "--weights first: expected best or last"),
    ],
)
def test_mistakes_behind_predict_are_named_before_any_work(molecules, tmp_path, monkeypatch, given, message):
    monkeypatch.setattr("train.prediction.load", lambda *_: pytest.fail("the net was built"))
    (tmp_path / "taken.npz").mkdir()
    given = [word.replace("FOLDER", str(tmp_path)) for word in given]
    with pytest.raises(SystemExit) as stop:
        main_molecules([*molecules[2], "--train.stop.epochs", "2", "--predict", "x.npz", *given])
    assert message in str(stop.value)


@pytest.mark.parametrize("given", [["--scores", "x.npz"], ["--weights", "best"]])
def test_what_belongs_to_predict_is_refused_without_it(given):
    with pytest.raises(SystemExit, match=f"{' '.join(given)}: it needs --predict FILE beside it"):
        main_molecules(given)


def test_the_file_in_the_docs_fits_the_net_in_the_docs(tmp_path, monkeypatch):
    text = (Path(__file__).resolve().parents[2] / "docs/runs.md").read_text()
    (name,) = re.findall(r"--config (\S+).* --predict mine\.npz`", text)
    (line,) = re.findall(r"^np\.savez\(.*\)$", text, flags=re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    exec(line, {"np": np})
    row = find_row(name)
    config, known = validate({"seed": 1, **row.config}, name, Config), declared(row.config["dataset"])
    net = build_net(config.net, known.features, known.target).eval()
    net.use = Use(known.features, known.target.level, config.net.needs)
    assert predict(net, read_graphs("mine.npz")).shape == (1, 1)


def test_no_file_and_no_run(molecules, tmp_path):
    with pytest.raises(DataError, match="no such file"):
        read_graphs(tmp_path / "nothing.npz")
    words = [*molecules[2], "--predict", "x.npz"]
    with pytest.raises(SystemExit, match=r"no trained net in .*: first run the command without --predict"):
        main_molecules([*words, "--net.L", "3"])
    with pytest.raises(SystemExit, match="--predict takes the net of one run"):
        main_molecules([*words, "--seeds", "1,2"])
