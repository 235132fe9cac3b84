"""Loops over the neighbours of each node, compiled by numba and run by torch's own threads: what layers/fused.py calls.

A kernel reads its arguments, numbers and addresses of arrays, from one array of integers. Each thread of the team does its share of
the rows or nodes. Every number is computed in an order that does not depend on the number of threads. All arrays are
float32 and int32, in rows without gaps.

The team is the one that torch's products use: numba's own would be a second one, and the two would fight for the cores. Machine
code is kept in the user's cache folder, one folder per kind of processor and version of this file, so that only the first process
of all compiles; where that cannot be written, each process compiles for itself.
"""

import ctypes
import functools
import hashlib
import os
import struct
import sys
from pathlib import Path

import llvmlite.binding as llvm
import numba
import numpy as np
import torch
from numba import carray, types
from numba.extending import intrinsic

from process import openmp

# --------------------------------------------------------------------------------------------------------------------
# How a kernel is compiled and called


_openmp = openmp()
for _name in ("omp_get_thread_num", "omp_get_num_threads"):
    llvm.add_symbol(f"torch_{_name}", ctypes.cast(getattr(_openmp, _name), ctypes.c_void_p).value)
thread_num = types.ExternalFunction("torch_omp_get_thread_num", types.int32())
num_threads = types.ExternalFunction("torch_omp_get_num_threads", types.int32())


@functools.cache
def cache_folder():
    """Where machine code for this processor is kept, or None."""
    kind = f"{llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()} {numba.__version__} {sys.version}"
    try:
        # kernels in other files call what stands here, and numba looks at the date of their own file alone
        kind += Path(__file__).read_text(encoding="utf-8")
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        folder = base / "gnn-benchmarks" / hashlib.sha256(kind.encode()).hexdigest()[:16]
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # of a folder that cannot be made, of a user without a home
        return None
    return folder if os.access(folder, os.W_OK) else None


class Kernel:
    """A function of one pointer to integers, compiled when it is first called."""

    def __init__(self, function):
        self.function = function
        functools.update_wrapper(self, function)

    @functools.cached_property
    def address(self):
        options = {"fastmath": {"contract", "nsz"}, "error_model": "numpy", "nopython": True}
        compiled = numba.cfunc(types.void(types.CPointer(types.int64)), cache=cache_folder() is not None, **options)
        before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(cache_folder() or "")
        try:
            self.compiled = compiled(self.function)  # kept: its code lives as long as it
        finally:
            numba.config.CACHE_DIR = before
        return self.compiled.address

    def __call__(self, *arguments, threads=None):
        """Run by a team. Tensors are passed by address: the caller keeps them alive, float32 or int32, and without gaps."""
        values = (ctypes.c_int64 * len(arguments))(*map(as_integer, arguments))
        _openmp.GOMP_parallel(self.address, ctypes.addressof(values), threads or torch.get_num_threads(), 0)


def as_integer(value):
    if isinstance(value, torch.Tensor):
        return value.data_ptr()
    return struct.unpack("q", struct.pack("d", value))[0] if isinstance(value, float) else value


def reads(kind):
    """A conversion of an integer argument: an address to a pointer, bits to a number."""

    @intrinsic
    def read(typing, value):
        def generate(context, builder, signature, values):
            to = context.get_value_type(kind)
            return (
                builder.inttoptr(values[0], to) if isinstance(kind, types.CPointer) else builder.bitcast(values[0], to)
            )

        return kind(types.int64), generate

    return read


float_pointer, int_pointer = reads(types.CPointer(types.float32)), reads(types.CPointer(types.int32))
real_pointer, real = reads(types.CPointer(types.float64)), reads(types.float64)
long_pointer = reads(types.CPointer(types.int64))


@intrinsic
def power_of_two(typing, bits):
    """The float32 of these bits."""

    def generate(context, builder, signature, values):
        return builder.bitcast(values[0], context.get_value_type(types.float32))

    return types.float32(types.int32), generate


function = numba.njit(fastmath={"contract", "nsz"}, error_model="numpy")


@function
def floats(address, rows, width):
    return carray(float_pointer(address), (rows, width))


@function
def ints(address, n):
    return carray(int_pointer(address), (n,))


@function
def share(n):
    """The rows of 0 … n - 1 that this thread works on: first, last + 1."""
    t, T = np.int64(thread_num()), np.int64(num_threads())
    return n * t // T, n * (t + 1) // T


