"""PascalVOC-SP and COCO-SP made from photographs and the classes of their pixels (data/LRGB_images.py says how).

PascalVOC-SP-300, COCO-SP-188             a few photographs: the code on real images. No result on them compares with the paper's
PascalVOC-SP-rebuilt, COCO-SP-rebuilt     all photographs, from files of yours, with the superpixels of this scikit-image: like
                                          those of the paper, but not the same

Each comes in six versions, named as those of the published datasets (data/LRGB_superpixels.py).
"""

import importlib.metadata
import struct
import zlib
from functools import partial

import numpy as np

from data.download import RawFile, find, present, reading
from data.errors import REMEDY, DataError, StoreError
from data.LRGB_images import MAX_NODES, image_graph
from data.LRGB_superpixels import COCO, LongRangeSuperpixels, PascalVOC, versions
from data.parallel import parallel_map
from data.readers.images import Files, coco_classes, known_classes, polygon_annotations
from data.readers.matlab import read_field
from data.readers.unpack import parse_json, without_fraction
from data.splits import PARTS, evenly_spaced, read_lines

INDEX_URL = "https://raw.githubusercontent.com/vijaydwivedi75/lrgb/main/scripts/PascalVOC/VOC_{}.index"


class OfPhotographs(LongRangeSuperpixels):
    """Built from images. Subclasses define `photographs`: {part: [item]}, and `read`, a function of (files, item)."""

    generated = True
    sizes: dict

    def photographs(self):
        """(the files, {part: items}) of what is to be built."""
        raise TypeError(f"{type(self).__name__} does not say which photographs it has: define photographs")

    def chosen(self):
        files, parts = self.photographs()
        found = {part: len(items) for part, items in parts.items()}
        if found != self.sizes:
            raise DataError(f"{files.path}: {found} photographs, expected {self.sizes}: {REMEDY}")
        limit = self.config.limit
        if limit:
            numbers = {part: evenly_spaced(np.arange(len(items)), limit) for part, items in parts.items()}
            parts = {part: [parts[part][i] for i in numbers[part]] for part in PARTS}
        return files, parts

    def build(self, path):
        files, parts = self.chosen()
        make = partial(photograph_graph, type(self).read, files, self.graph, self.compactness)
        items = [item for part in PARTS for item in parts[part]]
        graphs = parallel_map(make, items, None, chunk=4, workers=self.config.workers)
        version = importlib.metadata.version("scikit-image")
        sizes = {part: len(parts[part]) for part in PARTS}
        self.write(path, sizes, graphs, **{"scikit-image": version})

    def image(self, i):
        """The photograph of graph i."""
        files, parts = self.chosen()
        return files.image([item for part in PARTS for item in parts[part]][i][0])

    def check(self, store):
        limit, counts = self.config.limit, store.header["counts"]
        n_graphs = sum(min(n, limit or n) for n in self.sizes.values())
        if (counts["graphs"], min(counts["max_nodes"], MAX_NODES)) != (n_graphs, counts["max_nodes"]):
            raise StoreError(
                f"{store.path}: {counts['graphs']} graphs of up to {counts['max_nodes']} nodes, expected {n_graphs} of up to "
                f"{MAX_NODES}: delete the folder, it is built again"
            )


def photograph_graph(read, files, graph, compactness, item):
    """(feat, src, dst, edge features, labels, name) of one photograph."""
    image, label_at = read(files, item)
    return *image_graph(image, graph, compactness, label_at), f"{files.path}, {item[0]}"


def read_masked(files, item):
    """(image, classes of its pixels) of (name of the image, name of its mask)."""
    image = files.image(item[0])
    mask = read_sbd(files, item[1]) if item[1].endswith(".mat") else known_classes(files.mask(item[1]))
    if mask.shape != image.shape[:2]:
        raise DataError(f"{files.path}, {item[1]}: {mask.shape} pixels, the image has {image.shape[:2]}: {REMEDY}")
    return image, lambda rows, columns: mask[rows, columns]


def read_sbd(files, name):
    """The mask in a .mat file of SBD."""
    try:
        return without_fraction(read_field(files.read(name), b"GTcls", b"Segmentation"), "Segmentation")
    except (ValueError, struct.error, zlib.error) as error:
        raise DataError(f"{files.path}, {name}: cannot be read as a mask of SBD ({error}): {REMEDY}") from error


def read_annotated(files, item):
    """(image, classes of its pixels) of (name of the image, its objects as COCO has them, or the name of a file of polygons)."""
    image, objects = files.image(item[0]), item[1]
    where = f"{files.path}, {item[0]}"
    if isinstance(objects, str):
        where = f"{files.path}, {objects}"
        with reading(where):
            objects = polygon_annotations(files.read(objects).decode(), *image.shape[:2], where)
    return image, partial(coco_classes, objects, where)


def read_instances(files, name):
    """{file name of an image: [(category, segmentation)]} of the annotations of COCO, in the order in which it lists the images."""
    with reading(f"{files.path}, {name}"):
        content = parse_json(files.read(name), f"{files.path}, {name}")
        names = {image["id"]: image["file_name"] for image in content["images"]}
        objects = {file_name: [] for file_name in names.values()}
        for one in content["annotations"]:
            objects[names[one["image_id"]]].append((one["category_id"], one["segmentation"]))
    return objects


def words(files, name):
    with reading(f"{files.path}, {name}"):
        return files.read(name).decode().split()


