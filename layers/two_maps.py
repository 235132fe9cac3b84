"""The small networks inside the layers of the BREC models and of the Fair Comparison's GIN: two linear maps with a norm between."""

from torch import nn

from layers.chain import Chain
from layers.linear import Linear


class LastBatchNorm(nn.BatchNorm1d):
    """Batch normalisation without scale and shift, which in evaluation takes mean and variance of the last training batch.

    >>> x = LastBatchNorm(8)(torch.randn(5, 8))
    """

    def __init__(self, dim):
        super().__init__(dim, momentum=1.0, affine=False)


def two_maps(in_dim, hidden_dim, out_dim, norm=None, bias=True):
    """W2 ReLU(norm(W1 x + b1)) + b2: (rows, in_dim) -> (rows, out_dim). `norm` is a class such as nn.BatchNorm1d.

    >>> x = two_maps(3, 16, 8, nn.BatchNorm1d)(torch.randn(5, 3))
    """
    middle = [] if norm is None else [norm(hidden_dim)]
    return Chain(Linear(in_dim, hidden_dim, bias), *middle, nn.ReLU(), Linear(hidden_dim, out_dim, bias))
