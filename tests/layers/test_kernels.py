"""The compiled loops, in float32, equal the plain formula in float64 on any graph, with the same bits for any number of threads."""

import os
import subprocess
import sys
from pathlib import Path
from unittest import mock

import dgl
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from layers import fused, ops
from layers.gat_layer import EdgeReprGATLayer, GATLayer
from layers.gatedgcn_layer import EdgeFeatGatedGCNLayer, GatedGCNLayer
from layers.gcn_layer import GCNLayer
from layers.gin_layer import GINLayer
from layers.graphsage_layer import GraphSageLayer
from layers.monet_layer import MoNetLayer
from layers.update import Update
from nets.heads import pool_nodes

ROOT = Path(__file__).resolve().parents[2]
WIDTH = 21  # no multiple of what a processor works on at once

pytestmark = pytest.mark.skipif(fused.loops() is None, reason="the compiled loops need torch's OpenMP on Linux")


def graph(n, n_edges, seed=0, ids=torch.int32):
    """A batch as of the store: edges sorted by destination; the last third of the nodes has no in-edges; loops and duplicates."""
    r = torch.Generator().manual_seed(seed)
    src, dst = torch.randint(0, n, (n_edges,), generator=r), torch.randint(0, 2 * n // 3, (n_edges,), generator=r)
    dst = dst.sort().values
    indptr = torch.cat([torch.zeros(1, dtype=torch.int64), torch.bincount(dst, minlength=n).cumsum(0)])
    number = torch.arange(n_edges)
    return dgl.graph(("csc", (indptr.to(ids), src.to(ids), number.to(ids))), num_nodes=n)


GRAPHS = {
    "small": lambda: graph(9, 20),
    "int64": lambda: graph(9, 20, ids=torch.int64),
    "several pieces": lambda: graph(700, 2000),
    "no edges": lambda: graph(5, 0),
    "any order": lambda: dgl.graph(([3, 0, 2, 2, 1, 0], [1, 4, 0, 1, 1, 1]), num_nodes=5),
}


class OnATable(nn.Module):
    """A layer whose input is rows of a table, of which the gradient is asked."""

    def __init__(self, layer):
        super().__init__()
        self.layer, self.table = layer, nn.Parameter(torch.empty(3, WIDTH))

    def forward(self, g, *e):
        index = torch.arange(g.num_nodes()) * 7 % 3
        h = fused.lookup(self.table, index)
        assert fused.is_lookup(h) == (fused.compiled(h) and g.num_nodes() >= 12)
        return self.layer(g, h, *e)


def pieces(g):
    """The graph as a batch of four, one of them without nodes, one with all but three."""
    g = g.clone()
    g.set_batch_num_nodes(torch.tensor([2, 0, g.num_nodes() - 3, 1], dtype=g.idtype))
    g.set_batch_num_edges(torch.tensor([0, 0, g.num_edges(), 0], dtype=g.idtype))
    return g


def update(**options):
    return lambda: Update(WIDTH, WIDTH, **options)


class Block(nn.Module):
    """A function as a layer."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, g, *inputs):
        return self.function(g, *inputs)


# name: layer, which inputs it takes (n: a row per node, e: per edge, 1: one row)
LAYERS = {
    "sum": (lambda: Block(ops.copy_u_sum), "n"),
    "mean": (lambda: Block(ops.copy_u_mean), "n"),
    "max": (lambda: Block(lambda g, h: ops.zero_without_neighbours(g, ops.copy_u_max(g, h))), "n"),
    "sums of pieces": (lambda: Block(lambda g, h: pool_nodes(pieces(g), h, "sum")), "n"),
    "means of pieces": (lambda: Block(lambda g, h: pool_nodes(pieces(g), h, "mean")), "n"),
    "maxima of pieces": (lambda: Block(lambda g, h: pool_nodes(pieces(g), h, "max")), "n"),
    "sum, closed": (lambda: Block(ops.closed_sum), "n"),
    "max, closed": (lambda: Block(ops.closed_max), "n"),
    "update": (update(), "nn"),
    "update, ELU": (update(activation=F.elu), "nn"),
    "update, no activation": (update(activation=nn.Identity()), "nn"),
    "update, no residual": (update(residual=False), "nn"),
    "update, one row": (update(), "1n"),
    "update, residual after dropout": (update(keep_residual=True), "nn"),
    "GIN": (lambda: GINLayer(WIDTH, WIDTH), "n"),
    "GIN, eps fixed": (lambda: GINLayer(WIDTH, WIDTH, learn_eps=False), "n"),
    "GraphSage": (lambda: GraphSageLayer(WIDTH, WIDTH), "n"),
    "GAT": (lambda: GATLayer(WIDTH, WIDTH, 3), "n"),
    "GAT, one head": (lambda: GATLayer(WIDTH, WIDTH, 1), "n"),
    "GAT with edges": (lambda: EdgeReprGATLayer(WIDTH, WIDTH, 3), "ne"),
    "GAT, one row": (lambda: EdgeReprGATLayer(WIDTH, WIDTH, 3), "n1"),
    "GatedGCN": (lambda: GatedGCNLayer(WIDTH, WIDTH), "ne"),
    "GatedGCN, one row": (lambda: GatedGCNLayer(WIDTH, WIDTH), "n1"),
    "GatedGCN of nodes": (lambda: EdgeFeatGatedGCNLayer(WIDTH, WIDTH), "n"),
    "MoNet": (lambda: MoNetLayer(WIDTH, WIDTH), "n"),
    "table, GCN": (lambda: OnATable(GCNLayer(WIDTH, WIDTH)), ""),
    "table, GIN": (lambda: OnATable(GINLayer(WIDTH, WIDTH)), ""),
    "table, GraphSage": (lambda: OnATable(GraphSageLayer(WIDTH, WIDTH)), ""),
    "table, GAT": (lambda: OnATable(GATLayer(WIDTH, WIDTH, 3)), ""),
    "table, GatedGCN": (lambda: OnATable(GatedGCNLayer(WIDTH, WIDTH)), "1"),
    "table, MoNet": (lambda: OnATable(MoNetLayer(WIDTH, WIDTH)), ""),
}


WITH_EDGES = {name for name, (_, rows) in LAYERS.items() if rows in ("ne", "n1", "1")}


def make(name, g, dtype):
    """The layer and its inputs, the same numbers in any number type."""
    torch.manual_seed(0)
    kind, rows = LAYERS[name]
    layer = kind()
    for p in layer.parameters():
        nn.init.normal_(p, std=0.5)
    sizes = {"n": g.num_nodes(), "e": g.num_edges(), "1": 1}
    inputs = [torch.randn(sizes[row], WIDTH) + 0.5 for row in rows]
    return layer.to(dtype), [x.to(dtype).requires_grad_() for x in inputs]


def values_and_gradients(name, g, dtype):
    """Outputs, gradients of inputs and parameters, running statistics."""
    layer, inputs = make(name, g, dtype)
    out = layer(g, *inputs)
    out = out if isinstance(out, tuple) else (out,)
    r = torch.Generator().manual_seed(1)
    sum((x * torch.randn(x.shape, generator=r).to(dtype)).sum() for x in out).backward()
    gradients = [torch.zeros_like(x) if x.grad is None else x.grad for x in (*inputs, *layer.parameters())]
    return [*(x.detach() for x in out), *gradients, *(b.clone() for b in layer.buffers())]


def plain():
    """Neither compiled loops nor fused functions."""
    return mock.patch.multiple(fused, suits=lambda x: False, compiled=lambda *x: False)


@pytest.mark.parametrize("shape", GRAPHS)
@pytest.mark.parametrize("name", LAYERS)
def test_equal_to_the_plain_formula_in_float64(name, shape):
    g = GRAPHS[shape]()
    if g.num_edges() == 0 and name in WITH_EDGES:
        return  # torch refuses to normalise no rows
    seen = values_and_gradients(name, g, torch.float32)
    with plain():
        expected = values_and_gradients(name, g, torch.float64)
    for a, b in zip(seen, expected, strict=True):
        if a.numel():
            scale = max(1.0, float(b.abs().max()))
            torch.testing.assert_close(a.double(), b.double(), rtol=0, atol=1e-4 * scale)


@pytest.mark.parametrize("name", LAYERS)
def test_the_compiled_loops_are_used(name):
    g = GRAPHS["several pieces"]()
    with mock.patch.object(fused, "loops", wraps=fused.loops) as asked:
        values_and_gradients(name, g, torch.float32)
    assert asked.call_count > 1


@pytest.mark.parametrize("name", [name for name in LAYERS if name.split(",")[0] in ("sum", "mean", "max", "update")])
def test_the_same_bits_with_any_number_of_threads(name):
    """Of layers without dense products, which torch may round otherwise."""
    g, before = GRAPHS["several pieces"](), torch.get_num_threads()
    try:
        results = []
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            results.append(values_and_gradients(name, g, torch.float32))
    finally:
        torch.set_num_threads(before)
    for other in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(results[0], other, strict=True))


@pytest.mark.parametrize("name", ["sum", "sum, closed", "mean", "max", *(name for name in LAYERS if "pieces" in name)])
def test_sums_means_and_maxima_keep_the_bits_of_dgl_and_torch(name):
    g = GRAPHS["several pieces"]()
    seen = values_and_gradients(name, g, torch.float32)
    with plain():
        expected = values_and_gradients(name, g, torch.float32)
    assert all(torch.equal(a, b) for a, b in zip(seen, expected, strict=True))


def test_large_batches_are_worked_on_in_blocks(monkeypatch):
    g = GRAPHS["several pieces"]()
    whole = values_and_gradients("GatedGCN", g, torch.float32)
    monkeypatch.setattr(fused, "BLOCK", 50 * WIDTH)
    assert len(fused.blocks_of_nodes(fused.in_edges(g)[0], WIDTH)) > 10
    for a, b in zip(values_and_gradients("GatedGCN", g, torch.float32), whole, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("name", ["sum", "max", "update", "update, ELU", "GAT", "GatedGCN", "MoNet", "GraphSage"])
def test_a_number_that_is_none_is_seen(name):
    g = GRAPHS["small"]()
    layer, inputs = make(name, g, torch.float32)
    with torch.no_grad():
        for x in inputs:
            x[0, 0] = torch.nan
        out = layer(g, *inputs)
    assert (out[0] if isinstance(out, tuple) else out).isnan().any()


def test_evaluation_takes_the_running_statistics():
    layer = Update(WIDTH, WIDTH).eval()
    layer.norm.running_mean.fill_(1.0)
    x = torch.randn(10, WIDTH)
    torch.testing.assert_close(layer(None, torch.zeros_like(x), x), F.relu((x - 1) / (1 + 1e-5) ** 0.5))


def test_one_row_is_refused_as_torch_refuses_it():
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        Update(WIDTH, WIDTH)(None, torch.ones(1, WIDTH), torch.ones(1, WIDTH))


CHILD = """
import sys, torch, dgl
sys.path[:0] = [{root!r}]
from tests.layers.test_kernels import GRAPHS, values_and_gradients
from layers import fused, kernels
import hashlib
bits = [x for name in ("mean", "GIN", "GAT", "GatedGCN", "MoNet", "GraphSage")
        for x in values_and_gradients(name, GRAPHS["several pieces"](), torch.float32)]
print(hashlib.sha256(b"".join(x.numpy().tobytes() for x in bits)).hexdigest(), kernels.cache_folder() is not None)
"""


def run_child(cache):
    env = {**os.environ, "XDG_CACHE_HOME": str(cache), "OMP_NUM_THREADS": "1"}
    code = CHILD.format(root=str(ROOT))
    done = subprocess.Popen([sys.executable, "-c", code], env=env, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    return done


def test_processes_that_start_together_share_the_cache_and_end_with_the_same_bits(tmp_path):
    together = [run_child(tmp_path / "cache") for _ in range(2)]
    outputs = {process.communicate()[0] for process in together}
    files = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nb*")}
    assert len(files) > 20
    outputs.add(run_child(tmp_path / "cache").communicate()[0])  # compiles nothing
    assert files == {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nb*")}
    assert len(outputs) == 1 and outputs.pop().split()[1] == "True"
