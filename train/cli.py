"""The command line of a main file, made from the schema: a row of a table file, every key overridden by `--net.hidden_dim 70`.

Unknown keys, rows and values are refused in one line that says what would be right.
"""

import argparse
import json
import types
import typing
from functools import partial
from typing import Literal

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from nets import NETS
from runs.errors import ConfigError, nearest, similar
from runs.identity import identity, kind_of
from runs.naming import changed_keys, run_name
from runs.table_files import expand, find_row, find_table, table_files, with_changes
from train.config import Config
from train.distributed import number_of_processes

# what other programs call a key: its last word here
OTHER_WORDS = {
    "layers": "L", "n_layers": "L", "num_layers": "L", "depth": "L", "hidden": "hidden_dim", "width": "hidden_dim",
    "learning_rate": "lr", "batch": "batch_size", "wd": "weight_decay", "gpu": "device", "cuda": "device", "pe": "encodings",
    "readout": "pool", "num_workers": "workers", "output": "out_dir", "max_epochs": "epochs", "n_epochs": "epochs",
}  # fmt: skip


def parse_config(
    argv, main, datasets, default, description="", first_try=None, schema_of=lambda content: Config, prefix=None
):
    """The configuration that the command line of main_MAIN.py asks for.

    `datasets` holds the datasets it can run, by name; `default` is the row to run without --config, as "table3/GCN-LapPE-L4".
    `first_try` is the small dataset to use when neither --config nor --dataset is given. `schema_of` says which schema the content
    of a row follows. Datasets whose name begins with `prefix` are accepted too.
    """
    chooser = make_chooser(default)
    chosen, words = chooser.parse_known_args(argv)
    for key in ("scores", "weights"):
        if getattr(chosen, key) and not chosen.predict:
            raise ConfigError(f"--{key} {getattr(chosen, key)}: it needs --predict FILE beside it, the graphs to score")
    row = choose_row(main, chosen, asked_dataset(words, main, datasets, prefix), default)
    content = {"seed": row.seeds[0], **row.config}
    content, schema = with_grid(row, content, schema_of(content), words, chosen.select)
    check_model(row, content, schema)

    keys = all_keys(schema, with_changes(content, asked_kinds(words)))
    parser = make_parser(keys, chooser, content, description, epilog(default, first_try), names_of(datasets, prefix))
    overrides = parse_overrides(words, keys, parser, partial(who_has, schema, content))
    if first_try and not chosen.config:
        overrides.setdefault("dataset", first_try)
    if "train.processes" in keys and number_of_processes() > 1:  # torchrun says how many; the key follows it
        overrides.setdefault("train.processes", number_of_processes())
    if overrides.get("net.model", None) not in (None, content.get("net", {}).get("model")):
        raise ConfigError(f"net.model={overrides['net.model']!r}: {row} is a row of another. Choose a row with --model")
    check_seeds(overrides)
    validate(content, row, schema)
    config = validate(with_changes(content, overrides), f"{row} with the command line", schema)
    if not known_dataset(config.dataset, datasets, prefix):
        raise ConfigError(f"{row}: dataset={config.dataset!r}: main_{main}.py knows {names_of(datasets, prefix)}")
    check_processes(main, config)
    changed = changed_keys(identity(row.config), identity(config.model_dump()))
    config._name = run_name(str(row), changed)
    if chosen.predict:  # like --help, it ends the program
        from train.prediction import predict_file

        predict_file(config, chosen.predict, chosen.scores, chosen.weights)
        raise SystemExit(0)
    return config


def check_processes(main, config):
    """As many processes as train together must have been started."""
    started, wanted = number_of_processes(), getattr(getattr(config, "train", None), "processes", 1)
    if hasattr(config, "grid") or wanted == 1 < started:
        wanted = 1
    if wanted != started:
        how = f"by torchrun --nproc_per_node={wanted}" if wanted > 1 else "without torchrun"
        raise ConfigError(
            f"main_{main}.py: {started} processes were started, this training has {wanted}: start it {how}"
        )


# --------------------------------------------------------------------------------------------------------------------
# Which row


