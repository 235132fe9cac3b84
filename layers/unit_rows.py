"""ReLU and rows of length 1, in one step: what follows every layer of the Taxonomy's nets."""

import torch

EPS = 1e-12  # a row that is shorter is divided by this


class UnitReLU(torch.autograd.Function):
    r"""y = r / max(|r|, ε), r = ReLU(v), row by row; dv = (dy - y ⟨y, dy⟩) / |r| where v > 0. Rows of zeros stay."""

    @staticmethod
    def forward(ctx, v):
        y = v.relu()
        length = torch.linalg.vector_norm(y, dim=1, keepdim=True).clamp_(min=EPS)
        y.div_(length)
        ctx.save_for_backward(y, length)
        return y

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dy):
        y, length = ctx.saved_tensors
        dv = torch.addcmul(dy, y, (y * dy).sum(1, keepdim=True), value=-1).div_(length)
        return torch.ops.aten.threshold_backward(dv, y, 0)


def unit_relu(v):
    """The rows of ReLU(v), scaled to length 1: (N, d) -> (N, d).

    >>> y = unit_relu(torch.randn(5, 8))
    """
    return UnitReLU.apply(v)
