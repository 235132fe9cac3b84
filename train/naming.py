"""How a run is called: by its row, and by the keys in which it differs from the row."""

import hashlib

QUICK = {"data.limit": 8, "train.epochs": 2}  # what QUICK=1 changes
QUICK_PAIRS = {"data.limit": 1, "train.epochs": 2}  # in a run over pairs: one of each part


def quick_changes(content):
    """What QUICK=1 changes in a row's configuration; one without training has no epochs."""
    changes = QUICK_PAIRS if {"method", "test"} & content.keys() else QUICK
    return {key: value for key, value in changes.items() if key.startswith("data.") or "train" in content}


def run_name(stem, changed):
    """T3-CSL-GCN-LapPE-L4, or T3-CSL-GCN-LapPE-L4+net.L=8 when keys differ from the file's."""
    text = "".join(f"+{key}={value}" for key, value in sorted(changed.items())).replace("/", "_")
    if len(text) > 80:
        text = f"{text[:60]}...{hashlib.sha256(text.encode()).hexdigest()[:8]}"
    return stem + text
