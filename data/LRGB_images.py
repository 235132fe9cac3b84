"""From a photograph to a graph of superpixels, as the Long Range Graph Benchmark makes it (its appendix A.1).

SLIC is asked for 550 segments, or fewer until it gives at most 500. A superpixel is a node with 14 numbers: mean, deviation,
maximum and minimum of red, green and blue, each in [0, 1], and its centre (row, column) in pixels. Its class is that of the pixel
at its centre. There are three kinds of graphs:

rag        an edge between superpixels that touch: mean strength of the image's edges along the boundary, number of pixels there
coo        each superpixel and the 8 nearest: nearness of their centres
coo-feat   the same by nearness of centres and colours
"""

import numpy as np
from scipy import ndimage

from data.superpixels import nearest_neighbours, superpixels

MAX_NODES, N_SEGMENTS, K = 500, 550, 8


def region_features(image, region):
    """(n, 14) numbers of the regions of an image (height, width, 3) with values in [0, 1]."""
    region, colours = region.ravel(), image.reshape(-1, 3)
    size = np.bincount(region)
    order = np.argsort(region, kind="stable")
    first, ordered = np.cumsum(size) - size, colours[order]
    mean = np.add.reduceat(ordered, first) / size[:, None]
    deviation = np.sqrt(np.add.reduceat((ordered - mean[region[order]]) ** 2, first) / size[:, None])
    largest, smallest = np.maximum.reduceat(ordered, first), np.minimum.reduceat(ordered, first)
    places = np.indices(image.shape[:2]).reshape(2, -1).T[order]
    centre = np.add.reduceat(places, first) / size[:, None]
    return np.concatenate([mean, deviation, largest, smallest, centre], axis=1)


def touching_regions(image, region):
    """(src, dst, (E, 2) features): regions that touch, in both directions; mean Sobel magnitude and number of records.

    A pixel is a record of the boundary between its own region and the one with the lowest number in its 3 x 3 window, and of
    that between its own and the one with the highest. So both sides of a boundary count: one of n pixels has about 2n records.
    Deviation: the text says pixels along the boundary.
    """
    from skimage.color import rgb2gray
    from skimage.filters import sobel

    strength, n = sobel(rgb2gray(image)), int(region.max()) + 1
    lowest, highest = ndimage.minimum_filter(region, 3), ndimage.maximum_filter(region, 3)
    low, high = lowest != region, highest != region
    codes = np.concatenate([lowest[low] * n + region[low], region[high] * n + highest[high]])
    pairs, place = np.unique(codes, return_inverse=True)
    count = np.bincount(place, minlength=len(pairs))
    mean = np.bincount(place, np.concatenate([strength[low], strength[high]]), minlength=len(pairs)) / np.maximum(
        count, 1
    )
    a, b = pairs // n, pairs % n
    feat = np.stack([mean, count], axis=1)
    return np.concatenate([a, b]), np.concatenate([b, a]), np.concatenate([feat, feat])


def region_graph(image, region, kind):
    """(feat (n, 14), src, dst, edge features) of an image with values in [0, 1]; `kind` is rag, coo or coo-feat.

    All but the edges of a rag are rounded to half precision, as published. An image of one superpixel has a loop of zeros.
    """
    feat = region_features(image, region)
    if len(feat) == 1:
        src = dst = np.zeros(1, np.int64)
        edge = np.zeros((1, 2 if kind == "rag" else 1))
    elif kind == "rag":
        src, dst, edge = touching_regions(image, region)
    else:
        src, dst, weight = nearest_neighbours(feat[:, 12:], K, feat[:, :12] if kind == "coo-feat" else None)
        edge = weight[:, None]
    return feat.astype(np.float16), src, dst, edge.astype(np.float32 if kind == "rag" else np.float16)


def centre_pixels(feat):
    """(row, column) of the pixel at the centre of each superpixel; halves go to the even number. `feat` is not rounded yet."""
    return np.rint(feat[:, 12:]).astype(np.int64).T


def image_regions(image, compactness):
    """The number of the superpixel of each pixel of an image of bytes."""
    return superpixels(image / 255, MAX_NODES, N_SEGMENTS, compactness)


def image_graph(image, kind, compactness, label_at):
    """(feat, src, dst, edge features, labels) of an image of bytes; label_at(rows, columns) gives the classes of pixels."""
    region = image_regions(image, compactness)
    rows, columns = centre_pixels(region_features(image / 255, region))
    return *region_graph(image / 255, region, kind), label_at(rows, columns)
