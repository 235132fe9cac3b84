"""The readers of files, ours and those of Benchmarking Graph Neural Networks; those of the later papers are in
targets_of_papers.py. For each the files of a small valid input, and a function that reads them from a folder."""

import contextlib
import functools
import gzip
import io
import json
import pickle

import numpy as np
import torch

from data.COLLAB import OwnCOLLAB
from data.download import RawFile, reading
from data.geom_gcn import GeomGCN
from data.LRGB_molecules import PeptidesFunc
from data.molecules import ArrayMolecules
from data.readers.graph6 import decode
from data.readers.ogb_molecule import graph_of_smiles
from data.readers.published import published_parts
from data.readers.unpack import read_npz
from data.superpixels import read_cifar_batch, read_idx
from data.TUs import TUDataset
from runs.collect import read_file
from runs.errors import ConfigError
from runs.ledger import Ledger
from runs.result import as_lines, signed
from runs.table_files import TableFile
from tests.fuzz.corpus import Target, lines, npz, opened
from tests.fuzz.targets_of_papers import LATER
from tests.runs.records import record
from tools.collab_lookalike import members
from train.cli import parse_config

# Texts

TU = {
    "TU/X/X_A.txt": lines("1, 2", "2, 1", "3, 4", "4, 3", *(f"{i}, {i + 1}" for i in range(5, 40, 2))),
    "TU/X/X_graph_indicator.txt": lines(*(1 + i // 2 for i in range(40))),
    "TU/X/X_graph_labels.txt": lines(*(i % 2 for i in range(20))),
    "TU/X/X_node_labels.txt": lines(*(i % 3 for i in range(40))),
    "TU/X/X_node_attributes.txt": lines(*(f"{i / 7:.3f}, {i}" for i in range(40))),
}
GIN = lines(20, *(text for i in range(20) for text in (f"2 {i % 2}", "0 1 1", "0 1 0")))


class TinyGeom(GeomGCN):
    name, file, counts = "Tiny", "tiny", (4, 3, 3, 2)


GEOM = {
    "node/geom-gcn/new_data/tiny/out1_graph_edges.txt.gz": lines("a\tb", "0\t1", "1\t2", "3\t0"),
    "node/geom-gcn/new_data/tiny/out1_node_feature_label.txt.gz": lines(
        "id\tfeature\tlabel", *(f"{i}\t{i % 2},1,0\t{i % 2}" for i in range(4))
    ),
}
MASKS = npz(**{f"{part}_mask": np.eye(4, dtype=np.int64)[k] for k, part in enumerate(("train", "val", "test"))})


def read_geom(folder):
    for name in GEOM:
        (folder / name).write_bytes(gzip.compress((folder / name).read_bytes()))
    return opened(TinyGeom, folder)


PEPTIDES = lines("smiles,labels,peptide_seq", *(f'{s},"{[0, 1] * 5}",AG' for s in ("CC(N)=O", "NCC(=O)O", "c1ccccc1")))


def read_peptides(folder):
    path = folder / "peptides.csv"
    smiles, labels = PeptidesFunc.read(None, path)
    with reading(path):
        return [graph_of_smiles(text) for text in smiles], labels


def read_graph6(folder):
    path = folder / "graphs.g6"
    with reading(path):
        return [decode(text) for text in path.read_bytes().decode("latin1").split("\n") if text]


# Arrays and archives


class Molecules(ArrayMolecules):
    name, parameters, sizes = "tiny", {}, {"train": 2, "val": 1, "test": 1}
    raw_files = (RawFile("a.npz"),)


MOLECULES = npz(
    atom_type=np.array([0, 1, 2, 3, 0, 1, 2, 3], np.uint8), node_ptr=np.array([0, 2, 4, 6, 8]),
    edge=np.tile([0, 1], (4, 1)), bond_type=np.ones(4, np.uint8), edge_ptr=np.arange(5),
    y=np.arange(4, dtype=np.float32), split=np.array([0, 0, 1, 2]),
)  # fmt: skip


def idx(shape):
    return bytes([0, 0, 8, len(shape)]) + np.array(shape, ">u4").tobytes() + bytes(np.prod(shape))


def cifar():
    """As Python 2 pickled it: the keys are byte strings."""
    content = {"data": np.zeros((2, 3072), np.uint8), "labels": [3, 1], "batch_label": "x", "filenames": ["a", "b"]}
    return pickle.dumps(content, protocol=2)


def published():
    graphs = [
        {"x": torch.eye(3), "edge_index": torch.tensor([[0, 1], [1, 2]]), "pos": torch.ones(3, 2),
         "edge_attr": torch.ones(2), "y": torch.tensor([1])}
        for _ in range(4)
    ]  # fmt: skip
    content = io.BytesIO()
    torch.save([graphs[:2], graphs[2:3], graphs[3:]], content)
    return content.getvalue()


def read_published(folder):
    found = published_parts(folder / "graphs.pt", node_dim=3, label="graph", edge_dim=1)
    return [list(graphs) for _, _, graphs in found]


COLLAB = members(n_groups=8, group_size=5, n_features=4, n_negatives=20)


def read_collab(folder):
    """Its tables are packed after they were spoiled; the files of torch are spoiled as they are."""
    for path in folder.rglob("*.csv.gz"):
        path.write_bytes(gzip.compress(path.read_bytes()))
    return opened(OwnCOLLAB, folder)


# Our own files

TABLE = json.dumps(
    {"main": "CSL", "seeds": [1, 2], "shared": {"dataset": "CSL"}, "rows": {"A": {"net": {"model": "GCN"}}}}
)
WORDS = lines(
    "--config", "table3/GCN-LapPE-L4", "--seed", "3", "--net.L", "2", "--folds", "[0,1]", "--train.optimizer.lr", "0.1"
)


def read_words(folder):
    text = (folder / "words").read_bytes().decode("utf-8", "replace")
    words = [word for word in text.split("\n") if word and word not in ("--help", "-h")]
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            return parse_config(words, "CSL", {"CSL": None}, default="table3/GCN-LapPE-L4")
    except SystemExit as error:
        if error.code not in (0, 2) and not isinstance(error.code, str):
            raise
        raise ConfigError("refused") from None


def read_ledger(folder):
    with contextlib.redirect_stderr(io.StringIO()):
        return Ledger(folder / "answers.jsonl").lines


def ledger_file():
    return lines(*(json.dumps(signed({"key": str(k), "value": k})) for k in range(4)))


TARGETS = {
    target.name: target
    for target in (
        Target("TU", TU, lambda folder: opened(functools.partial(TUDataset, "TU/X"), folder)),
        Target(
            "TU lists",
            {"Y.txt": GIN},
            lambda f: opened(functools.partial(TUDataset, "TU/Y"), f),
            {"TU/Y_gin.zip": ["Y.txt"]},
        ),
        Target(
            "Geom-GCN", GEOM | {f"node/geom-gcn/splits/tiny_split_0.6_0.2_{i}.npz": MASKS for i in range(10)}, read_geom
        ),
        Target("graph6", {"graphs.g6": lines("D?{", "C~", "A_")}, read_graph6),
        Target(
            "OGB",
            {f"ogbl_collab/{k}": gzip.decompress(v) if k.endswith("gz") else v for k, v in COLLAB.items()},
            read_collab,
        ),
        Target("SMILES", {"peptides.csv": PEPTIDES}, read_peptides),
        Target("molecules", {"a.npz": MOLECULES}, lambda folder: opened(Molecules, folder)),
        Target("npz", {"a.npz": MOLECULES}, lambda folder: read_npz(folder / "a.npz", "y", "edge")),
        Target("idx", {"a": idx((3, 4, 4))}, lambda folder: read_idx(folder / "a", (3, 4, 4))),
        Target("CIFAR10", {"b": cifar()}, lambda f: read_cifar_batch((f / "b").read_bytes(), "b", 2)),
        Target("published", {"graphs.pt": published()}, read_published),
        Target("table file", {"t.json": TABLE.encode()}, lambda folder: TableFile(folder / "t.json")),
        Target("command line", {"words": WORDS}, read_words),
        Target(
            "results",
            {"r.jsonl": as_lines([record(seed=s) for s in (1, 2)]).encode()},
            lambda f: read_file(f / "r.jsonl"),
        ),
        Target(
            "result of a run", {"result.json": json.dumps(record()).encode()}, lambda f: read_file(f / "result.json")
        ),
        Target("ledger", {"answers.jsonl": ledger_file()}, read_ledger),
    )
} | LATER
