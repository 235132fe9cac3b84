"""DiffPool's layers against loops and against numbers of the program; padding, numbering and gradients."""

import pytest
import torch

from layers.diffpool_layer import DenseSAGELayer, DiffPoolLayer, SAGEBlock, pool_clusters
from nets.diffpool_net import dense_batch
from tests.nets.test_fair_nets import by_the_rule, golden_graph

# Numbers of the program for some (graph, place) of the golden graphs, which are padded to five nodes
PLACES = [(0, 0), (0, 3), (1, 1), (1, 3)]
# fmt: off
SAGE = [
    [-0.451021673, -0.4237727889, -0.3922897072, -0.3568869964],
    [-0.0510038866, 0.0577371247, 0.1659012458, 0.2724077364],
    [0.6302108574, 0.8555081253, 1.0722574388, 1.2782931104],
    [0.0, 0.0, 0.0, 0.0],
]
EMBED = {
    "train": [
        [-0.6359811601, -0.6536301126, -0.6744208292, -0.6882730994, -0.6141365941, -0.6158891966, -0.6171734167,
        -0.6181719855, -1.4312299889, -1.4771730274, -1.5083566412, -1.524469254, -1.525349874],
        [-0.6359811601, -0.5471516515, -0.4227753091, -0.3347678098, -0.6141365941, -0.6158891966, -0.6171734167,
        -0.6181719855, -1.4312299889, -1.4771730274, -1.5083566412, -1.524469254, -1.525349874],
        [0.8719938383, 0.9240928702, 0.9520213329, 0.9705761761, 2.3272056617, 2.3123510331, 2.3011655998, 2.292283181,
        2.3435523593, 2.6793029822, 2.9882828954, 3.2674048737, 3.5138800226],
        [-0.6359811601, -0.6536301126, -0.6744208292, -0.6882730994, -0.6141365941, -0.6158891966, -0.6171734167,
        -0.6181719855, 0.0, 0.0, 0.0, 0.0, 0.0],
    ],
    "eval": [
        [0.0, 0.0, 0.0, 0.0, 0.1976924342, 0.3098889501, 0.4189891582, 0.523902965, 0.6811185208, 0.8163111473,
        0.9433474626, 1.0609581619, 1.167968118],
        [0.0, 0.057736836, 0.1659004163, 0.2724063744, 0.0, 0.0998329175, 0.1986683375, 0.2955187291, 1.1093784666,
        1.2854621969, 1.4487020139, 1.5974668792, 1.7302703836],
        [0.6302077064, 0.8555038478, 1.0722520775, 1.2782867189, 3.4119127485, 3.8963276444, 4.3418117225, 4.743913853,
        7.0214454031, 7.7300722019, 8.3614626746, 8.9093081761, 9.3681348153],
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    ],
}
ASSIGN = [
    [0.2271350852, 0.4089416181],
    [0.2240211233, 0.4491989945],
    [1.7278074161, 3.5825469596],
    [0.0, 0.0499167083],
]
POOLED_X = [
    [[-0.124912213, -0.2787340544, -0.4214436486, -0.5473516145], [-0.0127530194, -0.1555188077, -0.2920845519, -0.4170058068],
    [0.0694839281, -0.0962672949, -0.2581806446, -0.4098011467]],
    [[0.2257609563, 0.3711325807, 0.5017083204, 0.6122825325], [0.0859353172, 0.2336520547, 0.3720538221, 0.4956229776],
    [-0.1022750324, 0.0741362457, 0.2475919455, 0.4111769359]],
]
POOLED_A = [
    [[1.0867905222, 1.2437099456, 1.5034539668], [1.2437099456, 1.2444566284, 1.3781946821], [1.5034539668, 1.3781946821,
    1.4180356603]],
    [[0.3079246743, 0.3987055161, 0.5031532797], [0.3987055161, 0.4076050709, 0.4741053755], [0.5031532797, 0.4741053755,
    0.5325419121]],
]
# fmt: on
LINK, ENTROPY = 0.06281070772057466, 0.8230555166252882


def numbers(x):
    return torch.tensor(x, dtype=torch.float64)


def at_places(x):
    return torch.stack([x[place] for place in PLACES])


@pytest.fixture
def dense():
    g = golden_graph()
    return dense_batch(g, g.ndata["feat"])


def random_graphs(sizes, dim=3, seed=0):
    """Dense undirected graphs with zeros at the padding."""
    generator = torch.Generator().manual_seed(seed)
    n = max(sizes)
    real = torch.arange(n) < torch.tensor(sizes)[:, None]
    upper = (torch.rand(len(sizes), n, n, generator=generator) < 0.5).double().triu(1)
    A = (upper + upper.transpose(1, 2)) * real[:, :, None] * real[:, None, :]
    x = torch.randn(len(sizes), n, dim, dtype=torch.float64, generator=generator) * real[:, :, None]
    return A, x, real


