"""What every dataset gives to a main file: features for the net, folds for the training, a store that is built once.

A dataset is a class with a name, a version, its parameters and a `build` that writes the packed store.
"""

import os
from math import prod
from pathlib import Path
from typing import ClassVar, NamedTuple

from pydantic import Field as Key

from data.draw import draw_graph
from data.errors import DataError
from data.folds import GraphFold, NodeFold, PairFold
from data.section import NO_IDENTITY, Section
from data.source import check_source
from data.splits import NO_SPLIT, check_parts, evenly_spaced
from data.store import Field, fingerprint, open_or_build
from data.transforms import with_transforms
from data.transforms.features import CHOICES as FEATURES
from data.transforms.features import with_features
from data.transforms.perturb import AnyPerturbation, perturbed

ROOT = Path(__file__).resolve().parent.parent


class DataConfig(Section):
    """Where data is read from and kept."""

    store_dir: str = Key(
        os.environ.get("GNN_STORES") or str(ROOT / "stores"),
        description="folder of the packed datasets, built when missing (environment variable GNN_STORES)",
        json_schema_extra=NO_IDENTITY,
    )
    data_dir: str | None = Key(
        os.environ.get("GNN_DATA") or None,  # set to nothing: not set
        description="folder with raw files of yours, looked at first (environment variable GNN_DATA)",
        json_schema_extra=NO_IDENTITY,
    )
    raw_dir: str = Key(str(ROOT / "raw"), description="folder of downloaded raw files", json_schema_extra=NO_IDENTITY)
    offline: bool = Key(False, description="never download", json_schema_extra=NO_IDENTITY)
    workers: int | None = Key(
        None,
        gt=0,
        description="processes that build a dataset; all cores when not given",
        json_schema_extra=NO_IDENTITY,
    )
    features: str | None = Key(
        None,
        description="what the nodes are given: degree, or what else the dataset offers (docs/datasets.md); null: its own",
    )
    splits: str | None = Key(
        None, description="which division into folds, where a dataset offers a choice; null: its own"
    )
    transforms: list[AnyPerturbation] = Key(
        [],
        description='perturbations of every graph, one after the other (data/transforms/perturb.py), as [{"kind":"Frag","k":1}]',
    )
    seed: int | None = Key(
        None, ge=0, description="seed of random perturbations and of splits that are drawn; null: that of the run"
    )
    limit: int | None = Key(
        None, gt=0, description="use only so many graphs of each part, for a first try; not the paper's row any more"
    )

    def of_run(self, seed):
        """The same with the seed of a run, where it has none of its own."""
        return self if self.seed is not None else self.model_copy(update={"seed": seed})


def wrong_feature(field):
    """Why nets cannot read a feature as it is declared, and the remedy; None if they can."""
    if field.n_types is not None:
        if field.shape == () or isinstance(field.n_types, tuple):
            return None
        return f"{field.key}: n_types={field.n_types} with shape {field.shape}: say how many types for each column"
    if field.dtype in ("bool", "float64"):
        return f"{field.key}: {field.dtype}: store float32"
    if field.dtype not in ("float16", "float32"):
        return f"{field.key}: {field.dtype} without n_types: say how many types, or store float32"
    return wrong_shape(field) if len(field.shape) != 1 else None


def wrong_label(field):
    """The same of a label whose dataset declares no target."""
    if field.n_types is not None and field.shape:
        return f"{field.key}: n_types={field.n_types} with shape {field.shape}: store one class per {field.level} as shape ()"
    if field.dtype == "bool":
        return f"{field.key}: bool: store int64 with n_types=2 for classes, float32 for numbers"
    return wrong_shape(field) if len(field.shape) > 1 else None


def wrong_shape(field):
    return f"{field.key}: shape {field.shape}: store the numbers of one {field.level} as shape ({prod(field.shape)},)"


class Features(NamedTuple):
    """What a net must know of its input: the field of the node and edge features (None: there are none)."""

    node: Field | None
    edge: Field | None


class Target(NamedTuple):
    """What a dataset asks of a net: `n_out` outputs per item, and how they are trained and measured (train/tasks.py).

    The kinds: "classes" (one of n_out), "labels" (n_out times yes or no), "numbers" (n_out targets).
    """

    kind: str
    level: str  # of the items: graph, node, edge, or pair of nodes
    n_out: int
    metrics: tuple[str, ...] = ()  # classes of train/metrics.py; the first selects. None: that of the kind
    weighted: bool = False  # the loss, by the sizes of the classes

    @classmethod
    def of_label(cls, field):
        """Of an integer label its number of classes, of any other label its numbers."""
        if wrong := wrong_label(field):
            raise DataError(wrong)
        if field.n_types is not None:
            return cls("classes", field.level, field.n_types)
        return cls("numbers", field.level, field.shape[0] if field.shape else 1)


class Declared(NamedTuple):
    """A dataset as a net sees it: features, what it asks, the number of folds."""

    node: Field | None
    edge: Field | None
    target: Target
    n_folds: int = 1

    @property
    def features(self):
        return Features(self.node, self.edge)


