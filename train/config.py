"""The configuration of a run: one JSON file a table row, checked against a typed schema, every key overridden from the command
line (`--net.hidden_dim 70`). Unknown keys and wrong values are refused with what would be right.

Keys marked `identity: False` (folders, device, display) do not change the numbers; all others name the run's folder. A key that is
added later has as its default what was done before there was such a key: runs made before still belong to their configuration.
"""

import argparse
import difflib
import importlib
import json
import types
import typing
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from data.dataset import DataConfig
from nets import NETS
from train.naming import run_name
from train.run import Run

ROOT = Path(__file__).resolve().parent.parent
STRICT = ConfigDict(extra="forbid", strict=True, frozen=True, validate_default=True)
AnyNet = Annotated[typing.Union[tuple(net.Config for net in NETS.values())], Field(discriminator="model")]  # noqa: UP007
NO_IDENTITY = {"identity": False}


class ConfigError(SystemExit):
    """A configuration that cannot be run; ends the program with the message."""


class TrainConfig(BaseModel):
    """The training of section 3."""

    model_config = STRICT

    batch_size: int = Field(gt=0, description="graphs in a mini-batch")
    init_lr: float = Field(gt=0, description="learning rate at the start")
    lr_reduce_factor: float = Field(
        0.5, gt=0, lt=1, description="the learning rate is multiplied by this when it is reduced"
    )
    lr_schedule_patience: int = Field(ge=0, description="epochs without a lower validation loss before it is reduced")
    min_lr: float = Field(gt=0, description="stop when the learning rate falls below this")
    weight_decay: float = Field(0.0, ge=0, description="L2 penalty of Adam")
    max_time: float = Field(12.0, gt=0, description="stop after this many hours of training, interruptions not counted")
    epochs: int = Field(1000, gt=0, description="stop after this many epochs")
    select: Literal["last", "best_val"] = Field(
        "last",
        description="which weights the table reports: of the last epoch (the paper's protocol) or of the best validation",
    )
    first_step_alone: bool = Field(
        False,
        description="as the program that made the tables trains WL-GNNs: graphs one by one, a step after the first and then after "
        "every batch_size of them; those left at the end of an epoch change nothing",
    )
    workers: int = Field(
        0, ge=0, description="processes that cut batches; 0: the training process itself", json_schema_extra=NO_IDENTITY
    )


class BaseConfig(BaseModel):
    """What a run of any kind needs to know; a family whose runs are not a training on folds adds its own sections to it."""

    model_config = STRICT

    row: str | None = Field(
        None, description="row of the paper's tables that this reproduces", json_schema_extra=NO_IDENTITY
    )
    dataset: str = Field(description="name of the dataset")
    seed: int = Field(41, ge=0, description="seed of the initial weights, the batches and everything else random")
    device: Literal["auto", "cpu", "cuda"] = Field(
        "auto", description="where to compute; auto: a GPU if there is one", json_schema_extra=NO_IDENTITY
    )
    out_dir: str = Field(str(ROOT / "out"), description="folder of the runs", json_schema_extra=NO_IDENTITY)
    force: bool = Field(
        False, description="run finished runs again; the old ones are moved aside", json_schema_extra=NO_IDENTITY
    )
    progress: bool = Field(True, description="show a progress bar", json_schema_extra=NO_IDENTITY)
    data: DataConfig = DataConfig()

    _name: str = "run"

    @property
    def name(self):
        """The row's file name, with the keys that differ from it."""
        return self._name

    def run(self, fold=0):
        """The run of this configuration on one fold: OUT_DIR/DATASET/NAME/seed_S/fold_F."""
        path = (
            Path(self.out_dir).expanduser().resolve() / self.dataset / self._name / f"seed_{self.seed}" / f"fold_{fold}"
        )
        return Run(
            path,
            config=self.model_dump(),
            identity=identity(self),
            complete=lambda stored: completed(stored, type(self)),
            row=self.row,
            name=self._name,
            seed=self.seed,
            fold=fold,
            force=self.force,
            device=self.device,
            progress=self.progress,
        )


class Config(BaseConfig):
    """A net that is trained on the folds of a dataset."""

    folds: list[int] | None = Field(
        None,
        min_length=1,
        description="folds of the cross-validation to run, as [0,2]; all when not given",
        json_schema_extra=NO_IDENTITY,
    )
    net: AnyNet
    train: TrainConfig


def identity(model):
    """The keys that the numbers of a run depend on, as a nested dictionary; with the version of a net that is not its first."""
    version = getattr(model, "version", 1)
    kept = {} if version == 1 else {"version": version}
    for name, field in type(model).model_fields.items():
        value = getattr(model, name)
        if isinstance(value, BaseModel):
            kept[name] = identity(value)
        elif (field.json_schema_extra or {}).get("identity", True):
            kept[name] = value
    return kept


