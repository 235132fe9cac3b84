"""ogbg-molhiv and ogbg-moltox21: does a molecule inhibit HIV; which of twelve tests does it fail?

OGB's raw files, in a folder or in its zip file: raw/edge.csv (each bond once), num-node-list.csv, num-edge-list.csv, node-feat.csv
(nine columns of categories), graph-label.csv (an empty place or nan is unknown), and split/scaffold/{train,valid,test}.csv. Both
directions of a bond are edges. The Taxonomy of Benchmarks gives the categories one-hot, 174 columns.
"""

import zipfile

import numpy as np

from data.dataset import Declared, GraphDataset, Target, categories
from data.download import RawFile, find, present, reading
from data.errors import DataError, StoreError
from data.readers.ogb_raw import check_range, open_zip, read_csv
from data.readers.unpack import TABLE, lines, open_file
from data.splits import PARTS
from data.store import Field, PackedWriter

ATOM_TYPES = (119, 5, 12, 12, 10, 6, 6, 2, 2)
URL = "https://snap.stanford.edu/ogb/data/graphproppred/csv_mol_download/{}.zip"


class OGBMolecules(GraphDataset):
    """One of them. `file` is the name of its zip file, `n_graphs` the molecules of each part."""

    version = 1
    licence = "MIT"
    file: str
    n_graphs: tuple
    n_tasks: int

    def __init__(self, config=None, needs=None):
        self.raw_files = [RawFile(f"molecules/{self.file}.zip", (URL.format(self.file),))]
        self.parameters = {"file": self.file, "split": "scaffold"}
        super().__init__(config, needs)

    def root(self):
        """The folder of the files, also inside the zip file; a folder may have the dataset's name."""
        for name in (f"molecules/{self.name.replace('-', '_')}", f"molecules/{self.file}"):
            if (folder := present(name, self.config)) is not None:
                return folder
        return open_zip(find(self.raw_files[0], self.config), self.file)

    def build(self, path):
        root = self.root()
        atoms = read_csv(csv_file(root, "raw", "node-feat"), np.int64, len(ATOM_TYPES))
        bonds = read_csv(csv_file(root, "raw", "edge"), np.int64, 2)
        sizes = [read_csv(csv_file(root, "raw", f"num-{k}-list"), np.int64, 1)[:, 0] for k in ("node", "edge")]
        labels = read_labels(csv_file(root, "raw", "graph-label"), self.n_tasks)
        n = len(labels)
        if (sizes[0].sum(), sizes[1].sum(), *map(len, sizes)) != (len(atoms), len(bonds), n, n):
            raise DataError(
                f"{root}: the numbers of nodes, edges and labels do not fit each other: the files are damaged"
            )
        for values, kind in zip(sizes, ("node", "edge"), strict=True):
            check_range(values, 0, None, f"{root}, num-{kind}-list")
        first_node, first_edge = (np.concatenate([[0], np.cumsum(n)]) for n in sizes)
        label = Field("graph", "label", "float32", (self.n_tasks,), finite=False)
        if self.n_tasks == 1:
            label, labels = Field("graph", "label", "int64", n_types=2), labels[:, 0].astype(np.int64)
        fields = [Field("node", "feat", "uint8", (len(ATOM_TYPES),), ATOM_TYPES), label]
        with PackedWriter(
            path, self.name, fields, {"version": self.version, **self.parameters}, total=len(labels)
        ) as writer:
            for i, y in enumerate(labels):
                feat = atoms[first_node[i] : first_node[i + 1]]
                a, b = bonds[first_edge[i] : first_edge[i + 1]].T
                with reading(f"{root}, molecule {i}"):
                    writer.add(len(feat), np.r_[a, b], np.r_[b, a], node={"feat": feat}, graph={"label": y})
            files = [csv_file(root, "split/scaffold", part) for part in ("train", "valid", "test")]
            writer.add_split(
                "scaffold", **{p: read_csv(f, np.int64, 1)[:, 0] for p, f in zip(PARTS, files, strict=True)}
            )

    def check(self, store):
        seen = tuple(len(part) for part in store.split("scaffold").values())
        if seen != self.n_graphs:
            raise StoreError(
                f"{store.path}: {seen} molecules in the parts, of {self.name} {self.n_graphs}: delete the folder, and get the "
                "right files"
            )


def csv_file(root, folder, name):
    """NAME.csv or NAME.csv.gz, whichever is there."""
    for part in folder.split("/"):
        root = root / part
    plain = root / f"{name}.csv"
    return plain if plain.exists() else root / f"{name}.csv.gz"


def read_labels(file, n_columns):
    """(n, n_columns) of 0, 1 or NaN."""
    if isinstance(file, zipfile.Path) and not file.exists():
        raise DataError(f"{file}: missing: get the archive again")
    with reading(file), open_file(file, TABLE) as stream:
        rows = [[float(word or "nan") for word in line.rstrip("\n").split(",")] for line in lines(stream, file)]
        labels = np.array(rows)
    if labels.ndim != 2 or labels.shape[1] != n_columns or not (np.isin(labels, (0, 1)) | np.isnan(labels)).all():
        raise DataError(f"{file}: expected {n_columns} columns of 0, 1 or nothing")
    if n_columns == 1 and np.isnan(labels).any():
        raise DataError(f"{file}: a molecule without label: expected 0 or 1")
    return labels.astype(np.float32)


class MolHIV(OGBMolecules):
    name, file, n_tasks, n_graphs = "ogbg-molhiv", "hiv", 1, (32901, 4113, 4113)
    declared = Declared(categories("node", ATOM_TYPES), None, Target("classes", "graph", 2, ("AUROC",)))


class MolTox21(OGBMolecules):
    name, file, n_tasks, n_graphs = "ogbg-moltox21", "tox21", 12, (6264, 783, 784)
    declared = Declared(categories("node", ATOM_TYPES), None, Target("labels", "graph", 12, ("AUROC",)))


DATASETS = {d.name: d for d in (MolHIV, MolTox21)}
