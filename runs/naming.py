"""How a run is called, for people: by its row, and by the keys in which it differs from the row."""

import hashlib
import json


def run_name(row, changed):
    """table3/GCN-LapPE-L4, or table3/GCN-LapPE-L4+net.L=8 when keys differ from the row's."""
    text = "".join(f"+{key}={as_text(value)}" for key, value in sorted(changed.items()))
    if len(text) > 80:
        text = f"{text[:60]}...{hashlib.sha256(text.encode()).hexdigest()[:8]}"
    return row + text


def as_text(value):
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def changed_keys(old, new, prefix=""):
    """{'net.L': 8} for the keys in which two identities differ; None for one that is at its default now."""
    changed = {}
    for key in old | new:
        before, value = old.get(key), new.get(key)
        if isinstance(value, dict) or isinstance(before, dict):
            changed |= changed_keys(before or {}, value or {}, f"{prefix}{key}.")
        elif before != value:
            changed[prefix + key] = value
    return changed
