"""One training on several processes: parts that add up, and two real processes that end as one does.

A process is a fork of this one with the variables that torchrun sets; one test starts torchrun itself.
"""

import itertools
import json
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

import main_BREC
import main_CSL
import main_fair_comparison
from data.errors import DataError
from data.folds import LinkFold
from runs.errors import ConfigError
from runs.files import RunError
from tests.train.toy import TASKS, epochs_of, run_in, toy
from train import loop
from train.loop import fit
from train.metrics import (
    AUROC,
    MAE,
    R2,
    Accuracy,
    AveragePrecision,
    BinaryF1,
    HitsAtK,
    MacroF1,
    Metric,
    PairRanks,
    WeightedAccuracy,
)
from train.tasks import Classification, MultiLabel, Regression

ROOT = Path(__file__).resolve().parents[2]

# --------------------------------------------------------------------------------------------------------------------
# Parts


def labels(task, n, random):
    if isinstance(task, Classification):
        return torch.from_numpy(random.integers(0, task.n_out, n))
    if isinstance(task, MultiLabel):
        y = torch.from_numpy(random.integers(0, 2, (n, task.n_out))).float()
        y[torch.from_numpy(random.random((n, task.n_out)) < 0.3)] = float("nan")
        return y
    return torch.from_numpy(random.standard_normal((n, task.n_out)))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", [Classification, MultiLabel, Regression])
def test_the_parts_of_a_batch_add_up_to_its_loss_and_gradient(kind, weighted):
    """Also where a weighted loss depends on the classes of the whole batch, and where a part has no known label."""
    task = kind("node", 3) if kind is Regression else kind("node", 3, weighted=weighted)
    random = np.random.default_rng(0)
    y = labels(task, 20, random)
    if kind is MultiLabel:
        y[:4] = float("nan")
    scores = torch.from_numpy(random.standard_normal((20, 3))).requires_grad_()
    whole = task.loss(scores, y)
    (gradient,) = torch.autograd.grad(whole, scores)
    parts = [slice(0, 4), slice(4, 9), slice(9, 20)]
    sizes = sum(task.sizes(y[part]).flatten().double() for part in parts)
    assert torch.equal(sizes, task.sizes(y).flatten().double())
    total = sum(task.part(scores[part], y[part], task.count(y), sizes) for part in parts)
    assert total.item() == pytest.approx(whole.item(), rel=1e-7)  # the weights of a batch are float32
    torch.testing.assert_close(torch.autograd.grad(total, scores)[0], gradient, rtol=1e-6, atol=1e-9)
    assert len(task.sizes(torch.empty(0)).flatten()) == len(sizes)  # a process without a part


def test_a_batch_of_one_class_has_the_weight_one_in_its_parts_too():
    task, y, scores = (
        Classification("node", 3, weighted=True),
        torch.ones(6, dtype=torch.int64),
        torch.randn(6, 3).double(),
    )
    total = sum(task.part(scores[part], y[part], 6, task.sizes(y).double()) for part in (slice(0, 2), slice(2, 6)))
    assert total.item() == pytest.approx(task.loss(scores, y).item(), rel=1e-12)


METRICS = [
    Accuracy,
    WeightedAccuracy,
    MacroF1,
    BinaryF1,
    MAE,
    R2,
    AveragePrecision,
    AUROC,
    lambda: AUROC("program"),
    HitsAtK,
]


@pytest.mark.parametrize("make", METRICS)
def test_a_metric_of_parts_is_that_of_the_whole_in_the_same_order(make):
    """Three processes, the last batch with a graph for the first two only; scores with ties, so that the order matters."""
    random = np.random.default_rng(1)
    whole, parts = make(), [make() for _ in range(3)]
    for n in (7, 5, 2):
        scores = torch.from_numpy(random.integers(0, 4, (n, 3))).float()
        y = torch.from_numpy(random.integers(0, 3, n))
        if isinstance(whole, MAE | R2):
            y = torch.from_numpy(random.integers(0, 4, (n, 3))).float()
        if isinstance(whole, HitsAtK | AveragePrecision):
            scores, y = scores[:, 0], (y > 0).float()
        whole.update(scores, y)
        for part, places in zip(parts, np.array_split(np.arange(n), 3), strict=True):
            if len(places):
                part.update(scores[places], y[places])
    parts[-1].join([part.state() for part in parts])
    assert parts[-1].compute() == whole.compute()


