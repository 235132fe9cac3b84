"""A run over the pairs of a dataset (BREC): a judge is asked about each pair, in several processes, and the answers are counted.

Every answer is a line of a ledger, pairs.jsonl, on the disk before the next pair begins. Killed at any moment and started
again, the run goes on with the pairs that have no line. A run over some categories is a run of its own, with a result of its
own; a run over more of them begins with its answers.

The processes share the memory that the run may use. A pair that needs more than a share waits for the others and gets all of
it; one that needs more than that is answered with OOM and the size of its graphs.
"""

import gc
import time
from collections import Counter
from contextlib import nullcontext
from functools import partial

import torch

from data.parallel import parallel_map
from process import pages_given_back
from runs.files import RunError, read_json
from runs.ledger import PAIRS, Ledger
from runs.result import made_with
from train.loop import choose_device, is_out_of_memory
from train.memory import at_most, budget
from train.rpc import STATISTICS, Verdict


class MethodJudge:
    """judge(i): whether an exact method, a function of two graphs (n, src, dst), tells pair i of a dataset apart."""

    params = None

    def __init__(self, method, dataset):
        self.method, self.dataset = method, dataset

    def __call__(self, i, sparing=False):
        return {"distinguished": bool(self.method(*self.dataset.edges(i)))}

    def further_columns(self, lines):
        return {"distinguished": " ".join(str(int(line.get("distinguished", False))) for line in lines)}

    def summarise(self, lines):
        """(metrics, which of them counts)."""
        return {"exact": count(lines, lambda line: line.get("distinguished"))}, "exact"


def compare_pairs(judge, run, workers=None, memory=None):
    """Ask `judge` about every pair of its dataset in the folder of `run` and return the result; a finished run is not run again."""
    dataset = judge.dataset
    with run.opened():
        if (result := run.finished_on(dataset.store.hash)) is not None:
            return result
        ledger = Ledger(run.path / PAIRS)
        if any(line["dataset"] != dataset.store.hash for line in ledger.lines.values()):
            raise RunError(
                f"{ledger.path} was made on another version of the dataset: start this run again with --force"
            )
        take_over(ledger, run, dataset)
        keys = [str(index) for index in dataset.indices]
        ask_all(judge, ledger, keys, workers or torch.get_num_threads(), budget(memory), run)
        lines = Ledger(ledger.path).lines
        return run.save_result(**summary(judge, [lines[key] for key in keys], choose_device(run.device)))


def take_over(ledger, run, dataset):
    """The answers that runs over other categories of the same pairs have: an answer depends on its pair and the seed alone."""
    wanted = {str(index) for index in dataset.indices}
    for path in sorted(run.path.parents[2].glob(f"*/{run.path.parent.name}/{run.path.name}/{PAIRS}")):
        written = read_json(path.with_name("config.json")) or {}
        if path == ledger.path or not same_pairs(written.get("identity", {}), run.identity):
            continue
        for key, line in Ledger(path).lines.items():
            if key in wanted and "OOM" not in line and line["dataset"] == dataset.store.hash:
                ledger.append(key, **{name: value for name, value in line.items() if name not in ("key", "sum")})


def same_pairs(a, b):
    """Whether two identities differ in the categories alone."""
    return {**a, "categories": None} == {**b, "categories": None}


def ask_all(judge, ledger, keys, workers, memory, run):
    """Every pair without an answer: side by side, each process with its share of the memory; then those that need more, alone."""
    label = f"{run.name} seed {run.seed}" if run.progress else None
    for n, name in ((workers, label), (1, label and f"{label}, large pairs")) if workers > 1 else ((1, label),):
        missing = set(Ledger(ledger.path).missing(keys))
        left = [i for i, key in enumerate(keys) if key in missing]
        ask_one = partial(ask, judge, ledger, memory and memory // n, n == 1)
        shown = name if left else None
        for _ in parallel_map(ask_one, left, shown, unit=" pairs", chunk=1, workers=n, settings="on"):
            pass


def ask(judge, ledger, memory, is_last, i):
    """Pair i: the judge's answer becomes a line of the ledger. Without enough memory there is none, unless this is the last try."""
    dataset, start = judge.dataset, time.process_time()  # of this core, however busy the others are
    answer = answer_within(judge, memory, i)
    if "OOM" in answer and not is_last:
        return
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


def answer_within(judge, memory, i):
    """The judge's answer; where memory is short that of its sparing way, the same one; or else OOM and the size of the pair."""
    for sparing in (False, True):
        with at_most(memory), pages_given_back() if sparing else nullcontext():
            try:
                return judge(i, sparing)
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
        gc.collect()  # what the failed try still holds
    n, src, _ = judge.dataset.edges(i)[0]
    limit = "" if memory is None else f", {memory / 1e9:.1f} GB"
    return {"OOM": f"{n} nodes, {len(src) // 2} edges{limit}"}


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
    metrics = {}
    for statistic in STATISTICS:
        verdicts = verdicts_of(config, lines, statistic)
        failures = [pair for pair, verdict in verdicts.items() if not verdict.reliable]
        metrics[statistic] = {
            **count(lines, lambda line, v=verdicts: line["pair"] in v and v[line["pair"]].distinguished),
            "reliability_failures": len(failures),
            "diverged": sum("diverged" in line for line in lines),
            "OOM": sum("OOM" in line for line in lines),
        }
    return metrics, "program"


def verdicts_of(config, lines, statistic):
    """{pair: Verdict} of the pairs that were tested."""
    limit = config.limit(statistic)
    return {line["pair"]: Verdict(*line["T2"][statistic], limit) for line in lines if "T2" in line}


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
        "pairs": columns(lines) | judge.further_columns(lines),
        **made_with(judge.dataset.store, device.type, threads=1),
    }


def columns(lines):
    """What is known of each pair, in the order of the pairs: a line of text for each quantity."""
    values = {"pair": [line["pair"] for line in lines], "seconds": [line["seconds"] for line in lines]}
    if any("T2" in line for line in lines):
        values |= {key: [line.get(key) for line in lines] for key in ("loss", "epochs")}
        for k, name in enumerate(("T2_test", "T2_reliability")):
            values[name] = [line["T2"]["text"][k] if "T2" in line else None for line in lines]
    return {name: " ".join(short(value) for value in column) for name, column in values.items()}


def short(value):
    return "-" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
