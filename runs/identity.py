"""The identity of a run: the keys its numbers depend on, as canonical JSON, and their hash.

Results are matched by this hash, never by a name: a result counts for every row of any table with its identity. A key at its
default is not part of it, so a key can be added later without touching a stored result. For that a default never changes:
`runs/defaults.json` holds all of them, and a test compares it with the schema (`python -m tools.defaults` writes it).
"""

import hashlib
import json
from functools import cache
from pathlib import Path

DEFAULTS = Path(__file__).with_name("defaults.json")


def identity(config):
    """The keys of a configuration (nested dictionaries) that its numbers depend on. Seed and fold are kept beside it.

    Nets, datasets, perturbations and encodings have a version: it rises when what they compute changes, and is part of the identity
    from 2 on.
    """
    known = read_defaults()
    kept = without_defaults(config, known["defaults"], set(known["not_identity"]))
    versions = known["versions"]
    if (version := versions["dataset"].get(config.get("dataset"), 1)) != 1:
        kept["dataset_version"] = version
    for place, *keys in (("net", "net"), ("encodings", "net", "encodings"), ("transforms", "data", "transforms")):
        for section in sections_at(kept, keys):
            if (version := versions[place].get(kind_of(section), 1)) != 1:
                section["version"] = version
    return kept


def sections_at(config, keys):
    """The section that stands below these keys, or those of a list; none where a table file of a user has something else."""
    for key in keys:
        config = config.get(key) if isinstance(config, dict) else None
    return [section for section in (config if isinstance(config, list) else [config]) if isinstance(section, dict)]


def hash_of(identity):
    """16 hexadecimal digits."""
    return hashlib.sha256(canonical(identity).encode()).hexdigest()[:16]


def canonical(value):
    """The one JSON text of a value: keys sorted, no spaces, 12.0 as 12."""
    return json.dumps(plain(value), sort_keys=True, separators=(",", ":"), allow_nan=False)


AS_THEY_ARE = {str, int, bool, type(None)}


def plain(value):
    """Nested dictionaries and lists in which a number has one form."""
    if type(value) in AS_THEY_ARE:
        return value
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


@cache
def read_defaults():
    return json.loads(DEFAULTS.read_text())


def without_defaults(content, defaults, skipped, place=""):
    """`content` without the keys that stand at their default and without those that change no number.

    A key is known by its place: `train.batch_size`. A section that names its kind begins a place of its own, wherever it
    stands: `optimizer[adam].lr`, `net[GCN].L`, `encodings[LapPE].k`.
    """
    kept = {}
    for key, value in content.items():
        here = place + key
        if here in skipped:
            continue
        value = plain(_section(key, value, here, defaults, skipped))
        if value != {} and not (here in defaults and value == defaults[here]):
            kept[key] = value
    return kept


def _section(key, value, here, defaults, skipped):
    if isinstance(value, list | tuple):
        return [_section(key, inner, here, defaults, skipped) for inner in value]
    if not isinstance(value, dict):
        return value
    kind = kind_of(value)
    return without_defaults(value, defaults, skipped, f"{key}[{kind}]." if kind else f"{here}.")


def kind_of(section):
    """The kind that a section names: of a net its model."""
    return section.get("kind") or section.get("model")
