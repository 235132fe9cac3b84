"""Graph size normalisation, section F: representations on one scale for small and for large graphs."""

import torch


def graph_size_norm(g, h):
    r"""Divide the representation of each node by the root of the number of nodes of its graph, eq. (73).

        h̄_i = h_i / √V

    Shapes: h (N, dim) -> (N, dim). In a batch, V is the size of the graph that node i belongs to. Layers call it before
    batch normalisation.

        >>> graph_size_norm(dgl.graph(([], []), num_nodes=4), torch.ones(4, 1)).tolist()
        [[0.5], [0.5], [0.5], [0.5]]
    """
    sizes = g.batch_num_nodes()
    scale = torch.repeat_interleave(sizes.to(h.dtype).rsqrt(), sizes, output_size=len(h))
    return h * scale[:, None]
