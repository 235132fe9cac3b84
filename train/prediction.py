"""Predictions of a trained net for graphs of one's own, in Python (`predict`) and from a main file (`--predict FILE`).

The graphs become a store of their own in a temporary folder: they are checked as those of a dataset are, and the transforms that
the net's encodings need are computed in the same way.
"""

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import dgl
import numpy as np
import torch

from data.errors import DataError, WrongValue
from data.folds import EVALUATION_PAIRS
from data.readers.unpack import Zip, read_npy
from data.store import Field, PackedWriter, open_or_build
from data.store.fields import to_numpy
from data.transforms import with_transforms
from nets.heads import as_scores
from runs.errors import ConfigError, nearest
from train.weights import EPOCHS, load

PAIR = Field("pair", "of", "int64", (2,), refers_to="node")
OFFSETS = {"node": "node_offsets", "edge": "edge_offsets", "pair": "pair_offsets"}
ARRAYS = (*OFFSETS.values(), "src", "dst", "node_feat", "edge_feat", "pairs")


class Graph(NamedTuple):
    """A graph in arrays: edges src[k] -> dst[k], features of nodes and edges, and the pairs of nodes (P, 2) that are asked for."""

    n_nodes: int
    src: np.ndarray
    dst: np.ndarray
    node_feat: np.ndarray | None = None
    edge_feat: np.ndarray | None = None
    pairs: np.ndarray | None = None


