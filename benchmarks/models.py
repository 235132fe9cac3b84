"""A training epoch of each model against the same model written with other libraries: ratios, on two cores or many.

    python benchmarks/models.py [--quick] [--check] [--models GCN GAT] [--datasets PATTERN] [--rounds 3]

Synthetic graphs with the statistics of ZINC, PATTERN and CIFAR10 and the widths of the paper's 100k rows. An epoch is a few
batches: cutting or collating the batch, forward, loss, backward, optimizer step. Message-passing models are compared with

    (a)    the same model in torch_geometric, through its DataLoader (pip install -r requirements-benchmark.txt)
    (b)    the same model of dgl.nn layers (GatedGCN, which dgl.nn lacks: dgl.ops), through dgl.batch

both in processes without the settings of process.py (--same-settings: with them); RingGNN and 3WLGNN with

    one    the same net, one graph at a time, gradients accumulated
    naive  RingGNN as `one`, by its plain formula: all 15 basis tensors of eq. (44) built and put through one product
    conv   3WLGNN as the original program has it: one graph at a time, its input made before, its maps 1x1 convolutions

and each with its floor: the dense products of the step alone. Every variant is a process of its own; they take turns, ratios
are those of one turn, and their median is printed with the smallest and the largest. Times mean nothing elsewhere; ratios do.
--against FOLDER adds ours of another checkout: is it faster or slower than it was?
Threads are only bound to cores where the machine is idle at the start. On a machine that others use at the same time set
OMP_NUM_THREADS=1 and --cpu-time: two threads that wait for each other at every operation measure the other programs.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from contextlib import ExitStack
from importlib.util import find_spec
from itertools import islice, pairwise
from pathlib import Path
from statistics import median
from types import SimpleNamespace

if __name__ == "__main__" and "--variant" not in sys.argv:
    os.environ["GNN_PROCESS_SETTINGS"] = "off"  # of this process, which only waits; each variant is told its own
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import process  # noqa: F401, I001 - before torch

import dgl
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from data.loader import Loader
from data.registry import declared
from data.store import Field, Packed, PackedWriter
from layers.mlp_readout import MLPReadout
from layers.ring_layer import RingLayer
from nets import NETS, build_net
from nets.inputs import embed_feature, n_numbers
from runs.table_files import find_row
from train.tasks import GraphClassification, GraphRegression, NodeClassification

ROOT = Path(__file__).resolve().parent.parent
DATASETS = ("ZINC", "PATTERN", "CIFAR10")
ROWS = {m: f"{m}-L4" for m in ("MLP", "GCN", "GraphSage", "GAT", "MoNet", "GatedGCN", "GIN")}
ROWS |= {"RingGNN": "RingGNN-L2-100k", "3WLGNN": "3WLGNN-L3-100k"}
DENSE = ("RingGNN", "3WLGNN")
BATCH_SIZE, DENSE_BATCH_SIZE = 128, {"ZINC": 128, "PATTERN": 8, "CIFAR10": 8}
N_BATCHES = {(dataset, dense): 2 for dataset in DATASETS for dense in (False, True)} | {
    ("ZINC", False): 6
}  # True: in DENSE
CHECK_GRAPHS = 4
SETTINGS = {
    "ours": "on",
    "against": "on",
    "a": "off",
    "b": "off",
    "one": "on",
    "naive": "on",
    "conv": "off",
    "floor": "on",
}
LEAST = {  # wanted of ratios to the time of ours; best: (a) or (b), whichever median is smaller
    **{(dataset, model): {"best": 1.0} for dataset in DATASETS for model in ROWS if model not in DENSE},
    **{("ZINC", model): {"best": 1.0, "b": 1.4} for model in ROWS if model not in ("MLP", *DENSE)},
    **{(dataset, "RingGNN"): {"one": 4.0, "naive": 4.0} for dataset in DATASETS},
    **{(dataset, "3WLGNN"): {"conv": 1.3} for dataset in DATASETS},
    ("PATTERN", "GatedGCN"): {"best": 1.0, "b": 4.0},
    ("PATTERN", "GAT"): {"best": 1.0, "b": 1.7},
}
SLOW, SLOW_ROUNDS = 4, 2  # a variant so many times slower than ours takes part in so many rounds only
EPS = 1e-6  # of the gates, eq. (25)


# --------------------------------------------------------------------------------------------------------------------
# Graphs


def molecule(random):
    """About 23 nodes and 50 directed edges: a random tree and a few rings."""
    n = int(np.clip(random.normal(23.2, 4.5), 9, 37))
    tree = [(random.integers(0, i), i) for i in range(1, n)]
    rings = random.integers(0, n, (n // 8, 2))
    return n, *both_directions(np.concatenate([tree, rings[rings[:, 0] != rings[:, 1]]]))


def communities(random):
    """About 118 nodes and 6,080 directed edges."""
    n = int(random.integers(44, 189))
    return n, *both_directions(np.argwhere(np.triu(random.random((n, n)) < 0.40, 1)))


def superpixels(random):
    """About 118 nodes, each with edges from its 8 nearest."""
    place = random.random((int(np.clip(random.normal(117.6, 8), 85, 150)), 2))
    distance = np.square(place[:, None] - place).sum(-1)
    np.fill_diagonal(distance, np.inf)
    return len(place), np.argsort(distance, 1)[:, :8].ravel(), np.repeat(np.arange(len(place)), 8)


MAKERS = {"ZINC": molecule, "PATTERN": communities, "CIFAR10": superpixels}


def both_directions(pairs):
    return pairs.T.ravel(), pairs.T[::-1].ravel()


def write_store(path, dataset, n_graphs):
    """The synthetic graphs as a packed store, from which every variant takes them."""
    random, entry = np.random.default_rng(0), declared(dataset)
    level, is_class = entry.target.level, entry.target.kind == "classes"
    label = Field(level, "label", "uint8" if is_class else "float32")
    fields = [entry.node, label] + ([entry.edge] if entry.edge else [])
    with PackedWriter(path, dataset, fields, total=n_graphs) as writer:
        for _ in range(n_graphs):
            n, src, dst = MAKERS[dataset](random)
            rows = {"node": {"feat": feature(random, entry.node, n)}}
            if entry.edge:
                rows["edge"] = {"feat": feature(random, entry.edge, len(src))}
            size = n if level == "node" else None
            labels = random.integers(0, entry.target.n_out, size) if is_class else random.random(size)
            rows.setdefault(level, {})["label"] = labels
            writer.add(n, src, dst, **rows)


def feature(random, field, n):
    return random.integers(0, field.n_types, n) if field.n_types else random.random((n, *field.shape), np.float32)


def single_graphs(store, numbers):
    """(src, dst, node types, edge types or None, labels) of each graph, as tensors: what the lists of (a) and (b) are made of."""
    for i in numbers:
        src, dst = (torch.from_numpy(end.astype(np.int64)) for end in store.edges(i))
        rows = {key: torch.as_tensor(np.array(store.rows(key, i))) for key in store.fields}
        rows = {key: x if x.is_floating_point() else x.long() for key, x in rows.items()}
        label = rows["graph.label"][None] if "graph.label" in rows else rows["node.label"]
        yield src, dst, rows["node.feat"], rows.get("edge.feat"), label


# --------------------------------------------------------------------------------------------------------------------
# The same nets with other libraries


class OtherNet(nn.Module):
    """embedding -> convolution, BN, activation, residual connection -> read-out, in the order of ours, around another library's
    layers."""

    def __init__(self, config, features, task):
        super().__init__()
        self.model, self.level, self.readout = config.model, task.level, config.head.pool
        n_heads = getattr(config, "n_heads", 1)
        width = config.hidden_dim * n_heads
        widths, heads = [width] * (config.L + 1), [n_heads] * (config.L - 1) + [1]
        self.embedding, self.edge_feat = embed_feature(features.node, width), getattr(config, "edge_feat", False)
        self.edge_embedding = nn.Linear(1, width) if self.model == "GatedGCN" else None
        self.layers = nn.ModuleList(self.make(a, b, k) for (a, b), k in zip(pairwise(widths), heads, strict=True))
        self.norms = None
        if self.model not in ("MLP", "GatedGCN"):
            self.norms = nn.ModuleList(nn.BatchNorm1d(dim) for dim in widths[1:])
        if self.model == "GIN":
            self.head = nn.ModuleList(MLPReadout(dim, task.n_out, ()) for dim in widths)
        else:
            self.head = MLPReadout(width, task.n_out)

    def make(self, in_dim, out_dim, n_heads):
        """One layer of self.model."""
        raise TypeError(f"{type(self).__name__} does not say what its layer is: define make")

    def convolve(self, layer, batch, h, extra):
        """What stands innermost in (29)."""
        raise TypeError(f"{type(self).__name__} does not say how its layer is called: define convolve")

    def forward(self, batch):
        h, extra = self.embedding(self.node_features(batch)), None
        if self.model == "GatedGCN":
            e = self.edge_features(batch) if self.edge_feat else h.new_ones(self.n_edges(batch), 1)
            extra = self.edge_embedding(e)
        elif self.model == "MoNet":
            extra = self.degree_coordinates(batch, h.dtype)
        activation = F.elu if self.model == "GAT" else F.relu
        outputs = [h]
        for i, layer in enumerate(self.layers):
            if self.model == "MLP":
                h = F.relu(layer(h))
            elif self.model == "GatedGCN":
                h, extra = layer(batch, h, extra)
            elif self.model == "GraphSage":
                h = h + self.norms[i](F.relu(F.normalize(self.convolve(layer, batch, h, extra))))
            else:
                h = h + activation(self.norms[i](self.convolve(layer, batch, h, extra)))
                h = layer["shift"](h) if self.model == "MoNet" else h
            outputs.append(h)
        pool = self.pool if self.level == "graph" else lambda batch, h: h
        if self.model == "GIN":
            return sum(head(pool(batch, h)) for head, h in zip(self.head, outputs, strict=True))
        return self.head(pool(batch, h))


def gin_mlp(in_dim, out_dim):
    return nn.Sequential(nn.Linear(in_dim, out_dim), nn.BatchNorm1d(out_dim), nn.ReLU(), nn.Linear(out_dim, out_dim))


class Shift(nn.Module):
    """x + b, the bias of MoNet, which follows the residual connection."""

    def __init__(self, dim):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        return x + self.bias


class PlainGatedGCN(nn.Module):
    """Eq. (24)-(26) step by step; a subclass says how values reach the edges and come back."""

    def __init__(self, dim):
        super().__init__()
        self.A, self.B, self.C, self.U, self.V = (nn.Linear(dim, dim) for _ in range(5))
        self.norm_h, self.norm_e = nn.BatchNorm1d(dim), nn.BatchNorm1d(dim)

    def forward(self, batch, h, e):
        e_hat = self.at_edges(batch, self.A(h), self.B(h)) + self.C(e)
        h_hat = self.U(h) + self.gated_mean(batch, self.V(h), torch.sigmoid(e_hat))
        return h + F.relu(self.norm_h(h_hat)), e + F.relu(self.norm_e(e_hat))


class DGLGatedGCN(PlainGatedGCN):
    def at_edges(self, g, Ah, Bh):
        return dgl.ops.u_add_v(g, Bh, Ah)

    def gated_mean(self, g, Vh, gate):
        return dgl.ops.u_mul_e_sum(g, Vh, gate) / (dgl.ops.copy_e_sum(g, gate) + EPS)


class DGLNet(OtherNet):
    """dgl.nn; a batch is a DGLGraph of dgl.batch."""

    def make(self, a, b, n_heads):
        if self.model == "MLP":
            return nn.Linear(a, b)
        if self.model == "GCN":
            return dgl.nn.GraphConv(a, b, norm="right", allow_zero_in_degree=True)
        if self.model == "GraphSage":
            return dgl.nn.SAGEConv(a, b, "pool")
        if self.model == "GAT":
            return dgl.nn.GATConv(a, b // n_heads, n_heads, bias=False, allow_zero_in_degree=True)
        if self.model == "MoNet":
            conv = dgl.nn.GMMConv(a, b, 2, 3, bias=False, allow_zero_in_degree=True)
            return nn.ModuleDict({"A": nn.Linear(2, 2), "conv": conv, "shift": Shift(b)})
        if self.model == "GIN":
            return dgl.nn.GINConv(gin_mlp(a, b), "sum", learn_eps=True)
        return DGLGatedGCN(a)

    def convolve(self, layer, g, h, extra):
        if self.model == "MoNet":
            return layer["conv"](g, h, torch.tanh(layer["A"](extra)))
        return layer(g, h).flatten(1)

    def node_features(self, g):
        return g.ndata["feat"]

    def edge_features(self, g):
        return g.edata["feat"]

    def n_edges(self, g):
        return g.num_edges()

    def degree_coordinates(self, g, dtype):
        src, dst = g.edges()
        root = (g.in_degrees() + 1).to(dtype).rsqrt()
        return torch.stack([root[dst], root[src]], 1)

    def pool(self, g, h):
        return (dgl.nn.SumPooling() if self.readout == "sum" else dgl.nn.AvgPooling())(g, h)

    @staticmethod
    def loader(store, numbers, batch_size, shuffle=True):
        graphs = []
        for src, dst, node, edge, label in single_graphs(store, numbers):
            g = dgl.graph((src, dst), num_nodes=len(node))
            g.ndata["feat"] = node
            if edge is not None:
                g.edata["feat"] = edge
            graphs.append((g, label))
        return torch.utils.data.DataLoader(graphs, batch_size, shuffle, collate_fn=DGLNet.collate)

    @staticmethod
    def collate(samples):
        graphs, labels = zip(*samples, strict=True)
        return dgl.batch(graphs), None, torch.cat(labels)


def torch_geometric_net():
    """The class of (a); in a function, so that only its own process imports the library."""
    from torch_geometric import nn as gnn
    from torch_geometric.data import Data
    from torch_geometric.loader import DataLoader
    from torch_geometric.utils import degree, scatter

    class Messages(gnn.MessagePassing):
        """Σ_j gate ⊙ Vh_j, and Ah_i + Bh_j at the edges."""

        def forward(self, edge_index, Vh, gate):
            return self.propagate(edge_index, Vh=Vh, gate=gate)

        def at_edges(self, edge_index, Ah, Bh):
            return self.edge_updater(edge_index, Ah=Ah, Bh=Bh)

        def message(self, Vh_j, gate):
            return Vh_j * gate

        def edge_update(self, Ah_i, Bh_j):
            return Ah_i + Bh_j

    class GeometricGatedGCN(PlainGatedGCN):
        def __init__(self, dim):
            super().__init__(dim)
            self.messages = Messages(aggr="add")

        def at_edges(self, batch, Ah, Bh):
            return self.messages.at_edges(batch.edge_index, Ah, Bh)

        def gated_mean(self, batch, Vh, gate):
            total = scatter(gate, batch.edge_index[1], dim_size=len(Vh), reduce="sum")
            return self.messages(batch.edge_index, Vh, gate) / (total + EPS)

    class GeometricNet(OtherNet):
        """torch_geometric.nn; a batch is one of its Data objects."""

        def make(self, a, b, n_heads):
            if self.model == "MLP":
                return nn.Linear(a, b)
            if self.model == "GCN":
                return nn.ModuleDict({"conv": gnn.SimpleConv(aggr="mean"), "U": nn.Linear(a, b)})
            if self.model == "GraphSage":
                return gnn.SAGEConv(a, b, aggr="max", project=True)
            if self.model == "GAT":
                return gnn.GATConv(a, b // n_heads, n_heads, bias=False, add_self_loops=False)
            if self.model == "MoNet":
                conv = gnn.GMMConv(a, b, dim=2, kernel_size=3, aggr="add", root_weight=False, bias=False)
                conv.root = None  # its forward asks for it also without root_weight
                return nn.ModuleDict({"A": nn.Linear(2, 2), "conv": conv, "shift": Shift(b)})
            if self.model == "GIN":
                return gnn.GINConv(gin_mlp(a, b), train_eps=True)
            return GeometricGatedGCN(a)

        def convolve(self, layer, batch, h, extra):
            if self.model == "MoNet":
                return layer["conv"](h, batch.edge_index, torch.tanh(layer["A"](extra)))
            if self.model == "GCN":
                return layer["U"](layer["conv"](h, batch.edge_index))
            return layer(h, batch.edge_index)

        def node_features(self, batch):
            return batch.x

        def edge_features(self, batch):
            return batch.edge_attr

        def n_edges(self, batch):
            return batch.num_edges

        def degree_coordinates(self, batch, dtype):
            src, dst = batch.edge_index
            root = (degree(dst, batch.num_nodes, dtype) + 1).rsqrt()
            return torch.stack([root[dst], root[src]], 1)

        def pool(self, batch, h):
            pool = gnn.global_add_pool if self.readout == "sum" else gnn.global_mean_pool
            return pool(h, batch.batch, batch.num_graphs)

        @staticmethod
        def loader(store, numbers, batch_size, shuffle=True):
            graphs = [
                Data(x=node, edge_index=torch.stack([src, dst]), edge_attr=edge, y=label)
                for src, dst, node, edge, label in single_graphs(store, numbers)
            ]
            return Batches(DataLoader(graphs, batch_size, shuffle))

    class Batches:
        """(batch, of, labels), as the other loaders give them."""

        def __init__(self, loader):
            self.loader = loader

        def __iter__(self):
            return ((batch, None, batch.y) for batch in self.loader)

    return GeometricNet


# --------------------------------------------------------------------------------------------------------------------
# Variants: each has epoch()


class Job:
    """One model on one dataset: its configuration, and the graphs of an epoch."""

    def __init__(self, dataset, model, store, batch_size, n_batches):
        self.model, self.batch_size, self.n_batches = model, batch_size, n_batches
        self.entry, self.store, self.numbers = declared(dataset), Packed(store), np.arange(batch_size * n_batches)
        self.config = NETS[model].Config.model_validate(find_row(f"table2_{dataset}/{ROWS[model]}").config["net"])
        target = self.entry.target
        tasks = {"ZINC": GraphRegression(), "PATTERN": NodeClassification(target.n_out)}
        self.task = tasks.get(dataset) or GraphClassification(target.n_out)

    def net(self):
        return build_net(self.config, self.entry.features, self.task)

    def loader(self, batch_size, shuffle=True):
        return Loader(self.store, self.numbers, batch_size, shuffle, torch.Generator().manual_seed(0))


def adam(net):
    return torch.optim.Adam(net.parameters(), lr=1e-3, fused=True)  # for all: what differs is the model


class Training:
    """Epochs of a net over a loader of (batch, of, labels)."""

    def __init__(self, job, net, loader):
        self.net, self.loader, self.task, self.optimizer = net.train(), loader, job.task, adam(net)

    def epoch(self, n_batches=None):
        for batch, _, y in islice(self.loader, n_batches):
            loss = self.task.loss(self.net(batch), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            loss.item()


class OneByOne(Training):
    """The same steps, each from the gradients of single graphs."""

    def __init__(self, job, net, loader=None):
        super().__init__(job, net, loader or job.loader(1))
        self.batch_size = job.batch_size

    def epoch(self, n_batches=None):
        n_graphs = None if n_batches is None else n_batches * self.batch_size
        for i, (g, _, y) in enumerate(islice(self.loader, n_graphs), 1):
            loss = self.task.loss(self.net(g), y) / self.batch_size
            loss.backward()
            loss.item()
            if i % self.batch_size == 0:
                self.optimizer.step()
                self.optimizer.zero_grad()


class ConvolutionalThreeWL(nn.Module):
    """3WLGNN with the weights of ours for one graph, x (1, d, n, n): each map of the channels a 1x1 convolution, [W_h W_m] that of
    the concatenation."""

    def __init__(self, net):
        super().__init__()
        self.input, self.level, self.P = net.input, net.level, net.head.P
        self.layers = nn.ModuleList()
        for layer in net.layers:
            M1, M2 = (self.mlp(M) for M in (layer.M1, layer.M2))
            W = self.convolution(torch.cat([layer.W_h.weight, layer.W_m.weight], 1), layer.W_h.bias)
            self.layers.append(nn.ModuleDict({"M1": M1, "M2": M2, "W": W}))

    @staticmethod
    def convolution(weight, bias):
        map_ = nn.Conv2d(weight.shape[1], weight.shape[0], 1)
        map_.load_state_dict({"weight": weight[:, :, None, None], "bias": bias})
        return map_

    def mlp(self, M):
        return nn.Sequential(*(step for m in M.maps for step in (self.convolution(m.weight, m.bias), nn.ReLU())))

    def graphs(self, job):
        """(x, None, y) of each graph, made beforehand."""
        loader, dtype = job.loader(1, shuffle=False), self.P[0].weight.dtype
        return [(self.input(g, dtype).dense()[0].transpose(0, 1).contiguous(), None, y) for g, _, y in loader]

    def forward(self, x):
        scores = 0
        for layer, P in zip(self.layers, self.P, strict=True):
            x = layer["W"](torch.cat([x, layer["M1"](x) @ layer["M2"](x)], 1))
            scores = scores + P(self.pool(x))
        return scores

    def pool(self, x):
        if self.level == "node":
            return x.sum(3)[0].t()
        eye = torch.eye(x.shape[-1], dtype=torch.bool)
        return torch.cat([x.diagonal(dim1=2, dim2=3).amax(2), x.masked_fill(eye, -torch.inf).amax((2, 3))], 1)


class Floor:
    """Only the dense products of an epoch: each map forward, and backward for its input and its weight."""

    def __init__(self, job):
        self.n_batches = job.n_batches
        maps, squares = dense_products(job)
        self.maps = []
        for rows, a, b, input_has_grad in maps:
            x, y = self.random(job, rows, a), self.random(job, rows, b)
            self.maps.append((x, torch.randn(b, a), y, torch.empty_like(x) if input_has_grad else None))
        self.squares = [(torch.randn(m, n, n), torch.randn(m, n, n), torch.empty(m, n, n)) for m, n in squares]

    @staticmethod
    def random(job, rows, dim):
        """(rows, dim) in memory as in the net: the WL-GNNs have the channels first."""
        return torch.randn(dim, rows).t() if job.model in DENSE else torch.randn(rows, dim)

    def epoch(self, n_batches=None):
        for _ in range(n_batches or self.n_batches):
            for x, W, y, _ in self.maps:
                torch.mm(x, W.t(), out=y)
            for a, b, c in self.squares:
                torch.bmm(a, b, out=c)
                torch.bmm(a, b.mT, out=c)
                torch.bmm(a.mT, b, out=c)
            for x, W, y, d_x in self.maps:
                torch.mm(y.t(), x)
                if d_x is not None:
                    torch.mm(y, W, out=d_x)


def dense_products(job):
    """The products of an average batch: maps [(rows, in, out, whether the input has a gradient)], squares [(how many, n)]."""
    c, level, n_out, B = job.config, job.entry.target.level, job.entry.target.n_out, job.batch_size
    offsets = {key: job.store.column(f"{key}_offsets")[: len(job.numbers) + 1] for key in ("node", "edge")}
    N, E = (int(offsets[key][-1]) // job.n_batches for key in offsets)
    if job.model in DENSE:
        sizes = np.diff(offsets["node"]).astype(float)
        P, n = round(np.square(sizes).mean() * B), round(np.power(sizes, 3).mean() ** (1 / 3))
        widths = [1 + n_numbers(job.entry.node)] + [c.hidden_dim] * c.L
        maps = []
        for i, (a, b) in enumerate(pairwise(widths)):
            if job.model == "RingGNN":
                maps += [(P, 2 * a, 3 * b, i > 0)]
            else:
                maps += [(P, a, 3 * b, i > 0), (P, b, b, True), (P, b, b, True), (P, b, b, True)]
        return maps, [(B * b, n) for b in widths[1:]]
    d = c.hidden_dim * getattr(c, "n_heads", 1)
    layer = {
        "MLP": [(N, d, d)],
        "GCN": [(N, d, d)],
        "GraphSage": [(N, d, d), (N, 2 * d, d)],
        "GAT": [(N, d, d)],
        "MoNet": [(N, 3 * d, d)],
        "GatedGCN": [(N, d, 4 * d), (E, d, d)],
        "GIN": [(N, d, d), (N, d, d)],
    }[job.model]
    rows = B if level == "graph" else N
    head = [(rows, d, d // 2), (rows, d // 2, d // 4), (rows, d // 4, n_out)]
    if job.model == "GIN":
        head = [(rows, d, n_out)] * (c.L + 1)
    return [(*shape, True) for shape in layer * c.L + head], []


def make_variant(variant, job):
    torch.manual_seed(0)
    if variant == "floor":
        return Floor(job)
    if variant in ("a", "b"):
        kind = torch_geometric_net() if variant == "a" else DGLNet
        net = kind(job.config, job.entry.features, job.task)
        return Training(job, net, kind.loader(job.store, job.numbers, job.batch_size))
    torch.use_deterministic_algorithms(True)  # as in train/loop.py
    torch.utils.deterministic.fill_uninitialized_memory = False
    net = job.net()
    if variant == "naive":
        RingLayer.forward = RingLayer.plain  # in this process alone
    if variant == "conv":
        net = ConvolutionalThreeWL(net)
        return OneByOne(job, net, net.graphs(job))
    return OneByOne(job, net) if variant in ("one", "naive") else Training(job, net, job.loader(job.batch_size))


# --------------------------------------------------------------------------------------------------------------------
# Are they the same models?


def layer_weights(model, variant, weights):
    """Weights of one of our layers under the names that the layer of (a) or (b) gives them."""
    s, geometric = SimpleNamespace(**{name.replace(".", "_"): value for name, value in weights.items()}), variant == "a"
    if model == "MLP":
        return {"weight": s.W_weight, "bias": s.W_bias}
    if model == "GCN":
        if geometric:
            return {"U.weight": s.U_weight, "U.bias": s.U_bias}
        return {"weight": s.U_weight.t(), "bias": s.U_bias}
    if model == "GraphSage":
        U_i, U_j = s.U_weight.chunk(2, 1)
        pool, neigh, self_, bias = (
            ("lin", "lin_l", "lin_r", "lin_l") if geometric else ("fc_pool", "fc_neigh", "fc_self", "fc_self")
        )
        maps = {f"{pool}.weight": s.V_weight, f"{pool}.bias": s.V_bias, f"{bias}.bias": s.U_bias}
        return maps | {f"{self_}.weight": U_i, f"{neigh}.weight": U_j}
    if model == "GAT":
        V_i, V_j = s.V[:, None]
        if geometric:
            return {"lin.weight": s.U_weight, "att_src": V_j, "att_dst": V_i}
        return {"fc.weight": s.U_weight, "attn_l": V_j, "attn_r": V_i}
    if model == "MoNet":
        U = s.U_weight.unflatten(1, (len(s.mu), -1)).transpose(0, 1).flatten(0, 1)  # U^k below each other
        both = {"A.weight": s.A_weight, "A.bias": s.A_bias, "conv.mu": s.mu, "shift.bias": s.U_bias}
        return both | (
            {"conv.g": U.t(), "conv.sigma": 1 / s.s} if geometric else {"conv.fc.weight": U, "conv.inv_sigma": s.s}
        )
    if model == "GIN":
        places = {"V.0": "0", "norm_V.0": "1", "U": "3"}
        weights = {name: value for name, value in weights.items() if name != "eps"}
        mlp = {f"{places[part]}.{name}": value for part, name, value in split(weights)}
        name = "nn" if geometric else "apply_func"
        return {"eps": s.eps} | {f"{name}.{key}": value for key, value in mlp.items()}
    places = {"update_h.norm": "norm_h", "update_e.norm": "norm_e"}  # GatedGCN
    return {places.get(part, part) + f".{name}": value for part, name, value in split(weights)}


def split(weights):
    """("update_h.norm", "weight", value) of each."""
    return [(*name.rsplit(".", 1), value) for name, value in weights.items()]


def copy_weights(ours, other, model, variant):
    other.embedding.load_state_dict(ours.embedding.node.state_dict())
    if other.edge_embedding is not None:
        other.edge_embedding.load_state_dict(ours.edge_embedding.embed.state_dict())
    for i, layer in enumerate(ours.layers):
        norms = {name: value for name, value in layer.state_dict().items() if name.startswith("update_h.norm.")}
        weights = layer.state_dict()
        if other.norms is not None:
            other.norms[i].load_state_dict({name.split(".")[2]: weights.pop(name) for name in norms})
        other.layers[i].load_state_dict(layer_weights(model, variant, weights))
    heads = zip(other.head, ours.head, strict=True) if model == "GIN" else [(other.head, ours.head)]
    for theirs, mine in heads:
        theirs.load_state_dict(mine.mlp.state_dict())


def in_double(batch):
    """The batch of any library with its continuous features in float64."""
    if isinstance(batch, dgl.DGLGraph):
        for rows in (batch.ndata, batch.edata):
            rows.update({name: x.double() for name, x in rows.items() if x.is_floating_point()})
        return batch
    return batch.apply(lambda x: x.double() if x.is_floating_point() else x)


def check(dataset, model, variants, store):
    """With the same weights, ours and (a), (b) give the same scores, loss and gradient of the embedding (float64)."""
    for variant in variants:
        job = Job(dataset, model, store, CHECK_GRAPHS, 1)
        kind = torch_geometric_net() if variant == "a" else DGLNet
        ours, other = job.net().double(), kind(job.config, job.entry.features, job.task).double()
        copy_weights(ours, other, model, variant)
        results = []
        for net, loader in (
            (ours, job.loader(CHECK_GRAPHS, False)),
            (other, kind.loader(job.store, job.numbers, CHECK_GRAPHS, False)),
        ):
            ((batch, _, y),) = loader
            y = y.double() if y.is_floating_point() else y
            scores = net(in_double(batch))
            job.task.loss(scores, y).backward()
            embedding = net.embedding.node if net is ours else net.embedding
            results.append((scores.detach(), embedding.weight.grad))
        for mine, theirs in zip(*results, strict=True):
            torch.testing.assert_close(mine, theirs, rtol=1e-7, atol=1e-9)


def check_convolutions(dataset, store):
    """With the same weights, ours and (conv) give the same scores for each graph (float64)."""
    job = Job(dataset, "3WLGNN", store, CHECK_GRAPHS, 1)
    ours = job.net()
    other = ConvolutionalThreeWL(ours).double()
    scores = torch.cat([other(x) for x, _, _ in other.graphs(job)])
    ((batch, _, _),) = job.loader(CHECK_GRAPHS, False)
    torch.testing.assert_close(ours.double()(batch), scores, rtol=1e-7, atol=1e-9)


# --------------------------------------------------------------------------------------------------------------------
# Processes


def work(variant, clock):
    """What a variant's process does: a line with a job builds it and warms up, an empty line runs an epoch. Both are timed."""
    replies, sys.stdout = sys.stdout, sys.stderr
    warnings.simplefilter("ignore")
    run = None
    for line in sys.stdin:
        if line.strip():
            run = None  # frees the memory of the one before
            run = make_variant(variant, Job(**json.loads(line)))
            run.epoch(1)
        start = clock()
        run.epoch(1 if line.strip() else None)
        print(clock() - start, file=replies, flush=True)