def completed(stored, schema):
    """A stored identity with the keys that have been added since, but with the version of the net that it was made with (1 where
    none is stored); as it is where it does not fit the schema any more."""
    net = stored.get("net")
    keys = {key: value for key, value in net.items() if key != "version"} if isinstance(net, dict) else net
    try:
        kept = identity(schema.model_validate(stored if net is None else stored | {"net": keys}))
    except ValidationError:
        return stored
    if net is not None and "version" in kept["net"].keys() | net.keys():
        kept["net"]["version"] = net.get("version", 1)
    return kept


def family_schema(family):
    """Which schema the content of a row's file in configs/FAMILY follows, as a function: the main file may have its own."""
    if not (ROOT / f"main_{family}.py").exists():
        raise ConfigError(f"{ROOT / 'configs' / family}: there is no main_{family}.py to run its rows")
    return getattr(importlib.import_module(f"main_{family}"), "schema_of", lambda content: Config)


def parse_config(argv, family, datasets, default, description="", first_try=None, schema_of=lambda content: Config):
    """The configuration that the command line asks for, of a family whose `datasets` have these names.

    `default` is the table row to run when no --config is given, with {model} and {dataset} for their names:
    "T2-{dataset}-{model}-*". The first of `datasets` is the one to run without --dataset; a dataset without rows of its own takes
    those of the name before its first hyphen (ZINC-redrawn: ZINC), or else of the first. `first_try` is the small dataset
    to use when neither --config nor --dataset is given; that is not the paper's row. `schema_of` says which schema the content of
    a row's file follows.
    """
    folder = ROOT / "configs" / family
    chooser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    chooser.add_argument(
        "--config", metavar="FILE", help=f"a row's file in {folder.relative_to(ROOT)}, by path or by name"
    )
    chooser.add_argument("--model", metavar="NAME", default=None, help=f"the row of another model: {', '.join(NETS)}")
    chosen, rest = chooser.parse_known_args(argv)
    path = find_config(folder, default, chosen, row_datasets(rest, datasets))
    content = read_config(path)
    schema = schema_of(content)
    model = content.get("net", {}).get("model") if isinstance(content.get("net"), dict) else None
    if "net" in schema.model_fields and model not in NETS:
        raise ConfigError(f"{path}: net.model={model!r}: expected one of {', '.join(NETS)}")

    keys = all_keys(schema, content)
    overrides = parse_overrides(rest, keys, chooser, description, content, first_try)
    if first_try and not chosen.config:
        overrides.setdefault("dataset", first_try)
    if overrides.get("net.model", model) != model:
        raise ConfigError(
            f"net.model={overrides['net.model']!r}: {path.name} is a row of {model}. Choose a row with --model"
        )
    base = validate(content, path, schema)
    config = validate(merged(content, overrides), f"{path} with the command line", schema)
    if config.dataset not in datasets:
        raise ConfigError(f"{path}: dataset={config.dataset!r}: this program knows {', '.join(datasets)}")
    changed = changed_keys(identity(base), identity(config))
    changed.pop("seed", None)  # a row has many seeds
    # a changed configuration is not the paper's row: it gets a folder and a name of its own, and no row
    config = config.model_copy(update={"row": None if changed else base.row})
    config._name = run_name(path.stem, changed)
    return config


def row_datasets(words, datasets):
    """Datasets whose rows may be the default: of the one that the command line asks for, then of the nearest."""
    peek = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    peek.add_argument("--dataset")
    first = next(iter(datasets))
    name = peek.parse_known_args(words)[0].dataset or first
    if name not in datasets:
        raise ConfigError(f"--dataset {name}:{nearest(name, datasets)} This program knows {', '.join(datasets)}")
    return name, name.split("-")[0], first


def find_config(folder, default, chosen, names):
    if chosen.config and chosen.model:
        raise ConfigError("--config and --model: give one of them, the file says which model it is")
    if chosen.config:
        for path in (Path(chosen.config), folder / f"{chosen.config}.json", folder / chosen.config):
            if path.is_file():
                return path
        names = sorted(p.stem for p in folder.glob("*.json"))
        raise ConfigError(
            f"--config {chosen.config}: no such file.{nearest(Path(chosen.config).stem, names)} In {folder}: {', '.join(names)}"
        )

    def rows(model):
        for name in names:
            if found := list(folder.glob(default.format(model=model, dataset=name) + ".json")):
                return sorted(found, key=lambda path: (len(path.stem), path.stem))  # L4 before L16, plain before -E
        return []

    model = chosen.model or "GCN"
    if not (found := rows(model)):
        have = [name for name in NETS if rows(name)]
        raise ConfigError(f"--model {model}: no such row.{nearest(model, have)} Rows exist for {', '.join(have)}")
    return found[0]


