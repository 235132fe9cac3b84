"""graph6, the text form of small undirected graphs in which BREC is published: one line of characters per graph.

A character holds six bits, as its code minus 63. First the number of nodes n: one character up to 62, else `~` and three
characters, or `~~` and six. Then the upper triangle of the adjacency matrix column by column, (0,1), (0,2), (1,2), (0,3), ...,
filled up with zero bits to a whole character.
"""

import numpy as np

OFFSET = 63  # code of the character for 0
HEADER = b">>graph6<<"  # may stand before the first graph of a file
MOST_NODES = 100_000  # a longer string would need gigabytes


def decode(text):
    """(n, a, b): the number of nodes and the edges a[k] - b[k], each once with a < b, int64. ValueError if it is not graph6."""
    text = text.encode("utf-8") if isinstance(text, str) else bytes(text)
    text = text.strip(b"\r\n").removeprefix(HEADER)
    shown = repr(text[:20].decode("utf-8", "replace")) + ("..." if len(text) > 20 else "")
    codes = np.frombuffer(text, np.uint8).astype(np.int64) - OFFSET
    wrong = np.flatnonzero((codes < 0) | (codes > 63))
    if not len(codes) or len(wrong):
        what = f"the byte {codes[wrong[0]] + OFFSET} at place {wrong[0]}" if len(wrong) else "no character"
        raise ValueError(f"{shown}: {what}: expected graph6, one or more characters with the codes 63 to 126")
    n, bits = _split(text, codes, shown)
    n_bits = n * (n - 1) // 2
    if len(bits) != -(-n_bits // 6):
        raise ValueError(
            f"{shown}: {len(bits)} characters for the edges of {n} nodes: expected {-(-n_bits // 6)} in graph6"
        )
    bits = (bits[:, None] >> np.arange(5, -1, -1) & 1).reshape(-1)
    if bits[n_bits:].any():
        raise ValueError(f"{shown}: bits after the last of {n_bits} pairs of nodes: not graph6, or damaged")
    return n, *_pair(np.flatnonzero(bits))


def _split(text, codes, shown):
    """The number of nodes, and the six-bit numbers that follow it."""
    start, stop = (2, 8) if text.startswith(b"~~") else (1, 4) if text.startswith(b"~") else (0, 1)
    if len(codes) < stop:
        raise ValueError(f"{shown}: it ends within the number of nodes: not graph6, or cut off")
    n = 0
    for code in codes[start:stop].tolist():
        n = n << 6 | code
    if n > MOST_NODES:
        raise ValueError(f"{shown}: {n} nodes: at most {MOST_NODES} are read")
    return n, codes[stop:]


def _pair(k):
    """(a, b), a < b: pair number k in the order (0,1), (0,2), (1,2), (0,3), ...: k = b (b - 1) / 2 + a."""
    b = ((1 + np.sqrt(1 + 8 * k)) // 2).astype(np.int64)  # exact: the numbers are far below 2^53
    return k - b * (b - 1) // 2, b
