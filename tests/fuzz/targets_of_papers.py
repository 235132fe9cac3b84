"""The readers of BREC, LRGB, the Fair Comparison and the Taxonomy of Benchmarks, and those of published molecules and tours.

What a checksum protects (npz, zip) is spoiled first and packed then, so that mutants reach the reader behind it.
"""

import contextlib
import hashlib
import io
import json
import pickle
import tarfile
from types import SimpleNamespace

import numpy as np
import scipy.io
import scipy.sparse
import torch
from PIL import Image

from data.BREC import BREC, KINDS
from data.citation import Documents, Planetoid
from data.CSL import PublishedCSL
from data.download import RawFile, find
from data.LRGB_molecules import SHAPES, PCQMContact, PeptidesStruct, PublishedPCQMContact, read_split
from data.LRGB_photographs import COCOSample, VOCSample, read_masked
from data.LRGB_superpixels import COCO
from data.malnet import MalNetTiny
from data.molecules import AQSOL, PublishedZINC
from data.musae import Raw, Reduced
from data.ogb import OGBMolecules
from data.readers.images import Files
from data.solvers.tsp_solvers import check_tour, read_solution
from data.splits import PARTS, read_folds, read_nested_folds
from data.superpixels import read_sheet
from data.synthetic import SmallWorld
from data.TSP import FoundTours, instance
from data.wikics_flickr import Flickr, WikiCS
from tests.fuzz.corpus import Target, config, lines, members, npy, opened

SIZES = dict.fromkeys(PARTS, 1)


def encoded(content):
    return json.dumps(content).encode()


def built(dataset, **keys):
    """A function that builds a small version of a dataset; its own statistics are not asked for."""
    small = type(dataset.__name__, (dataset,), {"name": "Tiny", "check": lambda self, store: None, **keys})
    return lambda folder: opened(small, folder)


def in_npz(file, name, read, /, **arrays):
    """The target of an .npz file whose arrays are spoiled one by one."""
    inside = members("inside", **arrays)
    return Target(name, inside, read, {file: list(inside)})


# Graphs with classes of nodes

CSR = {
    "data": np.ones(4, np.float32),
    "indices": np.array([1, 0, 3, 2], np.int32),
    "indptr": np.arange(5, dtype=np.int32),
}
CSR = {**CSR, "shape": np.array([4, 4])}
COUNTS = {"counts": (4, 4, 4, 2)}  # nodes, edges, features, classes
CLASSES = np.array([0, 1, 0, 1])
DOCUMENTS = {f"{kind}_{key}": values for kind in ("adj", "attr") for key, values in CSR.items()}
MATRIX = scipy.sparse.csr_matrix((CSR["data"], CSR["indices"], CSR["indptr"]), (4, 4))
PLANETOID = {
    **{f"node/planetoid/ind.tiny.{k}": pickle.dumps(MATRIX[:n], protocol=2) for k, n in (("allx", 3), ("tx", 1))},
    **{f"node/planetoid/ind.tiny.{k}": pickle.dumps(np.eye(n, 2), protocol=2) for k, n in (("ally", 3), ("ty", 1))},
    "node/planetoid/ind.tiny.graph": pickle.dumps({0: [1], 1: [0, 2], 2: [1], 3: []}, protocol=2),
    "node/planetoid/ind.tiny.test.index": lines(3),
}
MUSAE = {
    "edges.csv": lines("id_1,id_2", "0,1", "1,2", "3,0"),
    "target.csv": lines("id,days,mature,new_id", *(f"7{i},1,{i % 2 == 0},{i}" for i in range(4))),
    "features.json": encoded({str(i): [i, 5] for i in range(4)}),
}
TWITCH = {"counts": (4, 6, 6, 2), "file": "tiny", "column": "mature", "number": "new_id", "loops": True}
WIKICS = {
    "features": [[0.5, 1.0]] * 4,
    "labels": [0, 1, 0, 1],
    "links": [[1], [0, 2], [], [0]],
    "test_mask": [False, False, False, True],
    **{f"{k}_masks": [[i == j for j in range(4)]] for i, k in enumerate(("train", "val", "stopping"))},
}
FLICKR = {
    **members("inside", **CSR),
    "node/flickr/feats.npy": npy(np.eye(4)),
    "node/flickr/class_map.json": encoded({str(i): i % 2 for i in range(4)}),
    "node/flickr/role.json": encoded({"tr": [0, 1], "va": [2], "te": [3]}),
}
NODES = (
    in_npz("node/npz/tiny.npz", "CitationFull", built(Documents, file="tiny", source="", **COUNTS), labels=CLASSES, **DOCUMENTS),
    Target("Planetoid", PLANETOID, built(Planetoid, file="tiny", **COUNTS)),
    in_npz(
        "node/ptg/tiny.npz", "MUSAE", built(Reduced, file="tiny"),
        features=np.eye(4), edges=np.array([[0, 1], [1, 0]]), target=CLASSES,
    ),
    Target("MUSAE raw", MUSAE, built(Raw, **TWITCH), {"node/musae/tiny.zip": list(MUSAE)}),
    Target("WikiCS", {"node/wikics/data.json": encoded(WIKICS)}, built(WikiCS)),
    Target("Flickr", FLICKR, built(Flickr), {"node/flickr/adj_full.npz": [n for n in FLICKR if "inside" in n]}),
)  # fmt: skip

