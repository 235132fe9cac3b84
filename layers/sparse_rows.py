"""Products with a feature matrix that is mostly zero, such as words in documents: the zeros are skipped.

The features of a single large graph are the same tensor in every epoch. When one is seen for the second time it is turned into a
sparse matrix, once, and kept as long as the tensor lives.
"""

import warnings

import torch
from torch.utils.weak import WeakTensorKeyDictionary

from layers import fused

LARGE, SPARSE = 1 << 18, 0.2  # numbers from which it pays, and the share of them that may differ from 0
_seen = WeakTensorKeyDictionary()  # {x: how often, or what it has become}


class SparseProduct(torch.autograd.Function):
    """X W^T for a sparse X, given with its transpose."""

    @staticmethod
    def forward(ctx, W, X, X_t):
        ctx.save_for_backward(X_t)
        return X @ W.t()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dy):
        (X_t,) = ctx.saved_tensors
        return (X_t @ dy).t(), None, None


def linear(x, W, b=None):
    """x W^T + b: x (N, in_dim), W (out_dim, in_dim) -> (N, out_dim), as F.linear has it; x needs no gradient.

    >>> y = linear(torch.eye(3), torch.ones(8, 3))
    """
    pair = None if x.numel() < LARGE else sparse_pair(x)
    if pair is None:
        return fused.linear(x, W, b)
    y = SparseProduct.apply(W, *pair)
    return y if b is None else y + b


def sparse_pair(x):
    """(x, its transpose) as sparse matrices, if x was seen before and is mostly zero; else None."""
    if x not in _seen:
        _seen[x] = "once"
        return None
    if _seen[x] == "once":
        _seen[x] = make_pair(x)
    return _seen[x]


def make_pair(x):
    if x.count_nonzero() > SPARSE * x.numel():
        return None
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
        return x.to_sparse_csr(), x.t().contiguous().to_sparse_csr()