def test_ranks_of_parts(tmp_path):
    import dgl

    graphs = [dgl.rand_graph(n, 2 * n) for n in (4, 5, 6)]
    random = torch.Generator().manual_seed(0)

    def pairs(gs):
        starts = np.cumsum([0] + [g.num_nodes() for g in gs])
        blocks = [
            torch.cartesian_prod(*[torch.arange(g.num_nodes())] * 2).T + s for g, s in zip(gs, starts, strict=False)
        ]
        return torch.cat(blocks, 1)

    n = [g.num_nodes() ** 2 for g in graphs]
    scores, y = torch.rand(sum(n), generator=random), (torch.rand(sum(n), generator=random) < 0.3).float()
    whole, parts = PairRanks(), [PairRanks(), PairRanks()]
    whole.update(scores, y, dgl.batch(graphs), pairs(graphs))
    parts[0].update(scores[: n[0]], y[: n[0]], graphs[0], pairs(graphs[:1]))
    parts[1].update(scores[n[0] :], y[n[0] :], dgl.batch(graphs[1:]), pairs(graphs[1:]))
    parts[0].join([part.state() for part in parts])
    assert parts[0].compute() == pytest.approx(whole.compute(), rel=1e-12)


def test_a_metric_that_does_not_say_what_adds_up_is_refused():
    class Mine(Metric):
        pass

    with pytest.raises(DataError, match="Mine does not name its `sums`"):
        Mine().state()


@pytest.mark.parametrize("workers", [0, 1])
def test_the_parts_of_a_batch_are_its_graphs_in_their_order(tmp_path, workers):
    _, fold, _, _ = toy(tmp_path, "node")

    def passed(share):
        generator = torch.Generator().manual_seed(3)
        return list(fold.loader("train", 4, True, generator, workers, share)), generator.get_state()

    whole, state = passed((0, 1))
    parts = [passed((k, 3)) for k in range(3)]
    assert all(torch.equal(state, other) for _, other in parts)  # all draw the same order
    for batch, *of_batch in zip(whole, *(part for part, _ in parts), strict=True):
        found = [part for part in of_batch if part is not None]
        assert torch.equal(torch.cat([part.g.ndata["feat"] for part in found]), batch.g.ndata["feat"])
        assert torch.equal(torch.cat([part.y for part in found]), batch.y)
    assert [part[-1] is None for part, _ in parts] == [False, False, True]  # 6 graphs are batches of 4 and 2


def test_one_graph_is_not_shared():
    class Store:
        name = "COLLAB"

    fold = LinkFold("fold0", Store, {"train": np.zeros((2, 2))}, {})
    with pytest.raises(
        DataError, match="COLLAB is one graph, which processes cannot share: start one, without torchrun"
    ):
        fold.loader("train", 4, share=(0, 2))


# --------------------------------------------------------------------------------------------------------------------
# Two processes


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Together:
    """A function in `n` processes that train together, each told its rank."""

    def __init__(self, function, n=2):
        port, context = str(free_port()), multiprocessing.get_context("fork")
        self.processes = [context.Process(target=self._live, args=(function, rank, n, port)) for rank in range(n)]
        for process in self.processes:
            process.start()

    @staticmethod
    def _live(function, rank, n, port):
        names = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": n, "LOCAL_WORLD_SIZE": n, "MASTER_PORT": port}
        os.environ |= {"MASTER_ADDR": "127.0.0.1", **{name: str(value) for name, value in names.items()}}
        try:
            function(rank)
        except RunError as error:
            print(f"error: {error}", file=sys.stderr)
            os._exit(3)
        except SystemExit as stop:
            os._exit(stop.code if isinstance(stop.code, int) else 1)
        os._exit(0)

    def end(self):
        for process in self.processes:
            process.join(100)
            process.kill()
        return [process.exitcode for process in self.processes]


