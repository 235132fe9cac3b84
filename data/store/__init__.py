"""The packed dataset store: all graphs of a dataset as a few flat, memory-mapped `.npy` arrays beside a JSON header.

    STORE/header.json                    counts, generator parameters, and for each array its type, shape and SHA-256
    STORE/graph.label.npy                level graph: one row per graph
    STORE/node.feat.npy, edge.feat.npy   ragged levels: graph i has the rows offsets[i] to offsets[i + 1] - 1,
    STORE/node_offsets.npy, edge_…       with these offsets (int64, one more than there are graphs)
    STORE/pair.of.npy, pair_offsets.npy  a further ragged level, in stores that have it: pairs of nodes, as many as a graph is given
    STORE/edge.src.npy, node.in_degree.npy   the edges (below)
    STORE/free.split.fold0.train.npy     level free: not tied to single graphs; the splits and what `add_array` was given
    STORE/checksums.npy                  CRC-32 of every 64 KiB block of every array file
    STORE/derived/laplacian-<key>/       arrays computed from the store (`Packed.derive`), laid out the same way

Edges are sorted by destination (stable: ties stay in the order given) and every edge-level array with them. So the
sources and the in-degrees say everything, and the CSC form of a batch, the one DGL aggregates with, is one cumsum away.
A batch is one block-diagonal DGLGraph, cut out of the arrays without making the single graphs. Fields that refer to nodes hold
numbers local to their graph, which are shifted to its place in the batch.

Nothing wrong is ever handed out: a folder gets its final name only when it is complete, and each block is compared with
its checksum before its first use. `python -m data.store info|verify STORE` shows a store or checks all of it.
"""

from data.errors import StoreError
from data.store.checksums import HEADER, fingerprint
from data.store.fields import Field
from data.store.reader import Batch, Packed, open_or_build
from data.store.writer import PackedWriter

__all__ = ["HEADER", "Batch", "Field", "Packed", "PackedWriter", "StoreError", "fingerprint", "open_or_build"]
