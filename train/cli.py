"""The command line of a main file, made from the schema: a row of a table file, every key overridden by `--net.hidden_dim 70`.

Unknown keys, rows and values are refused in one line that says what would be right.
"""

import argparse
import difflib
import json
import re
import types
import typing
from typing import Literal

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from nets import NETS
from runs.errors import ConfigError, nearest
from runs.identity import identity, kind_of
from runs.naming import changed_keys, run_name
from runs.table_files import find_row, find_table, table_files, with_changes
from train.config import Config


def parse_config(
    argv, main, datasets, default, description="", first_try=None, schema_of=lambda content: Config, prefix=None
):
    """The configuration that the command line of main_MAIN.py asks for.

    `datasets` holds the datasets it can run, by name; `default` is the row to run without --config, as "table3/GCN-LapPE-L4".
    `first_try` is the small dataset to use when neither --config nor --dataset is given. `schema_of` says which schema the content
    of a row follows. Datasets whose name begins with `prefix` are accepted too.
    """
    chooser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    chooser.add_argument(
        "--config", metavar="ROW", help=f"a row, as {default}, or FILE.json/ROW of a table file of yours"
    )
    chooser.add_argument("--model", metavar="NAME", help="the row of another model")
    chosen, words = chooser.parse_known_args(argv)
    row = choose_row(main, chosen, asked_dataset(words, datasets, prefix), default)
    content = {"seed": row.seeds[0], **row.config}
    schema = schema_of(content)
    check_model(row, content, schema)

    keys = all_keys(schema, with_changes(content, asked_kinds(words)))
    overrides = parse_overrides(words, keys, chooser, content, description, epilog(main, datasets, default, first_try))
    if first_try and not chosen.config:
        overrides.setdefault("dataset", first_try)
    if overrides.get("net.model", None) not in (None, content.get("net", {}).get("model")):
        raise ConfigError(f"net.model={overrides['net.model']!r}: {row} is a row of another. Choose a row with --model")
    validate(content, row, schema)
    config = validate(with_changes(content, overrides), f"{row} with the command line", schema)
    if not known_dataset(config.dataset, datasets, prefix):
        raise ConfigError(f"{row}: dataset={config.dataset!r}: main_{main}.py knows {', '.join(datasets)}")
    changed = changed_keys(identity(content), identity(config.model_dump()))
    config._name = run_name(str(row), changed)
    return config


# --------------------------------------------------------------------------------------------------------------------
# Which row


def choose_row(main, chosen, dataset, default):
    """The row of --config, or the first row of a table of this main file that has the asked dataset and model."""
    if chosen.config and chosen.model:
        raise ConfigError("--config and --model: give one of them, the row says which model it is")
    if chosen.config:
        row = find_row(chosen.config, main)
        if row.table.main != main:
            raise ConfigError(f"{row}: main_{row.table.main}.py runs it, not main_{main}.py")
        return row
    base = find_row(default)
    if not chosen.model and dataset in (None, base.config["dataset"]):
        return base
    first = find_table(default.rpartition("/")[0])
    tables = [first, *(table for table in table_files().values() if table.main == main and table is not first)]
    model = chosen.model or model_of(base)
    rows = [row for table in tables for row in table.rows.values()]
    for name in (dataset, dataset and dataset.split("-")[0], base.config["dataset"]):
        of_dataset = [row for row in rows if row.config["dataset"] == name]
        if found := [row for row in of_dataset if model_of(row) == model]:
            return found[0]
        if of_dataset:
            have = list(dict.fromkeys(map(model_of, of_dataset)))
            raise ConfigError(
                f"--model {model}: no such row of {name}.{nearest(model, have)} Rows exist for {', '.join(have)}"
            )
    return base


def model_of(row):
    """The model of a row's net, or the name of its method."""
    return row.config.get("method") or row.config.get("net", {}).get("model")


def known_dataset(name, datasets, prefix):
    return name in datasets or bool(prefix and name.startswith(prefix))


def asked_dataset(words, datasets, prefix):
    """The name behind --dataset, or None."""
    peek = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    peek.add_argument("--dataset")
    name = peek.parse_known_args(words)[0].dataset
    if name is not None and not known_dataset(name, datasets, prefix):
        more = f" and {prefix}NAME" if prefix else ""
        raise ConfigError(f"--dataset {name}:{nearest(name, datasets)} This program knows {', '.join(datasets)}{more}")
    return name