class Worker:
    """The process of one variant."""

    def __init__(self, variant, settings, arguments):
        self.variant = variant
        script = Path(arguments.against or ROOT, "benchmarks", "models.py") if variant == "against" else __file__
        words = [sys.executable, str(script), "--variant", variant]
        self.process = subprocess.Popen(
            words + (["--cpu-time"] if arguments.cpu_time else []),
            env={**os.environ, "GNN_PROCESS_SETTINGS": settings},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def prepare(self, **job):
        """Seconds of one batch."""
        return self._ask(json.dumps(job))

    def epoch(self):
        """Seconds."""
        return self._ask("")

    def _ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        reply = self.process.stdout.readline()
        if not reply:
            raise SystemExit(f"variant {self.variant}: its process ended with code {self.process.wait()} (see above)")
        return float(reply)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.stdin.close()
        self.process.wait()


def ratios_of(workers, rounds, job):
    """{variant: its times over ours, of each round}, {"ours": seconds per batch of each round}; for floor, ours over it."""
    first = {variant: worker.prepare(**job) for variant, worker in workers.items()}
    times = []
    for i in range(rounds):
        taking_part = [v for v in workers if i < SLOW_ROUNDS or first[v] < SLOW * first["ours"]]
        times.append({variant: workers[variant].epoch() for variant in taking_part})
    ratios = {variant: [t[variant] / t["ours"] for t in times if variant in t] for variant in workers}
    ratios["best"] = min((ratios[v] for v in ("a", "b") if v in ratios), key=median, default=[])
    ratios["floor"] = [t["ours"] / t["floor"] for t in times if "floor" in t]
    ratios["ours"] = [t["ours"] / job["n_batches"] for t in times]
    return ratios


# --------------------------------------------------------------------------------------------------------------------
# Report


def report(dataset, models, columns, batch_size, n_batches, store, arguments):
    """Measure and print some models on one dataset: [(dataset, model, name, least, median)] of what is wanted."""
    print(f"\n{dataset}-like graphs, {batch_size} per batch, epochs of {n_batches} batches")
    titles = "".join(f"{f'{name} / ours':>21}" for name in columns)
    print(f"{'':10}{'ours ms/batch':>14}{titles}{'ours / floor':>21}   wanted", flush=True)
    judged = []
    with ExitStack() as stack:
        workers = {}
        for variant in ("ours", *columns, "floor"):
            if variant not in arguments.skip and (variant != "a" or has_geometric()):
                settings = "on" if arguments.same_settings else SETTINGS[variant]
                workers[variant] = stack.enter_context(Worker(variant, settings, arguments))
        for model in models:
            alone = {"naive": "RingGNN", "conv": "3WLGNN"}
            chosen = {v: worker for v, worker in workers.items() if alone.get(v, model) == model}
            job = {"dataset": dataset, "model": model, "batch_size": batch_size, "n_batches": n_batches}
            ratios = ratios_of(chosen, arguments.rounds, job | {"store": str(store)})
            cells = [cell(ratios.get(name)) for name in (*columns, "floor")]
            if "a" in columns and not has_geometric():
                cells[0] = "not installed"
            cells = "".join(f"{text:>21}" for text in cells)
            wanted = [(name, x, median(ratios[name])) for name, x in LEAST[dataset, model].items() if ratios.get(name)]
            text = "; ".join(f"{name} >= {least:g}: {'met' if x >= least else 'MISSED'}" for name, least, x in wanted)
            print(f"{model:10}{median(ratios['ours']) * 1e3:14.1f}{cells}   {text}", flush=True)
            judged += [(dataset, model, *row) for row in wanted]
    return judged


def cell(values):
    return f"{median(values):.2f} ({min(values):.2f}-{max(values):.2f})" if values else "-"


def has_geometric():
    return find_spec("torch_geometric") is not None


def measure(arguments, folder):
    judged = []
    for dataset in arguments.datasets:
        n_batches = {dense: arguments.batches or N_BATCHES[dataset, dense] for dense in (False, True)}
        batch_size = {False: BATCH_SIZE, True: arguments.dense_batch_size or DENSE_BATCH_SIZE[dataset]}
        store = folder / dataset
        write_store(store, dataset, max(n_batches[dense] * batch_size[dense] for dense in n_batches))
        for dense, columns in ((False, ("a", "b")), (True, ("one", "naive", "conv"))):
            columns = (*columns, "against") if arguments.against else columns
            models = [model for model in arguments.models if (model in DENSE) == dense]
            if models:
                judged += report(dataset, models, columns, batch_size[dense], n_batches[dense], store, arguments)
    missed = [f"{' '.join(where)}: {x:.2f}, wanted {least:g}" for *where, least, x in judged if x < least]
    print(f"\n{len(judged) - len(missed)} of {len(judged)} wanted ratios are met", *missed, sep="\n  missed: ")


def check_all(arguments, folder):
    for dataset in arguments.datasets:
        write_store(folder / dataset, dataset, CHECK_GRAPHS)
        for model in arguments.models:
            if model == "3WLGNN":
                check_convolutions(dataset, folder / dataset)
            if model not in DENSE:
                check(dataset, model, ("a", "b") if has_geometric() else ("b",), folder / dataset)
            if model != "RingGNN":
                print(f"{dataset} {model}: same scores and gradients", flush=True)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add(
        "--models",
        nargs="+",
        choices=ROWS,
        default=list(ROWS),
        metavar="NAME",
        help=f"of {', '.join(ROWS)}; default: all",
    )
    add(
        "--datasets",
        nargs="+",
        choices=DATASETS,
        default=list(DATASETS),
        metavar="NAME",
        help=f"of {', '.join(DATASETS)}; default: all",
    )
    add("--rounds", type=int, default=5, help="turns of all variants (default 5)")
    add("--batches", type=int, help="batches of an epoch (default: ZINC 6, all others 2)")
    add(
        "--dense-batch-size",
        type=int,
        metavar="N",
        help="graphs in a batch of RingGNN and 3WLGNN (default: ZINC 128, others 8)",
    )
    add(
        "--skip",
        nargs="+",
        choices=("a", "b", "one", "naive", "conv", "floor"),
        default=[],
        metavar="NAME",
        help="variants to leave out",
    )
    add("--quick", action="store_true", help="2 rounds of 1 batch: a look, not a measurement")
    add(
        "--same-settings",
        action="store_true",
        help="(a) and (b) with our process settings too: what the code alone is worth",
    )
    add("--check", action="store_true", help="do not measure: check that (a) and (b) are the same models as ours")
    add("--variant", choices=SETTINGS, help=argparse.SUPPRESS)
    add("--against", metavar="FOLDER", help="another checkout, whose ours takes turns with this one's")
    add("--cpu-time", action="store_true", help="measure CPU seconds instead of those of the clock")
    arguments = parser.parse_args(argv)
    if arguments.variant:
        return work(arguments.variant, time.process_time if arguments.cpu_time else time.perf_counter)
    if arguments.quick:
        arguments.rounds, arguments.batches = 2, 1
    print(f"torch {torch.__version__}, dgl {dgl.__version__}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    if not has_geometric():
        print("(a): torch_geometric is not installed: pip install -r requirements-benchmark.txt")
    with tempfile.TemporaryDirectory() as folder:
        (check_all if arguments.check else measure)(arguments, Path(folder))


if __name__ == "__main__":
    main()
