"""A run over the pairs of a dataset (BREC): a judge is asked of each pair, in several processes, and the answers are counted.

Every answer is a line of pairs.jsonl, on the disk before the next pair begins. Killed at any moment and started again, the run
goes on with the pairs that have no line.
"""

import json
import os
import time
from collections import Counter
from functools import partial

import torch

from data.parallel import parallel_map
from train.files import RunError, explain, write_atomic
from train.loop import choose_device
from train.results import made_with, which_run
from train.rpc import STATISTICS, Verdict, threshold

LOG = "pairs.jsonl"


class MethodJudge:
    """judge(i): whether an exact method, a function of two graphs (n, src, dst), tells pair i of a dataset apart."""

    def __init__(self, method, dataset):
        self.method, self.dataset = method, dataset

    def __call__(self, i):
        return {"distinguished": bool(self.method(*self.dataset.edges(i)))}


def compare_pairs(dataset, judge, run, config, summarise, params=None):
    """Ask `judge` of every pair in the folder of `run` and return the result; a finished run is not run again.

    `summarise` makes the metrics of all answers: of `count_verdicts` for nets, of `count_answers` for exact methods.
    """
    with run.opened():
        if (result := run.finished_on(dataset.store.hash)) is not None:
            return result
        path = run.path / LOG
        begun = repaired_log(path)
        if any(line.get("dataset", dataset.store.hash) != dataset.store.hash for line in begun):
            raise RunError(f"{path} was made on another version of the dataset: start this run again with --force")
        done = {line["pair"] for line in begun}
        left = [i for i in range(len(dataset)) if int(dataset.indices[i]) not in done]
        label = f"{run.name} seed {run.seed}" if run.progress else None
        workers = config.workers or torch.get_num_threads()
        for _ in parallel_map(partial(ask, judge, path), left, label, unit=" pairs", chunk=1, workers=workers):
            pass
        lines = sorted(repaired_log(path), key=lambda line: line["pair"])
        result = make_pair_result(run, dataset, lines, summarise(lines), params, choose_device(run.device))
        run.save_result(result)
        return result


def ask(judge, path, i):
    """Pair i: the judge's answer becomes a line of the log."""
    pair, start = judge.dataset[i], time.process_time()  # of this core, however busy the others are
    answer = judge(i)
    seconds = round(time.process_time() - start, 3)
    line = {"pair": pair.index, "category": pair.category, "part": pair.part, **answer, "seconds": seconds}
    append_line(path, line | {"dataset": judge.dataset.store.hash})


def append_line(path, line):
    """One write at the end of the file, so that the lines of several processes do not mix."""
    data = (json.dumps(line) + "\n").encode()
    try:
        with open(path, "ab", buffering=0) as file:
            if file.write(data) != len(data):
                raise OSError(28, "No space left on device")
            os.fsync(file.fileno())
    except OSError as error:
        raise RunError(explain(error, path)) from error


def repaired_log(path):
    """The whole lines of the log. A last line that was cut off by a kill or a full disk is removed from the file, so that the next
    one does not continue it; its pair is asked again."""
    content = path.read_bytes() if path.exists() else b""
    whole, _, rest = content.rpartition(b"\n")
    if rest:
        write_atomic(path, whole + b"\n" if whole else b"")
    try:
        return [json.loads(line) for line in whole.splitlines()]
    except ValueError as error:
        raise RunError(f"{path} is damaged ({error}): start this run again with --force") from error


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


def count_answers(lines):
    """Metrics and the selected one for an exact method."""
    return {"exact": count(lines, lambda line: line["distinguished"])}, "exact"


def count_verdicts(config, lines):
    """Metrics by both statistics for a net, and which of them is compared with the paper: its counts are the program's."""
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


def make_pair_result(run, dataset, lines, summary, params, device):
    """The record of a finished run over pairs, in the layout of all results; `total_time_hr` is that of one core."""
    metrics, select = summary
    seconds = sum(line["seconds"] for line in lines)
    epochs = [line["epochs"] for line in lines if "epochs" in line]
    return {
        **which_run(run),
        "status": "ok",
        "stopped_by": "all pairs",
        "select": select,
        "metrics": metrics,
        "n_pairs": {**Counter(line["category"] for line in lines), "Total": len(lines)},
        "params": params,
        "epochs": sum(epochs) / len(epochs) if epochs else None,
        "epoch_time_s": None,
        "total_time_hr": seconds / 3600,
        "pairs": columns(lines),
        **made_with(run, dataset.store, device, threads=1),
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