def asked_kinds(words):
    """{"train.schedule.kind": "cosine"}: the kinds of sections that the command line changes; their keys are then others."""
    kinds = {}
    for i, word in enumerate(words):
        key, equals, value = word.removeprefix("--").partition("=")
        if word.startswith("--") and key.endswith(".kind"):
            kinds[key] = value if equals else "".join(words[i + 1 : i + 2])
    return kinds


def check_model(row, content, schema):
    model = content.get("net", {}).get("model") if isinstance(content.get("net"), dict) else None
    if "net" in schema.model_fields and (not isinstance(model, str) or model not in NETS):
        raise ConfigError(f"{row}: net.model={model!r}: expected one of {', '.join(NETS)}")


# --------------------------------------------------------------------------------------------------------------------
# Keys of a schema


def all_keys(schema, content):
    """{'net.hidden_dim': field} for every key that a configuration of this schema may have, given the kinds that it names."""
    return dict(leaf_keys(schema, content))


def leaf_keys(schema, content, prefix=""):
    for name, field in schema.model_fields.items():
        inner = content.get(name) if isinstance(content, dict) else None
        section = section_schema(field, inner)
        if section is None:
            yield prefix + name, field
            continue
        keys = dict(leaf_keys(section, inner or {}, f"{prefix}{name}."))
        if (kind := f"{prefix}{name}.kind") in keys:  # of the section's schema it has one value, of the key several
            kinds = tuple(value for t in section_choices(field) for value in kinds_of(t, "kind"))
            keys[kind] = FieldInfo(annotation=Literal[kinds], description=keys[kind].description)
        yield from keys.items()


def section_schema(field, content):
    """The schema of a key that is a section: of several kinds the one that the content names, or else the default's."""
    choices = section_choices(field)
    if len(choices) <= 1:
        return choices[0] if choices else None
    kind = kind_of(content) if isinstance(content, dict) else None
    if kind is None and not field.is_required():
        return type(field.get_default())
    named = [t for t in choices for key in ("kind", "model") if key in t.model_fields and kind in kinds_of(t, key)]
    return named[0] if named else choices[0]


def section_choices(field):
    return [t for t in type_choices(field) if isinstance(t, type) and issubclass(t, BaseModel)]


def kinds_of(schema, key):
    return typing.get_args(schema.model_fields[key].annotation)


def type_choices(field):
    """The plain types that a key accepts: (int,), (str, NoneType), ..."""
    if isinstance(field.annotation, types.UnionType) or typing.get_origin(field.annotation) is typing.Union:
        return typing.get_args(field.annotation)
    return (field.annotation,)


def parse_overrides(words, keys, chooser, content, description, epilog):
    """{'net.hidden_dim': 70, ...} from the words of the command line."""
    parser = argparse.ArgumentParser(
        description=description,
        parents=[chooser],
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=epilog,
    )
    for name, field in keys.items():
        value = look_up(content, name, field)
        help_text = f"{field.description or name} ({allowed(field)}; here {json.dumps(value, default=str)})".replace(
            "%", "%%"
        )
        flag = {"nargs": "?", "const": "true"} if field.annotation is bool else {}
        parser.add_argument(f"--{name}", dest=name, default=argparse.SUPPRESS, metavar="VALUE", help=help_text, **flag)
    given, unknown = parser.parse_known_args(words)
    if unknown:
        word = unknown[0].split("=")[0]
        raise ConfigError(f"{word}: unknown.{nearest_key(word.lstrip('-'), keys, '--')} --help lists all keys")
    return {key: from_text(text, keys[key]) for key, text in vars(given).items() if key in keys}


def epilog(main, datasets, default, first_try):
    small = f" on {first_try}, a first try, unless --dataset names another" if first_try else ""
    return (
        f"Datasets: {', '.join(datasets)}. Without --config, {default} is run{small}, or with --model and --dataset the first "
        "row of theirs in configs/. The keys are those of the row's model. A finished run is not run again; an interrupted one "
        "goes on."
    )


