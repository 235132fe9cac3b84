"""The 3-WL layer of B.2.2: the product of two matrices of learned features tells apart what the 3-WL test does."""

import torch.nn.functional as F
from torch import nn

from layers import fused, fused_pairs
from layers.dense import ChannelMap, PairBatchNorm, PairNorm, drawn_as_linear, matrix_product

FORMS = ("program", "text")


class ChannelMLP(nn.Module):
    r"""M_W of eq. (41): h_ij -> W_b σ(W_a h_ij) for each pair, here with biases and with `depth` maps; `last_relu`: σ after the
    last map too. With `padding` the result is zero there.

        >>> h = ChannelMLP(3, 8)(torch.randn(3, 2, 5, 5))
    """

    def __init__(self, in_dim, out_dim, depth=2, last_relu=True):
        super().__init__()
        self.last_relu = last_relu
        self.maps = nn.ModuleList(ChannelMap(in_dim if i == 0 else out_dim, out_dim) for i in range(depth))

    def forward(self, h, padding=None):
        for i, channel_map in enumerate(self.maps):
            h = channel_map(F.relu(h) if i else h)
        if padding is not None:
            h = padding.zero_(h)  # before the last ReLU, whose output is needed unchanged in the backward pass
        return F.relu_(h) if self.last_relu else h


class ThreeWLLayer(nn.Module):
    r"""3WL-GNN, eq. (40)-(42).

        h' = W_h h + W_m (M_W1(h) · M_W2(h)) + b        with residual: h' + R h

    The product is that of matrices in each channel, (A · B)_ij = Σ_p A_ip B_pj.
    Shapes: h (in_dim, B, n, n) -> h' (out_dim, B, n, n), zero at the padding.

    Deviation: (40) prints Concat(M_W1(h) · M_W2(h), M_W3(h)), which would double the width in each layer. The printed counts need a
    linear map of Concat(h, M_W1(h) · M_W2(h)) back to the width, as in the original program: [W_h W_m] is that map.

    Deviation: in the program that made the tables (form="program") a ReLU follows the last map of M_W1 and M_W2 too.
    form="text" leaves it out, as (41) does; values then grow without bound with the number of layers.

    First weights are Xavier-uniform, those of [W_h W_m] as of one map, biases 0; R starts as nn.Linear does. `batch_norm`, of h'
    over all pairs, is for PPGNLayer.

        >>> from layers.padding import Padding
        >>> h = ThreeWLLayer(3, 8)(torch.randn(3, 2, 5, 5), Padding(torch.tensor([5, 5]), torch.float32))
    """

    def __init__(
        self, in_dim, out_dim, depth_of_mlp=2, layer_norm=False, residual=False, form="program", batch_norm=False
    ):
        super().__init__()
        if form not in FORMS:
            raise ValueError(f"form={form!r}: expected one of {', '.join(FORMS)}")
        last_relu = form == "program"
        self.M1 = ChannelMLP(in_dim, out_dim, depth_of_mlp, last_relu)
        self.M2 = ChannelMLP(in_dim, out_dim, depth_of_mlp, last_relu)
        self.W_h = ChannelMap(in_dim, out_dim)
        self.W_m = ChannelMap(out_dim, out_dim, bias=False)
        self.norm = PairNorm(out_dim) if layer_norm else PairBatchNorm(out_dim) if batch_norm else None
        self.R = drawn_as_linear(ChannelMap(in_dim, out_dim)) if residual else None
        self.draw_weights(in_dim + out_dim, out_dim)

    def draw_weights(self, in_dim, out_dim):
        """Of [W_h W_m]; every other map draws its own."""
        bound = (6 / (in_dim + out_dim)) ** 0.5
        for part in (self.W_h, self.W_m):
            nn.init.uniform_(part.weight, -bound, bound)

    def forward(self, h, padding):
        if fused.suits(h):  # the same as one step of autograd
            h_new = fused_pairs.three_wl(self, h, padding.mask)
        else:
            product = matrix_product(self.M1(h, padding), self.M2(h))
            h_new = padding.zero_(self.W_h(h) + self.W_m(product))
        if self.norm is not None:
            h_new = self.norm(h_new, padding)
        if self.R is not None:
            h_new = h_new + padding.zero_(self.R(h))
        return h_new