# Many graphs in one file of arrays, and their folds

EDGES = {"edge_ptr": np.arange(0, 63, 3), "edge": np.tile([[0, 1], [1, 2], [2, 3]], (20, 1))}
CALLS = {"src_step": np.tile([0, 1, 1], 20).astype(np.uint16), "dst": np.tile([1, 2, 0], 20).astype(np.uint16)}
RING = np.repeat(np.stack([np.arange(41), np.roll(np.arange(41), 1)], 1), 4, axis=0)
FOLDS = {f"{part}.index": lines(f"{k},3", f"{k},4") for k, part in enumerate(PARTS)}
FAIR = [{"test": [0], "model_selection": [{"train": [1, 2], "validation": [3]}]}] * 2
ARRAYS = (
    in_npz("synthetic/smallworld.npz", "synthetic", built(SmallWorld, file="smallworld"), node_ptr=64 * np.arange(21), **EDGES),
    in_npz(
        "MalNet/malnet_tiny.npz", "MalNet-Tiny", built(MalNetTiny), num_nodes=np.full(20, 3),
        edge_ptr=EDGES["edge_ptr"], label=np.arange(20) % 5, **CALLS,
    ),
    in_npz(
        "a.npz", "CSL", lambda folder: list(PublishedCSL.graphs(None, folder / "a.npz")),
        edge=np.concatenate([RING, RING]), edge_ptr=np.array([0, 164, 328]), num_nodes=np.full(2, 41), y=np.arange(2),
    ),
    Target("folds", FOLDS, lambda folder: read_folds([folder / name for name in FOLDS], 5)),
    Target("fair splits", {"a.json": encoded(FAIR)}, lambda folder: read_nested_folds(folder / "a.json", 4)),
)  # fmt: skip


def read_brec(folder):
    file = RawFile("BREC/dr.npy")
    return BREC.read(SimpleNamespace(raw_files=[file] * len(KINDS), config=config(folder)), len(KINDS) - 1)


# Molecules and tours

