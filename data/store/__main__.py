"""`python -m data.store info|verify STORE` shows a store or compares all of it with its SHA-256."""

import argparse
import json
import signal
import sys
from pathlib import Path

from data.errors import StoreError
from data.store.checksums import DERIVED_FORMAT, FORMAT, HEADER, VERSION, Folder
from data.store.fields import RAGGED
from data.store.reader import Packed


def describe(store):
    counts = store.header["counts"]
    lines = [f"{store.name}: {store.path}", f"format {FORMAT} {VERSION}, ids {store.header['ids']}, hash {store.hash}"]
    lines.append(f"generator {json.dumps(store.header['generator'])}")
    lines.append(f"{counts['graphs']} graphs")
    for level in (level for level in RAGGED if f"{level}s" in counts):
        total, low, high = (counts[key] for key in (f"{level}s", f"min_{level}s", f"max_{level}s"))
        lines.append(f"{total} {level}s; per graph {low} to {high}, on average {total / max(counts['graphs'], 1):.2f}")
    for key, entry in store.header["arrays"].items():
        if not key.startswith("free.split."):
            types = f", {entry['n_types']} types" if entry.get("n_types") else ""
            lines.append(f"  {key:20} {entry['dtype']} {tuple(entry['shape'])}{types}, {entry['bytes']:,} bytes")
    for name, parts in store.header["splits"].items():
        sizes = (f"{part} {store.header['arrays'][f'free.split.{name}.{part}']['shape'][0]}" for part in parts)
        lines.append(f"  split {name}: {', '.join(sizes)}")
    for path in sorted(store.path.glob(f"derived/*/{HEADER}")):
        header = Folder(path.parent, DERIVED_FORMAT).header
        lines.append(f"  derived {path.parent.name}: {header['description']} {json.dumps(header['parameters'])}")
    return "\n".join(lines)


def main(argv=None):
    parser = argparse.ArgumentParser(prog="python -m data.store", description="Look at a packed dataset store.")
    parser.add_argument("command", choices=("info", "verify"), help="info: summary; verify: compare all SHA-256")
    parser.add_argument("path", type=Path, help="folder of the store")
    arguments = parser.parse_args(argv)
    try:
        store = Packed(arguments.path)
        if arguments.command == "verify":
            store.verify()
        print(describe(store) if arguments.command == "info" else f"{store.path}: all files match their SHA-256")
    except StoreError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # nobody reads on, as behind `| head`
    sys.exit(main())