def read_config(path):
    try:
        content = json.loads(path.read_text())
    except ValueError as error:
        raise ConfigError(f"{path}: not a JSON file: {error}") from error
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: expected a JSON object, found {type(content).__name__}")
    return content


def all_keys(schema, content):
    """{'net.hidden_dim': field} for every key that a file of this schema may have, given the model it names."""
    return dict(leaf_keys(schema, net=NETS[content["net"]["model"]].Config if "net" in schema.model_fields else None))


def leaf_keys(model, net, prefix=""):
    """('net.hidden_dim', field) for every key of the schema; `net` is the schema of the chosen model."""
    for name, field in model.model_fields.items():
        inner = net if name == "net" else field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from leaf_keys(inner, net, f"{prefix}{name}.")
        else:
            yield prefix + name, field


def parse_overrides(words, keys, chooser, description, content, first_try=None):
    """{'net.hidden_dim': 70, ...} from the words of the command line."""
    small = f" on {first_try}, a first try, unless --dataset names another" if first_try else ""
    parser = argparse.ArgumentParser(
        description=description,
        parents=[chooser],
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f"Without --config, the row of --model (GCN) is run{small}. "
        "A finished run is not run again; an interrupted one goes on.",
    )
    for name, field in keys.items():
        value = look_up(content, name, field)
        help_text = f"{field.description} ({allowed(field)}; here {json.dumps(value)})".replace("%", "%%")
        flag = {"nargs": "?", "const": "true"} if field.annotation is bool else {}
        parser.add_argument(f"--{name}", dest=name, default=argparse.SUPPRESS, metavar="VALUE", help=help_text, **flag)
    given, unknown = parser.parse_known_args(words)
    if unknown:
        word = unknown[0].split("=")[0]
        raise ConfigError(f"{word}: unknown.{nearest(word, [f'--{key}' for key in keys])} --help lists all keys")
    overrides = {k: v for k, v in vars(given).items() if k in keys}
    return {key: from_text(text, keys[key]) for key, text in overrides.items()}


def from_text(text, field):
    """A word of the command line as the JSON value it stands for; a text key takes it as it is."""
    if str in type_choices(field):
        return None if text == "null" and type(None) in type_choices(field) else text
    try:
        return json.loads(text)
    except ValueError:
        return text


def type_choices(field):
    """The plain types that a key accepts: (int,), (str, NoneType), ..."""
    if isinstance(field.annotation, types.UnionType) or typing.get_origin(field.annotation) is typing.Union:
        return typing.get_args(field.annotation)
    return (field.annotation,)


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
    names = [t.__name__ if isinstance(t, type) and not typing.get_args(t) else str(t) for t in type_choices(field)]
    return " ".join([" or ".join(name.replace("NoneType", "null") for name in names), " and ".join(bounds)]).strip()


def look_up(content, key, field):
    for part in key.split("."):
        if not isinstance(content, dict) or part not in content:
            return field.get_default() if not field.is_required() else None
        content = content[part]
    return content


def merged(content, overrides):
    """A copy of the file's content with the overridden keys."""
    result = json.loads(json.dumps(content))
    for key, value in overrides.items():
        *groups, name = key.split(".")
        inner = result
        for group in groups:
            inner = inner.setdefault(group, {})
        inner[name] = value
    return result


def validate(content, source, schema=Config):
    try:
        return schema.model_validate(content)
    except ValidationError as error:
        keys = all_keys(schema, content)
        lines = [explain_error(problem, keys) for problem in error.errors()]
        raise ConfigError("\n".join(f"{source}: {line}" for line in lines)) from None


def explain_error(problem, keys):
    """One line for one problem: the key, the value seen, what is allowed, and the nearest valid name of an unknown key."""
    place = [str(part) for part in problem["loc"] if part not in NETS]
    key = ".".join(place)
    group = [k for k in keys if k.startswith(".".join(place[:-1]) + ".")] if len(place) > 1 else list(keys)
    if problem["type"] == "extra_forbidden":
        return f"{key}={problem['input']!r}: unknown key.{nearest(key, group or list(keys))}"
    if problem["type"] == "missing":
        return f"{key}: missing. Expected {allowed(keys[key])}" if key in keys else f"{key}: missing"
    if key in keys:
        return f"{key}={problem['input']!r}: expected {allowed(keys[key])}"
    return f"{key}: {problem['msg'].removeprefix('Value error, ')}"


def nearest(word, names):
    close = difflib.get_close_matches(word, names, n=1, cutoff=0.4)
    return f" Did you mean {close[0]}?" if close else ""


def changed_keys(old, new, prefix=""):
    """{'net.L': 8} for the keys in which two identities differ."""
    changed = {}
    for key in old | new:
        before, value = old.get(key), new.get(key)
        if isinstance(value, dict) and isinstance(before, dict):
            changed |= changed_keys(before, value, f"{prefix}{key}.")
        elif before != value:
            changed[prefix + key] = value
    return changed