CXSMILES = "[C][C][C][C][C][C][C] |atomProp:0.contact.0&#59;1:5.contact.0:6.contact.1|"
PCQM = lines("cxsmiles\tn", f"{CXSMILES}\t1", f"{CXSMILES}\t2", "[C][C]\t3")
STRUCT = lines(",".join(("smiles", *SHAPES)), *(f"CCO{11 * f',{k}.5'}" for k in (1, 2, 4)))
OGB = {
    "molecules/tiny/raw/node-feat.csv": lines(*["5,0,4,5,3,0,2,0,0"] * 6),
    "molecules/tiny/raw/edge.csv": lines(*["0,1"] * 3),
    "molecules/tiny/raw/num-node-list.csv": lines(2, 2, 2),
    "molecules/tiny/raw/num-edge-list.csv": lines(1, 1, 1),
    "molecules/tiny/raw/graph-label.csv": lines("0,1", ",1", "nan,0"),
    **{f"molecules/tiny/split/scaffold/{part}.csv": lines(k) for k, part in enumerate(("train", "valid", "test"))},
}
MOLECULE = {
    "atom_type": np.array([0, 1]),
    "bond_type": np.array([[0, 1], [1, 0]]),
    "logP_SA_cycle_normalized": np.ones(1),
}
COMPOUND = (np.array([0, 1]), np.array([1, 1]), np.array([[0, 1], [1, 0]]), 0.5)
ZINC = {f"zinc/molecules/{part}.pickle": pickle.dumps([MOLECULE], protocol=3) for part in PARTS}
ZINC_INDEX = {f"splits/benchmarking-gnns/molecules/{part}.index": b"0" for part in PARTS}
COMPOUNDS = {f"aqsol/{part}.pickle": pickle.dumps([COMPOUND], protocol=4) for part in PARTS}
CITIES = {"seed": 1, "min_nodes": 5, "max_nodes": 5}


class Contacts(PCQMContact):
    """Any table is taken for the published one."""

    parameters = {"every": 1}  # noqa: RUF012 - read only

    @property
    def md5(self):
        return hashlib.md5(find(self.raw_files[0], self.config).read_bytes(), usedforsecurity=False).hexdigest()


def read_tours(folder):
    """The tours found before a build was interrupted: a damaged file is said to be, and not taken."""
    (folder / "tours-00000.npz").write_bytes((folder / "tours.npz").read_bytes())
    with contextlib.redirect_stderr(io.StringIO()):
        tours = FoundTours(folder, CITIES, [("train", 0), ("train", 1)]).read(0)
    return tours and [check_tour(tour, len(instance(CITIES, "train", i)), "") for i, tour in enumerate(tours)]


def in_torch(*graphs):
    content = io.BytesIO()
    torch.save(list(graphs), content)
    return content.getvalue()


ATOMS = (torch.zeros(2, 9).long(), torch.zeros(2, 3).long(), torch.tensor([[0, 1], [1, 0]]))
PAIRS = in_torch((*ATOMS, torch.tensor([[0, 1], [1, 0]]), torch.tensor([1, 0])))
MOLECULES = (
    Target("BREC", {"BREC/dr.npy": npy(np.array(["D?{", "C~"] * 20))}, read_brec),
    Target("PCQM-Contact", {"LRGB/pcqm4m-contact.tsv.gz": PCQM}, lambda folder: opened(Contacts, folder, limit=1)),
    Target("Peptides-struct", {"a.csv": STRUCT}, lambda folder: PeptidesStruct.read(None, folder / "a.csv")),
    Target(
        "Peptides split",
        {"a.pickle": pickle.dumps({part: np.array([k]) for k, part in enumerate(PARTS)}, protocol=4)},
        lambda folder: read_split(folder / "a.pickle", 3),
    ),
    Target("OGB molecules", OGB, built(OGBMolecules, file="tiny", n_tasks=2)),
    Target(
        "published molecules",
        {f"lists/{part}.pt": PAIRS for part in PARTS},
        built(PublishedPCQMContact, sizes=SIZES),
        {"LRGB/pcqmcontact.zip": [f"lists/{part}.pt" for part in PARTS]},
    ),
    Target(
        "ZINC", ZINC | ZINC_INDEX, built(PublishedZINC, subset=True, sizes=SIZES, parameters={}),
        {"ZINC/molecules.zip": list(ZINC)},
    ),
    Target("AQSOL", COMPOUNDS, built(AQSOL, sizes=SIZES), {"AQSOL/aqsol_graph_raw.zip": list(COMPOUNDS)}),
    Target(
        "tour of Concorde",
        {"a.sol": lines("5", "0 2 1 4 3")},
        lambda folder: check_tour(read_solution(folder / "a.sol", 5), 5, "concorde"),
    ),
    in_npz("tours.npz", "tours", read_tours, **{"0": np.arange(5, dtype=np.int32), "1": np.arange(5)[::-1]}),
)  # fmt: skip

# Photographs