class VOCSample(OfPhotographs):
    """300 photographs of VOC 2012: 200 of its training part; its validation part is divided in turn.

    Deviation: not a dataset of the paper. The masks are VOC's own, those of the paper are SBD's; at the borders of objects, which
    VOC leaves open, the nearest class counts.
    """

    name, paper = "PascalVOC-SP-300", "PascalVOC-SP"
    licence = PascalVOC.licence
    parameters = {"file": "voc2012_seg_sample300.tar"}  # noqa: RUF012 - read only
    raw_files = (RawFile("LRGB/voc2012_seg_sample300.tar"),)
    sizes = {"train": 200, "val": 50, "test": 50}  # noqa: RUF012
    read = staticmethod(read_masked)

    def photographs(self):
        files, root = Files(find(self.raw_files[0], self.config)), "VOCdevkit/VOC2012"
        lists = [words(files, f"{root}/ImageSets/Segmentation/{part}.txt") for part in ("train", "val")]
        names = {"train": lists[0], "val": lists[1][::2], "test": lists[1][1::2]}
        pair = (f"{root}/JPEGImages/{{}}.jpg", f"{root}/SegmentationClass/{{}}.png")
        return files, {part: [tuple(p.format(w) for p in pair) for w in names[part]] for part in PARTS}


class COCOSample(OfPhotographs):
    """188 photographs of COCO 2017: 108 and 20 of its training part, in an order drawn with the seed 0, 60 of its validation part.

    Deviation: not a dataset of the paper. The objects to be tested are polygons without COCO's crowds.
    """

    name, paper = "COCO-SP-188", "COCO-SP"
    licence = COCO.licence
    parameters = {"file": "coco2017_sample.tar"}  # noqa: RUF012 - read only
    raw_files = (RawFile("LRGB/coco2017_sample.tar"),)
    sizes = {"train": 108, "val": 20, "test": 60}  # noqa: RUF012
    read = staticmethod(read_annotated)

    def photographs(self):
        files = Files(find(self.raw_files[0], self.config))
        objects = read_instances(files, "annotations/instances_train2017.json")
        items = [(f"train2017/{name}", found) for name, found in objects.items()]
        order = np.random.RandomState(0).permutation(len(items))
        polygons = {name: name.replace(".jpg", ".txt") for name in files.names("val2017", ".jpg")}
        parts = {"train": order[: self.sizes["train"]], "val": order[self.sizes["train"] :]}
        parts = {part: [items[i] for i in numbers] for part, numbers in parts.items()}
        return files, parts | {"test": [(name, f"yolo_seg_labels/{text}") for name, text in polygons.items()]}


class RebuiltVOC(OfPhotographs):
    """The photographs, masks and parts of PascalVOC-SP from the unpacked archive of SBD, benchmark_RELEASE.

    Deviation: SLIC of today, though undone where it is known to differ, need not find the superpixels of the paper.
    """

    name, paper = "PascalVOC-SP-rebuilt", "PascalVOC-SP"
    licence = PascalVOC.licence
    parameters = {"folder": "benchmark_RELEASE"}  # noqa: RUF012 - read only
    raw_files = tuple(RawFile(f"LRGB/VOC_{part}.index", (INDEX_URL.format(part),)) for part in ("val", "test"))
    sizes = PascalVOC.sizes
    read = staticmethod(read_masked)

    def photographs(self):
        files = Files(unpacked("LRGB/benchmark_RELEASE", self.config, "https://home.bharathh.info/pubs/codes/SBD"))
        names = {part: words(files, f"dataset/{part}.txt") for part in ("train", "val")}
        # the file of the test has a second line, which is not used
        val, test = (read_lines(find(file, self.config), len(names["val"]))[0] for file in self.raw_files)
        names = {
            "train": names["train"],
            "val": [names["val"][i] for i in val],
            "test": [names["val"][i] for i in test],
        }
        return files, {part: [(f"dataset/img/{w}.jpg", f"dataset/cls/{w}.mat") for w in names[part]] for part in PARTS}


class RebuiltCOCO(OfPhotographs):
    """The photographs, objects and parts of COCO-SP from a folder COCO with train2017, val2017 and annotations.

    Deviation: as for VOC; and a pixel is inside a polygon if its middle is, where the program rounds corners first. As there, one
    photograph of the training part is in no part: 118,287 are divided into 113,286 and 5,000.
    """

    name, paper = "COCO-SP-rebuilt", "COCO-SP"
    licence = COCO.licence
    parameters = {"folder": "COCO"}  # noqa: RUF012 - read only
    sizes = COCO.sizes
    read = staticmethod(read_annotated)

    def photographs(self):
        files = Files(unpacked("LRGB/COCO", self.config, "https://cocodataset.org"))
        objects = {part: read_instances(files, f"annotations/instances_{part}2017.json") for part in ("train", "val")}
        items = {part: [(f"{part}2017/{name}", found) for name, found in objects[part].items()] for part in objects}
        train, val = coco_split(len(items["train"]), self.sizes["val"])
        return files, {
            "train": [items["train"][i] for i in train],
            "val": [items["train"][i] for i in val],
            "test": items["val"],
        }


def coco_split(n, n_val):
    """(training, validation) of n photographs, in an order drawn with the seed 0; one is left over."""
    order = np.random.RandomState(0).permutation(n)
    n_train = n - n_val - 1
    return order[:n_train], order[n_train : n_train + n_val]


def unpacked(path, config, address):
    """A folder of the user's."""
    folder = present(path, config)
    if folder is None or not folder.is_dir():
        raise DataError(
            f"{path}: no such folder below data_dir={config.data_dir} or {config.raw_dir}: get and unpack it from {address}"
        )
    return folder


DATASETS = {
    name: dataset
    for base in (VOCSample, COCOSample, RebuiltVOC, RebuiltCOCO)
    for name, dataset in versions(base).items()
}