def train_two(tmp_path, kind="graph", train=(), before=lambda rank: None, out="two", **net):
    """The run of two processes in the folder `out`; their weights at the end are in weights_RANK.pt."""
    toy(tmp_path, kind)  # the store is made before the processes start

    def life(rank):
        before(rank)
        parts = toy(tmp_path, kind, {"processes": 2, **dict(train)}, **net)
        result = fit(*parts, run_in(tmp_path / out))
        torch.save(parts[0].state_dict(), tmp_path / out / f"weights_{rank}.pt")
        assert result["status"] != "ok" or result["processes"] == 2

    return Together(life)


@pytest.fixture
def run_of_two(monkeypatch, tmp_path):
    """The run of two processes in a folder, whose identity is not that of one."""

    def find(out="two"):
        with monkeypatch.context() as patched:
            patched.setenv("WORLD_SIZE", "2")
            return run_in(tmp_path / out)

    return find


PLAIN = {"batch_norm": False}


def numbers(lines):
    return [[line["lr"], *line["train"].values(), *line["val"].values()] for line in lines]


@pytest.mark.parametrize("kind", TASKS)
def test_two_processes_end_as_one_does_to_rounding(tmp_path, kind, run_of_two):
    """Batches of 5 graphs and of 1, of which the second process has no part. Weighted loss (node), several batches per step (edge),
    clipped gradients, a schedule that follows the validation."""
    train = {
        "batch_size": 5, "stop.epochs": 8, "schedule.patience": 0, "optimizer.clip_norm": 0.5, "optimizer.weight_decay": 0.01,
        "optimizer.accumulate": 2 if kind == "edge" else 1,
    }  # fmt: skip
    parts, run = toy(tmp_path, kind, train, **PLAIN), run_in(tmp_path / "one")
    one = fit(*parts, run)
    assert train_two(tmp_path, kind, train, **PLAIN).end() == [0, 0]
    other = run_of_two()
    assert other.id != run.id
    np.testing.assert_allclose(numbers(epochs_of(other)), numbers(epochs_of(run)), rtol=2e-4, atol=1e-6)
    weights = [torch.load(tmp_path / "two" / f"weights_{rank}.pt") for rank in (0, 1)]
    for name, value in parts[0].state_dict().items():
        assert torch.equal(weights[0][name], weights[1][name])  # to the bit
        torch.testing.assert_close(weights[0][name], value, rtol=1e-3, atol=1e-4)
    two = other.result
    for split, values in one["metrics"]["last"].items():
        assert two["metrics"]["last"][split] == pytest.approx(values, rel=1e-3)
    assert two["processes"] == 2 and "batch_norm" not in two and "processes" not in one


DRAWS = {"dropout": 0.3, "batch_norm": True}


def test_killed_they_go_on_and_end_with_the_same_bits(tmp_path, run_of_two):
    """One of the two dies in epoch 3, once each; dropout draws other numbers in each process, and batch norm keeps the mean."""
    assert train_two(tmp_path, "node", out="whole", **DRAWS).end() == [0, 0]
    whole = run_of_two("whole")
    assert whole.result["batch_norm"] == "statistics per process"

    def dies(victim):
        def before(rank):
            run_epoch = loop.Trainer.run_epoch

            def dying(self, check_signals):
                if rank == victim and self.epoch == 2:
                    os.kill(os.getpid(), signal.SIGKILL)
                return run_epoch(self, check_signals)

            loop.Trainer.run_epoch = dying

        return before

    for victim in (0, 1):
        out = f"killed_{victim}"
        codes = train_two(tmp_path, "node", before=dies(victim), out=out, **DRAWS).end()
        assert codes[victim] == -signal.SIGKILL and codes[1 - victim] == 3  # one line: another process has ended
        run = run_of_two(out)
        assert run.result is None
        assert train_two(tmp_path, "node", out=out, **DRAWS).end() == [0, 0]
        assert epochs_of(run) == epochs_of(whole) and run.result["metrics"] == whole.result["metrics"]
        found = [torch.load(tmp_path / name / f"weights_{rank}.pt") for name in ("whole", out) for rank in (0, 1)]
        for a, b in itertools.pairwise(found):
            assert all(torch.equal(a[name], b[name]) for name in a)