def predict(net, graphs, pairs=None, batch_size=128):
    """The scores of a net of `load` for a list of graphs, as float arrays of n_out columns.

    A graph is a DGLGraph with its features in ndata["feat"] and edata["feat"], or arrays as Graph lists them, in a tuple or by
    name in a dictionary. A net for graphs gives one array with a row per graph; a net for nodes, edges or pairs of nodes a list
    with an array per graph, its rows in the order of what the graph was given with. `pairs` has the asked pairs of each DGLGraph.
    """
    if not hasattr(net, "use"):
        raise WrongValue("predict wants a net of train.load: what it reads is not known of another")
    if isinstance(graphs, dgl.DGLGraph | dict | Graph) or not len(graphs):
        raise WrongValue("predict wants a list of graphs, and at least one")
    graphs = [as_graph(graph, i, None if pairs is None else pairs[i]) for i, graph in enumerate(graphs)]
    with tempfile.TemporaryDirectory() as folder:
        store = open_or_build(Path(folder) / "graphs", lambda path: pack(path, graphs, net.use))
        store = with_transforms(store, net.use.needs)
        numbers = np.array_split(np.arange(len(graphs)), -(-len(graphs) // batch_size))
        scores = torch.cat([scores_of(net, store.batch(part)) for part in numbers]).cpu().numpy()
    return divided(scores, graphs, net.use.level)


def as_graph(graph, i, pairs):
    """Any form in which a graph may be given, as a Graph."""
    if not isinstance(graph, dgl.DGLGraph):
        try:
            return Graph(**graph) if isinstance(graph, dict) else Graph(*graph)
        except TypeError:
            raise WrongValue(f"graph {i}: expected a DGLGraph, or arrays {', '.join(Graph._fields)}") from None
    if not graph.is_homogeneous or graph.batch_size != 1:
        raise WrongValue(f"graph {i}: expected one homogeneous graph; dgl.unbatch takes a batch apart")
    src, dst = map(to_numpy, graph.edges())
    return Graph(graph.num_nodes(), src, dst, graph.ndata.get("feat"), graph.edata.get("feat"), pairs)


def pack(path, graphs, use):
    """Write the graphs as a store with the features of the dataset that the net was trained on."""
    given = {
        "node": (use.features.node, [graph.node_feat for graph in graphs]),
        "edge": (use.features.edge, [graph.edge_feat for graph in graphs]),
        "pair": (PAIR if use.level == "pair" else None, [graph.pairs for graph in graphs]),
    }
    fields = {level: field for level, (field, values) in given.items() if is_given(level, field, values)}
    with PackedWriter(path, "graphs", list(fields.values()), total=len(graphs)) as writer:
        for i, graph in enumerate(graphs):
            rows = {level: {field.name: given[level][1][i]} for level, field in fields.items()}
            writer.add(graph.n_nodes, graph.src, graph.dst, **rows)


def is_given(level, field, values):
    """Whether all graphs have a feature; none may have it, where the net does not read it."""
    missing = [i for i, value in enumerate(values) if value is None]
    what = "pairs of nodes" if level == "pair" else f"{level} features"
    if level == "pair" and field and missing:
        raise WrongValue(
            f"graph {missing[0]}: no pairs: this net scores pairs of nodes, an array (P, 2) for each graph"
        )
    if field is None and len(missing) < len(values):
        raise WrongValue(f"{what} are given, but this net was trained without: leave them out")
    if 0 < len(missing) < len(values):
        raise WrongValue(f"graph {missing[0]}: no {what}, other graphs have them")
    return not missing


def scores_of(net, batch):
    """The scores of one batch, of many pairs a part at a time, as in an evaluation."""
    device = next((p.device for p in net.parameters()), torch.device("cpu"))
    g, of, _ = batch.to(device)
    with torch.no_grad(), explained(net.use.features):
        parts = [None] if of is None else of.split(EVALUATION_PAIRS, dim=1)
        return torch.cat([as_scores(net(g, part)).scores for part in parts])


@contextmanager
def explained(features):
    """A feature that the net looks for and does not find is missing in the graphs."""
    try:
        yield
    except KeyError as error:
        if "feat" not in str(error):
            raise
        wanted = [described(field) for field in features if field is not None]
        raise WrongValue(f"features are missing: this net was trained with {' and '.join(wanted)}") from error


def described(field):
    """'node features (n, 18) of float32'"""
    shape = ", ".join(["n", *map(str, field.shape)])
    types = "" if field.n_types is None else f", categories below {field.n_types}"
    return f"{field.level} features ({shape}) of {field.dtype}{types}"


def divided(scores, graphs, level):
    """The rows of each graph, in the order of what it was given with: the store sorts edges by their destination."""
    if level == "graph":
        return scores
    counts = {"node": lambda g: g.n_nodes, "edge": lambda g: len(g.src), "pair": lambda g: len(g.pairs)}[level]
    parts = np.split(scores, np.cumsum([counts(graph) for graph in graphs])[:-1])
    if level != "edge":
        return parts
    return [part[np.argsort(np.argsort(to_numpy(g.dst), kind="stable"))] for part, g in zip(parts, graphs, strict=True)]


# --------------------------------------------------------------------------------------------------------------------
# From the command line


def predict_file(config, path, scores=None, epoch=None):
    """--predict FILE: the scores of the graphs of an .npz file by the net of this run, as lines, or in the .npz file `scores`."""
    if epoch not in (None, *EPOCHS):
        raise ConfigError(f"--weights {epoch}: expected {' or '.join(EPOCHS)}")
    if scores is not None:
        check_place(Path(scores))
    folds, seeds = config.folds or [0], config.seeds or [config.seed]
    if len(folds) > 1 or len(seeds) > 1:
        raise ConfigError("--predict takes the net of one run: give one of --seeds and --folds")
    folder = config.model_copy(update={"seed": seeds[0]}).run(folds[0]).path
    if not folder.exists():
        raise ConfigError(f"--predict: there is no trained net in {folder}: first run the command without --predict")
    net = load(folder, epoch)[0]
    found = predict(net, read_graphs(path))
    rows = np.concatenate(found) if isinstance(found, list) else found
    counts = [len(part) for part in found] if isinstance(found, list) else [1] * len(found)
    if scores is not None:
        np.savez(scores, scores=rows, offsets=np.cumsum([0, *counts]))
        return
    items = net.use.level
    print("graph", *([] if items == "graph" else [items]), *(f"score_{k}" for k in range(rows.shape[1])), sep="\t")
    for (i, j), row in zip(((i, j) for i, n in enumerate(counts) for j in range(n)), rows.tolist(), strict=True):
        print(i, *([] if items == "graph" else [j]), *(f"{score:.8g}" for score in row), sep="\t")


def check_place(path):
    """Before all the work: whether the scores can be written there."""
    if path.suffix != ".npz":
        raise ConfigError(f"--scores {path}: expected a name that ends in .npz, as {path.with_suffix('.npz')}")
    if not path.parent.is_dir():
        raise ConfigError(f"--scores {path}: there is no folder {path.parent}: make it or name another")
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ConfigError(f"--scores {path}: it cannot be written there: name another place")


def read_graphs(path):
    """The graphs of an .npz file with the arrays of a store, one graph after the other (docs/runs.md)."""
    arrays = read_arrays(path)
    n_graphs = len(arrays["node_offsets"]) - 1
    n_nodes = int(arrays["node_offsets"][-1]) if n_graphs >= 0 else 0
    lengths = {"node": n_nodes, "edge": len(arrays["src"]), "pair": len(arrays.get("pairs", ()))}
    for level, name in (("edge", "dst"), ("node", "node_feat"), ("edge", "edge_feat")):
        if name in arrays and len(arrays[name]) != lengths[level]:
            raise DataError(f"{path}, {name}: {len(arrays[name])} rows: expected {lengths[level]}, one per {level}")
    for level, name in OFFSETS.items():
        if name in arrays:
            check_offsets(f"{path}, {name}", arrays[name], n_graphs, lengths[level])
    return [graph_of(arrays, i) for i in range(n_graphs)]


def read_arrays(path):
    """The arrays of the file by name; those that every graph needs are there."""
    if not Path(path).is_file():
        raise DataError(f"{path}: no such file")
    expected = f"Expected some of {', '.join(ARRAYS)}"
    with Zip(path) as archive:
        names = [name.removesuffix(".npy") for name in archive.sizes]
        if unknown := [name for name in names if name not in ARRAYS]:
            raise DataError(f"{path}: unknown array {unknown[0]}.{nearest(unknown[0], ARRAYS)} {expected}")
        needed = ["node_offsets", "edge_offsets", "src", "dst", *(["pair_offsets"] if "pairs" in names else [])]
        if missing := [name for name in needed if name not in names]:
            raise DataError(f"{path}: no array {missing[0]}. {expected}")
        arrays = {}
        for name in names:
            with archive.open(f"{name}.npy") as file:
                arrays[name] = read_npy(file, f"{path}, {name}")
    if flat := [name for name, values in arrays.items() if values.ndim == 0]:
        raise DataError(f"{path}, {flat[0]}: one number: expected an array")
    return arrays


def check_offsets(where, offsets, n_graphs, n_rows):
    right = offsets.ndim == 1 and offsets.dtype.kind in "iu" and len(offsets) == n_graphs + 1 and n_graphs > 0
    if not right or offsets[0] != 0 or offsets[-1] != n_rows or (offsets[1:] < offsets[:-1]).any():
        raise DataError(
            f"{where}: expected {max(n_graphs, 1) + 1} whole numbers from 0 to {n_rows}, none smaller than the last: "
            "graph i has the rows offsets[i] to offsets[i + 1] - 1"
        )


def graph_of(arrays, i):
    def rows(level, name):
        if name not in arrays:
            return None
        start, stop = arrays[OFFSETS[level]][i : i + 2]
        return arrays[name][start:stop]

    start, stop = arrays["node_offsets"][i : i + 2]
    feats = rows("node", "node_feat"), rows("edge", "edge_feat"), rows("pair", "pairs")
    return Graph(int(stop - start), rows("edge", "src"), rows("edge", "dst"), *feats)
