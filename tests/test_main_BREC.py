"""main_BREC.py from configuration to result: rows of every kind on a stand-in for BREC, killed runs, and real pairs."""

import json
import multiprocessing
import pickle
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

import main_BREC
from data.BREC import BREC
from data.dataset import DataConfig
from data.transforms import TRANSFORMS
from exact import METHODS
from runs.errors import ConfigError
from runs.files import RunError
from runs.ledger import Ledger
from runs.table_files import find_row, table_files
from tests.data.test_BREC import write_files
from train import pairs, parse_config
from train.pair_config import schema_of
from train.pairs import MethodJudge, ask
from train.siamese import NetJudge, make_net, paired_batches, train_on_pair
from train.tasks import GraphEmbedding

ROOT = Path(__file__).resolve().parents[1]
SIZES = (800, 800 * 7, 2 * 800 * 7, 6, 8)  # of the stand-in: C_6 and two C_3, C_8 and two C_4


@pytest.fixture(scope="session")
def standin(tmp_path_factory):
    """Words of the command line: the stand-in in its folder, one pair of each part."""
    folder = tmp_path_factory.mktemp("BREC standin")
    write_files(folder / "files" / "BREC")
    return ["--data.data_dir", str(folder / "files"), "--data.store_dir", str(folder / "stores"), "--data.limit", "1"]


@pytest.fixture(autouse=True)
def sizes(request, monkeypatch):
    if "real_data" not in request.fixturenames:
        monkeypatch.setattr(BREC, "sizes", SIZES)


def configure(*words):
    return parse_config(list(words), "BREC", main_BREC.DATASETS, "brec_table2/GIN", schema_of=schema_of)


def only_result(folder):
    (path,) = folder.rglob("result.json")
    return json.loads(path.read_text())


ROWS = {  # rows of every kind, and how many of the seven pairs they tell apart; None: a matter of chance
    "brec_table2/3-WL": 7,
    "brec_table2/PPGN": 7,
    "brec_table2/3WLGNN": 7,
    "brec_table2/GIN": 0,
    "brec_table2/GCN": 0,
    "brec_table2/GIN-RWPE": 7,
    "brec_table2/GCN-LapPE": None,
    "brec_table2/GIN-node_index": None,
}


@pytest.mark.parametrize("row", ROWS)
def test_rows_of_every_kind(standin, tmp_path, capsys, row):
    shorter = [] if "method" in find_row(row).config else ["--train.stop.epochs", "2"]
    main_BREC.main(["--config", row, *standin, *shorter, "--workers", "1", "--out_dir", str(tmp_path)])
    assert "Total (7 pairs)" in capsys.readouterr().out
    result = only_result(tmp_path)
    metrics = result["metrics"][result["select"]]
    assert result["n_pairs"] == {"Basic": 1, "Regular": 4, "Extension": 1, "CFI": 1, "Total": 7}
    assert sum(metrics["by_part"].values()) == metrics["distinguished"]["Total"]
    assert len(result["pairs"]["seconds"].split()) == 7
    if ROWS[row] is not None:
        assert metrics["distinguished"]["Total"] == ROWS[row] and metrics.get("reliability_failures", 0) == 0


def test_counts_by_category(standin, tmp_path):
    """S_3 counts the triangles of C_6 and two C_3, the first pair of each part, and finds none in C_8 and two C_4, the second."""
    main_BREC.main(
        ["--config", "brec_table2/S_3", *standin, "--data.limit", "2", "--workers", "1", "--out_dir", str(tmp_path)]
    )
    result = only_result(tmp_path)
    assert result["metrics"]["exact"]["distinguished"] == {
        "Basic": 1,
        "Regular": 4,
        "Extension": 1,
        "CFI": 1,
        "Total": 7,
    }
    assert result["metrics"]["exact"]["by_part"]["distance regular"] == 1 and result["n_pairs"]["Regular"] == 8
    assert result["pairs"]["distinguished"] == " ".join("10" * 7)
    assert result["pairs"]["pair"] == "0 1 60 61 110 111 160 161 260 261 360 361 380 381"


