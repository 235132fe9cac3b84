"""What the tests of all layers share: a small graph with every odd case in it, and the slow references.

Node 3 has no in-edge, node 4 no edge at all, 0 -> 0 is a self loop and 1 -> 2 stands twice.
"""

import dgl
import torch

SRC, DST, N, DIM = [0, 1, 1, 3, 2, 0], [1, 2, 2, 2, 0, 0], 5, 6
E = len(SRC)


def odd_graph():
    return dgl.graph((torch.tensor(SRC), torch.tensor(DST)), num_nodes=N)


def renumbered(number):
    """The same graph after node i has become node number[i]; edges keep their order."""
    return dgl.graph((number[SRC], number[DST]), num_nodes=N)


def in_edges(i):
    """(edge, source) of the edges that end at node i."""
    return [(edge, j) for edge, (j, k) in enumerate(zip(SRC, DST, strict=True)) if k == i]


def batch_norm(x, norm):
    """Batch normalisation with the batch's own statistics, by its definition; x as it is where `norm` is not one."""
    if not isinstance(norm, torch.nn.BatchNorm1d):
        return x
    return (x - x.mean(0)) / torch.sqrt(x.var(0, unbiased=False) + norm.eps) * norm.weight + norm.bias


def updated(update, h, h_hat):
    """Eq. (29) and (73) on one graph of N nodes, as layers/update.py is told."""
    if update.graph_norm:
        h_hat = h_hat / N**0.5
    h_new = update.activation(batch_norm(h_hat, update.norm))
    return h + h_new if update.residual else h_new


def randomised(layer):
    """In float64, with all parameters drawn at random, also those that start at 0 or 1."""
    layer = layer.double()
    for p in layer.parameters():
        torch.nn.init.normal_(p)
    return layer
