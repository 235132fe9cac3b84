"""Small networks inside a layer, row by row: nn.Sequential, in which a ReLU is one step with what comes before it."""

from functools import partial

import torch.nn.functional as F
from torch import nn

from layers import fused
from layers.few_rows import FewRows
from layers.linear import Linear


class Chain(nn.Sequential):
    """Modules one after another: (rows, in_dim) -> (rows, out_dim).

    >>> x = Chain(Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU())(torch.randn(5, 3))
    """

    def forward(self, x):
        return through(self, x)


def through(modules, x):
    """x through the modules; a linear map or a normalisation and the ReLU after it in one step (layers/fused.py)."""
    modules = [module for module in modules if not isinstance(module, nn.Identity)]
    if isinstance(x, FewRows):
        if all(isinstance(module, (nn.Linear, nn.ReLU)) for module in modules):
            return x.map(partial(through, modules))
        x = x.all()
    while modules:
        first, *modules = modules
        if not (modules and isinstance(modules[0], nn.ReLU)):
            x = first(x)
            continue
        modules = modules[1:]
        if type(first) is Linear:
            x = fused.relu_linear(x, first.weight, first.bias)
        elif fused.norm_suits(first, x):
            x = fused.normalise(first, x)
        else:
            x = F.relu(first(x))
    return x
