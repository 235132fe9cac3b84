"""Ways to spoil a file. A mutation is (kind, place from 0 to 1, number): small values, so that hypothesis can shrink them."""

import re

HUGE = (b"999999999999", b"-1", b"18446744073709551616", b"1e308", b"0.5", b"nan", b"", b"true", b"[]", b'"x"')


def cut(data, at, k):
    return data[:at]


def flip(data, at, k):
    return data[:at] + bytes([data[at] ^ (1 << k % 8)]) + data[at + 1 :] if at < len(data) else data


def repeat(data, at, k):
    piece = data[at : at + 1 + k % 64]
    return data[:at] + piece * (1 + k % 7) + data[at:]


def remove(data, at, k):
    return data[:at] + data[at + 1 + k % 64 :]


def insert(data, at, k):
    return data[:at] + bytes([k % 256]) * (1 + k % 5) + data[at:]


def replace_number(data, at, k):
    """The next number in the text becomes huge, negative, fractional or something else."""
    found = re.compile(rb"-?\d+(\.\d+)?").search(data, at)
    return data if found is None else data[: found.start()] + HUGE[k % len(HUGE)] + data[found.end() :]


def swap(data, at, k):
    """Two pieces change places."""
    half = len(data) // 2
    at, other, n = min(at, half), half + k % max(1, half), 1 + k % 16
    return data[:at] + data[other : other + n] + data[at + n : other] + data[at : at + n] + data[other + n :]


def repeat_line(data, at, k):
    lines = data.splitlines(keepends=True)
    if not lines:
        return data
    i = min(len(lines) - 1, at * len(lines) // max(1, len(data)))
    return b"".join(lines[:i] + [lines[i]] * (2 + k % 3) + lines[i + 1 :])


def nest(data, at, k):
    return data[:at] + b"[" * 3000 + data[at:]


KINDS = (cut, flip, repeat, remove, insert, replace_number, swap, repeat_line, nest)


def mutated(data, mutations):
    """`data` after all mutations, one after the other."""
    for kind, place, k in mutations:
        data = KINDS[kind % len(KINDS)](data, int(place * len(data)), k)
    return data
