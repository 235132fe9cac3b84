"""How a run is called, for people: by its row, and by the keys in which it differs from the row."""

import hashlib
import json

from runs.identity import kind_of


def run_name(row, changed):
    """table3/GCN-LapPE-L4, or table3/GCN-LapPE-L4+net.L=8 when keys differ from the row's."""
    text = "".join(f"+{key}={'default' if value is None else as_text(value)}" for key, value in sorted(changed.items()))
    if len(text) > 80:
        text = f"{text[:60]}...{hashlib.sha256(text.encode()).hexdigest()[:8]}"
    return row + text


def as_text(value):
    """A value as the command line takes it."""
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def changed_keys(old, new, prefix=""):
    """{'net.L': 8} for the keys in which two identities differ; None for what is at its default now."""
    changed = {}
    for key in old | new:
        before, value = old.get(key), new.get(key)
        if isinstance(value, dict):
            before = before if isinstance(before, dict) else {}
            same = kind_of(before) == kind_of(value)
            changed |= changed_keys(before if same else {}, value, f"{prefix}{key}.")
        elif before != value:
            changed[prefix + key] = value
    return changed