def test_several_seeds_by_option(standin, tmp_path, capsys):
    words = ["--config", "brec_table2/GIN-RWPE", *standin, "--train.stop.epochs", "2", "--workers", "1"]
    main_BREC.main([*words, "--seeds", "100,200", "--out_dir", str(tmp_path)])
    text = capsys.readouterr().out
    assert "ours (best of 2 seeds)" in text and re.search(r"mean total +7\.0", text)
    results = [json.loads(path.read_text()) for path in sorted(tmp_path.rglob("result.json"))]
    assert [r["seed"] for r in results] == [100, 200]
    first, second = (r["pairs"]["T2_test"] for r in results)
    assert first != second
    main_BREC.main([*words, "--seed", "200", "--out_dir", str(tmp_path / "alone")])
    assert only_result(tmp_path / "alone")["pairs"]["T2_test"] == second


# Interruptions


def records(path):
    lines = Ledger(path).lines.values()
    return [{k: v for k, v in line.items() if k not in ("seconds", "sum")} for line in lines]


def test_an_interrupted_run_asks_only_for_what_is_missing(standin, tmp_path, monkeypatch):
    words = ["--config", "brec_table2/S_3", *standin, "--workers", "1"]
    main_BREC.main([*words, "--out_dir", str(tmp_path / "whole")])
    asked, answer = [], MethodJudge.__call__

    def stop_at_the_fourth(judge, i, sparing):
        asked.append(i)
        if len(asked) == 4:
            raise KeyboardInterrupt
        return answer(judge, i)

    monkeypatch.setattr(MethodJudge, "__call__", stop_at_the_fourth)
    with pytest.raises(KeyboardInterrupt):
        main_BREC.main([*words, "--out_dir", str(tmp_path / "stopped")])
    (log,) = (tmp_path / "stopped").rglob("pairs.jsonl")
    before = log.read_bytes()
    assert len(before.splitlines()) == 3
    with open(log, "ab") as file:
        file.write(b'{"pair": 160, "categ')  # what a kill in the middle of a write would leave
    main_BREC.main([*words, "--out_dir", str(tmp_path / "stopped")])
    assert asked == [0, 1, 2, 3, 3, 4, 5, 6] and log.read_bytes().startswith(before)
    (whole,) = (tmp_path / "whole").rglob("pairs.jsonl")
    assert records(log) == records(whole)
    assert only_result(tmp_path / "stopped")["metrics"] == only_result(tmp_path / "whole")["metrics"]
    main_BREC.main([*words, "--out_dir", str(tmp_path / "stopped")])
    assert len(asked) == 8  # a finished run is not run again
    log.unlink()
    Ledger(log).append("0", pair=0, dataset="of before")
    log.with_name("result.json").unlink()
    with pytest.raises(RunError, match=r"pairs\.jsonl was made on another version of the dataset.*--force"):
        main_BREC.main([*words, "--out_dir", str(tmp_path / "stopped")])


KILLED_ONCE = f"""
import os, signal, sys, time
from pathlib import Path
import main_BREC
from data.BREC import BREC

BREC.sizes, folder, words = {SIZES}, Path(sys.argv[1]), ["--out_dir", *sys.argv[1:]]
child = os.fork()  # the modules are loaded once, for both lives
if child == 0:
    main_BREC.main(words)
    os._exit(0)
while sum(len(p.read_bytes().splitlines()) for p in folder.rglob("pairs.jsonl")) < 2:
    time.sleep(0.001)
os.kill(child, signal.SIGKILL)
os.waitpid(child, 0)
print(*(p.read_text() for p in folder.rglob("pairs.jsonl")), "finished:", len(list(folder.rglob("result.json"))))
main_BREC.main(words)
"""


