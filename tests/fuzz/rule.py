"""The rule, applied to one mutant: read or refused by name, memory bounded, nothing left behind."""

import resource
import tempfile
import warnings
from pathlib import Path

from tests.fuzz.corpus import NAMED
from tests.fuzz.mutations import mutated

MOST_MEMORY = 1 << 20  # KiB by which the process may grow over one mutant


class Broken(AssertionError):
    """A mutant that broke the rule; the message says which."""


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def try_mutant(target, file, mutations):
    """ "read" or "refused"; raises Broken. `file` is the number of the file that is spoiled."""
    names = sorted(target.files)
    name = names[file % len(names)]
    files = target.files | {name: mutated(target.files[name], mutations)}
    before = peak()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        target.write(Path(folder), files)
        try:
            target.read(Path(folder))
            outcome = "read"
        except NAMED as error:
            if "\n" in str(error) or not str(error):
                raise Broken(f"{target.name}, {name}: an error of several lines or none: {error!r}") from error
            outcome = "refused"
        except Exception as error:
            raise Broken(f"{target.name}, {name}: {error!r}") from error
        left = [path for path in Path(folder).rglob("*") if path.name.endswith(".tmp")]
        if left:
            raise Broken(f"{target.name}, {name}: left behind: {left}")
    if peak() - before > MOST_MEMORY:
        raise Broken(f"{target.name}, {name}: {(peak() - before) >> 10} MiB for a file of {len(files[name])} bytes")
    return outcome
