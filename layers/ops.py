"""Sums, means and maxima over the neighbours: the words that the layers are written in, and their fast forms (layers/fused.py).

Edge j -> i is stored as (src=j, dst=i): u is a value of the source j, v of the destination i, e of the edge. They are those of
dgl.ops, on any graph: edges in any order, self-loops, duplicate edges, nodes or graphs without edges. Nothing is left on the
graph. A sum or mean over no neighbours is 0, a maximum -inf (0 in a graph without any edge): layers follow it with ReLU or
`zero_without_neighbours`.
"""

import dgl
import torch
from dgl import ops

from layers import fused
from layers.fused import with_edge_ids


def copy_u_sum(g, u):
    """Σ_j u_j: (N, …) -> (N, …)."""
    return fused.sum_neighbours(g, u) if fused.sum_suits(g, u) else ops.copy_u_sum(g, u)


def copy_u_mean(g, u):
    """Mean_j u_j: (N, …) -> (N, …)."""
    return fused.sum_neighbours(g, u, mean=True) if fused.sum_suits(g, u) else ops.copy_u_mean(g, u)


def copy_u_max(g, u):
    """Max_j u_j: (N, …) -> (N, …)."""
    if fused.sum_suits(g, u) and fused.in_order(g):
        return fused.max_neighbours(g, u)
    return ops.copy_u_max(g, u)


def closed_sum(g, u, own=1):
    """own · u_i + Σ_j u_j: (N, d) -> (N, d)."""
    return fused.sum_neighbours(g, u, own=own) if fused.sum_suits(g, u) else own * u + ops.copy_u_sum(g, u)


def closed_max(g, u):
    """Max of u_i and all u_j: (N, d) -> (N, d)."""
    if fused.sum_suits(g, u) and fused.in_order(g):
        return fused.max_neighbours(g, u, own=True)
    return torch.where((g.in_degrees() == 0)[:, None], u, torch.maximum(ops.copy_u_max(g, u), u))


def copy_e_sum(g, e):
    """Σ_j e_ij: (E, …) -> (N, …)."""
    return ops.copy_e_sum(with_edge_ids(g), e)


def u_add_e(g, u, e):
    """u_j + e_ij for each edge: (N, …), (E, …) -> (E, …)."""
    return ops.u_add_e(with_edge_ids(g), u, e)


def u_add_v(g, u, v):
    """u_j + v_i for each edge: (N, …), (N, …) -> (E, …)."""
    return ops.u_add_v(with_edge_ids(g), u, v)


def u_mul_e_sum(g, u, e):
    """Σ_j u_j ⊙ e_ij: (N, …), (E, …) -> (N, …)."""
    return ops.u_mul_e_sum(with_edge_ids(g), u, e)


def u_mul_e_max(g, u, e):
    """Max_j u_j ⊙ e_ij: (N, …), (E, …) -> (N, …)."""
    if g.num_edges() == 0:
        return torch.zeros_like(u)  # the gradient of DGL's looks for an edge
    return ops.u_mul_e_max(with_edge_ids(g), u, e)


def edge_softmax(g, e):
    """exp(e_ij) / Σ_j' exp(e_ij') over the edges into i: (E, …) -> (E, …)."""
    return dgl.nn.functional.edge_softmax(with_edge_ids(g), e)


def sym_norm_sum(g, u):
    """Σ_j u_j / √(deg_j deg_i) over the neighbours of i and i itself, deg the in-degree and one more: (N, d) -> (N, d).

    Every node has exactly one self-loop here, whether the graph has it, has it twice, or not.
    """
    loops = g.in_degrees().new_zeros(g.num_nodes())
    src, dst = g.edges()
    if (own := src[src == dst]).numel():
        loops = torch.bincount(own, minlength=g.num_nodes())
    scale = (g.in_degrees() - loops + 1).to(u.dtype).rsqrt()[:, None]
    u = scale * u
    total = copy_u_sum(g, u)
    total += u * (1 - loops)[:, None] if own.numel() else u
    total *= scale  # in place: no gradient needs the numbers before
    return total


def zero_without_neighbours(g, h):
    """h (N, d) with 0 at the nodes that no edge enters."""
    return h.masked_fill((g.in_degrees() == 0)[:, None], 0)