def test_a_killed_run_ends_with_the_same_numbers(standin, tmp_path, child_env):
    words = [*standin, "--net.L", "1", "--train.stop.epochs", "6", "--train.stop.loss", "null", "--workers", "1"]
    words = ["--config", "brec_table2/GIN-RWPE", *words]
    main_BREC.main([*words, "--out_dir", str(tmp_path / "whole")])
    killed = tmp_path / "killed"
    command = [sys.executable, "-c", KILLED_ONCE, str(killed), *words]
    done = subprocess.run(command, cwd=ROOT, env=child_env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    before, after = done.stdout.split("finished: 0\n")
    assert "Total (7 pairs)" in after
    (log,), (whole,) = (folder.rglob("pairs.jsonl") for folder in (killed, tmp_path / "whole"))
    lines = log.read_text().splitlines()
    assert 2 <= len(before.splitlines()[:-1]) < 7 and lines[:2] == before.splitlines()[:2]  # none is computed again
    assert len(lines) == 7 and records(log) == records(whole)
    assert only_result(killed)["metrics"] == only_result(tmp_path / "whole")["metrics"]


def test_a_worker_that_outlives_its_killed_run_does_no_harm(standin, tmp_path, monkeypatch):
    """It writes beside the run that was started again: every pair is counted once all the same, by the answer that came first."""
    words, answer = ["--config", "brec_table2/S_3", *standin, "--workers", "1"], MethodJudge.__call__

    class Outliving(MethodJudge):
        __call__ = answer

    def judged(judge, i, sparing):
        (lock,) = tmp_path.rglob("pairs.jsonl.lock")
        for other in (i, (i + 2) % 7):
            ask(Outliving(judge.method, judge.dataset), Ledger(lock.with_suffix("")), None, True, other)
        return answer(judge, i)

    monkeypatch.setattr(MethodJudge, "__call__", judged)
    main_BREC.main([*words, "--out_dir", str(tmp_path)])
    (log,) = tmp_path.rglob("pairs.jsonl")
    lines = [json.loads(line)["pair"] for line in log.read_text().splitlines()]
    assert len(lines) == len(set(lines)) == 7
    assert (
        only_result(tmp_path)["n_pairs"]["Total"] == 7
        and only_result(tmp_path)["metrics"]["exact"]["distinguished"]["Total"] == 7
    )


@pytest.mark.parametrize("row", ["brec_table2/3-WL", "brec_table2/GIN"])
def test_a_judge_can_be_sent_to_another_process(standin, tmp_path, row):
    config = configure("--config", row, *standin, *(["--train.stop.epochs", "2"] if "GIN" in row else []))
    dataset = BREC(config.data)
    judge = MethodJudge(METHODS["3-WL"], dataset) if row == "brec_table2/3-WL" else NetJudge(config, dataset)
    pickle.loads(pickle.dumps(partial(ask, judge, Ledger(tmp_path / "there"), None, True)))(0)
    ask(judge, Ledger(tmp_path / "here"), None, True, 0)
    assert records(tmp_path / "there") == records(tmp_path / "here")


def test_a_pair_whose_embeddings_are_no_numbers_is_counted_and_named(standin, tmp_path, capsys):
    words = [
        "--config",
        "brec_table2/GIN",
        *standin,
        "--train.stop.epochs",
        "1",
        "--train.optimizer.lr",
        "1e30",
        "--workers",
        "1",
    ]
    main_BREC.main([*words, "--out_dir", str(tmp_path)])
    result = only_result(tmp_path)
    assert result["metrics"]["program"]["diverged"] == 7 and result["metrics"]["program"]["distinguished"]["Total"] == 0
    assert "diverged" in capsys.readouterr().out
    (log,) = tmp_path.rglob("pairs.jsonl")
    assert all(
        "NaN" in line["diverged"] or "the loss is nan" in line["diverged"] for line in Ledger(log).lines.values()
    )


# The training of a pair


def test_the_loss_is_equation_1():
    torch.manual_seed(0)
    x, y = torch.randn(2, 50, 16)
    cosine = (x * y).sum(1) / (x.norm(dim=1) * y.norm(dim=1))
    for margin in (0.0, 0.1):
        assert torch.allclose(GraphEmbedding(16, margin).loss(x, y), (cosine - margin).clamp(min=0).mean(), atol=1e-6)
    assert torch.isclose(GraphEmbedding(16).loss(x, x), torch.tensor(1.0))
    same = F.cosine_embedding_loss(x, y, torch.full((50,), -1.0), margin=0.1)
    assert torch.equal(GraphEmbedding(16, 0.1).loss(x, y), same)


def test_batches_hold_every_copy_once_half_of_each_graph(standin):
    dataset = BREC(configure("--config", "brec_table2/GIN", *standin).data)
    a, b = dataset.copies(0, 6, seed=1)
    batches = paired_batches(4, {}, torch.device("cpu"), a, b)
    assert [g.batch_size for g in batches] == [4, 4, 4]
    n, m = 6, 12  # of C_6, and of two triangles
    for k, g in enumerate(batches):
        src, dst = g.edges()
        for half, whole in enumerate((a, b)):
            ours = slice(half * 2 * m, (half + 1) * 2 * m)
            theirs = slice(k * 2 * m, (k + 1) * 2 * m)
            for end, given in zip((src, dst), whole.edges(), strict=True):
                assert torch.equal(end[ours] - half * 2 * n, given[theirs] - k * 2 * n)


def test_positions_are_those_of_each_copy(standin, monkeypatch):
    """Not of the first numbering: what they say of a copy must be what its own matrix says."""
    dataset = BREC(configure("--config", "brec_table2/GIN", *standin).data)
    seen = []

    def compute(n, src, dst, k):
        seen.append((n, src.tolist(), dst.tolist()))
        return torch.zeros(n, k).numpy()

    monkeypatch.setitem(TRANSFORMS, "walk_returns", TRANSFORMS["walk_returns"]._replace(compute=compute))
    a, b = dataset.copies(0, 3, seed=1)
    paired_batches(4, {"walk_returns": {"k": 1}}, torch.device("cpu"), a, b)
    assert len(seen) == 6 and len({str(graph) for graph in seen}) > 4


def test_eigenvalues_of_each_copy(standin):
    """Those of all copies of a graph are the same, their eigenvectors are not."""
    words = ("--net.encodings", '[{"kind": "LapPE", "k": 4, "norm": "none", "net": "DeepSet", "dim": 8}]')
    config = configure("--config", "brec_table2/GIN", *standin, *words)
    dataset = BREC(config.data)
    net, _ = make_net(config)
    (g,) = paired_batches(8, config.net.needs, torch.device("cpu"), *dataset.copies(0, 4, seed=1))
    pairs = g.ndata["spectrum"].view(8, -1, 4, 2)[:4]  # of the first graph of the pair
    assert torch.allclose(pairs[..., 1], pairs[0, 0, :, 1], atol=1e-5) and not torch.equal(pairs[0], pairs[1])
    assert net(g).shape == (8, config.test.d)


def stopping_at(train, **stop):
    return train.model_copy(update={"stop": train.stop.model_copy(update=stop)})


def test_training_stops_early_and_learns(standin):
    config = configure("--config", "brec_table2/PPGN", *standin, "--train.stop.loss", "null")
    dataset = BREC(config.data)
    torch.manual_seed(0)
    net, task = make_net(config)
    batches = [(g,) for g in paired_batches(32, {}, torch.device("cpu"), *dataset.copies(0, 32, 1))]
    first = [p.clone() for p in net.parameters()]
    loss, epochs = train_on_pair(net, batches, task, stopping_at(config.train, epochs=3))
    assert epochs == 3 and any(not torch.equal(a, b) for a, b in zip(first, net.parameters(), strict=True))
    stopping = stopping_at(config.train, epochs=3, loss=2.0)
    assert train_on_pair(net, batches, task, stopping)[1] == 1 and loss < 2.0


# Real pairs


@pytest.fixture(scope="session")
def real(real_data, store_dir):
    return BREC(DataConfig(store_dir=store_dir, data_dir=str(real_data), offline=True))


@pytest.mark.parametrize("i", [0, 60, 160])
def test_gin_does_not_tell_real_pairs_apart_and_ppgn_does(real_data, real, i):
    for row, apart in (("brec_table2/GIN", False), ("brec_table2/PPGN", True)):
        answer = NetJudge(configure("--config", row, "--train.stop.epochs", "3"), real)(i)
        test, reliability = answer["T2"]["program"]
        assert (test > 72.34) == apart and reliability < 72.34, row


def test_the_outcome_of_a_pair_depends_on_no_other(real_data, real):
    judge = NetJudge(configure("--config", "brec_table2/PPGN", "--train.stop.epochs", "1"), real)
    first = judge(3)
    judge(4)
    assert judge(3) == first


# Configurations


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--train.batch_size", "15"], "batch_size=15: expected an even number"),
        (["--test.d", "32"], "the test needs more copies"),
        (["--folds", "0"], "--folds: unknown"),
        (["--seeds", "100,100"], r"seeds=\[100, 100\]: expected different numbers"),
        (["--seeds", "[]"], r"seeds=\[\]: expected list of int or null"),
        (["--seeds", "[-1]"], r"seeds=\[-1\]: expected different numbers >= 0"),
        (["--train.lr", "1"], r"--train.lr: unknown. Did you mean --train.optimizer.lr"),
    ],
)
def test_configurations_that_cannot_be(words, message):
    with pytest.raises(ConfigError, match=message):
        configure("--config", "brec_table2/GIN", *words)


