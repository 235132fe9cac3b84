"""nn.Linear, by the faster products of layers/fused.py."""

from torch import nn

from layers import fused


class Linear(nn.Linear):
    """W x + b.

    >>> y = Linear(3, 8)(torch.randn(5, 3))
    """

    def forward(self, x):
        return fused.linear(x, self.weight, self.bias)
