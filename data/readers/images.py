"""Photographs and the classes of their pixels: JPEG and PNG files in a folder or a tar file, masks, polygons and runs of COCO."""

import io
import math
import re
import warnings
from pathlib import Path

import numpy as np

from data.download import reading
from data.errors import REMEDY, DataError
from data.readers.unpack import DAMAGE, TAR_BLOCK, damage, tar_header, without_fraction

MOST_PIXELS = 1 << 22  # of an image: those of VOC and COCO have up to 640 x 640, and superpixels take much memory
COCO_CATEGORIES = (0, *(i for i in range(1, 91) if i not in (12, 26, 29, 30, 45, 66, 68, 69, 71, 83)))  # 0: background


class Files:
    """The files of a folder or of a plain tar file by name. It can be sent to another process."""

    def __init__(self, path):
        self.path = Path(path)
        self.places = None if self.path.is_dir() else dict(self._scan())

    def _scan(self):
        """(name, (place, bytes)) of each file in the tar file."""
        with open(self.path, "rb") as file, damage(self.path):
            end = file.seek(0, io.SEEK_END)
            file.seek(0)
            while any(header := file.read(TAR_BLOCK)):
                name, size, kind = tar_header(header)
                start = file.tell()
                if start + size > end:
                    raise EOFError(f"{name!r} is not all there")
                if kind in (b"\0", b"0"):
                    yield name, (start, size)
                file.seek(start + size + -size % TAR_BLOCK)

    def names(self, folder, ending):
        """Names of the files directly in a folder that end so, sorted."""
        if self.places is None:
            return sorted(f"{folder}/{file.name}" for file in (self.path / folder).glob(f"*{ending}"))
        inside = (name for name in self.places if name.startswith(f"{folder}/") and name.endswith(ending))
        return sorted(name for name in inside if "/" not in name[len(folder) + 1 :])

    def read(self, name):
        if self.places is not None and name in self.places:
            start, size = self.places[name]
            with open(self.path, "rb") as file:
                file.seek(start)
                return file.read(size)
        if self.places is None and (self.path / name).is_file():
            return (self.path / name).read_bytes()
        raise DataError(f"{self.path}, {name}: not found: the files are not all there: {REMEDY}")

    def image(self, name):
        """(height, width, 3) bytes of a photograph."""
        return read_image(self.read(name), f"{self.path}, {name}", "RGB")

    def mask(self, name):
        """(height, width) bytes: the numbers in a PNG with a palette, or of one channel."""
        return read_image(self.read(name), f"{self.path}, {name}")


def read_image(content, where, mode=None):
    """The pixels of a JPEG or PNG, converted to `mode` if that is given, else the numbers of its one channel."""
    from PIL import Image  # scikit-image needs it too

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(content), formats=["JPEG", "PNG"]) as image:
                if math.prod(image.size) > MOST_PIXELS:
                    raise ValueError(f"{image.size[0]} x {image.size[1]} pixels, expected at most {MOST_PIXELS}")
                pixels = np.asarray(image.convert(mode) if mode else image)
    except (*DAMAGE, SyntaxError, Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise DataError(f"{where}: cannot be read as an image ({error}): {REMEDY}") from error
    if mode is None and (pixels.ndim != 2 or pixels.dtype != np.uint8):
        raise DataError(f"{where}: {pixels.dtype} pixels of shape {pixels.shape}: expected one byte each: {REMEDY}")
    return pixels


# --------------------------------------------------------------------------------------------------------------------
# Classes of pixels


def known_classes(mask, unknown=255):
    """The mask with the class of the nearest known pixel where there is none, as at the borders of VOC's objects."""
    from scipy import ndimage

    if not (mask == unknown).any() or (mask == unknown).all():
        return np.where(mask == unknown, 0, mask)
    nearest = ndimage.distance_transform_edt(mask == unknown, return_distances=False, return_indices=True)
    return mask[tuple(nearest)]


def inside_polygon(rows, columns, polygon):
    """Whether the middle of each pixel is inside a polygon (m, 2) of corners (x, y), by the number of sides to its right."""
    if not np.isfinite(polygon).all():
        raise ValueError("a corner that is not a finite number")
    x, y = columns + 0.5, rows + 0.5
    (x1, y1), (x2, y2) = polygon.T, np.roll(polygon, -1, axis=0).T
    crosses = (y1 > y[:, None]) != (y2 > y[:, None])
    with np.errstate(all="ignore"):
        at = x1 + (y[:, None] - y1) * (x2 - x1) / (y2 - y1)
    return ((crosses & (x[:, None] < at)).sum(axis=1) % 2).astype(bool)


def inside_runs(rows, columns, runs, height):
    """The same of runs of pixels outside and inside, in turn, that go down the columns one after the other."""
    ends = np.cumsum(runs)
    return np.searchsorted(ends, columns * height + rows, side="right") % 2 == 1


def inside(rows, columns, segmentation, where):
    """Of a segmentation of COCO: a list of polygons (x, y, x, y, …), or runs with the size (height, width)."""
    match segmentation:
        case list():
            polygons = [np.asarray(part, dtype=np.float64).reshape(-1, 2) for part in segmentation]
            return np.any([np.zeros(len(rows), bool), *(inside_polygon(rows, columns, p) for p in polygons)], axis=0)
        case {"counts": list() as runs, "size": [int() as height, int() as width]}:
            runs = without_fraction(runs, "runs")
            if runs.ndim != 1 or runs.min(initial=0) < 0 or runs.sum() != height * width:
                raise ValueError(f"runs that do not fill {height} x {width} pixels")
            return inside_runs(rows, columns, runs, height)
    raise DataError(f"{where}: a segmentation that is neither polygons nor a list of runs: {REMEDY}")


def coco_classes(annotations, where, rows, columns):
    """Classes 0 to 80 of pixels: of the objects (category, segmentation) there, the one with the highest category; 0 for none."""
    category = np.zeros(len(rows), np.int64)
    for number, segmentation in annotations:
        if type(number) is not int:
            raise DataError(f"{where}: category {str(number)[:60]}: expected a whole number: {REMEDY}")
        with reading(where):
            covered = inside(rows, columns, segmentation, where)
            category = np.where(covered, np.maximum(category, number), category)
    return coco_labels(category, where)


def coco_labels(category, where):
    """0 to 80 for 0 and the 80 categories of COCO, whose numbers have gaps."""
    label = np.searchsorted(COCO_CATEGORIES, category)
    wrong = np.append(COCO_CATEGORIES, -1)[label] != category
    if wrong.any():
        raise DataError(f"{where}: category {category[wrong][0]}: expected 0 or one of the 80 of COCO: {REMEDY}")
    return label


def polygon_annotations(text, height, width, where):
    """[(category, [polygon])] of lines "category x y x y …" with coordinates as shares of the image."""
    found = []
    for line in text.splitlines():
        number, *corners = line.split() or [""]
        if not re.fullmatch(r"[0-9]{1,9}", number) or len(corners) < 6 or len(corners) % 2:
            raise DataError(f"{where}: {line[:60]!r}: expected a category and at least three corners: {REMEDY}")
        with reading(where), np.errstate(over="ignore"):
            polygon = np.array(corners, dtype=np.float64).reshape(-1, 2) * (width, height)
        found.append((int(number), [polygon]))
    return found