def test_a_signal_to_one_of_them_stops_both_in_order(tmp_path, capfd, run_of_two):
    lives = train_two(tmp_path, train={"stop.epochs": 10**5, "schedule.patience": 10**5})
    log = run_of_two().path / "metrics.jsonl"
    for _ in range(6000):
        if log.exists() and log.read_bytes().count(b"\n") > 3:
            break
        time.sleep(0.01)
    os.kill(lives.processes[1].pid, signal.SIGTERM)
    assert lives.end() == [128 + signal.SIGTERM] * 2
    text = capfd.readouterr().err
    assert text.count("Stopped by SIGTERM") == 1 and "torchrun --nproc_per_node=2" in text
    assert (log.parent / "checkpoint.pt").exists() and not (log.parent / "result.json").exists()


def test_a_loss_that_is_no_number_in_one_of_them_ends_both_as_diverged(tmp_path, run_of_two):
    def before(rank):
        forward = loop.Trainer._forward

        def blowing(self, g, of, y):
            part = forward(self, g, of, y)
            return part._replace(scores=part.scores * float("nan")) if rank == 1 and self.epoch == 1 else part

        loop.Trainer._forward = blowing

    assert train_two(tmp_path, before=before).end() == [0, 0]
    assert run_of_two().result["status"] == "Diverged"


def test_a_net_without_memory_in_the_first_ends_both_and_is_written(tmp_path, run_of_two):
    def before(rank):
        def forward(self, g, of, y):
            raise MemoryError("out of memory")

        if rank == 0:
            loop.Trainer._forward = forward

    assert train_two(tmp_path, before=before).end() == [3, 3]
    assert run_of_two().result["status"] == "OOM"


# --------------------------------------------------------------------------------------------------------------------
# The command line


def test_torchrun_trains_one_net_and_prints_once(tmp_path, child_env, csl):
    words = [
        "--folds",
        "0",
        "--data.limit",
        "10",
        "--train.stop.epochs",
        "2",
        "--device",
        "cpu",
        "--out_dir",
        str(tmp_path),
    ]
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node=2", f"--master_port={free_port()}"]
    done = subprocess.run(
        [*command, "main_CSL.py", *words], cwd=ROOT, env=child_env, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("test accuracy") == 1
    (path,) = tmp_path.glob("CSL/*/seed_14/fold_0/result.json")
    result = json.loads(path.read_text())
    assert result["processes"] == 2 and result["config"]["train"]["processes"] == 2
    assert "train.processes=2" in result["name"]


@pytest.mark.parametrize(
    "main, words, started, message",
    [
        (main_CSL, ["--train.processes", "2"], 1, "this training has 2: start it by torchrun --nproc_per_node=2"),
        (main_CSL, ["--train.processes", "3"], 2, "2 processes were started, this training has 3"),
        (main_CSL, ["--train.batch_size", "1"], 2, "train.batch_size=1 with 2 processes: expected a graph each"),
        (main_BREC, [], 2, "2 processes were started, this training has 1: start it without torchrun"),
        (main_fair_comparison, [], 2, "start it without torchrun"),
    ],
)
def test_what_cannot_be_shared_is_refused_in_one_line(monkeypatch, main, words, started, message):
    monkeypatch.setenv("WORLD_SIZE", str(started))
    with pytest.raises(ConfigError, match=message) as stop:
        main.main(words)
    assert "\n" not in str(stop.value)
