"""A store with other node fields or other edges, computed graph by graph from a store: only what changes is written.

    STORE/derived/Frag-k2-<key>/     header.json with the parameters and what is replaced, edge.src.npy, node.in_degree.npy, …

It is kept beside what is derived otherwise and laid out the same way; `Packed` reads it as a layer over the store. Fields of edges
are dropped with the edges.
"""

import contextlib

import numpy as np

from data.parallel import parallel_map
from data.store.checksums import DERIVED_FORMAT, VERSION, fingerprint, plain_json
from data.store.fields import EDGE_SRC, IN_DEGREE, convert, convert_edges
from data.store.writer import NpyWriter, build_once, new_folder, seal

OFFSETS = "edge_offsets"


def replaced(store, label, *, parameters, plan, edges=False, cliques=False, workers=1):
    """The store with other edges (`edges`) or other node fields, computed once and kept in STORE/derived.

    plan() gives the fields and a function compute(i), picklable, that gives (src, dst, {key: rows}) of graph i as it becomes.
    `cliques`: the edges are all pairs of different nodes of each graph; they are not stored. The result is found again by the
    hash of the store and `parameters`, which must hold all that the values depend on.
    """
    parameters = plain_json(parameters, "parameters")
    target = store.path / "derived" / f"{label}-{fingerprint([store.hash, label, edges, cliques, parameters])[:16]}"
    header = {"format": DERIVED_FORMAT, "version": VERSION, "store": store.hash, "name": label}
    header |= {"parameters": parameters, "replaces": {"edges": edges, "cliques": cliques}}
    build_once(target, lambda _: _write(store, target, header, *plan(), edges, cliques, workers))
    return store.with_derived(target.name)


def _write(store, target, header, fields, compute, edges, cliques, workers):
    n_nodes = np.diff(store.column("node_offsets"))
    n_edges, ids = [], store.header["ids"]
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(new_folder(target))
        wanted = {field.key: (field.dtype, field.shape) for field in fields}
        wanted |= {EDGE_SRC: (ids, ()), IN_DEGREE: (ids, ()), OFFSETS: (np.int64, ())} if edges else {}
        files = {
            key: stack.enter_context(contextlib.closing(NpyWriter(folder, key, dtype, shape)))
            for key, (dtype, shape) in wanted.items()
        }
        results = parallel_map(compute, range(len(store)), f"{store.name} {header['name']}", workers=workers)
        for i, (src, dst, rows) in enumerate(results):
            for field in fields:
                files[field.key].append(convert(field, rows[field.key], int(n_nodes[i]), f"graph {i}", int(n_nodes[i])))
            if edges:
                src, dst = convert_edges(int(n_nodes[i]), src, dst, f"graph {i}")
                files[EDGE_SRC].append(src[np.argsort(dst, kind="stable")])
                files[IN_DEGREE].append(np.bincount(dst, minlength=int(n_nodes[i])))
                n_edges.append(len(src))
        if edges:
            files[OFFSETS].append(np.cumsum([0, *n_edges]))
            n_edges = n_nodes * (n_nodes - 1) if cliques else np.array(n_edges)
            header |= {"counts": {"edges": int(n_edges.sum()), "min_edges": int(n_edges.min())}}
            header["counts"]["max_edges"] = int(n_edges.max())
        for file in files.values():
            file.finish()
        kinds = {field.key: field for field in fields}
        entries = {
            key: file.entry("free" if "." not in key else key.split(".")[0], kinds.get(key))
            for key, file in files.items()
        }
        seal(folder, header | {"arrays": entries})
