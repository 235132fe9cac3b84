"""COLLAB (A.4), OGB's ogbl-collab: which scientists will write a paper together?

One graph. Its 235,868 nodes are scientists with 128 numbers each, the mean word embedding of their papers; an edge is a year in
which two of them published together, with that year and the number of papers, so two nodes may have several edges. Messages
run along the collaborations until 2017, which are the training pairs too; those of 2018 are to be predicted in validation, those
of 2019 in the test, against 100,000 pairs each that did not collaborate.

Edges of validation and test never carry messages. A pair that collaborates in 2018 or 2019 may have done so before, and OGB keeps
both, so pairs alone cannot tell. What can be told from the raw files, and is checked when they are read: the message edges are
exactly the training edges of the split, as a multiset of (pair, year); all of them are of 2017 or before, all validation edges
of 2018, all test edges of 2019.
"""

from typing import NamedTuple

import numpy as np
from tqdm import tqdm

from data.dataset import DataConfig, Declared, GraphDataset, Target, numbers
from data.download import RawFile, find, present, sha256_of
from data.draw import draw_neighbourhood
from data.errors import REMEDY, DataError, StoreError
from data.folds import LinkFold
from data.readers import ogb_raw
from data.readers.ogb_raw import check_range, check_shape
from data.splits import PARTS, evenly_spaced
from data.store import Field, PackedWriter

ZIP = RawFile(
    "ogbl_collab/collab.zip",
    ("https://snap.stanford.edu/ogb/data/linkproppred/collab.zip",),
)
FOLDERS = ("ogbl_collab", "collab", "ogbl_collab/collab")  # names of the unpacked zip below a data folder
SPLIT_FILES = {"train": "train.pt", "val": "valid.pt", "test": "test.pt"}
YEARS = {"train": (1900, 2017), "val": (2018, 2018), "test": (2019, 2019)}
CSV_FILES = ("num-node-list", "num-edge-list", "node-feat", "edge", "edge_year", "edge_weight")
PAIRS = {  # array of the store -> where it is in the raw files
    "pairs.train": ("train", "edge"),
    "pairs.val": ("val", "edge"),
    "pairs.test": ("test", "edge"),
    "negatives.val": ("val", "edge_neg"),
    "negatives.test": ("test", "edge_neg"),
}


# --------------------------------------------------------------------------------------------------------------------
# The raw files


class Raw(NamedTuple):
    """What the raw files say, checked."""

    node_feat: np.ndarray  # (n_nodes, 128)
    edge: np.ndarray  # (n_edges, 2), each collaboration once, in one direction
    edge_feat: np.ndarray  # (n_edges, 2): year, number of papers
    pairs: dict  # the names of PAIRS -> (m, 2)


def raw_place(config, download=True):
    """Where the raw files are: the path of the zip file or of a folder unpacked from it."""
    if present(ZIP.path, config) is None:
        for name in FOLDERS:
            if (folder := present(f"{name}/raw", config)) is not None:
                return folder.parent
    return find(ZIP if download else ZIP._replace(urls=()), config)


def raw_hash(place):
    """One SHA-256 for the zip file, or one per unpacked file."""
    if place.is_file():
        return sha256_of(place)
    return {str(file.relative_to(place)): sha256_of(file) for file in sorted(place.rglob("*")) if file.is_file()}


def read_raw(place):
    """Everything in the raw files at `place`, checked as the docstring of this module says."""
    root = place if place.is_dir() else ogb_raw.open_zip(place, "collab")
    tables, splits = {}, {}
    with tqdm(
        total=len(CSV_FILES) + len(SPLIT_FILES), desc=f"reading {place.name}", unit=" files", disable=None
    ) as bar:
        for name in CSV_FILES:
            dtype = np.float32 if name == "node-feat" else np.int64
            columns = {"edge": 2, "node-feat": None}.get(name, 1)
            tables[name] = ogb_raw.read_csv(root / "raw" / f"{name}.csv.gz", dtype, columns)
            bar.update()
        for part, name in SPLIT_FILES.items():
            arrays = ("edge", "year") if part == "train" else ("edge", "year", "edge_neg")
            splits[part] = ogb_raw.read_arrays(root / "split" / "time" / name, arrays)
            bar.update()
    check_tables(tables, root)
    for part, arrays in splits.items():
        check_split(part, arrays, len(tables["node-feat"]), root)
    check_messages(tables, splits["train"], root)
    return Raw(
        tables["node-feat"],
        tables["edge"],
        np.concatenate([tables["edge_year"], tables["edge_weight"]], axis=1).astype(np.float32),
        {name: splits[part][key] for name, (part, key) in PAIRS.items()},
    )


def check_tables(tables, root):
    """One graph; as many lines in each table as it has nodes or edges; values in their ranges."""
    for name, described in (
        ("num-node-list", ("node-feat",)),
        ("num-edge-list", ("edge", "edge_year", "edge_weight")),
    ):
        check_shape(tables[name], (1, 1), root / "raw" / f"{name}.csv.gz")
        for table in described:
            check_shape(tables[table], (int(tables[name][0, 0]), None), root / "raw" / f"{table}.csv.gz")
    n_nodes = len(tables["node-feat"])
    if n_nodes < 2:
        raise DataError(f"{root / 'raw'}: {n_nodes} nodes: expected at least two, a pair")
    check_range(tables["edge"], 0, n_nodes - 1, root / "raw" / "edge.csv.gz")
    check_range(tables["edge_year"], *YEARS["train"], root / "raw" / "edge_year.csv.gz")
    check_range(tables["edge_weight"], 1, None, root / "raw" / "edge_weight.csv.gz")


