"""Dense products in float32, tile by tile in the registers: what layers/fused.py calls where they beat the library's.

MKL uses AVX-512 on processors of its own maker only; on others with AVX-512 it leaves half of the processor idle, and these
products are 1.5 to 3 times faster. A tile of C = A B is ROWS x 48 numbers. For each of the K steps it
takes a row of B, which was copied beside each other before, and ROWS numbers of A. Every number is a sum of sums over K_BLOCK
steps each, for any number of threads.
"""

import llvmlite.binding as llvm
import numpy as np
import torch
from llvmlite import ir
from numba import carray, types
from numba.core import cgutils
from numba.extending import intrinsic

from layers.kernels import Kernel, float_pointer, function, real, share

LANES = 16  # numbers of a register
ROWS, WIDTH = 8, 3 * LANES  # of a tile: 24 registers
K_BLOCK = 256  # steps whose part of B is copied at a time
BY_ITEMS, BY_ROWS, BY_COLUMNS = 0, 1, 2  # what the threads share


def is_faster():
    """Whether this processor has AVX-512 and MKL does not use it."""
    return llvm.get_host_cpu_name().startswith("znver") and bool(llvm.get_host_cpu_features().get("avx512f"))


# --------------------------------------------------------------------------------------------------------------------
# A tile

pointer, integer = types.CPointer(types.float32), types.int64


def tile_of(n_vectors):
    """A function that does C = max(C + A B, least) for a tile of `rows` <= ROWS rows and n_vectors x LANES columns.

    The rows of B stand one after another, LANES x n_vectors numbers each. Rows beyond the last are computed as the last.
    """

    @intrinsic
    def tile(typing, a, a_row, a_col, rows, b, K, c, c_row, least):
        def generate(context, builder, signature, arguments):
            a, a_row, a_col, rows, b, K, c, c_row, least = arguments
            vector, long = ir.VectorType(ir.FloatType(), LANES), ir.IntType(64)
            fma = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(vector, [vector] * 3), f"llvm.fma.v{LANES}f32"
            )
            vectors = [ir.Constant(long, v * LANES) for v in range(n_vectors)]
            zero, one, nothing = ir.Constant(long, 0), ir.Constant(long, 1), ir.Constant(vector, [0.0] * LANES)

            def address(start, offset):
                return builder.bitcast(builder.gep(start, [offset]), vector.as_pointer())

            def repeated(number):
                first = builder.insert_element(
                    ir.Constant(vector, ir.Undefined), number, ir.Constant(ir.IntType(32), 0)
                )
                everywhere = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
                return builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), everywhere)

            last = builder.sub(rows, one)
            row = [builder.select(builder.icmp_signed("<", n, last), n, last) for n in map(long, range(ROWS))]
            a_rows = [builder.gep(a, [builder.mul(r, a_row)]) for r in row]
            places = [[address(c, builder.add(builder.mul(r, c_row), v)) for v in vectors] for r in row]
            before, loop, end = builder.block, builder.append_basic_block(), builder.append_basic_block()
            builder.branch(loop)

            builder.position_at_end(loop)
            k, a_k = builder.phi(long), builder.phi(long)
            sums = [[builder.phi(vector) for _ in vectors] for _ in row]
            b_k = builder.mul(k, ir.Constant(long, n_vectors * LANES))
            b_row = [builder.load(address(b, builder.add(b_k, v)), align=4) for v in vectors]
            new = []
            for line, a_r in zip(sums, a_rows, strict=True):
                factor = repeated(builder.load(builder.gep(a_r, [a_k]), align=4))
                new.append([builder.call(fma, [factor, x, total]) for x, total in zip(b_row, line, strict=True)])
            steps = [(k, zero, builder.add(k, one)), (a_k, zero, builder.add(a_k, a_col))]
            steps += [(x, nothing, y) for lines in zip(sums, new, strict=True) for x, y in zip(*lines, strict=True)]
            for phi, first, following in steps:
                phi.add_incoming(first, before)
                phi.add_incoming(following, loop)
            builder.cbranch(builder.icmp_signed("<", steps[0][2], K), loop, end)

            builder.position_at_end(end)
            least = repeated(least)
            old = [
                [builder.load(place, align=4) for place in line] for line in places
            ]  # all before the first is written
            for lines in zip(places, old, new, strict=True):
                for place, start, total in zip(*lines, strict=True):
                    total = builder.fadd(start, total)
                    kept = builder.select(builder.fcmp_ordered("<", total, least), least, total)  # NaN stays NaN
                    builder.store(kept, place, align=4)
            return context.get_dummy_value()

        numbers = (integer, integer, integer, pointer, integer, pointer, integer, types.float32)
        return types.void(pointer, *numbers), generate

    return tile


tile_1, tile_2, tile_3 = map(tile_of, (1, 2, 3))


@intrinsic
def beyond(typing, start, offset):
    """The address `offset` numbers after another."""

    def generate(context, builder, signature, arguments):
        return builder.gep(arguments[0], [arguments[1]])

    return pointer(pointer, integer), generate


# --------------------------------------------------------------------------------------------------------------------
# A product


