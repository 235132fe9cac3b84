"""Sort pooling (DGCNN): the k first nodes of each graph in the order of one channel, side by side."""

import torch


def sort_pool(sizes, h, k, by="largest"):
    r"""Node representations h (N, d) of graphs with `sizes` (B,) nodes -> (B, k, d).

    Nodes stand in descending order of one number; equal ones in the order of the graph. Of a graph with fewer than k nodes the
    last rows are 0.

    by   largest: each node's d numbers are sorted first, ascending, and nodes are ordered by the last, which is the largest
         last: nodes are ordered by their last channel, and channels stay what they are (the original DGCNN)

    Deviation: `largest` is what the library of the paper's time does, and the printed table was made with it; channels lose their
    identity.

        >>> sort_pool(torch.tensor([2, 1]), torch.randn(3, 4), k=2).shape
        torch.Size([2, 2, 4])
    """
    n_graphs = len(sizes)
    graph_of_node = torch.repeat_interleave(torch.arange(n_graphs, device=h.device), sizes, output_size=len(h))
    key = h.detach().amax(1) if by == "largest" else h[:, -1].detach()
    order = key.argsort(descending=True, stable=True)
    order = order[graph_of_node[order].argsort(stable=True)]  # graph after graph, and in each graph descending
    rank = torch.arange(len(h), device=h.device) - (sizes.cumsum(0) - sizes)[graph_of_node]
    kept = (rank < k).nonzero().flatten()
    place = graph_of_node[kept] * k + rank[kept]
    rows = h.index_select(0, order[kept])
    if by == "largest":
        rows = rows.sort(dim=1).values  # of the nodes that are kept
    return h.new_zeros(n_graphs * k, h.shape[1]).index_copy(0, place, rows).view(n_graphs, k, -1)


def k_of_share(sizes, share):
    """The k rule: entry int(share n) of the n ascending graph sizes of a dataset, at most the last one."""
    ascending = sorted(sizes)
    return int(ascending[min(int(share * len(ascending)), len(ascending) - 1)])