def nearest_key(word, keys, prefix=""):
    """' Did you mean --train.optimizer.lr?': a key of nearly this last word, in the same section if it can be; else the nearest."""
    section, _, last = word.rpartition(".")
    inside = [key for key in keys if section and key.startswith(f"{section}.")]
    for some in (inside, keys):
        names = {key.rpartition(".")[2]: key for key in reversed(list(some))}
        if close := difflib.get_close_matches(last, names, n=1, cutoff=0.7):
            return f" Did you mean {prefix}{names[close[0]]}?"
    return nearest(prefix + word, [prefix + key for key in inside or keys])


def from_text(text, field):
    """A word of the command line as the JSON value it stands for; a text key takes it as it is, a list also as 1,2,3."""
    choices = type_choices(field)
    if str in choices:
        return None if text == "null" and type(None) in choices else text
    if any(typing.get_origin(t) is list for t in choices) and re.fullmatch(r"-?\d+(,-?\d+)*,?", text):
        text = f"[{text.rstrip(',')}]"
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def allowed(field):
    """What a key accepts, in words: 'one of mean, sum, max' or 'int > 0'."""
    if typing.get_origin(field.annotation) is Literal:
        return "one of " + ", ".join(map(str, typing.get_args(field.annotation)))
    signs = {"gt": ">", "ge": ">=", "lt": "<", "le": "<="}
    bounds = [
        f"{sign} {getattr(m, key)}"
        for m in field.metadata
        for key, sign in signs.items()
        if getattr(m, key, None) is not None
    ]
    names = [type_name(t) for t in type_choices(field)]
    return " ".join([" or ".join(names), " and ".join(bounds)]).strip()


def type_name(kind):
    if kind is type(None):
        return "null"
    if typing.get_origin(kind) is list:
        inner = typing.get_args(kind)
        return f"list of {type_name(inner[0])}" if inner else "list"
    if typing.get_origin(kind) is typing.Annotated:
        return type_name(typing.get_args(kind)[0])
    if isinstance(kind, types.UnionType) or typing.get_origin(kind) is typing.Union:
        return " or ".join(type_name(t) for t in typing.get_args(kind))
    if isinstance(kind, type) and issubclass(kind, BaseModel) and "kind" in kind.model_fields:
        return f'{{"kind": "{"|".join(kinds_of(kind, "kind"))}", ...}}'
    return kind.__name__ if isinstance(kind, type) else str(kind)


def look_up(content, key, field):
    for part in key.split("."):
        if not isinstance(content, dict) or part not in content:
            return field.get_default() if not field.is_required() else None
        content = content[part]
    return content


# --------------------------------------------------------------------------------------------------------------------
# Checking


def validate(content, source, schema=Config):
    try:
        return schema.model_validate(content)
    except ValidationError as error:
        lines = [explain_error(problem, schema, content) for problem in error.errors()]
        raise ConfigError("\n".join(f"{source}: {line}" for line in lines)) from None
    except RecursionError:
        raise ConfigError(f"{source}: nested too deep") from None


def explain_error(problem, schema, content):
    """One line for one problem: the key, the value seen, what is allowed, and the nearest valid name of an unknown key."""
    place, keys = key_of(problem["loc"], content), all_keys(schema, content)
    key = ".".join(place)
    if problem["type"] == "extra_forbidden":
        return f"{key}={problem['input']!r}: unknown key.{nearest_key(key, keys)}"
    if problem["type"] == "missing":
        return f"{key}: missing. Expected {allowed(keys[key])}" if key in keys else f"{key}: missing"
    if problem["type"] in ("union_tag_invalid", "union_tag_not_found"):
        kinds = problem["ctx"].get("expected_tags", "the kinds of this section")
        return f"{key}: {problem['ctx'].get('tag', 'no kind')!r}: expected one of {kinds}"
    if key in keys:
        return f"{key}={problem['input']!r}: expected {allowed(keys[key])}"
    value = "" if isinstance(problem["input"], dict) else f"={problem['input']!r}"
    return f"{key}{value}: {problem['msg'].removeprefix('Value error, ')}"


def key_of(location, content):
    """The names of a key, without the kinds that pydantic puts between them."""
    place = []
    for part in location:
        if isinstance(content, dict) and part not in content and part == kind_of(content):
            continue
        place.append(str(part))
        if isinstance(content, dict):
            content = content.get(part)
        elif isinstance(content, list) and isinstance(part, int) and part < len(content):
            content = content[part]
        else:
            content = None
    return place