def test_every_row_is_a_configuration_and_names_a_method_that_exists(tmp_path):
    rows = [row for table in table_files().values() if table.main == "BREC" for row in table.rows.values()]
    assert len(rows) >= 47
    for row in rows:
        config = configure("--config", str(row))
        assert config.name == str(row) and config.dataset == "BREC"
        if hasattr(config, "method"):
            assert config.method in METHODS and row.name.endswith(config.method)
        else:
            assert config.test.q == 32 and make_net(config)[1].n_out == config.test.d == 16
    with pytest.raises(ConfigError, match=r"method='N_11': expected one of 1-WL"):
        main_BREC.main(["--config", "brec_table2/N_1", "--method", "N_11", "--out_dir", str(tmp_path)])


def test_the_paper_of_table_7_is_followed():
    train = configure("--config", "brec_table2/PPGN").train
    seen = (train.batch_size, train.optimizer.lr, train.optimizer.weight_decay, train.stop.epochs, train.stop.loss)
    assert seen == (32, 1e-4, 1e-4, 20, 0.2)
    assert (train.schedule.kind, train.schedule.patience, train.schedule.factor) == ("plateau", 10, 0.1)
    assert configure("--config", "brec_table2/PPGN").test.limit("program") == pytest.approx(72.34, abs=0.005)