def categories(level, n_types):
    """The field of a categorical feature, or of several columns: `n_types` is a number, or a tuple with one for each column."""
    return Field(level, "feat", "int64", (len(n_types),) if isinstance(n_types, tuple) else (), n_types)


def numbers(level, dim):
    """The field of a feature of `dim` numbers."""
    return Field(level, "feat", "float32", (dim,))


class GraphDataset:
    """A dataset of many graphs in a packed store. Subclasses set the first three and define `build`.

    `declared` says what is known before the data is there: nets can be built, and their parameters counted, without it. It
    includes the target. A dataset that declares nothing asks what its label field says.
    `needs` are the transforms to compute, {name: parameters} (data/transforms).

    With config.limit only so many graphs of each part are used: a generated dataset (`generated`) makes no others, another
    is read completely and subsampled.
    """

    name: str
    version: int
    parameters: dict
    generated = False
    choices: ClassVar[dict] = {}  # of config.features and config.splits: {"features": (...), "splits": (...)}
    licence = "not stated"
    declared: Declared | None = None
    draw = draw_graph  # graph i on matplotlib axes

    def __init__(self, config=None, needs=None):
        self.config = config = config or DataConfig()
        self.check_choices()
        if self.generated and config.limit:
            self.parameters = self.parameters | {"limit": config.limit}
        # another version or other parameters are another dataset: they get a folder of their own
        key = fingerprint({"version": self.version, **self.parameters})[:12]
        path = Path(config.store_dir).expanduser() / f"{self.name.replace('/', '_')}-{key}"
        self.store = open_or_build(path, self.build)
        check_source(path, self)
        self.check(self.store)
        if config.features in FEATURES and "features" not in self.parameters:
            self.store = with_features(self.store, config.features, config.workers)
        self.store = perturbed(self.store, config.transforms, config.seed or 0, config.workers)
        self.store = with_transforms(self.store, needs, config.workers)

    def check_choices(self):
        """Refuse what this dataset does not offer; what it offers itself is a parameter of it. Some follow from any store."""
        for key, of_any in (("features", FEATURES), ("splits", ())):
            value, own = getattr(self.config, key), self.choices.get(key, ())
            if value in own:
                self.parameters = self.parameters | {key: value}
            elif value is not None and value not in of_any:
                offered = ", ".join(dict.fromkeys((*own, *of_any))) or "no choice"
                raise DataError(f"data.{key}={value!r}: {self.name} offers {offered}; --data.{key} null takes its own")

    def build(self, path):
        """Write the packed store at `path`."""
        raise TypeError(f"{type(self).__name__} does not say how it is made: define build")

    def check(self, store):
        """Raise if the store's statistics are not those of the dataset. Costs nothing: reads the header."""

    @property
    def features(self):
        """The fields of the node and edge features; an error if nets cannot read them."""
        features = Features(self.store.fields.get("node.feat"), self.store.fields.get("edge.feat"))
        for field in features:
            if field is not None and (wrong := wrong_feature(field)):
                raise DataError(f"{self.name}, {wrong}")
        return features

    @property
    def target(self):
        """What is asked: as declared, else classes or numbers of the label field."""
        if self.declared is not None:
            return self.declared.target
        if not hasattr(self, "store"):
            raise DataError(
                f"{self.name}: the target is not known while the dataset is built: write the number of classes"
            )
        labels = [field for field in self.store.fields.values() if field.name == "label"]
        if len(labels) != 1:
            raise DataError(f"{self.name}: {len(labels)} fields are called label: declare the target of the dataset")
        return Target.of_label(labels[0])

    @property
    def folds(self):
        return list(range(len(self.store.splits)))

    def chosen_folds(self, folds):
        """The folds to run: these, or all; an error before any is run if one of them does not exist or lacks a part."""
        if not self.folds:
            raise DataError(f"{self.name}: {NO_SPLIT}")
        unknown = [i for i in folds or () if i not in self.folds]
        if unknown:
            raise DataError(
                f"folds={folds}: {self.name} has the folds {min(self.folds)} to {max(self.folds)}: name these, "
                f'or correct "folds" in the table file: {len(self.folds)}'
            )
        for name in self.store.splits:
            check_parts(name, self.store.header["splits"][name])
        return folds or list(self.folds)

    def fold(self, i):
        if i not in self.folds:
            raise ValueError(f"fold={i}: {self.name} has folds {self.folds}")
        name = self.store.splits[i]
        parts = self.store.split(name)
        if self.config.limit:
            parts = {part: evenly_spaced(items, self.config.limit) for part, items in parts.items()}
        if self.store.split_level(name) == "node":
            return NodeFold(name, self.store, parts)
        only_true_pairs = "pair.of" in self.store.fields and "pair.label" not in self.store.fields
        return (PairFold if only_true_pairs else GraphFold)(name, self.store, parts)