WAVES = np.rint(127.5 + 127.5 * np.sin(np.arange(24 * 20 * 3) / 97)).astype(np.uint8).reshape(24, 20, 3)


def image(pixels, kind):
    content = io.BytesIO()
    Image.fromarray(pixels).save(content, kind)
    return content.getvalue()


def mat(mask, packed):
    content = io.BytesIO()
    scipy.io.savemat(content, {"GTcls": {"Segmentation": mask}}, do_compression=packed)
    return content.getvalue()


MASK = np.zeros((24, 20), np.uint8)
MASK[4:12, 5:15], MASK[12, :] = 3, 255
PHOTO, ROOT = image(WAVES, "JPEG"), "VOCdevkit/VOC2012"
VOC = {
    f"{ROOT}/ImageSets/Segmentation/train.txt": b"a",
    f"{ROOT}/ImageSets/Segmentation/val.txt": b"b\nc\n",
    **{f"{ROOT}/JPEGImages/{k}.jpg": PHOTO for k in "abc"},
    **{f"{ROOT}/SegmentationClass/{k}.png": image(MASK, "PNG") for k in "abc"},
}
RUNS = {"counts": [50, 30, 400], "size": [24, 20]}
INSTANCES = {
    "images": [{"id": k, "file_name": f"{k}.jpg"} for k in (1, 2)],
    "annotations": [
        {"image_id": 1, "category_id": 18, "segmentation": [[2.0, 2, 12, 3, 9, 14]], "iscrowd": 0},
        {"image_id": 2, "category_id": 90, "segmentation": RUNS, "iscrowd": 1},
    ],
}
OBJECTS = {
    "annotations/instances_train2017.json": encoded(INSTANCES),
    **{f"train2017/{k}.jpg": PHOTO for k in (1, 2)},
    "val2017/3.jpg": PHOTO,
    "yolo_seg_labels/val2017/3.txt": lines("7 0.1 0.1 0.9 0.2 0.5 0.8", "16 0.2 0.2 0.4 0.2 0.4 0.9"),
}
REGIONS = (np.zeros((2, 14), np.float16), np.ones((2, 2), np.float32), np.array([[0, 1], [1, 0]]), np.array([0, 90]))
SHEET = image(WAVES.reshape(-1)[: 2 * 512].reshape(1, -1, 2)[..., [0, 1, 0]].repeat(2, 1), "PNG")


def packed_as_tar(names, archive, read):
    """Reads a tar file of these files."""

    def pack_and_read(folder):
        with tarfile.open(folder / archive, "w") as tar:
            for name in names:
                tar.add(folder / name, name)
        return read(folder)

    return pack_and_read


def read_tar_of_photographs(folder):
    files = Files(folder / "a.tar")
    return [files.image(name) for name in files.names("photographs", ".jpg")]


def tar(**files):
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(f"photographs/{name}.jpg")
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return content.getvalue()


LISTS = {f"lists/{part}.pickle": pickle.dumps([REGIONS] * 2, protocol=4) for part in PARTS}
IMAGES = (
    Target("PNG sheet", {"a.png": SHEET}, lambda folder: read_sheet(folder / "a.png")),
    Target("tar of photographs", {"a.tar": tar(a=PHOTO, b=PHOTO)}, read_tar_of_photographs),
    Target("VOC", VOC, packed_as_tar(VOC, "voc2012_seg_sample300.tar", built(VOCSample, sizes=SIZES))),
    Target(
        "SBD",
        {"a.jpg": PHOTO, "packed.mat": mat(MASK, True), "plain.mat": mat(MASK, False)},
        lambda folder: [read_masked(Files(folder), ("a.jpg", f"{name}.mat")) for name in ("packed", "plain")],
    ),
    Target("COCO", OBJECTS, packed_as_tar(OBJECTS, "coco2017_sample.tar", built(COCOSample, sizes=SIZES))),
    Target(
        "published superpixels",
        LISTS,
        built(COCO, sizes=dict.fromkeys(PARTS, 2), raw_files=(RawFile("a.zip"),)),
        {"a.zip": list(LISTS)},
    ),
)

LATER = {target.name: target for target in (*NODES, *ARRAYS, *MOLECULES, *IMAGES)}
