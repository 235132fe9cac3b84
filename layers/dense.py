"""What the Weisfeiler-Lehman layers of B.2 share: several graphs in one dense tensor, and operations that never see padding.

A tensor h (d, B, n, n) holds d numbers for each pair (i, j) of nodes of each of B graphs. The channels stand first, so
that a map of the channels is one product (d', d) x (d, B n n) and a product over nodes one batch of n x n matrices, and nothing is
ever transposed. Graphs with fewer than n nodes are padded (layers/padding.py); every layer takes and gives h with zeros there.
"""

import torch
from torch import nn

from layers import fused, fused_pairs

EPS = 1e-6


class ChannelMap(nn.Module):
    """W h_ij + b for each pair (i, j), the 1x1 convolution of B.2.2: h (in_dim, B, n, n) -> (out_dim, B, n, n).

    >>> h = ChannelMap(3, 8)(torch.randn(3, 2, 5, 5))
    """

    def __init__(self, in_dim, out_dim, bias=True):
        super().__init__()
        self.weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(out_dim, in_dim)))
        self.bias = nn.Parameter(torch.zeros(out_dim)) if bias else None

    def forward(self, h):
        out = fused.matmul(self.weight, h.flatten(1), None if self.bias is None else self.bias[:, None])
        return out.view(-1, *h.shape[1:])


def drawn_as_linear(channel_map):
    """The map with first weights and bias as nn.Linear has them."""
    bound = channel_map.weight.shape[1] ** -0.5
    nn.init.uniform_(channel_map.weight, -bound, bound)
    nn.init.uniform_(channel_map.bias, -bound, bound)
    return channel_map


class PairNorm(nn.Module):
    """Normalise each channel over the n x n pairs of each graph, then scale and shift: the `layer_norm` of the WL-GNNs.

    >>> from layers.padding import Padding
    >>> h = PairNorm(3)(torch.randn(3, 2, 5, 5), Padding(torch.tensor([5, 5]), torch.float32))
    """

    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim, 1, 1, 1))
        self.bias = nn.Parameter(torch.zeros(dim, 1, 1, 1))

    def forward(self, h, padding):
        n_pairs = padding.n_nodes.square()
        mean = h.sum((2, 3), keepdim=True) / n_pairs
        centred = padding.zero_(h - mean)
        variance = centred.square().sum((2, 3), keepdim=True) / n_pairs
        return padding.zero_(self.weight * centred / torch.sqrt(variance + EPS) + self.bias)


class PairBatchNorm(nn.Module):
    """Normalise each channel over the pairs of all graphs of the batch. Without scale and shift, and in evaluation with the mean
    and variance of the last training batch (momentum 1): the batch normalisation of PPGN in BREC.

    >>> from layers.padding import Padding
    >>> h = PairBatchNorm(3)(torch.randn(3, 2, 5, 5), Padding(torch.tensor([5, 5]), torch.float32))
    """

    def __init__(self, dim):
        super().__init__()
        self.norm = nn.BatchNorm1d(dim, momentum=1.0, affine=False)

    def forward(self, h, padding):
        pairs = h.flatten(1)
        if padding.mask is None:
            return self.norm(pairs[None])[0].view_as(h)
        real = padding.mask.flatten().nonzero().flatten()
        normalised = self.norm(pairs.index_select(1, real)[None])[0]
        return torch.zeros_like(pairs).index_copy(1, real, normalised).view_as(h)


def matrix_product(a, b):
    """Σ_p a_ip b_pj for each channel and graph, eq. (42): (d, B, n, n) x 2 -> (d, B, n, n). The padding of `a` must be zero."""
    return fused.matmul(a.flatten(0, 1), b.flatten(0, 1)).view_as(a)


def add_matrix_product(h, a, b):
    """h + Σ_p a_ip b_pj."""
    return fused.matmul(a.flatten(0, 1), b.flatten(0, 1), h.flatten(0, 1)).view_as(h)


def max_diagonal_and_rest(h, padding):
    """Concat(max_i h_ii, max_{i≠j} h_ij), eq. (47): (d, B, n, n) -> (B, 2d). The maximum over nothing is 0."""
    if fused.compiled(h):  # the same, in one step
        return fused_pairs.max_diagonal_and_rest(h, padding.sizes)
    none = torch.finfo(h.dtype).min
    eye = torch.eye(padding.n, dtype=torch.bool, device=h.device)
    pairs = padding.real[:, :, None] & padding.real[:, None, :] & ~eye
    diagonal = h.diagonal(dim1=2, dim2=3).masked_fill(~padding.real, none).amax(2)
    rest = torch.where(pairs, h, none).flatten(2).amax(2)
    diagonal = diagonal.masked_fill(padding.sizes == 0, 0.0)
    rest = rest.masked_fill(padding.sizes < 2, 0.0)
    return torch.cat([diagonal, rest]).t()


def dropout(h, p, padding, seeds):
    """Dropout whose noise belongs to the graph (one seed each), so that it does not depend on how graphs are put together."""
    noise = torch.ones_like(h)
    for b, (size, seed) in enumerate(zip(padding.sizes.tolist(), seeds.tolist(), strict=True)):
        generator = torch.Generator(h.device).manual_seed(seed)
        keep = torch.rand(h.shape[0], size, size, generator=generator, device=h.device) >= p
        noise[:, b, :size, :size] = keep.to(h.dtype) / (1 - p)
    return h * noise
