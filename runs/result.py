"""The result of a run: one flat record with a checksum, from which all tables are made.

A run writes its record to result.json. In results/ a file holds many: a header line per configuration, then a line per run.
"""

import hashlib
import json
import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from runs.identity import canonical, hash_of
from runs.measures import Measure

ROOT = Path(__file__).resolve().parent.parent
FORMAT = 2
HEADER = ("name", "config", "measures")  # what all runs of a configuration share
TYPES = {
    "format": int, "id": str, "name": str, "config": dict, "measures": list, "seed": int, "fold": int, "status": str,
    "select": str, "params": int, "dataset": dict, "finished": str,
}  # fmt: skip
OPTIONAL = ("params",)  # null for a method without parameters


def signed(record):
    """The record with its checksum."""
    return {**record, "sum": checksum(record)}


def checksum(record):
    content = {key: value for key, value in record.items() if key != "sum"}
    return hashlib.sha256(canonical(content).encode()).hexdigest()[:12]


def is_whole(content):
    """Whether the content of a line has the checksum that it says; what cannot have one (NaN) is not whole."""
    try:
        return isinstance(content.get("sum"), str) and content["sum"] == checksum(content)
    except (ValueError, TypeError, RecursionError):
        return False


def problem_of(record):
    """Why a record cannot count, or "": foreign, damaged or impossible."""
    if not isinstance(record, dict) or record.get("format") != FORMAT or "sum" not in record:
        return "not a result of this project"
    if not is_whole(record):
        return "damaged: its checksum is wrong"
    return problem_of_content(record)


def problem_of_content(record):
    """The same of a record that is whole."""
    for key, kind in TYPES.items():
        value = record.get(key)
        if not (value is None and key in OPTIONAL) and (not isinstance(value, kind) or isinstance(value, bool)):
            return f"{key}={value!r}: expected {kind.__name__}"
    if record["id"] != hash_of(record["config"]):
        return f"id={record['id']}: its configuration has another identity"
    try:
        return impossible_number(record)
    except (KeyError, TypeError, AttributeError, OverflowError) as error:
        return f"damaged: {type(error).__name__} {error}"


def impossible_number(record):
    """The first number that cannot be, or ""."""
    for key in ("seed", "fold", "params", "epochs", "epoch_time_s", "total_time_hr"):
        value = record[key]
        if value is not None and not Measure(key, "min").allows(value):
            return f"{key}={value!r}: impossible"
    if record["status"] != "ok":
        return ""
    if "n_pairs" in record:
        return impossible_count(record)
    measures = {measure["name"]: Measure(**measure) for measure in record["measures"]}
    measures["loss"] = Measure("loss", "min", low=None)
    for epoch, splits in {record["select"]: {}, **record["metrics"]}.items():
        if not splits:
            return f"the metrics of {epoch} are missing"
        for split, values in splits.items():
            for name, value in values.items():
                if name not in measures or not measures[name].allows(value):
                    return f"{epoch}, {split}: {name}={value!r}: impossible"
    return ""


def impossible_count(record):
    """The same for a run over pairs of graphs: no category has more pairs told apart than pairs."""
    n_pairs = record["n_pairs"]
    for statistic, values in {record["select"]: {}, **record["metrics"]}.items():
        if not values:
            return f"the metrics of {statistic} are missing"
        for category, n in values["distinguished"].items():
            if category not in n_pairs or not Measure(category, "max", high=n_pairs[category]).allows(n):
                return f"{statistic}, {category}: {n!r} of {n_pairs.get(category)} pairs: impossible"
    return ""


# --------------------------------------------------------------------------------------------------------------------
# Lines of results/PAPER/TABLE.jsonl


def as_lines(records):
    """The lines of a file in the order of the records: a header, then the runs that it holds for."""
    lines, headers = [], {}
    for record in records:
        header = {key: record[key] for key in HEADER}
        if headers.get(record["id"]) != header:
            headers[record["id"]] = header
            lines.append(signed({"format": FORMAT, "id": record["id"], **header}))
        lines.append(signed({key: value for key, value in record.items() if key not in (*HEADER, "sum")}))
    return "".join(json.dumps(line) + "\n" for line in lines)


def from_lines(text):
    """(records, problems): the runs of a file with what their header says. Damaged and foreign lines are named and left out."""
    headers, records, problems, lines = {}, [], [], {}  # lines: the first line of each run
    for number, line in enumerate(text.splitlines(), 1):
        content, problem = read_line(line)
        if not problem and "config" in content:
            headers[content["id"]] = {key: content.get(key) for key in HEADER}
        elif not problem and content["id"] not in headers:
            problem = "no header of its configuration stands before it"
        elif not problem:
            del content["sum"]
            record = signed({"format": FORMAT, "id": content["id"], **headers[content["id"]], **content})
            problem = problem_of_content(record)
            if (
                not problem
                and (first := lines.setdefault((record["id"], record["seed"], record["fold"]), number)) != number
            ):
                problem = f"line {first} is of the same run: remove one"
            if not problem:
                records.append(record)
        if problem:
            problems.append(f"line {number}: {problem}")
    return records, problems


def read_line(line):
    """(content, why it does not count or "")"""
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        return None, "damaged: not JSON"
    if not isinstance(content, dict) or content.get("format") != FORMAT or not isinstance(content.get("id"), str):
        return None, "not a result of this project"
    if not is_whole(content):
        return None, "damaged: its checksum is wrong"
    return content, ""


# --------------------------------------------------------------------------------------------------------------------
# What a result was made with


def made_with(dataset, device, threads, gpu=None, memory=None):
    """On what data, with what programs, on what kind of machine. `dataset` has a name and a hash, and the hash of what it was made
    from, if that is another (perturbed graphs); `gpu` and `memory` (GB) are those of a GPU."""
    source = getattr(dataset, "source_hash", dataset.hash)
    return {
        "dataset": {"name": dataset.name, "hash": dataset.hash}
        | ({"source": source} if source != dataset.hash else {}),
        "device": device,
        "threads": threads,
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("torch", "dgl", "numpy")},
        },
        "commit": git_commit(),
        "host": describe_host(gpu, memory),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def git_commit():
    """The commit this code is at, with a + when files differ from it; None outside a git checkout."""

    def git(*words):
        return subprocess.run(
            ["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=True
        ).stdout.strip()

    try:
        return git("rev-parse", "HEAD") + ("+" if git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def machine_memory():
    """GB of this machine; None where the system does not say."""
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (ValueError, OSError, AttributeError):
        return None


def was_short_of_memory(record, memory):
    """Whether a run ended as OOM where there was less memory (GB) than `memory`: then it is worth another try."""
    then = record["host"].get("memory") if isinstance(record.get("host"), dict) else None
    return record.get("status") == "OOM" and isinstance(then, int | float) and bool(memory) and memory > then


def describe_host(gpu=None, memory=None):
    """The kind of machine, not its name."""
    cpu = platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [
            line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")
        ]
        cpu = names[0] if names else cpu
    return {
        "system": platform.system(),
        "cpu": cpu,
        "cores": os.cpu_count(),
        "gpu": gpu,
        "memory": memory or machine_memory(),
    }