def make_chooser(default):
    """The parser of what is not a key of the configuration."""
    chooser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    for name, metavar, text in (
        ("config", "ROW", f"a row, as {default}, or FILE.json/ROW of a table file of yours"),
        ("model", "NAME", "the row of another model"),
        ("predict", "FILE", "no training: the scores of the trained net for the graphs of an .npz file (docs/runs.md)"),
        ("scores", "FILE", "with --predict: an .npz file for the scores, which are printed otherwise"),
        ("weights", "EPOCH", "with --predict: best or last, instead of what the row says"),
    ):
        chooser.add_argument(f"--{name}", metavar=metavar, help=text)
    chooser.add_argument(
        "--select",
        action="store_true",
        help="compare the configurations of the row's grid, train and test the best (docs/runs.md)",
    )
    return chooser


def with_grid(row, content, schema, words, select):
    """(content, schema) of a row with a grid, in the table file or behind --grid: that of a model selection."""
    peek = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    peek.add_argument("--grid", type=as_json)
    grid = peek.parse_known_args(words)[0].grid or content.get("grid")
    if grid is None and select:
        raise ConfigError(
            f"--select: {row} has no grid: add one to the table file, or as --grid '{{\"net.L\": [2, 4]}}'"
        )
    if grid is None:
        return content, schema
    if not issubclass(schema, Config):
        raise ConfigError(f"{row}: grid: only nets that are trained on folds are selected")
    from train.selection import SelectionConfig  # which builds on this module

    if not isinstance(grid, dict):
        raise ConfigError(f"grid={grid!r}: expected keys and lists of values, as '{{\"net.L\": [2, 4]}}'")
    return with_changes(content, expand(grid)[0] if grid else {}) | {"grid": grid}, SelectionConfig


def choose_row(main, chosen, dataset, default):
    """The row of --config, or the first row of a table of this main file that has the asked dataset and model.

    --model may also be the name of a row. A dataset without rows takes those of the one that its name begins with: PascalVOC-SP-300
    those of PascalVOC-SP.
    """
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
    words = (dataset or "").split("-")
    for name in (*("-".join(words[:n]) for n in range(len(words), 0, -1)), base.config["dataset"]):
        of_dataset = [row for row in rows if row.config["dataset"] == name]
        named = [row for row in of_dataset if row.name == model]
        if found := [row for row in of_dataset if model_of(row) == model] or named:
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


def names_of(datasets, prefix):
    return ", ".join(datasets) + (f" and {prefix}NAME" if prefix else "")


def asked_dataset(words, main, datasets, prefix):
    """The name behind --dataset, or None."""
    peek = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    peek.add_argument("--dataset")
    name = peek.parse_known_args(words)[0].dataset
    if name is not None and not known_dataset(name, datasets, prefix):
        hint = nearest(name, datasets) or other_dataset(name, main, prefix)
        raise ConfigError(f"--dataset {name}:{hint} This program knows {names_of(datasets, prefix)}")
    return name


def other_dataset(name, main, prefix):
    """What an unknown dataset may be: one of another main file, or one whose name begins with the prefix."""
    mains = {row.config["dataset"]: table.main for table in table_files().values() for row in table.rows.values()}
    if (other := mains.get(name, main)) != main:
        return f" main_{other}.py runs it."
    return f" Did you mean {prefix}{name}?" if prefix else ""


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


def make_parser(keys, chooser, content, description, epilog, datasets):
    """The parser of a command line with these keys; its help shows them section by section, with their values here."""
    parser = argparse.ArgumentParser(
        description=description,
        parents=[chooser],
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=epilog,
    )
    groups = {}
    for name, field in keys.items():
        section = name.rpartition(".")[0].split(".")[0]
        if section not in groups:
            groups[section] = parser.add_argument_group(*section_title(section, content))
        accepts = f"one of {datasets}" if name == "dataset" else allowed(field)
        value = json.dumps(look_up(content, name, field), default=str)
        words = {"nargs": "?", "const": "true"} if field.annotation is bool else {}
        words = {"nargs": "+"} if is_list(field) else words
        groups[section].add_argument(
            f"--{name}",
            dest=name,
            default=argparse.SUPPRESS,
            metavar="VALUE",
            help=f"{field.description or name} ({accepts}; here {value})".replace("%", "%%"),
            **words,
        )
    return parser


