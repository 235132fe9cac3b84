"""The arrays that a store may hold, and what is checked before a value is written: type, shape, range, finite."""

import numbers
import re
from dataclasses import dataclass

import numpy as np
import torch

from data.errors import WrongValue

RAGGED = ("node", "edge", "pair")  # levels whose number of rows differs from graph to graph; each has its offsets
LEVELS = ("graph", *RAGGED)
EDGE_SRC, IN_DEGREE = "edge.src", "node.in_degree"
RESERVED = (EDGE_SRC, "edge.dst", IN_DEGREE)  # edge.dst: not stored, but nothing else may be called so
INTEGERS = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
DTYPES = ("bool", *INTEGERS, "float16", "float32", "float64")
# what an array of integers can hold; uint64 not all of its range, because all integers reach torch as int64
LIMITS = {name: (int(np.iinfo(name).min), min(int(np.iinfo(name).max), 2**63 - 1)) for name in INTEGERS}


@dataclass(frozen=True)
class Field:
    """One array of a dataset, declared before the graphs are added.

    The fields `label` and `of` are what a batch hands out beside the graph: the labels, and what they are of.
    """

    level: str  # "graph", "node", "edge", or "pair": as many rows for each graph as it is given
    name: str  # "feat", "label", …
    dtype: str  # numpy's name of the type on disk; batches have int64 of integers and float32 of float16
    shape: tuple = ()  # of one row
    n_types: int | tuple | None = None  # categorical: values are in [0, n_types); a tuple has a number for each column
    finite: bool = True  # refuse NaN and infinity
    refers_to: str | None = None  # "node": values are node numbers of the graph, in a batch those of the batch

    def __post_init__(self):
        object.__setattr__(self, "shape", tuple(self.shape))
        if isinstance(self.n_types, list):
            object.__setattr__(self, "n_types", tuple(self.n_types))
        if self.level not in LEVELS:
            raise WrongValue(f"level={self.level!r}: expected one of {', '.join(LEVELS)}")
        if not re.fullmatch(r"\w+", self.name) or self.key in RESERVED:
            raise WrongValue(f"name={self.name!r}: expected letters, digits and _, and none of {', '.join(RESERVED)}")
        if self.dtype not in DTYPES:
            raise WrongValue(f"{self.key}: dtype={self.dtype!r}: expected one of {', '.join(DTYPES)}")
        if not all(isinstance(size, numbers.Integral) and size > 0 for size in self.shape):
            raise WrongValue(f"{self.key}: shape={self.shape}: expected positive sizes")
        self._check_n_types()
        if self.refers_to not in (None, "node"):
            raise WrongValue(f"{self.key}: refers_to={self.refers_to!r}: expected node, or nothing")
        if self.refers_to and (self.dtype not in LIMITS or self.n_types is not None):
            raise WrongValue(f"{self.key}: dtype={self.dtype!r}: node numbers need an integer dtype, and no n_types")

    def _check_n_types(self):
        columns = self.n_types if isinstance(self.n_types, tuple) else () if self.n_types is None else (self.n_types,)
        if not all(1 <= n <= LIMITS.get(self.dtype, (0, -1))[1] + 1 for n in columns):
            raise WrongValue(f"{self.key}: n_types={self.n_types}: expected an integer dtype with so many values")
        if isinstance(self.n_types, tuple) and self.shape != (len(columns),):
            raise WrongValue(f"{self.key}: n_types={self.n_types}: expected one per column of shape {self.shape}")

    @property
    def key(self):
        return f"{self.level}.{self.name}"


def check_names(fields):
    keys = [field.key for field in fields]
    if len(set(keys)) < len(keys):
        raise WrongValue(f"a field is declared twice: {', '.join(keys)}")
    asked = {name: [field for field in fields if field.name == name] for name in ("label", "of")}
    for name, found in asked.items():
        if len(found) > 1:
            raise WrongValue(f"only one level can have the {name}, not {', '.join(field.key for field in found)}")
    for field in asked["of"]:
        if field.refers_to != "node" or field.shape not in ((), (2,)):
            raise WrongValue(f"{field.key}: expected refers_to='node' and shape () or (2,): nodes or pairs of nodes")
        if asked["label"] and asked["label"][0].level != field.level:
            raise WrongValue(f"{asked['label'][0].key}, {field.key}: expected both at one level")


def to_numpy(values):
    return values.detach().cpu().numpy() if isinstance(values, torch.Tensor) else np.asarray(values)


def first(values, bad):
    return values[bad].reshape(-1)[0].item()


