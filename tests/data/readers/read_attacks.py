"""A process of its own that reads the files of `attacks.write`, and prints as JSON what became of each and its peak of memory.

    python -m tests.data.readers.read_attacks FOLDER LIMIT

Nothing may be imported, opened or run while a file is read: an audit hook would see it.
"""

import io
import json
import pickle
import sys
import zipfile
from pathlib import Path

from data.errors import DataError
from data.readers.unpickle import UnpickleError, load_pickle, load_torch

FORBIDDEN = ("import", "exec", "compile", "open", "os.", "subprocess.", "socket.", "ctypes.")


def load(path, content, limit):
    """What became of a file: "read", or the error. Any other exception than the two expected ends the process."""
    file = io.BytesIO(content)
    try:
        load_torch(file, path, limit) if path.endswith(".pt") else load_pickle(file, limit)
    except (UnpickleError, DataError) as error:
        return f"{type(error).__name__}: {error}"
    return "read"


def peak():
    """kB of memory that this process has taken at most."""
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])


def main(folder, limit):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("archive/data.pkl", b"N.")
    for path, content in (("protocol 0.pickle", pickle.dumps("ä", 0)), ("a zip.pt", archive.getvalue())):
        assert load(path, content, limit) == "read"  # what the standard library imports late is there now
    seen, results = [], {}
    sys.addaudithook(lambda event, _: event.startswith(FORBIDDEN) and seen.append(event))
    before = peak()
    for i, path in enumerate(json.loads((folder / "names.json").read_text())):
        content = (folder / str(i)).read_bytes()
        seen.clear()
        result = load(path, content, limit)
        results[path] = f"did {', '.join(seen)}" if seen else result
    print(json.dumps({"results": results, "grown": peak() - before}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