@function
def copy_columns(b, b_row, b_col, K, n, width, out):
    """The first n columns of B, `width` numbers per row, zeros beyond n."""
    for k in range(K):
        for j in range(n, width):
            out[k * width + j] = 0.0
    if b_col == 1:
        for k in range(K):
            for j in range(n):
                out[k * width + j] = b[k * b_row + j]
    else:
        for j in range(n):
            for k in range(K):
                out[k * width + j] = b[k * b_row + j * b_col]


@function
def copy_block(x, x_row, x_col, rows, n, out, out_row):
    """The columns of x are neighbours (x_col = 1) or all the same (0)."""
    for i in range(rows):
        if x_col == 1:
            for j in range(n):
                out[i * out_row + j] = x[i * x_row + j]
        else:
            number = x[i * x_row]
            for j in range(n):
                out[i * out_row + j] = number


@function
def any_tile(a, a_row, a_col, rows, b, K, c, c_row, n_vectors, least):
    if n_vectors == 3:
        tile_3(a, a_row, a_col, rows, b, K, c, c_row, least)
    elif n_vectors == 2:
        tile_2(a, a_row, a_col, rows, b, K, c, c_row, least)
    else:
        tile_1(a, a_row, a_col, rows, b, K, c, c_row, least)


@Kernel
def products(arguments):
    """C = max(A B + S, least) for each item of a batch; S may be C itself. Each comes with how far apart in memory the neighbours
    are: items, rows and columns (of C always 1; of S 1, or 0 where all are the same)."""
    arg = carray(arguments, (22,))
    n_items, M, N, K, by, least = arg[0], arg[1], arg[2], arg[3], arg[4], np.float32(real(arg[5]))
    A, a_item, a_row, a_col = arg[6], arg[7], arg[8], arg[9]
    B, b_item, b_row, b_col = arg[10], arg[11], arg[12], arg[13]
    S, s_item, s_row, s_col = arg[14], arg[15], arg[16], arg[17]
    C, c_item, c_row = arg[18], arg[19], arg[20]
    part_of_b, part_of_c = np.empty(K_BLOCK * WIDTH, np.float32), np.empty(ROWS * WIDTH, np.float32)
    b_rows, beside = float_pointer(np.int64(part_of_b.ctypes.data)), float_pointer(np.int64(part_of_c.ctypes.data))
    items, rows, columns = (np.int64(0), n_items), (np.int64(0), M), (np.int64(0), N)
    if by == BY_ITEMS:
        items = share(n_items)
    elif by == BY_ROWS:
        first, last = share((M + ROWS - 1) // ROWS)
        rows = first * ROWS, min(M, last * ROWS)
    else:
        first, last = share((N + WIDTH - 1) // WIDTH)
        columns = first * WIDTH, min(N, last * WIDTH)
    for item in range(items[0], items[1]):
        a, b = float_pointer(A + 4 * item * a_item), float_pointer(B + 4 * item * b_item)
        s, c = float_pointer(S + 4 * item * s_item), float_pointer(C + 4 * item * c_item)
        for k in range(0, K, K_BLOCK):
            steps = min(K_BLOCK, K - k)
            floor = least if k + steps == K else np.float32(-np.inf)
            for j in range(columns[0], columns[1], WIDTH):
                n = min(WIDTH, columns[1] - j)
                n_vectors = (n + LANES - 1) // LANES
                copy_columns(beyond(b, k * b_row + j * b_col), b_row, b_col, steps, n, n_vectors * LANES, b_rows)
                for i in range(rows[0], rows[1], ROWS):
                    m = min(ROWS, rows[1] - i)
                    a_tile, c_tile = beyond(a, i * a_row + k * a_col), beyond(c, i * c_row + j)
                    whole = n == n_vectors * LANES
                    out, out_row = (c_tile, c_row) if whole else (beside, np.int64(WIDTH))
                    if k == 0:
                        copy_block(beyond(s, i * s_row + j * s_col), s_row, s_col, m, n, out, out_row)
                    elif not whole:
                        copy_block(c_tile, c_row, 1, m, n, out, out_row)
                    any_tile(a_tile, a_row, a_col, m, b_rows, steps, out, out_row, n_vectors, floor)
                    if not whole:
                        copy_block(out, out_row, 1, m, n, c_tile, c_row)


ZERO = torch.zeros(1)


def matmul(a, b, start=None, relu=False, out=None):
    """a b + start, with `relu` its ReLU: (M, K), (K, N) -> (M, N), or a batch of them: (B, M, K), (B, K, N) -> (B, M, N).

    `start` is expanded to the result, whose columns it holds side by side or as one, and may be `out`. No size may be 0.
    """
    out = a.new_empty(*a.shape[:-1], b.shape[-1]) if out is None else out
    start = (ZERO if start is None else start).expand(out.shape)
    start = start if start.stride(-1) in (0, 1) else start.contiguous()
    n_items, (M, K), N = len(a) if a.dim() == 3 else 1, a.shape[-2:], b.shape[-1]
    by = BY_ITEMS if a.dim() == 3 else BY_ROWS if M >= N or K > N else BY_COLUMNS
    places = [(x, *(x if x.dim() == 3 else x[None]).stride()) for x in (a, b, start, out)]
    products(n_items, M, N, K, by, 0.0 if relu else -np.inf, *(number for place in places for number in place))
    return out
