"""The convolution of DGCNN and sort pooling: against loops, against numbers of the program, and the k rule."""

import pytest
import torch

from data.dataset import DataConfig
from data.TUs import TUDataset
from layers.dgcnn_layer import DGCNNLayer
from layers.sortpool import k_of_share, sort_pool
from tests.layers import laws
from tests.layers.reference import DIM, N, in_edges, randomised
from tests.nets.test_fair_nets import by_the_rule, golden_graph

CONVOLVED = [  # tanh of the convolution 3 -> 4 of the golden graphs, then that of 4 -> 1
    [0.0048519042, 0.1958812165, 0.3646454908, 0.498748417, 0.0736315869],
    [-0.0455540002, 0.0194741162, 0.0904711858, 0.1680115305, -0.0197269345],
    [-0.1461738833, -0.3467281075, -0.4899387043, -0.5693769572, -0.1057061524],
    [-0.0703265721, -0.1204139848, -0.1516514432, -0.1540108739, -0.1200611072],
    [-0.2283463815, -0.6934634667, -0.8837177363, -0.9457855114, -0.2967756973],
    [0.1770719803, 0.5802256087, 0.7988266195, 0.8948664524, 0.4640086725],
    [0.2021249399, 0.679047784, 0.881790199, 0.9500532561, 0.4792742224],
    [0.2594387612, 0.8056841508, 0.9537804512, 0.9860177676, 0.4948952427],
]
ORDER = [0, 1, 3, 2, 4, 7, 6, 5]  # of each graph, by the largest channel
ORDER_BY_LAST = [0, 1, 2, 3, 4, 7, 6, 5]


def dgcnn_by_loop(layer, h):
    rows = []
    for i in range(N):
        closed = [h[i], *(h[j] for _, j in in_edges(i))]
        rows.append(torch.tanh(sum(layer.W.weight @ x + layer.W.bias for x in closed) / len(closed)))
    return torch.stack(rows)


def test_equals_the_loop():
    laws.equals_the_loop(randomised(DGCNNLayer(DIM, 4)), dgcnn_by_loop)


@pytest.mark.parametrize("law", laws.LAWS)
def test_laws(law):
    law(randomised(DGCNNLayer(DIM, 4)))


def test_the_convolutions_of_the_program():
    g = golden_graph()
    first, second = (by_the_rule(DGCNNLayer(*dims).double()) for dims in ((3, 4), (4, 1)))
    h = first(g, g.ndata["feat"])
    seen = torch.cat([h, second(g, h)], 1)
    torch.testing.assert_close(seen, torch.tensor(CONVOLVED, dtype=torch.float64), rtol=0, atol=1e-9)


@pytest.mark.parametrize("k", [2, 4, 6])
@pytest.mark.parametrize(("by", "order"), [("largest", ORDER), ("last", ORDER_BY_LAST)])
def test_sort_pooling_of_the_program(by, order, k):
    h = torch.tensor(CONVOLVED, dtype=torch.float64)
    expected = torch.zeros(2, k, 5, dtype=torch.float64)
    for graph, nodes in enumerate((order[:5], order[5:])):
        for rank, node in enumerate(nodes[:k]):
            expected[graph, rank] = h[node] if by == "last" else h[node].sort().values
    assert torch.equal(sort_pool(torch.tensor([5, 3]), h, k, by), expected)


def test_sort_pooling_of_a_graph_without_nodes_and_its_gradient():
    h = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    sizes = torch.tensor([0, 3, 0, 1])
    pooled = sort_pool(sizes, h, 2, "last")
    assert torch.equal(pooled[0], torch.zeros(2, 3)) and torch.equal(pooled[3, 0], h[3])
    assert torch.autograd.gradcheck(lambda h: sort_pool(sizes, h, 2), (h,))


def test_the_k_rule():
    assert [k_of_share([5, 3, 9, 7, 1], share) for share in (0.0, 0.6, 0.9, 1.0)] == [1, 7, 9, 9]


@pytest.mark.parametrize(("name", "ks"), [("ENZYMES", (36, 48)), ("TU/IMDB-BINARY", (18, 31)), ("PROTEINS", (32, 81))])
def test_the_k_of_the_datasets(real_data, store_dir, name, ks):
    store = TUDataset(name, DataConfig(store_dir=store_dir, data_dir=str(real_data), offline=True)).store
    sizes = [len(store.rows("node.in_degree", i)) for i in range(len(store))]
    assert tuple(k_of_share(sizes, share) for share in (0.6, 0.9)) == ks
