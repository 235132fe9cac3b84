"""What every dataset gives to a main file: features for the net, folds for the training, a store that is built once.

A dataset is a class with a name, a version, its parameters and a `build` that writes the packed store.
"""

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict
from pydantic import Field as Key

from data.errors import DataError
from data.loader import Loader
from data.positional_encoding import with_laplacian_encoding
from data.store import Field, Packed, fingerprint, open_or_build

ROOT = Path(__file__).resolve().parent.parent
PARTS = ("train", "val", "test")


class DataConfig(BaseModel):
    """Where data is read from and kept."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, validate_default=True)

    store_dir: str = Key(
        os.environ.get("GNN_STORES") or str(ROOT / "stores"),
        description="folder of the packed datasets, built when missing (environment variable GNN_STORES)",
        json_schema_extra={"identity": False},
    )
    data_dir: str | None = Key(
        os.environ.get("GNN_DATA") or None,  # set to nothing: not set
        description="folder with raw files of yours, looked at first (environment variable GNN_DATA)",
        json_schema_extra={"identity": False},
    )
    raw_dir: str = Key(
        str(ROOT / "raw"), description="folder of downloaded raw files", json_schema_extra={"identity": False}
    )
    offline: bool = Key(False, description="never download", json_schema_extra={"identity": False})
    workers: int | None = Key(
        None,
        gt=0,
        description="processes that build a dataset; all cores when not given",
        json_schema_extra={"identity": False},
    )
    limit: int | None = Key(
        None, gt=0, description="use only so many graphs of each part, for a first try; not the paper's row any more"
    )


class Features(NamedTuple):
    """What a net must know of its input: the field of the node and edge features (None: there are none) and the number of
    eigenvectors each node carries."""

    node: Field | None
    edge: Field | None
    pos_enc_dim: int


class Fold(NamedTuple):
    """One division of a dataset into training, validation and test graphs."""

    name: str
    store: Packed
    parts: dict

    def loader(self, part, batch_size, shuffle=False, generator=None, workers=0):
        if len(self.parts[part]) == 0:
            raise ValueError(f"{self.store.name}, {self.name}: the {part} part is empty")
        return Loader(self.store, self.parts[part], batch_size, shuffle, generator, workers)


class GraphDataset:
    """A dataset of many graphs in a packed store. Subclasses set the first three and define `build`.

    With config.limit only so many graphs of each part are used: a generated dataset (`generated`) makes no others, another
    is read whole and its parts are thinned.
    """

    name: str
    version: int
    parameters: dict
    generated = False
    licence = "not stated"

    def __init__(self, config=None, pos_enc_dim=0):
        self.config = config = config or DataConfig()
        if self.generated and config.limit:
            self.parameters = self.parameters | {"limit": config.limit}
        # another version or other parameters are another dataset: they get a folder of their own
        key = fingerprint({"version": self.version, **self.parameters})[:12]
        path = Path(config.store_dir).expanduser() / f"{self.name}-{key}"
        self.store = open_or_build(path, self.build)
        self.check(self.store)
        if pos_enc_dim:
            self.store = with_laplacian_encoding(self.store, pos_enc_dim, config.workers)

    def build(self, path):
        """Write the packed store at `path`."""
        raise TypeError(f"{type(self).__name__} does not say how it is made: define build")

    def check(self, store):
        """Raise if the store's statistics are not those of the dataset. Costs nothing: reads the header."""

    def draw(self, axes, i):
        """Graph i on matplotlib axes, laid out by springs; nodes are coloured by their largest or only feature."""
        import networkx as nx

        src, dst = self.store.edges(i)
        g = nx.Graph()
        g.add_nodes_from(range(len(self.store.rows("node.in_degree", i))))
        g.add_edges_from(zip(src.tolist(), dst.tolist(), strict=True))
        colour = self.store.rows("node.feat", i) if "node.feat" in self.store.fields else np.zeros(len(g))
        place = nx.kamada_kawai_layout(g) if len(g) < 60 else nx.spring_layout(g, seed=0)
        colour = colour.argmax(1) if colour.ndim > 1 else colour
        nx.draw_networkx(g, place, ax=axes, node_size=25, node_color=colour, with_labels=False, cmap="tab20")

    @property
    def features(self):
        fields = self.store.fields
        encoding = fields.get("node.pos_enc")
        return Features(fields.get("node.feat"), fields.get("edge.feat"), encoding.shape[0] if encoding else 0)

    @property
    def folds(self):
        return list(range(len(self.store.splits)))

    def chosen_folds(self, folds):
        """The folds to run: these, or all; an error before any is run if one of them does not exist."""
        unknown = [i for i in folds or () if i not in self.folds]
        if unknown:
            raise DataError(f"folds={folds}: {self.name} has the folds {min(self.folds)} to {max(self.folds)}")
        return folds or list(self.folds)

    def fold(self, i):
        if i not in self.folds:
            raise ValueError(f"fold={i}: {self.name} has folds {self.folds}")
        name = self.store.splits[i]
        parts = self.store.split(name)
        if self.config.limit:
            parts = {part: thinned(graphs, self.config.limit) for part, graphs in parts.items()}
        return Fold(name, self.store, parts)


def thinned(graphs, limit):
    """At most `limit` of the graphs, spread evenly: files are often sorted by class."""
    return graphs if len(graphs) <= limit else graphs[np.linspace(0, len(graphs) - 1, limit).round().astype(int)]
