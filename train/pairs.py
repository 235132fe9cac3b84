"""A run over the pairs of a dataset (BREC): a judge is asked about each pair, in several processes, and the answers are counted.

Every answer is a line of a ledger, pairs.jsonl, on the disk before the next pair begins. Killed at any moment and started
again, the run goes on with the pairs that have no line.
"""

import time
from collections import Counter
from functools import partial

import torch

from data.parallel import parallel_map
from runs.files import RunError
from runs.ledger import Ledger
from runs.result import made_with
from train.loop import choose_device
from train.rpc import STATISTICS, Verdict, threshold

LEDGER = "pairs.jsonl"


class MethodJudge:
    """judge(i): whether an exact method, a function of two graphs (n, src, dst), tells pair i of a dataset apart."""

    params = None

    def __init__(self, method, dataset):
        self.method, self.dataset = method, dataset

    def __call__(self, i):
        return {"distinguished": bool(self.method(*self.dataset.edges(i)))}

    def summarise(self, lines):
        """(metrics, which of them counts)."""
        return {"exact": count(lines, lambda line: line["distinguished"])}, "exact"


def compare_pairs(judge, run, workers=None):
    """Ask `judge` about every pair of its dataset in the folder of `run` and return the result; a finished run is not run again."""
    dataset = judge.dataset
    with run.opened():
        if (result := run.finished_on(dataset.store.hash)) is not None:
            return result
        ledger = Ledger(run.path / LEDGER)
        if any(line["dataset"] != dataset.store.hash for line in ledger.lines.values()):
            raise RunError(
                f"{ledger.path} was made on another version of the dataset: start this run again with --force"
            )
        keys = [str(index) for index in dataset.indices]
        missing = set(ledger.missing(keys))
        left = [i for i, key in enumerate(keys) if key in missing]
        label = f"{run.name} seed {run.seed}" if run.progress else None
        workers = workers or torch.get_num_threads()
        for _ in parallel_map(partial(ask, judge, ledger), left, label, unit=" pairs", chunk=1, workers=workers):
            pass
        lines = Ledger(ledger.path).lines
        return run.save_result(**summary(judge, [lines[key] for key in keys], choose_device(run.device)))


def ask(judge, ledger, i):
    """Pair i: the judge's answer becomes a line of the ledger."""
    dataset, start = judge.dataset, time.process_time()  # of this core, however busy the others are
    answer = judge(i)
    seconds = round(time.process_time() - start, 3)
    index = int(dataset.indices[i])
    kind = dataset.kind_of(index)
    ledger.append(
        str(index),
        pair=index,
        category=kind.category,
        part=kind.name,
        **answer,
        seconds=seconds,
        dataset=dataset.store.hash,
    )


# --------------------------------------------------------------------------------------------------------------------
# The result


def count(lines, is_distinguished):
    """{"distinguished": {category: number, ..., "Total": number}, "by_part": {part: number}}"""
    found = [line for line in lines if is_distinguished(line)]
    categories, parts = ({line[key]: 0 for line in lines} for key in ("category", "part"))
    by_category = categories | Counter(line["category"] for line in found)
    return {
        "distinguished": {**by_category, "Total": len(found)},
        "by_part": parts | Counter(line["part"] for line in found),
    }


def count_verdicts(config, lines):
    """(metrics, which of them counts) of a net by both statistics. The printed counts are those of the program's statistic."""
    limit = threshold(config.q, config.d, config.alpha)
    metrics = {}
    for statistic in STATISTICS:
        verdicts = {line["pair"]: Verdict(*line["T2"][statistic], limit) for line in lines if "T2" in line}
        failures = [pair for pair, verdict in verdicts.items() if not verdict.reliable]
        metrics[statistic] = {
            **count(lines, lambda line, v=verdicts: line["pair"] in v and v[line["pair"]].distinguished),
            "reliability_failures": len(failures),
            "diverged": sum("diverged" in line for line in lines),
        }
    return metrics, "program"


def summary(judge, lines, device):
    """The values of the result of all pairs, in their order; `total_time_hr` is that of one core."""
    metrics, select = judge.summarise(lines)
    epochs = [line["epochs"] for line in lines if "epochs" in line]
    return {
        "status": "ok",
        "stopped_by": "all pairs",
        "select": select,
        "measures": [],
        "metrics": metrics,
        "n_pairs": {**Counter(line["category"] for line in lines), "Total": len(lines)},
        "params": judge.params,
        "epochs": sum(epochs) / len(epochs) if epochs else None,
        "epoch_time_s": None,
        "total_time_hr": sum(line["seconds"] for line in lines) / 3600,
        "pairs": columns(lines),
        **made_with(judge.dataset.store, device.type, threads=1),
    }


def columns(lines):
    """What is known of each pair, in the order of the pairs: a line of text for each quantity."""
    values = {"pair": [line["pair"] for line in lines], "seconds": [line["seconds"] for line in lines]}
    if any("distinguished" in line for line in lines):
        values["distinguished"] = [int(line["distinguished"]) for line in lines]
    else:
        values |= {key: [line.get(key) for line in lines] for key in ("loss", "epochs")}
        for k, name in enumerate(("T2_test", "T2_reliability")):
            values[name] = [line["T2"]["text"][k] if "T2" in line else None for line in lines]
    return {name: " ".join(short(value) for value in column) for name, column in values.items()}


def short(value):
    return "-" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
