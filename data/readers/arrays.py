"""numpy arrays in pickles: what the names that numpy writes mean to the interpreter of pickles.

Only arrays of numbers are made, of a shape that fits the bytes in the file exactly. They are read-only views of these bytes.
"""

import math

import numpy as np

from data.readers.pickle_machine import Buildable, Mark, UnpickleError, shown

NUMERIC = ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")
MOST_DIMENSIONS = 32
LONGEST = 1 << 60  # bytes of an array without its empty dimensions


class DType(Buildable):
    """The type of an array: its name here, its byte order in its state."""

    __slots__ = ("name", "order")
    is_small = True

    def __init__(self, name):
        self.name, self.order = name, "="

    def build(self, machine, state):
        match state:
            case (3, "<" | ">" | "|" | "=" as order, None, None, None, -1, -1, 0):
                self.order = order
                return self
        raise UnpickleError(f"the state of the array type {self.name} is none of a plain number")

    def numpy(self):
        return np.dtype(self.order + self.name)


class UnbuiltArray(Buildable):
    """An array of which only its state tells the content."""

    __slots__ = ("array",)

    def __init__(self):
        self.array = None

    def build(self, machine, state):
        match state:
            case (1, tuple() as shape, DType() as dtype, bool() | 0 | 1 as by_columns, bytes() | str() as content):
                self.array = make_array(content, dtype.numpy(), shape, "F" if by_columns else "C")
                return self.array
        raise UnpickleError("the state of an array is not (1, shape, type, order, bytes)")

    def value(self):
        if self.array is None:
            raise UnpickleError("an array is used before its content is there")
        return self.array


def make_array(content, dtype, shape, order="C"):
    """The array of these bytes. (A string of Python 2 that is ASCII has become a text.)"""
    content = content.encode("ascii") if isinstance(content, str) else content
    check_shape(shape, dtype)
    if math.prod(shape) * dtype.itemsize != len(content):
        raise UnpickleError(f"an array of shape {shape} and type {dtype} in {len(content)} bytes")
    return check_truth(np.frombuffer(content, dtype) if content else np.empty(0, dtype)).reshape(shape, order=order)


def check_shape(shape, dtype):
    if len(shape) > MOST_DIMENSIONS or any(type(n) is not int or n < 0 for n in shape):
        raise UnpickleError(f"an array of shape {shown(str(shape))}")
    if math.prod(n for n in shape if n) * dtype.itemsize > LONGEST:
        raise UnpickleError(f"an array of shape {shown(str(shape))}, which is too large")


def check_truth(array):
    """The array itself. Truth values are the bytes 0 and 1: others make numpy contradict itself."""
    if array.dtype == bool and (array.view(np.uint8) > 1).any():
        raise UnpickleError("a truth value that is neither 0 nor 1")
    return array


# --------------------------------------------------------------------------------------------------------------------
# Calls, with (machine, arguments)


def dtype(machine, arguments):
    match arguments:
        case (str() as name, *_) if name in NUMERIC:
            return DType(name)
        case (str() as name, *_):
            raise UnpickleError(f"an array of type {shown(name)}, expected one of numbers: {', '.join(NUMERIC)}")
    raise UnpickleError("an array type without a name")


def reconstruct(machine, arguments):
    match arguments:
        case (Mark("numpy.ndarray"), (0,), b"b" | "b"):
            return UnbuiltArray()
    raise UnpickleError("an array that does not begin as numpy begins it")


def from_buffer(machine, arguments):
    """As protocol 5 has it; `axes` is there for an array that is neither in C's order nor in Fortran's."""
    match arguments:
        case (bytes() as content, DType() as dtype, tuple() as shape, "C" | "F" as order):
            return make_array(content, dtype.numpy(), shape, order)
        case (bytes() as content, DType() as dtype, tuple() as shape, "K", tuple() as axes):
            if all(type(axis) is int for axis in axes) and sorted(axes) == list(range(len(shape))):
                return make_array(content, dtype.numpy(), shape).transpose(axes)
    raise UnpickleError("an array that is not (bytes, type, shape, order)")


def scalar(machine, arguments):
    """A single number of numpy, as one of Python."""
    match arguments:
        case (DType() as dtype, bytes() | str() as content):
            return make_array(content, dtype.numpy(), ()).item()
    raise UnpickleError("a number that is not (type, bytes)")


NAMES = {
    "numpy.ndarray": None,
    "numpy.dtype": dtype,
    **{f"numpy.{core}.multiarray._reconstruct": reconstruct for core in ("core", "_core")},
    **{f"numpy.{core}.multiarray.scalar": scalar for core in ("core", "_core")},
    **{f"numpy.{core}.numeric._frombuffer": from_buffer for core in ("core", "_core")},
}