@function
def share_of_nodes(indptr, n):
    """The nodes that this thread works on: as many edges (and nodes) for each."""
    t, T = np.int64(thread_num()), np.int64(num_threads())
    total = np.int64(indptr[n]) - np.int64(indptr[0]) + n
    return first_node(indptr, n, total * t // T), first_node(indptr, n, total * (t + 1) // T)


@function
def first_node(indptr, n, weight):
    """The first node before which at least `weight` nodes and edges lie."""
    low, high = np.int64(0), n
    while low < high:
        middle = (low + high) // 2
        if np.int64(indptr[middle]) - np.int64(indptr[0]) + middle < weight:
            low = middle + 1
        else:
            high = middle
    return low


@function
def exp(x):
    """To 2 units in the last place; NaN stays NaN. By 2^n · e^r with |r| <= ln 2 / 2 and a polynomial."""
    x = np.float32(-87.0) if x < np.float32(-87.0) else x
    x = np.float32(88.0) if x > np.float32(88.0) else x
    n = np.floor(x * np.float32(1.44269504) + np.float32(0.5))
    r = x - n * np.float32(0.693359375)
    r = r + n * np.float32(2.12194440e-4)
    p = np.float32(1 / 5040)
    p = p * r + np.float32(1 / 720)
    p = p * r + np.float32(1 / 120)
    p = p * r + np.float32(1 / 24)
    p = p * r + np.float32(1 / 6)
    p = p * r + np.float32(0.5)
    p = p * r + np.float32(1.0)
    p = p * r + np.float32(1.0)
    return p * power_of_two((np.int32(n) + np.int32(127)) << np.int32(23))


@function
def sigmoid(x):
    return np.float32(1.0) / (np.float32(1.0) + exp(-x))


# --------------------------------------------------------------------------------------------------------------------
# Sums, means and maxima over the neighbours


@Kernel
def sum_neighbours(arguments):
    """out_i = w x_i + Σ_k x[index_k] over k from indptr_i to indptr_i+1, in this order; divided by their number with `mean`.

    The sum comes first, then the term with w (which is left out at 0).
    """
    a = carray(arguments, (8,))
    n, d, mean, w = a[0], a[1], a[2] == 1, np.float32(real(a[3]))
    indptr, index, x, out = ints(a[4], n + 1), ints(a[5], 2**40), floats(a[6], 2**40, d), floats(a[7], n, d)
    first, last = share_of_nodes(indptr, n)
    for i in range(first, last):
        sum_rows(indptr[i], indptr[i + 1], index, x, out, i, d)
        degree = indptr[i + 1] - indptr[i]
        if mean and degree > 1:
            divide_row(out, i, d, degree)
        if w != 0:
            for c in range(d):
                out[i, c] += w * x[i, c]


@function
def sum_rows(begin, end, index, x, out, i, d):
    """out_i = Σ x[index_k], two rows at a time, in order."""
    if end - begin < 2:
        for c in range(d):
            out[i, c] = np.float32(0.0)
        if end > begin:
            j = index[begin]
            for c in range(d):
                out[i, c] = x[j, c]
        return
    j, m = index[begin], index[begin + 1]
    for c in range(d):
        out[i, c] = x[j, c] + x[m, c]
    for k in range(begin + 2, end - 1, 2):
        j, m = index[k], index[k + 1]
        for c in range(d):
            out[i, c] = (out[i, c] + x[j, c]) + x[m, c]
    if (end - begin) % 2:
        j = index[end - 1]
        for c in range(d):
            out[i, c] += x[j, c]


@function
def divide_row(out, i, d, degree):
    if degree & (degree - 1) == 0:  # exact, and faster than a division
        factor = np.float32(1.0) / np.float32(degree)
        for c in range(d):
            out[i, c] *= factor
    else:
        divisor = np.float32(degree)
        for c in range(d):
            out[i, c] = out[i, c] / divisor


@Kernel
def sum_in_subgraphs(arguments):
    """out_r = w x_r + Σ_u x[number_uk] over the neighbours u of node v in subgraph k, where row r is in place v K + k.

    number_vk < 0 where v is not in subgraph k or has no edges there.
    """
    a = carray(arguments, (10,))
    n, d, K, w = a[0], a[1], a[2], np.float32(real(a[3]))
    indptr, index, place, number = ints(a[4], 2**40), ints(a[5], 2**40), ints(a[6], n), ints(a[7], 2**40)
    x, out = floats(a[8], n, d), floats(a[9], n, d)
    first, last = share(n)
    for r in range(first, last):
        for c in range(d):
            out[r, c] = np.float32(0.0)
        if number[place[r]] >= 0:
            v, k = place[r] // K, place[r] % K
            for m in range(indptr[v], indptr[v + 1]):
                q = number[index[m] * K + k]
                if q >= 0:
                    for c in range(d):
                        out[r, c] += x[q, c]
        if w != 0:
            for c in range(d):
                out[r, c] += w * x[r, c]


@Kernel
def divide_rows(arguments):
    """out_i = x_i / (the number of neighbours of i, at least 1)."""
    a = carray(arguments, (5,))
    n, d = a[0], a[1]
    indptr, x, out = ints(a[2], n + 1), floats(a[3], n, d), floats(a[4], n, d)
    first, last = share(n)
    for i in range(first, last):
        for c in range(d):
            out[i, c] = x[i, c]
        degree = indptr[i + 1] - indptr[i]
        if degree > 1:
            divide_row(out, i, d, degree)


@Kernel
def max_neighbours(arguments):
    """out_i = Max_k x[index_k], and the first k that has it; `least` and -1 where none is above that, x_i itself if `own`."""
    a = carray(arguments, (9,))
    n, d, least, own = a[0], a[1], np.float32(real(a[2])), a[3] == 1
    indptr, index, x, out = ints(a[4], n + 1), ints(a[5], 2**40), floats(a[6], 2**40, d), floats(a[7], n, d)
    which = carray(int_pointer(a[8]), (n, d))
    first, last = share_of_nodes(indptr, n)
    for i in range(first, last):
        for c in range(d):
            out[i, c] = x[i, c] if own else least
            which[i, c] = -1
        for k in range(indptr[i], indptr[i + 1]):
            j = index[k]
            for c in range(d):
                larger = x[j, c] > out[i, c] or x[j, c] != x[j, c]  # NaN is the largest
                out[i, c] = x[j, c] if larger else out[i, c]
                which[i, c] = k if larger else which[i, c]


@Kernel
def max_neighbours_back(arguments):
    """d_x_j = Σ d_out_i over the edges k: j -> i with which_i = k, and if `own` d_out_j where which_j = -1. indptr, index, edge:
    the edges that leave each node."""
    a = carray(arguments, (9,))
    n, d, own = a[0], a[1], a[2] == 1
    indptr, index, edge = ints(a[3], n + 1), ints(a[4], 2**40), ints(a[5], 2**40)
    which, d_out, d_x = carray(int_pointer(a[6]), (2**40, d)), floats(a[7], 2**40, d), floats(a[8], n, d)
    first, last = share_of_nodes(indptr, n)
    for j in range(first, last):
        for c in range(d):
            d_x[j, c] = d_out[j, c] if own and which[j, c] == -1 else np.float32(0.0)
        for m in range(indptr[j], indptr[j + 1]):
            i, k = index[m], edge[m]
            for c in range(d):
                d_x[j, c] += d_out[i, c] if which[i, c] == k else np.float32(0.0)


# --------------------------------------------------------------------------------------------------------------------
# Batch normalisation, activation, residual connection
#
# TILE rows are worked on as one: a loop over 8 x 70 numbers keeps a processor busier than eight over 70. What belongs to a column
# is therefore given TILE times, as `tiled` (TILE · d numbers). Sums are those of pieces of TILES tiles, added up in float64.

IDENTITY, RELU, ELU = 0, 1, 2
TILE = 8  # rows
TILES = 32  # of a piece


@function
def n_tiles(n):
    return (n + TILE - 1) // TILE


@function
def n_pieces(n):
    return (n_tiles(n) + TILES - 1) // TILES


@function
def rows_of_piece(p, n):
    return np.float64(min(n, (p + 1) * TILES * TILE) - p * TILES * TILE)


@function
def tile_row(tile, d):
    """Repeat the first d numbers."""
    for c in range(d, TILE * d):
        tile[c] = tile[c - d]


@function
def fold_tile(tile, d):
    """Add up the TILE rows, into the first."""
    for k in range(1, TILE):
        for c in range(d):
            tile[c] += tile[k * d + c]


@function
def first_rows(x, origin, rows, d):
    """The mean of the first rows of x, tiled."""
    for c in range(d):
        origin[c] = np.float32(0.0)
    for k in range(rows):
        for c in range(d):
            origin[c] += x[k * d + c] / np.float32(rows)
    tile_row(origin, d)


@Kernel
def batch_moments(arguments):
    """Of each piece of x (n, d): the means of its columns and the sums of the squares of what is left, in moments[p, 0] and [p, 1].

    Sums are taken of what is beyond the mean of the first tile, so that a large mean costs no digits.
    """
    a = carray(arguments, (4,))
    n, d = a[0], a[1]
    w = TILE * d
    x, moments = floats(a[2], 2**40, w), carray(float_pointer(a[3]), (n_pieces(n), 3, w))
    first, last = share(n_pieces(n))
    for p in range(first, last):
        total, squares, origin = moments[p, 0], moments[p, 1], moments[p, 2]
        for c in range(w):
            total[c] = np.float32(0.0)
            squares[c] = np.float32(0.0)
        first_rows(x[p * TILES], origin, min(np.int64(TILE), n - p * TILES * TILE), d)
        for t in range(p * TILES, min(n_tiles(n), (p + 1) * TILES)):
            for c in range(min(w, n * d - t * w)):
                beyond = x[t, c] - origin[c]
                total[c] += beyond
                squares[c] += beyond * beyond
        fold_tile(total, d)
        fold_tile(squares, d)
        rows = rows_of_piece(p, n)
        for c in range(d):
            mean = np.float64(total[c]) / rows
            squares[c] = np.float64(squares[c]) - rows * mean * mean
            total[c] = np.float64(origin[c]) + mean


@Kernel
def batch_statistics(arguments):
    """From the moments of the pieces, for a team of one: mean, root = 1 / √(variance + ε), scale = weight · root and bias, tiled.

    The running mean and variance (of a sample) move towards those of the batch by the share `momentum`.
    """
    a = carray(arguments, (11,))
    n, d, eps, momentum = a[0], a[1], real(a[2]), real(a[3])
    moments = carray(float_pointer(a[4]), (n_pieces(n), 3, TILE * d))
    weight, bias, tiled = floats(a[5], 1, d), floats(a[6], 1, d), floats(a[7], 4, TILE * d)
    running_mean, running_variance = floats(a[8], 1, d), floats(a[9], 1, d)
    total = carray(real_pointer(a[10]), (2, d))
    for c in range(d):
        total[0, c] = 0.0
        total[1, c] = 0.0
    for p in range(n_pieces(n)):
        rows = rows_of_piece(p, n)
        for c in range(d):
            total[0, c] += rows * np.float64(moments[p, 0, c])
    for c in range(d):
        total[0, c] /= n
    for p in range(n_pieces(n)):
        rows = rows_of_piece(p, n)
        for c in range(d):
            off = np.float64(moments[p, 0, c]) - total[0, c]
            total[1, c] += np.float64(moments[p, 1, c]) + rows * off * off
    for c in range(d):
        root = 1.0 / np.sqrt(total[1, c] / n + eps)
        tiled[0, c] = total[0, c]
        tiled[1, c] = root
        tiled[2, c] = np.float64(weight[0, c]) * root
        tiled[3, c] = bias[0, c]
        running_mean[0, c] += momentum * (total[0, c] - running_mean[0, c])
        running_variance[0, c] += momentum * (total[1, c] / (n - 1) - running_variance[0, c])
    for k in range(4):
        tile_row(tiled[k], d)


@Kernel
def normalise(arguments):
    """out = h + σ((x - mean) · scale + bias); h has n rows, one for all (tiled), or none."""
    a = carray(arguments, (8,))
    n, d, activation, h_rows = a[0], a[1], a[2], a[3]
    w = TILE * d
    x, tiled = floats(a[4], 2**40, w), floats(a[5], 4, w)
    h, out = floats(a[6], 2**40, w), floats(a[7], 2**40, w)
    mean, scale, bias = tiled[0], tiled[2], tiled[3]
    first, last = share(n_tiles(n))
    for t in range(first, last):
        m = min(w, n * d - t * w)
        if activation == RELU:
            for c in range(m):
                z = (x[t, c] - mean[c]) * scale[c] + bias[c]
                out[t, c] = np.float32(0.0) if z < np.float32(0.0) else z
        elif activation == ELU:
            for c in range(m):
                z = (x[t, c] - mean[c]) * scale[c] + bias[c]
                out[t, c] = exp(z) - np.float32(1.0) if z < np.float32(0.0) else z
        else:
            for c in range(m):
                out[t, c] = (x[t, c] - mean[c]) * scale[c] + bias[c]
        if h_rows == n:
            for c in range(m):
                out[t, c] += h[t, c]
        elif h_rows > 0:
            for c in range(m):
                out[t, c] += h[0, c]


@Kernel
def normalise_back_sums(arguments):
    """d_z = d_out · σ'(z) of what stands in the activation, kept in d_x; of each piece Σ d_z and Σ d_z (x - mean)."""
    a = carray(arguments, (8,))
    n, d, activation = a[0], a[1], a[2]
    w = TILE * d
    x, tiled = floats(a[3], 2**40, w), floats(a[4], 4, w)
    d_out, d_x = floats(a[5], 2**40, w), floats(a[6], 2**40, w)
    sums = carray(float_pointer(a[7]), (n_pieces(n), 2, w))
    mean, scale, bias = tiled[0], tiled[2], tiled[3]
    first, last = share(n_pieces(n))
    for p in range(first, last):
        total, along = sums[p, 0], sums[p, 1]
        for c in range(w):
            total[c] = np.float32(0.0)
            along[c] = np.float32(0.0)
        for t in range(p * TILES, min(n_tiles(n), (p + 1) * TILES)):
            m = min(w, n * d - t * w)
            if activation == RELU:
                for c in range(m):
                    z = (x[t, c] - mean[c]) * scale[c] + bias[c]
                    d_x[t, c] = d_out[t, c] if z > np.float32(0.0) else np.float32(0.0)
            elif activation == ELU:
                for c in range(m):
                    z = (x[t, c] - mean[c]) * scale[c] + bias[c]
                    d_x[t, c] = d_out[t, c] if z > np.float32(0.0) else d_out[t, c] * exp(z)
            else:
                for c in range(m):
                    d_x[t, c] = d_out[t, c]
            for c in range(m):
                total[c] += d_x[t, c]
                along[c] += d_x[t, c] * (x[t, c] - mean[c])
        fold_tile(total, d)
        fold_tile(along, d)


@Kernel
def normalise_back_statistics(arguments):
    """For a team of one: gradients of weight and bias from the sums of the pieces, slope and shift of `normalise_back`, tiled."""
    a = carray(arguments, (6,))
    n, d = a[0], a[1]
    sums, tiled = carray(float_pointer(a[2]), (n_pieces(n), 2, TILE * d)), floats(a[3], 4, TILE * d)
    back, total = floats(a[4], 4, TILE * d), carray(real_pointer(a[5]), (2, d))
    for c in range(d):
        total[0, c] = 0.0
        total[1, c] = 0.0
    for p in range(n_pieces(n)):
        for c in range(d):
            total[0, c] += np.float64(sums[p, 0, c])
            total[1, c] += np.float64(sums[p, 1, c])
    for c in range(d):
        root, scale = np.float64(tiled[1, c]), np.float64(tiled[2, c])
        back[0, c] = total[1, c] * root
        back[1, c] = total[0, c]
        back[2, c] = -scale * root * root * total[1, c] / n
        back[3, c] = -scale * total[0, c] / n
    tile_row(back[2], d)
    tile_row(back[3], d)


@Kernel
def normalise_back(arguments):
    """d_x = scale · d_z + slope · (x - mean) + shift, from the d_z kept in it."""
    a = carray(arguments, (6,))
    n, d = a[0], a[1]
    w = TILE * d
    x, tiled, back = floats(a[2], 2**40, w), floats(a[3], 4, w), floats(a[4], 4, w)
    d_x = floats(a[5], 2**40, w)
    mean, scale, slope, shift = tiled[0], tiled[2], back[2], back[3]
    first, last = share(n_tiles(n))
    for t in range(first, last):
        for c in range(min(w, n * d - t * w)):
            d_x[t, c] = scale[c] * d_x[t, c] + (slope[c] * (x[t, c] - mean[c]) + shift[c])


# --------------------------------------------------------------------------------------------------------------------
# ReLU after a linear map


@Kernel
def used_columns(arguments):
    """For a team of one: whether a column of x (n, d), x >= 0, has any number but 0."""
    a = carray(arguments, (4,))
    n, d = a[0], a[1]
    x, used = floats(a[2], n, d), ints(a[3], d)
    largest = np.zeros(d, np.float32)
    for i in range(n):
        for c in range(d):
            largest[c] = largest[c] if largest[c] > x[i, c] else x[i, c]
    for c in range(d):
        used[c] = largest[c] > np.float32(0.0)


@Kernel
def relu_back(arguments):
    """d_z = d_out where the ReLU let z through, of the columns in the list, and of each piece Σ d_z."""
    a = carray(arguments, (8,))
    n, d, used = a[0], a[1], a[2]
    columns, out, d_out, d_z = ints(a[3], used), floats(a[4], n, d), floats(a[5], n, d), floats(a[6], n, used)
    sums = floats(a[7], n_pieces(n), used)
    first, last = share(n_pieces(n))
    for p in range(first, last):
        for c in range(used):
            sums[p, c] = np.float32(0.0)
        for i in range(p * TILES * TILE, min(n, (p + 1) * TILES * TILE)):
            if used == d:
                for c in range(d):
                    d_z[i, c] = d_out[i, c] if out[i, c] > np.float32(0.0) else np.float32(0.0)
            else:
                for c in range(used):
                    j = columns[c]
                    d_z[i, c] = d_out[i, j] if out[i, j] > np.float32(0.0) else np.float32(0.0)
            for c in range(used):
                sums[p, c] += d_z[i, c]


# --------------------------------------------------------------------------------------------------------------------
# Gated mean (GatedGCN). P (N, 4d) holds Uh, Vh, Ah, Bh side by side.

EDGES = 64  # that are worked on together, at least: their numbers stay in the first cache


@function
def end_of_block(indptr, i, last):
    """Nodes i … end - 1 have at least EDGES edges together."""
    end = i + 1
    while end < last and indptr[end] - indptr[i] < EDGES:
        end += 1
    return end


@Kernel
def gated_mean(arguments):
    """For the nodes from `start` to `stop`: ê_k = Ah_i + Bh_j, with `add` added to what is there; gate = σ(ê),
    total_i = Σ gate_k + ε, mean_i = Σ gate_k ⊙ Vh_j / total_i and out_i = Uh_i + mean_i."""
    a = carray(arguments, (13,))
    start, stop, d, add, eps = a[0], a[1], a[2], a[3] == 1, np.float32(real(a[4]))
    indptr, src, P = ints(a[5], 2**40), ints(a[6], 2**40), floats(a[7], 2**40, 4 * d)
    e_hat, gate, total = floats(a[8], 2**40, d), floats(a[9], 2**40, d), floats(a[10], 2**40, d)
    mean, out = floats(a[11], 2**40, d), floats(a[12], 2**40, d)
    flat_e, flat_gate = carray(float_pointer(a[8]), (2**40,)), carray(float_pointer(a[9]), (2**40,))
    first, last = share_of_nodes(indptr[start : stop + 1], stop - start)
    i, last = start + first, start + last
    while i < last:
        end = end_of_block(indptr, i, last)
        for v in range(i, end):
            for k in range(indptr[v], indptr[v + 1]):
                j = src[k]
                if add:
                    for c in range(d):
                        e_hat[k, c] += P[v, 2 * d + c] + P[j, 3 * d + c]
                else:
                    for c in range(d):
                        e_hat[k, c] = P[v, 2 * d + c] + P[j, 3 * d + c]
        sigmoids(flat_e[indptr[i] * d : indptr[end] * d], flat_gate[indptr[i] * d : indptr[end] * d])
        for v in range(i, end):
            for c in range(d):
                total[v, c] = eps
                mean[v, c] = np.float32(0.0)
            for k in range(indptr[v], indptr[v + 1]):
                j = src[k]
                for c in range(d):
                    total[v, c] += gate[k, c]
                    mean[v, c] += gate[k, c] * P[j, d + c]
            for c in range(d):
                mean[v, c] = mean[v, c] / total[v, c]
            for c in range(d):
                out[v, c] = P[v, c] + mean[v, c]
        i = end


@function
def sigmoids(x, out):
    for c in range(len(x)):
        out[c] = sigmoid(x[c])


@Kernel
def gated_mean_back(arguments):
    """For the nodes from `start` to `stop`: d_k = d_ê_k + σ'(ê_k) ⊙ d_sum_i ⊙ (Vh_j - mean_i), with d_sum = d_out / total, and its
    sum over k, which is d_Ah_i. d_ê counts with `add`."""
    a = carray(arguments, (13,))
    start, stop, d, add = a[0], a[1], a[2], a[3] == 1
    indptr, src, P = ints(a[4], 2**40), ints(a[5], 2**40), floats(a[6], 2**40, 4 * d)
    gate, mean, d_sum = floats(a[7], 2**40, d), floats(a[8], 2**40, d), floats(a[9], 2**40, d)
    d_e_hat, grad, d_P = floats(a[10], 2**40, d), floats(a[11], 2**40, d), floats(a[12], 2**40, 4 * d)
    first, last = share_of_nodes(indptr[start : stop + 1], stop - start)
    for i in range(start + first, start + last):
        for c in range(d):
            d_P[i, 2 * d + c] = np.float32(0.0)
        for k in range(indptr[i], indptr[i + 1]):
            j = src[k]
            for c in range(d):
                g = gate[k, c]
                grad[k, c] = (g - g * g) * d_sum[i, c] * (P[j, d + c] - mean[i, c])
            if add:
                for c in range(d):
                    grad[k, c] += d_e_hat[k, c]
            for c in range(d):
                d_P[i, 2 * d + c] += grad[k, c]


@Kernel
def gated_mean_back_sources(arguments):
    """d_Uh = d_out, d_Bh_j = Σ d_k and d_Vh_j = Σ gate_k ⊙ d_sum_i over the edges k: j -> i."""
    a = carray(arguments, (10,))
    n, d = a[0], a[1]
    indptr, dst, edge = ints(a[2], n + 1), ints(a[3], 2**40), ints(a[4], 2**40)
    gate, grad, d_sum = floats(a[5], 2**40, d), floats(a[6], 2**40, d), floats(a[7], n, d)
    d_out, d_P = floats(a[8], n, d), floats(a[9], n, 4 * d)
    first, last = share_of_nodes(indptr, n)
    for j in range(first, last):
        for c in range(d):
            d_P[j, c] = d_out[j, c]
            d_P[j, d + c] = np.float32(0.0)
            d_P[j, 3 * d + c] = np.float32(0.0)
        for m in range(indptr[j], indptr[j + 1]):
            i, k = dst[m], edge[m]
            for c in range(d):
                d_P[j, 3 * d + c] += grad[k, c]
            for c in range(d):
                d_P[j, d + c] += gate[k, c] * d_sum[i, c]


# --------------------------------------------------------------------------------------------------------------------
# Attention (GAT) and weighted sums (MoNet): z has K heads of width d side by side

reordered = numba.njit(fastmath={"contract", "nsz", "reassoc"}, error_model="numpy")


@reordered
def dot(x, i, a, y, j, b, d):
    """Σ_c x[i, a + c] y[j, b + c], summed by vectors of the processor."""
    total = np.float32(0.0)
    for c in range(d):
        total += x[i, a + c] * y[j, b + c]
    return total


@Kernel
def attention_scores(arguments):
    """s_j = V_j · z_j and s_i = V_i · z_i for each node and head, in score (N, 2K): first those of s_i. V is (2, K d)."""
    a = carray(arguments, (6,))
    n, K, d = a[0], a[1], a[2]
    z, V, score = floats(a[3], n, K * d), floats(a[4], 2, K * d), floats(a[5], n, 2 * K)
    first, last = share(n)
    for i in range(first, last):
        for h in range(K):
            score[i, h] = dot(z, i, h * d, V, 0, h * d, d)
            score[i, K + h] = dot(z, i, h * d, V, 1, h * d, d)


@function
def leaky(x, slope):
    return x * slope if x < np.float32(0.0) else x


@Kernel
def attention(arguments):
    """a_k = softmax over the edges into i of LeakyReLU(s_i + s_j + extra_k), and out_i = Σ_k a_k z_j, for each head."""
    a = carray(arguments, (11,))
    n, K, d, slope, has_extra = a[0], a[1], a[2], np.float32(real(a[3])), a[4] != 0
    indptr, src, z, score = ints(a[5], n + 1), ints(a[6], 2**40), floats(a[7], n, K * d), floats(a[8], n, 2 * K)
    extra, weight, out = floats(a[4], 2**40, K), floats(a[9], 2**40, K), floats(a[10], n, K * d)
    first, last = share_of_nodes(indptr, n)
    for i in range(first, last):
        begin, end = indptr[i], indptr[i + 1]
        for c in range(K * d):
            out[i, c] = np.float32(0.0)
        for k in range(begin, end):
            j = src[k]
            for h in range(K):
                s = score[i, h] + score[j, K + h]
                weight[k, h] = leaky(s + extra[k, h] if has_extra else s, slope)
        for h in range(K):
            softmax(weight, begin, end, h)
        for k in range(begin, end):
            j = src[k]
            for h in range(K):
                w = weight[k, h]
                for c in range(h * d, h * d + d):
                    out[i, c] += w * z[j, c]


@function
def softmax(weight, begin, end, h):
    """In place, over the edges begin … end - 1."""
    if begin == end:
        return
    largest = weight[begin, h]
    for k in range(begin + 1, end):
        largest = largest if largest > weight[k, h] else weight[k, h]
    total = np.float32(0.0)
    for k in range(begin, end):
        weight[k, h] = exp(weight[k, h] - largest)
        total += weight[k, h]
    for k in range(begin, end):
        weight[k, h] = weight[k, h] / total


@Kernel
def attention_back(arguments):
    """d_score_k of LeakyReLU's argument, from d_a_k = d_out_i · z_j; its sum over the edges into i, d_s_i, in d_s (N, 2K)."""
    a = carray(arguments, (13,))
    n, K, d, slope, has_extra = a[0], a[1], a[2], np.float32(real(a[3])), a[4] != 0
    indptr, src, z, score = ints(a[5], n + 1), ints(a[6], 2**40), floats(a[7], n, K * d), floats(a[8], n, 2 * K)
    extra, weight, d_out = floats(a[4], 2**40, K), floats(a[9], 2**40, K), floats(a[10], n, K * d)
    d_score, d_s = floats(a[11], 2**40, K), floats(a[12], n, 2 * K)
    first, last = share_of_nodes(indptr, n)
    for i in range(first, last):
        begin, end = indptr[i], indptr[i + 1]
        for k in range(begin, end):
            j = src[k]
            for h in range(K):
                d_score[k, h] = dot(d_out, i, h * d, z, j, h * d, d)
        for h in range(K):
            mean = np.float32(0.0)
            for k in range(begin, end):
                mean += weight[k, h] * d_score[k, h]
            total = np.float32(0.0)
            for k in range(begin, end):
                s = score[i, h] + score[src[k], K + h]
                s = s + extra[k, h] if has_extra else s
                g = weight[k, h] * (d_score[k, h] - mean)
                d_score[k, h] = g * slope if s < np.float32(0.0) else g
                total += d_score[k, h]
            d_s[i, h] = total


@Kernel
def attention_back_sources(arguments):
    """d_z_j = Σ a_k d_out_i over the edges k: j -> i, and d_s_i V_i + d_s_j V_j of the scores, d_s_j = Σ d_score_k."""
    a = carray(arguments, (12,))
    n, K, d = a[0], a[1], a[2]
    indptr, dst, edge = ints(a[3], n + 1), ints(a[4], 2**40), ints(a[5], 2**40)
    weight, d_out, d_score = floats(a[6], 2**40, K), floats(a[7], n, K * d), floats(a[8], 2**40, K)
    V, d_s, d_z = floats(a[9], 2, K * d), floats(a[10], n, 2 * K), floats(a[11], n, K * d)
    first, last = share_of_nodes(indptr, n)
    for j in range(first, last):
        for h in range(K):
            d_s[j, K + h] = np.float32(0.0)
        for m in range(indptr[j], indptr[j + 1]):
            k = edge[m]
            for h in range(K):
                d_s[j, K + h] += d_score[k, h]
        for h in range(K):
            x, y = d_s[j, h], d_s[j, K + h]
            for c in range(h * d, h * d + d):
                d_z[j, c] = x * V[0, c] + y * V[1, c]
        for m in range(indptr[j], indptr[j + 1]):
            i, k = dst[m], edge[m]
            for h in range(K):
                w = weight[k, h]
                for c in range(h * d, h * d + d):
                    d_z[j, c] += w * d_out[i, c]


@Kernel
def weighted_sums(arguments):
    """out_i^h = Σ_k weight_k^h x_j: x (N, d), weight (E, K), out (N, K d)."""
    a = carray(arguments, (8,))
    n, K, d = a[0], a[1], a[2]
    indptr, src, x = ints(a[3], n + 1), ints(a[4], 2**40), floats(a[5], n, d)
    weight, out = floats(a[6], 2**40, K), floats(a[7], n * K, d)
    first, last = share_of_nodes(indptr, n)
    for i in range(first, last):
        for h in range(i * K, i * K + K):
            for c in range(d):
                out[h, c] = np.float32(0.0)
        for k in range(indptr[i], indptr[i + 1]):
            j = src[k]
            for h in range(K):
                w = weight[k, h]
                for c in range(d):
                    out[i * K + h, c] += w * x[j, c]


@Kernel
def weighted_sums_back_weights(arguments):
    """d_weight_k^h = d_out_i^h · x_j."""
    a = carray(arguments, (8,))
    n, K, d = a[0], a[1], a[2]
    indptr, src, x = ints(a[3], n + 1), ints(a[4], 2**40), floats(a[5], n, d)
    d_out, d_weight = floats(a[6], n * K, d), floats(a[7], 2**40, K)
    first, last = share_of_nodes(indptr, n)
    for i in range(first, last):
        for k in range(indptr[i], indptr[i + 1]):
            j = src[k]
            for h in range(K):
                d_weight[k, h] = dot(d_out, i * K + h, 0, x, j, 0, d)


@Kernel
def weighted_sums_back(arguments):
    """d_x_j = Σ_k Σ_h weight_k^h d_out_i^h over the edges k: j -> i."""
    a = carray(arguments, (9,))
    n, K, d = a[0], a[1], a[2]
    indptr, dst, edge = ints(a[3], n + 1), ints(a[4], 2**40), ints(a[5], 2**40)
    weight, d_out, d_x = floats(a[6], 2**40, K), floats(a[7], n * K, d), floats(a[8], n, d)
    first, last = share_of_nodes(indptr, n)
    for j in range(first, last):
        for c in range(d):
            d_x[j, c] = np.float32(0.0)
        for m in range(indptr[j], indptr[j + 1]):
            i, k = dst[m], edge[m]
            for h in range(K):
                w = weight[k, h]
                for c in range(d):
                    d_x[j, c] += w * d_out[i * K + h, c]


# --------------------------------------------------------------------------------------------------------------------
# Rows of length 1 (GraphSage)


@Kernel
def unit_rows(arguments):
    """out = ReLU(x_i / max(‖x_i‖, ε)), and that norm."""
    a = carray(arguments, (6,))
    n, d, eps = a[0], a[1], np.float32(real(a[2]))
    x, norm, out = floats(a[3], n, d), floats(a[4], n, 1), floats(a[5], n, d)
    first, last = share(n)
    for i in range(first, last):
        length = np.sqrt(dot(x, i, 0, x, i, 0, d))
        norm[i, 0] = eps if length < eps else length
        factor = np.float32(1.0) / norm[i, 0]
        for c in range(d):
            y = x[i, c] * factor
            out[i, c] = np.float32(0.0) if y < np.float32(0.0) else y


@Kernel
def unit_rows_back(arguments):
    """d_x = (d - y (y · d)) / norm with y = x / norm and d = d_out where the ReLU let y through; d / ε where ‖x‖ <= ε."""
    a = carray(arguments, (7,))
    n, d, eps = a[0], a[1], np.float32(real(a[2]))
    x, norm, d_out, d_x = floats(a[3], n, d), floats(a[4], n, 1), floats(a[5], n, d), floats(a[6], n, d)
    first, last = share(n)
    for i in range(first, last):
        factor = np.float32(1.0) / norm[i, 0]
        for c in range(d):
            d_x[i, c] = d_out[i, c] * factor if x[i, c] > np.float32(0.0) else np.float32(0.0)
        if norm[i, 0] > eps:
            along = dot(d_x, i, 0, x, i, 0, d) * factor * factor
            for c in range(d):
                d_x[i, c] -= along * x[i, c]


# --------------------------------------------------------------------------------------------------------------------
# Rows of a table


@Kernel
def take_rows_back(arguments):
    """d_table_t = Σ d_out_i over the rows i with index t, in order. A thread has some of the columns."""
    a = carray(arguments, (6,))
    n, types_, d = a[0], a[1], a[2]
    index, d_out, d_table = carray(long_pointer(a[3]), (n,)), floats(a[4], n, d), floats(a[5], types_, d)
    first, last = share((d + 15) // 16)
    begin, end = first * 16, min(d, last * 16)
    for t in range(types_):
        for c in range(begin, end):
            d_table[t, c] = np.float32(0.0)
    for i in range(n):
        t = index[i]
        for c in range(begin, end):
            d_table[t, c] += d_out[i, c]


# --------------------------------------------------------------------------------------------------------------------
# Maxima over the pairs of nodes of a graph (3WLGNN)


@function
def larger(x, y):
    """The maximum; NaN where one is."""
    return x if x >= y or x != x else y


@Kernel
def pair_maxima(arguments):
    """The largest h_ii and the largest h_ij, i ≠ j, of each matrix of h: B graphs after another for each channel."""
    arg = carray(arguments, (6,))
    n_matrices, B, n = arg[0], arg[1], arg[2]
    sizes, h, out = ints(arg[3], B), floats(arg[4], n_matrices * n, n), floats(arg[5], n_matrices, 2)
    best = np.empty(n, np.float32)
    first, last = share(n_matrices)
    for m in range(first, last):
        size = sizes[m % B]
        diagonal, rest = np.float32(-np.inf), np.float32(-np.inf)
        best[:size] = -np.inf
        for i in range(size):
            row = h[m * n + i]
            diagonal = larger(diagonal, row[i])
            for j in range(i):
                best[j] = larger(best[j], row[j])
            for j in range(i + 1, size):
                best[j] = larger(best[j], row[j])
        for j in range(size):
            rest = larger(rest, best[j])
        out[m, 0] = diagonal if size > 0 else 0.0
        out[m, 1] = rest if size > 1 else 0.0


@Kernel
def pair_maxima_back(arguments):
    """The gradient of a maximum, in equal shares for all pairs that have it, and 0 elsewhere."""
    arg = carray(arguments, (8,))
    n_matrices, B, n = arg[0], arg[1], arg[2]
    sizes, h = ints(arg[3], B), floats(arg[4], n_matrices * n, n)
    out, d_out, d_h = floats(arg[5], n_matrices, 2), floats(arg[6], n_matrices, 2), floats(arg[7], n_matrices * n, n)
    first, last = share(n_matrices)
    for m in range(first, last):
        size = sizes[m % B]
        diagonal, rest = out[m]
        n_diagonal, n_rest = np.int32(0), np.int32(0)
        for i in range(size):
            row = h[m * n + i]
            for j in range(size):
                n_rest += row[j] == rest
            n_rest -= row[i] == rest
            n_diagonal += row[i] == diagonal
        of_diagonal, of_rest = d_out[m, 0] / max(n_diagonal, 1), d_out[m, 1] / max(n_rest, 1)
        d_h[m * n + size : (m + 1) * n] = 0.0
        for i in range(size):
            row, d_row = h[m * n + i], d_h[m * n + i]
            for j in range(size):
                d_row[j] = of_rest if row[j] == rest else 0.0
            d_row[i] = of_diagonal if row[i] == diagonal else 0.0
            d_row[size:] = 0.0