def check_split(part, arrays, n_nodes, root):
    file = root / "split" / "time" / SPLIT_FILES[part]
    for name in ("edge", "edge_neg"):
        if name in arrays:
            check_shape(arrays[name], (None, 2), f"{file}, {name}")
            check_range(arrays[name], 0, n_nodes - 1, f"{file}, {name}")
            if not len(arrays[name]):
                raise DataError(f"{file}, {name}: no pairs: expected at least one")
    check_shape(arrays["year"].reshape(-1), (len(arrays["edge"]),), f"{file}, year")
    check_range(arrays["year"], *YEARS[part], f"{file}, year")


def check_messages(tables, train, root):
    """The edges that carry messages are the training edges: equal multisets of (pair, year), whatever order and direction."""
    n_nodes = len(tables["node-feat"])

    def sorted_codes(edge, year):  # one integer for each (pair, year)
        low, high = edge.min(axis=1), edge.max(axis=1)
        return np.sort((low * n_nodes + high) * 10_000 + year.reshape(-1))

    messages, training = sorted_codes(tables["edge"], tables["edge_year"]), sorted_codes(train["edge"], train["year"])
    if np.array_equal(messages, training):
        return
    files = f"{root / 'raw' / 'edge.csv.gz'} ({len(messages)} edges) and {SPLIT_FILES['train']} ({len(training)} edges)"
    different = np.setxor1d(messages, training)
    if not len(different):
        raise DataError(f"{files}: an edge is listed more often in one than in the other: {REMEDY}")
    pair, year = divmod(int(different[0]), 10_000)
    raise DataError(
        f"{files}: the edge {divmod(pair, n_nodes)} of {year} is in one of them only; "
        f"messages may run along training edges alone: {REMEDY}"
    )


# --------------------------------------------------------------------------------------------------------------------
# The dataset


class COLLAB(GraphDataset):
    """OGB's file. config.limit takes so many positive pairs per part; the graph and the negative pairs stay complete."""

    name = "COLLAB"
    version = 1
    licence = "ODC-BY"
    raw_files = (ZIP,)
    declared = Declared(numbers("node", 128), numbers("edge", 2), Target("labels", "pair", 1, ("HitsAtK",)))
    # year and weight in the order of A.4 and Table 5; a linear map follows, so the order is of no consequence
    parameters = {"years": YEARS, "edge_feat": ["year", "weight"]}  # noqa: RUF012 - read only
    folds = (0,)
    draw = draw_neighbourhood
    # Tables 1 and 5; the pairs are OGB's counts
    counts = {  # noqa: RUF012 - read only
        "nodes": 235_868,
        "edges": 2_358_104,
        "node features": 128,
        "pairs.train": 1_179_052,
        "pairs.val": 60_084,
        "pairs.test": 46_329,
        "negatives.val": 100_000,
        "negatives.test": 100_000,
    }

    def raw_place(self):
        return raw_place(self.config)

    def build(self, path):
        place = self.raw_place()
        raw = read_raw(place)
        found = {"nodes": len(raw.node_feat), "edges": 2 * len(raw.edge), "node features": raw.node_feat.shape[1]}
        if wrong := self.wrong_counts(found | {name: len(pairs) for name, pairs in raw.pairs.items()}):
            raise DataError(
                f"{place}: {wrong}: not OGB's ogbl-collab. A file of your own in this format runs with --dataset COLLAB-own"
            )
        fields = [Field("node", "feat", "float32", raw.node_feat.shape[1:]), Field("edge", "feat", "float32", (2,))]
        with PackedWriter(path, self.name, fields, {"version": self.version, **self.parameters}, total=1) as writer:
            u, v = raw.edge.T
            writer.add(
                len(raw.node_feat),
                np.concatenate([u, v]),
                np.concatenate([v, u]),
                node={"feat": raw.node_feat},
                edge={"feat": np.concatenate([raw.edge_feat, raw.edge_feat])},
            )
            for name, pairs in raw.pairs.items():
                writer.add_array(name, pairs.astype(np.int32))

    def check(self, store):
        """The counts of Tables 1 and 5 and of OGB."""
        arrays = store.header["arrays"]
        found = {"nodes": store.n_nodes, "edges": store.n_edges, "node features": store.fields["node.feat"].shape[0]}
        found |= {name: arrays[f"free.{name}"]["shape"][0] for name in PAIRS}
        if wrong := self.wrong_counts(found):
            raise StoreError(f"{store.path}: {wrong}: delete the folder, it is built again")

    def wrong_counts(self, found):
        wrong = (what for what, n in self.counts.items() if found[what] != n)
        return ", ".join(f"{what} {found[what]} instead of {self.counts[what]}" for what in wrong)

    def fold(self, i):
        if i not in self.folds:
            raise ValueError(f"fold={i}: {self.name} has the fold 0 only")
        parts = {part: self.store.column(f"free.pairs.{part}") for part in PARTS}
        if self.config.limit:
            parts = {part: evenly_spaced(pairs, self.config.limit) for part, pairs in parts.items()}
        negatives = {part: self.store.column(f"free.negatives.{part}") for part in ("val", "test")}
        # the training pairs are ranked against the negative pairs of the validation: there are no others
        return LinkFold("split", self.store, parts, {"train": negatives["val"], **negatives})


class OwnCOLLAB(COLLAB):
    """A collaboration network of one's own in the same raw format, of any size: data_dir/ogbl_collab/collab.zip."""

    name = "COLLAB-own"
    licence = "that of your files"
    raw_files = (ZIP._replace(urls=()),)
    counts = {}  # noqa: RUF012 - read only

    def __init__(self, config=None, needs=None):
        self.config = config or DataConfig()
        # another file is another dataset
        self.parameters = self.parameters | {"raw": raw_hash(self.raw_place())}
        super().__init__(config, needs)

    def raw_place(self):
        return raw_place(self.config, download=False)