# Some of the pairs


def test_a_run_over_some_categories_is_never_the_whole_and_its_answers_are_taken_over(standin, tmp_path, monkeypatch):
    asked, answer = [], MethodJudge.__call__

    def listening(judge, i, sparing):
        asked.append(int(judge.dataset.indices[i]))
        return answer(judge, i)

    monkeypatch.setattr(MethodJudge, "__call__", listening)
    words = ["--config", "brec_table2/S_3", *standin, "--workers", "1", "--out_dir", str(tmp_path)]
    main_BREC.main([*words, "--categories", "Extension,Basic"])
    assert asked == [0, 160]
    some = only_result(tmp_path)
    assert (
        some["n_pairs"] == {"Basic": 1, "Extension": 1, "Total": 2}
        and some["config"]["categories"] == "Basic,Extension"
    )
    main_BREC.main(words)
    assert asked == [0, 160, 60, 110, 260, 360, 380]  # each pair once
    results = [json.loads(path.read_text()) for path in tmp_path.rglob("result.json")]
    (whole,) = (r for r in results if r["n_pairs"]["Total"] == 7)
    assert whole["id"] != some["id"] and "categories" not in whole["config"]
    assert whole["metrics"]["exact"]["distinguished"]["Total"] == 7
    main_BREC.main([*words, "--categories", "CFI"])
    main_BREC.main([*words, "--method", "S_4"])  # another method has answers of its own
    assert len(asked) == 14
    main_BREC.main([*words, "--categories", "CFI,Extension,Regular,Basic"])  # all of them: the whole run
    assert len(asked) == 14 and len(list(tmp_path.rglob("result.json"))) == 4


