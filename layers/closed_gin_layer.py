"""GIN with ε fixed to 0 inside each of many subgraphs: the layer of NGNN, DE+NGNN and DS-GNN, and of the runs of DropGNN."""

from torch import nn

from layers.chain import through
from layers.two_maps import two_maps


class ClosedGINLayer(nn.Module):
    r"""Sum over the closed neighbourhood N_s(v) ∪ {v} in subgraph s, then an MLP.

        x_sv' = ReLU(BN(W2 ReLU(BN(W1 x̂_sv + b1)) + b2))        x̂_sv = x_sv + Σ_{u ∈ N_s(v)} x_su

    Shapes: x (R, in_dim) -> (R, out_dim), a row for each node of each subgraph. The own term has the weight of a neighbour: in a
    regular graph a marked node and its neighbours look alike after one layer, which is why some pairs of BREC stay equal for any
    weights. `norm` is None for the nets without BN.

        >>> from layers.subgraphs import EgoNets
        >>> s = EgoNets(dgl.graph(([0, 1], [1, 0])), [[[0, 1], [1, 0]]])
        >>> x = ClosedGINLayer(3, 8)(s, torch.ones(4, 3))
    """

    def __init__(self, in_dim, out_dim, norm=nn.BatchNorm1d):
        super().__init__()
        self.mlp = two_maps(in_dim, out_dim, out_dim, norm)
        self.norm = nn.Identity() if norm is None else norm(out_dim)

    def forward(self, s, x):
        return through([*self.mlp, self.norm, nn.ReLU()], s.sum_neighbours(x, own=1.0))