def section_title(section, content):
    """(title, description) of a section of the help."""
    model = content["net"]["model"] if section == "net" else None
    if model:
        return section, f"the keys of {model}, the model of this row; --model NAME --help shows those of another"
    return section or "the run", None


def parse_overrides(words, keys, parser, who_has):
    """{'net.hidden_dim': 70, ...} from the words of the command line."""
    given, unknown = parser.parse_known_args(words)
    if unknown:
        word = unknown[0].split("=")[0]
        if not word.startswith("-"):
            raise ConfigError(f"{word}: unexpected. Keys are given as --key value; --help lists them")
        key = word.lstrip("-")
        hint = who_has(key) or nearest_key(key, keys, "--")
        raise ConfigError(f"{word}: unknown.{hint} --help lists all keys")
    return {key: from_text(text, keys[key]) for key, text in vars(given).items() if key in keys}


def check_seeds(overrides):
    if "seed" in overrides and "seeds" in overrides:
        raise ConfigError("--seed and --seeds: give one of them")
    if "," in str(seed := overrides.get("seed", "")):
        raise ConfigError(f"--seed {seed}: expected one number. Several seeds are given by --seeds {seed}")


def epilog(default, first_try):
    small = f" on {first_try}, a first try, unless --dataset names another" if first_try else ""
    return (
        f"Without --config, {default} is run{small}, or with --model and --dataset the first row of theirs in configs/. "
        "A finished run is not run again; an interrupted one goes on."
    )


def nearest_key(word, keys, prefix=""):
    """' Did you mean --train.optimizer.lr?': a key of nearly this last word, in the same section if there is one. Keys that are
    equally near are all named."""
    section, _, last = word.rpartition(".")
    sections = [f"{section}.", f"{section.split('.')[0]}."] if section else []
    for start in (*sections, ""):
        inside = {key: key.rpartition(".")[2] for key in keys if key.startswith(start)}
        for name in dict.fromkeys([OTHER_WORDS.get(last, last), last]):
            if found := similar(name, dict.fromkeys(inside.values())):
                near = [key for key, end in inside.items() if end == found[0]]
                return f" Did you mean {' or '.join(prefix + key for key in near[:3])}?"
    return ""


def who_has(schema, content, word):
    """' GCN has no such key, GatedGCN has': which other models, or kinds of a section, have a key that the chosen one lacks."""
    section, _, last = word.rpartition(".")
    for part in section.split("."):
        if schema is None or part not in schema.model_fields:
            return ""
        field, content = schema.model_fields[part], content.get(part, {})
        schema = section_schema(field, content)
    tag = "model" if part == "net" else "kind"
    choices = [t for t in section_choices(field) if last in t.model_fields and tag in t.model_fields]
    names = [name for t in choices for name in kinds_of(t, tag)]
    chosen = content.get(tag) or schema.model_fields[tag].default if schema and names else None
    return f" {chosen} has no such key, {', '.join(names)} ha{'s' if len(names) == 1 else 've'}." if names else ""


def is_list(field):
    return any(typing.get_origin(t) is list for t in type_choices(field))


def from_text(text, field):
    """A word of the command line as the JSON value it stands for; a text key takes it as it is, a list also as 1,2,3 or 1 2 3."""
    choices = type_choices(field)
    if str in choices:
        return None if text == "null" and type(None) in choices else text
    if not is_list(field):
        return as_json(text)
    text = " ".join(text) if any(word.lstrip()[:1] in ("[", "{") for word in text) else ",".join(text)
    value = as_json(text)
    if isinstance(value, list) or value is None:
        return value
    return [as_json(part) for part in text.replace(",", " ").split()]


def as_json(text):
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
    if typing.get_origin(kind) is typing.Literal:
        return " or ".join(map(str, typing.get_args(kind)))
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
    if key in keys and problem["type"] != "value_error":
        return f"{key}={problem['input']!r}: expected {allowed(keys[key])}"
    value = "" if isinstance(problem["input"], dict) else f"={problem['input']!r}"
    message = problem["msg"].removeprefix("Value error, ")
    return f"{key}{value}: {message}" if key else message


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