def convert(field, values, n_rows, where, n_nodes):
    """The rows of one graph of n_nodes nodes in the type of the field; WrongValue if that would lose something."""
    values, where = to_numpy(values), f"{where}, {field.key}"
    shape = field.shape if field.level == "graph" else (n_rows, *field.shape)
    if values.shape == (0,) and 0 in shape:  # an empty list has neither type nor shape
        return np.empty(shape, field.dtype)
    if values.shape != shape:
        raise WrongValue(f"{where}: shape {values.shape}: expected {shape}")
    if values.dtype.kind not in "biuf":
        raise WrongValue(f"{where}: values of type {values.dtype}: expected {field.dtype}")
    if values.dtype.kind == "f" and field.finite and not np.isfinite(values).all():
        raise WrongValue(f"{where}: {first(values, ~np.isfinite(values))}: expected finite values")
    if field.dtype not in LIMITS:
        return values if values.dtype == field.dtype else _cast(values, field.dtype, where)
    if values.dtype.kind not in "biu":
        raise WrongValue(f"{where}: {values.dtype} values would be cut to {field.dtype}: convert them")
    low, high = bounds(field, n_nodes)
    if values.size and (values.min() < low or (values > high).any()):
        wrong = (values < low) | (values > high)
        high = np.broadcast_to(high, values.shape)[wrong][0]
        raise WrongValue(f"{where}: {first(values, wrong)}: expected {low} to {high}")
    return values.astype(field.dtype, copy=False)


def bounds(field, n_nodes):
    """(smallest, largest) value of an integer field; the largest may differ from column to column."""
    if field.refers_to:
        return 0, n_nodes - 1
    if field.n_types is not None:
        return 0, np.array(field.n_types) - 1
    return LIMITS[field.dtype]


def _cast(values, dtype, where):
    """To float or bool: rounding to a shorter float is fine, overflow and changed integers are not."""
    with np.errstate(over="ignore", invalid="ignore"):
        converted = values.astype(dtype)
        if values.dtype.kind == "f" and converted.dtype.kind == "f":
            lost = np.isinf(converted) & ~np.isinf(values)
        else:
            lost = converted.astype(values.dtype) != values
    if lost.any():
        raise WrongValue(f"{where}: {first(values, lost)} does not fit into {dtype}")
    return converted


def convert_edges(n_nodes, src, dst, where):
    """Sources and destinations as integer arrays, checked against the number of nodes."""
    if not isinstance(n_nodes, numbers.Integral) or isinstance(n_nodes, bool) or n_nodes < 0:
        raise WrongValue(f"{where}: n_nodes={n_nodes!r}: expected a whole number, 0 or more")
    ends = {"src": to_numpy(src), "dst": to_numpy(dst)}
    for name, end in ends.items():
        if end.ndim != 1:
            raise WrongValue(f"{where}, {name}: shape {end.shape}: expected one dimension")
        if not end.size:
            continue
        if end.dtype.kind not in "iu":
            raise WrongValue(f"{where}, {name}: values of type {end.dtype}: expected integers")
        if end.min() < 0 or end.max() >= n_nodes:
            bad = first(end, (end < 0) | (end >= n_nodes))
            raise WrongValue(f"{where}, {name}: node {bad}: expected 0 to {n_nodes - 1} (n_nodes={n_nodes})")
    if ends["src"].size != ends["dst"].size:
        raise WrongValue(f"{where}: {ends['src'].size} sources but {ends['dst'].size} destinations")
    return tuple(end.astype(np.int64) for end in ends.values())


def convert_split(name, level, parts):
    """The parts of a split as int64 arrays, each graph or node at most once."""
    if level not in ("graph", "node"):
        raise WrongValue(f"split {name}: level={level!r}: expected graph or node")
    if not re.fullmatch(r"[\w-]+", name) or not all(re.fullmatch(r"\w+", part) for part in parts) or not parts:
        raise WrongValue(f"split {name!r}, parts {list(parts)}: expected names of letters, digits and _")
    owner, converted = {}, {}
    for part, indices in parts.items():
        indices = to_numpy(indices)
        if indices.ndim != 1 or (indices.size and indices.dtype.kind not in "iu"):
            found = f"{indices.dtype}, shape {indices.shape}"
            raise WrongValue(f"split {name}, {part}: {found}: expected a list of integers")
        converted[part] = indices.astype(np.int64)
        for index in converted[part].tolist():
            if index in owner:
                raise WrongValue(f"split {name}: {level} {index} is in {owner[index]} and again in {part}")
            owner[index] = part
    return converted


def convert_array(name, values):
    """An array that belongs to no single graph, as it is written; the name must not be that of a split."""
    values = to_numpy(values)
    if not re.fullmatch(r"\w+(\.\w+)*", name) or name.split(".")[0] == "split":
        raise WrongValue(f"array {name!r}: expected words of letters, digits and _ joined by dots, the first not split")
    if values.ndim == 0 or values.dtype.name not in DTYPES or 0 in values.shape[1:]:
        found = f"{values.dtype}, shape {values.shape}"
        raise WrongValue(f"array {name}: {found}: expected rows of one of the types {', '.join(DTYPES)}")
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise WrongValue(f"array {name}: {first(values, ~np.isfinite(values))}: expected finite values")
    return values.copy()  # the caller may change its own before the store is finished
