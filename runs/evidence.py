"""The list of the project's own runs, configs/evidence.json. Its first entries are worth most per hour.

    {"table": "table3", "rows": ["GCN-*"], "seeds": 5, "why": ...}

An entry names a table, rows (all when none is named; * fits any text), how many of their seeds (1) and from which on
(`from_seed`, 0), how many folds, another `dataset`, and in `changes` keys that differ from a row's, as
{"categories": "Basic,CFI"}: such runs are never taken for the row's.
"""

import json
from pathlib import Path

from runs.errors import ConfigError, nearest
from runs.table_files import ROOT, chosen_rows, find_table

LIST = ROOT / "configs" / "evidence.json"
KEYS = {
    "table": str,
    "rows": list,
    "seeds": int,
    "from_seed": int,
    "folds": int,
    "dataset": str,
    "changes": dict,
    "why": str,
}


def read_list(path=LIST):
    """The entries."""
    entries = json.loads(Path(path).read_text())
    for entry in entries:
        for key, value in entry.items():
            if key not in KEYS or not isinstance(value, KEYS[key]):
                raise ConfigError(f"{path}: {key}={value!r}: expected one of {', '.join(KEYS)}.{nearest(key, KEYS)}")
    return entries


def seeds_of(entry, row):
    """The seeds of a row that an entry asks for."""
    first = entry.get("from_seed", 0)
    return row.seeds[first : first + entry.get("seeds", 1)]


def runs_of(entry):
    """[(row, identity's hash, seed, fold)] that an entry asks for."""
    changed = entry.get("changes", {}) | ({"dataset": entry["dataset"]} if "dataset" in entry else {})
    rows = chosen_rows(find_table(entry["table"]), entry.get("rows", []))
    return [
        (row, id, seed, fold)
        for row in rows
        for id in [row.id(changed)]
        for seed in seeds_of(entry, row)
        for fold in range(row.folds)[: entry.get("folds")]
    ]
