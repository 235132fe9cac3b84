"""Writes runs/defaults.json, the defaults of all keys, from the schema: what identities are made with, without torch.

    python -m tools.defaults            adds keys that are new
    python -m tools.defaults --check    exit 1 if the file is not what the schema says

A default that is in the file never changes, and a key that is in it never goes: stored results depend on them. Versions of nets,
datasets, perturbations and encodings may rise.
"""

import argparse
import json
import sys
import typing

from pydantic import BaseModel

from data.registry import DATASETS
from data.transforms.perturb import AnyPerturbation
from nets import NETS
from nets.encodings import AnyEncoding
from runs.files import write_atomic
from runs.identity import DEFAULTS, plain, without_defaults
from train.cli import kinds_of, type_choices
from train.config import Config
from train.pair_config import MethodPairConfig, NetPairConfig
from train.selection import SelectionConfig

SCHEMAS = (Config, NetPairConfig, MethodPairConfig, SelectionConfig)


def walk(schema, place, defaults, skipped):
    """Fill `defaults` {place: value} and `skipped`, the places of keys that change no number."""
    for name, field in schema.model_fields.items():
        here = place + name
        if (field.json_schema_extra or {}).get("identity", True) is False:
            skipped.add(here)
            continue
        for section in sections(field):
            kind = next((kinds_of(section, key)[0] for key in ("kind", "model") if is_literal(section, key)), None)
            walk(section, f"{name}[{kind}]." if kind else f"{here}.", defaults, skipped)
        if not field.is_required() and not is_literal(schema, name):
            value = as_plain(name, field.get_default(call_default_factory=True), here, defaults, skipped)
            if value != {} and defaults.setdefault(here, value) != value:
                raise SystemExit(f"{here}: two schemas have different defaults, {defaults[here]!r} and {value!r}")


def is_literal(schema, key):
    """Whether a key names the kind of its section: it has one value."""
    if key not in ("kind", "model") or key not in schema.model_fields:
        return False
    return len(typing.get_args(schema.model_fields[key].annotation)) == 1


def sections(field):
    """The schemas of the sections that a key may hold, also in a list."""
    found = []
    for choice in type_choices(field):
        inner = typing.get_args(choice) if typing.get_origin(choice) is list else (choice,)
        for kind in inner:
            while typing.get_origin(kind) is typing.Annotated:
                kind = typing.get_args(kind)[0]
            kinds = typing.get_args(kind) or (kind,)
            found += [k for k in kinds if isinstance(k, type) and issubclass(k, BaseModel)]
    return found


def as_plain(name, value, here, defaults, skipped):
    if not isinstance(value, BaseModel):
        return plain(value)
    dumped = value.model_dump()
    kind = dumped.get("kind")
    # a section of one schema with several values of `kind` keeps it
    return without_defaults(dumped, defaults, skipped, f"{name}[{kind}]." if kind else f"{here}.")


def make():
    defaults, skipped = {}, set()
    for schema in SCHEMAS:
        walk(schema, "", defaults, skipped)
    versions = {
        "net": {name: net.Config.version for name, net in NETS.items() if net.Config.version != 1},
        "encodings": versions_of(AnyEncoding),
        "transforms": versions_of(AnyPerturbation),
        "dataset": {name: dataset.version for name, dataset in DATASETS.items() if getattr(dataset, "version", 1) != 1},
    }
    return {"defaults": defaults, "not_identity": sorted(skipped), "versions": versions}


def versions_of(union):
    """{kind: version} of the sections that a union has, where it is not 1."""
    sections = typing.get_args(typing.get_args(union)[0])
    found = {typing.get_args(section.model_fields["kind"].annotation)[0]: section.version for section in sections}
    return {kind: version for kind, version in found.items() if version != 1}


def conflicts(old, new):
    """What the file says and the schema no longer does: keys that are gone or have another default, versions that fell."""
    gone = [
        f"{place}: {value!r} in the file, gone from the schema"
        for place, value in old["defaults"].items()
        if place not in new["defaults"]
    ]
    changed = [
        f"{place}: {value!r} in the file, {new['defaults'][place]!r} in the schema"
        for place, value in old["defaults"].items()
        if new["defaults"].get(place, value) != value
    ]
    fallen = [
        f"{place} {name}: version {version} in the file, {now} in the code"
        for place, versions in old.get("versions", {}).items()
        for name, version in versions.items()
        if (now := new["versions"][place].get(name, 1)) < version
    ]
    return gone + changed + fallen


def main(argv=None):
    parser = argparse.ArgumentParser(
        prog="python -m tools.defaults", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 if the file is not what the schema says"
    )
    check = parser.parse_args(argv).check
    new = make()
    old = json.loads(DEFAULTS.read_text()) if DEFAULTS.exists() else {"defaults": {}}
    if problems := conflicts(old, new):
        raise SystemExit(
            "\n".join(problems)
            + "\nA default never changes, and a version never falls: give the changed behaviour a new key or version"
        )
    if check:
        return 0 if old == new else "runs/defaults.json is not what the schema says: python -m tools.defaults"
    write_atomic(DEFAULTS, (json.dumps(new, indent=1) + "\n").encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
