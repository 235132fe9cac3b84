"""How a run is called: by its row, and by the keys in which it differs from the row."""

import hashlib

QUICK = {"data.limit": 8, "train.epochs": 2}  # what QUICK=1 changes


def run_name(stem, changed):
    """T3-CSL-GCN-LapPE-L4, or T3-CSL-GCN-LapPE-L4+net.L=8 when keys differ from the file's."""
    text = "".join(f"+{key}={value}" for key, value in sorted(changed.items())).replace("/", "_")
    if len(text) > 80:
        text = f"{text[:60]}...{hashlib.sha256(text.encode()).hexdigest()[:8]}"
    return stem + text
