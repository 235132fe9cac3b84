"""Small random batches with the features of any dataset."""

import dgl
import torch

from data.registry import declared
from layers.gat_layer import EdgeReprGATLayer


def random_feature(field, n):
    if isinstance(field.n_types, tuple):
        return torch.stack([torch.randint(0, n_types, (n,)) for n_types in field.n_types], 1)
    if field.n_types is not None:
        return torch.randint(0, field.n_types, (n,))
    return torch.randn(n, *field.shape)


def random_batch(dataset, sizes=(5, 7, 6), n_eigenvectors=0, dtype=torch.float32):
    """A batch of symmetric random graphs, int32 and sorted by destination like those of a store, and labels for the task."""
    entry = declared(dataset)
    graphs = []
    for n in sizes:
        upper = torch.triu(torch.rand(n, n) < 0.6, diagonal=1)
        dst, src = torch.nonzero(upper | upper.T, as_tuple=True)
        graphs.append(dgl.graph((src, dst), num_nodes=n, idtype=torch.int32))
    g = dgl.batch(graphs)
    for field, data, n in ((entry.node, g.ndata, g.num_nodes()), (entry.edge, g.edata, g.num_edges())):
        if field is not None:
            x = random_feature(field, n)
            data["feat"] = x.to(dtype) if x.is_floating_point() else x
    if n_eigenvectors:
        g.ndata["laplacian"] = torch.randn(g.num_nodes(), n_eigenvectors, dtype=dtype)
    n_edges = g.num_edges()
    n_items = {"graph": len(sizes), "node": g.num_nodes(), "edge": n_edges, "pair": n_edges}[entry.target.level]
    y = (
        torch.randn(n_items, 1, dtype=dtype)
        if entry.target.n_out == 1
        else torch.randint(0, entry.target.n_out, (n_items,))
    )
    return g, y


def counted_only(net):
    """Names of the parameters that only the printed counts need: an embedding that nothing reads, and what the last layer has
    for the edges, which no head reads. They have no gradient."""
    layers = getattr(net, "layers", [])
    last = f"layers.{len(layers) - 1}."
    names = {name for name, _ in net.named_parameters() if name.startswith(("unread.", f"{last}update_e."))}
    if len(layers) and isinstance(layers[-1], EdgeReprGATLayer):
        names |= {f"{last}B", f"{last}b"}
    return names