def test_a_dense_batch(dense):
    A, x, real = dense
    assert real.tolist() == [[1] * 5, [1] * 3 + [0] * 2]
    real = real.bool()
    assert A[0, 3].tolist() == [1, 1, 1, 0, 1] and A[1].sum() == 4 and torch.equal(A, A.transpose(1, 2))
    assert torch.equal(x[real], golden_graph().ndata["feat"]) and not x[~real].any()


def test_the_layer_equals_a_loop():
    A, x, real = random_graphs([4, 2])
    A = A * torch.rand(2, 4, 4, dtype=torch.float64)  # rows with a sum below 1 are not scaled up
    layer = DenseSAGELayer(3, 2).double()
    seen = layer(A, x, real)
    for b, n in enumerate((4, 2)):
        for i in range(n):
            mean = sum(A[b, i, j] * x[b, j] for j in range(n)) / max(sum(A[b, i, j] for j in range(n)).item(), 1)
            torch.testing.assert_close(seen[b, i], mean @ layer.W + layer.b)
    assert not seen[1, 2:].any()


def test_the_layer_of_the_program(dense):
    layer = by_the_rule(DenseSAGELayer(3, 4).double())
    torch.testing.assert_close(at_places(layer(*dense)), numbers(SAGE), rtol=0, atol=1e-9)


@pytest.mark.parametrize("mode", EMBED)
def test_the_block_of_the_program(dense, mode):
    block = by_the_rule(SAGEBlock(3, 4, 5, padded=True).double()).train(mode == "train")
    torch.testing.assert_close(at_places(block(*dense)), numbers(EMBED[mode]), rtol=0, atol=1e-8)


def test_the_block_of_the_assignment(dense):
    block = by_the_rule(SAGEBlock(3, 4, 2, padded=True, linear=True).double(), 0.5).eval()
    torch.testing.assert_close(at_places(block(*dense)), numbers(ASSIGN), rtol=0, atol=1e-9)


def test_the_pooling_of_the_program(dense):
    A, _, real = dense
    logits = torch.sin(0.7 * torch.arange(30, dtype=torch.float64)).view(2, 5, 3)
    z = torch.cos(0.2 * torch.arange(40, dtype=torch.float64)).view(2, 5, 4)
    A, x, link, entropy = pool_clusters(A, z, logits, real, padded=True)
    torch.testing.assert_close(x, numbers(POOLED_X), rtol=0, atol=1e-9)
    torch.testing.assert_close(A, numbers(POOLED_A), rtol=0, atol=1e-9)
    assert (link.item(), entropy.item()) == pytest.approx((LINK, ENTROPY), abs=1e-12)


def test_the_losses_are_means_of_those_of_the_graphs():
    """And of one graph alone the program's."""
    A, x, real = random_graphs([5, 3])
    logits = torch.randn(2, 5, 3, dtype=torch.float64)
    together = pool_clusters(A, x, logits, real)[2:]
    alone = [pool_clusters(A[b : b + 1, :n, :n], x[b : b + 1, :n], logits[b : b + 1, :n]) for b, n in ((0, 5), (1, 3))]
    for seen, first, second in zip(together, alone[0][2:], alone[1][2:], strict=True):
        torch.testing.assert_close(seen, (first + second) / 2)
    program = pool_clusters(A[:1], x[:1], logits[:1], padded=True)
    torch.testing.assert_close(program, alone[0])
    assert pool_clusters(A, x, logits, real, padded=True)[2] != pytest.approx(together[0].item())


@pytest.mark.parametrize("training", [True, False])
def test_padding_does_not_count(training):
    """More padding gives the same graph of clusters, the same losses; in the program's variant it does not."""
    A, x, real = random_graphs([5, 3])
    more = torch.nn.functional.pad(A, (0, 2, 0, 2)), torch.nn.functional.pad(x, (0, 0, 0, 2))
    more_real = torch.nn.functional.pad(real, (0, 2))
    torch.manual_seed(0)
    layer = DiffPoolLayer(3, 4, 5, 2).double().train(training)
    padded = DiffPoolLayer(3, 4, 5, 2, padded=True).double().train(training)
    padded.load_state_dict(layer.state_dict())
    for seen, expected in zip(layer(*more, more_real), layer(A, x, real), strict=True):
        torch.testing.assert_close(seen, expected, rtol=0, atol=1e-10)
    assert padded(*more, more_real)[3].item() != pytest.approx(padded(A, x, real)[3].item(), abs=1e-3)


def test_the_numbering_of_nodes_does_not_matter():
    A, x, real = random_graphs([5, 5])
    order = torch.tensor([3, 0, 4, 2, 1])
    layer = DiffPoolLayer(3, 4, 5, 2).double()
    seen = layer(A[:, order][:, :, order], x[:, order], real)
    for a, b in zip(seen, layer(A, x, real), strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-10)


def test_gradients():
    A, x, real = random_graphs([4, 2])
    layer = DiffPoolLayer(3, 2, 2, 2).double().eval()
    x.requires_grad_()
    assert torch.autograd.gradcheck(lambda x: layer(A, x, real), (x,), fast_mode=True)
