"""The two baselines that pass no messages: k nearest neighbours (TSP) and matrix factorisation (COLLAB)."""

import dgl
import pytest
import torch

from nets import NETS, build_net
from train.tasks import EdgeClassification


def test_knn_predicts_the_k_shortest_edges_that_leave_each_city():
    g = dgl.graph(([0, 0, 0, 1, 1, 2], [1, 2, 3, 0, 2, 0]), num_nodes=4)
    g.edata["feat"] = torch.tensor([[0.3], [0.1], [0.2], [0.3], [0.5], [0.1]])
    for k, expected in ((1, [0, 1, 0, 1, 0, 1]), (2, [0, 1, 1, 1, 1, 1]), (3, [1] * 6)):
        net = build_net(NETS["kNN"].Config(k=k), None, EdgeClassification())
        assert net(g).argmax(dim=1).tolist() == expected
    assert not list(net.parameters())


def test_knn_is_the_brute_force_on_random_cities():
    torch.manual_seed(0)
    n, k = 20, 2
    distance = torch.cdist(x := torch.rand(n, 2, dtype=torch.float64), x)
    src, dst = torch.nonzero(~torch.eye(n, dtype=torch.bool), as_tuple=True)
    g = dgl.graph((src, dst), num_nodes=n)
    g.edata["feat"] = distance[src, dst][:, None]
    scores = build_net(NETS["kNN"].Config(k=k), None, EdgeClassification())(g)
    nearest = distance.fill_diagonal_(torch.inf).argsort(dim=1)[:, :k]
    expected = torch.tensor([j in nearest[i] for i, j in zip(src.tolist(), dst.tolist(), strict=True)])
    assert torch.equal(scores.argmax(dim=1) == 1, expected)


def test_matrix_factorisation_scores_pairs_of_node_vectors():
    net = build_net(NETS["MF"].Config(hidden_dim=8, num_embs=4), None, EdgeClassification())
    g = dgl.graph(([0, 3], [1, 2]), num_nodes=4)
    x = net.x.weight
    by_hand = torch.stack([net.head.mlp(torch.cat([x[0], x[1]])), net.head.mlp(torch.cat([x[3], x[2]]))])
    torch.testing.assert_close(net(g), by_hand)
    smaller = dgl.graph(([0], [1]), num_nodes=2)
    torch.testing.assert_close(net(smaller), by_hand[:1])
    with pytest.raises(ValueError, match=r"num_embs=4, but the graph has 5 nodes"):
        net(dgl.graph(([0], [1]), num_nodes=5))