def test_unknown_categories_are_refused():
    with pytest.raises(ConfigError, match=r"categories='Basic,Easy': 'Easy': expected some of Basic, Regular"):
        configure("--categories", "Basic,Easy")


# Memory


def in_a_fork(function):
    """What a function returns in a process of its own."""
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    process = context.Process(target=lambda: answers.put(function()))
    process.start()
    answer = answers.get(timeout=100)
    process.join()
    return answer


def test_a_pair_that_needs_more_memory_than_there_is_is_reported_with_its_size(standin):
    """With 20 MB more than a process has already there is no room for activations of 60 MB, whichever way."""
    words = ["--config", "brec_table2/DS-GNN", "--train.stop.epochs", "1", "--net.hidden_dim", "1024", "--net.L", "2"]
    config, ways = configure(*words, *standin), []

    class Judge(NetJudge):
        def __call__(self, i, sparing=False):
            ways.append(sparing)
            return super().__call__(i, sparing)

    judge = Judge(config, main_BREC.pairs_of(config))

    def size():
        return 1024 * int(re.search(r"VmData:\s+(\d+) kB", Path("/proc/self/status").read_text())[1])

    def answers(more):
        held, before = [], size()
        while size() < before + 10**7:  # what other tests have freed is used up
            held.append(torch.empty(2**16))
        found = pairs.answer_within(judge, more and size() + more, 0)
        return found, ways, len(torch.ones(10**8))  # outside there is no limit

    free, _, _ = in_a_fork(lambda: answers(None))
    found, asked, n = in_a_fork(lambda: answers(2 * 10**7))
    assert re.fullmatch(r"6 nodes, 6 edges, \d\.\d GB", found["OOM"]) and asked == [False, True] and n == 10**8
    assert in_a_fork(lambda: answers(10**11)) == (free, [False], 10**8) and "T2" in free


@pytest.mark.parametrize("row", ["DE+NGNN", "DSS-GNN", "SSWL_P", "GNN-AK", "I2-GNN", "delta-k-LGNN"])
def test_the_sparing_way_gives_the_same_answer(standin, row):
    config = configure("--config", f"brec_table2/{row}", *standin, "--train.stop.epochs", "2", "--test.q", "18")
    judge = NetJudge(config, main_BREC.pairs_of(config))
    plain, sparing = judge(0), judge(0, sparing=True)
    assert plain["loss"] == pytest.approx(sparing["loss"], rel=1e-6) and plain["epochs"] == sparing["epochs"]


def test_what_is_too_large_for_a_share_waits_and_what_is_too_large_at_all_is_counted(standin, tmp_path, monkeypatch):
    """Two processes: pair 110 needs more than half of the memory, pair 260 more than all."""
    config = configure("--config", "brec_table2/GIN", *standin, "--train.stop.epochs", "1", "--out_dir", str(tmp_path))
    judge, calls = NetJudge(config, main_BREC.pairs_of(config)), []

    def answer(judge, memory, i):
        index = int(judge.dataset.indices[i])
        calls.append((index, memory))
        if memory < {110: 60, 260: 200}.get(index, 0):
            return {"OOM": "6 nodes"}
        return judge(i)

    def in_this_process(function, items, label, **options):
        return map(function, items)

    monkeypatch.setattr(pairs, "answer_within", answer)
    monkeypatch.setattr(pairs, "parallel_map", in_this_process)
    monkeypatch.setattr(pairs, "budget", lambda memory: 100)
    result = pairs.compare_pairs(judge, config.run(), workers=2)
    assert calls == [(i, 50) for i in (0, 60, 110, 160, 260, 360, 380)] + [(110, 100), (260, 100)]
    assert result["metrics"]["program"]["OOM"] == 1 and result["n_pairs"]["Total"] == 7
    assert result["pairs"]["T2_test"].split()[4] == "-" and result["pairs"]["distinguished"] == "0 0 0 0 0 0 0"
