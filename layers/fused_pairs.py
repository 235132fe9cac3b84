"""Steps of 3WLGNN as single steps of autograd, each equal to the plain formula that stands beside its call.

A tensor of all pairs of nodes is large, so every pass over one counts: maps, biases and ReLUs are one pass each, gradients that
belong to the same tensor are added by the products themselves, and nothing is kept twice.
"""

import torch
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from layers.fused import loops, product


def three_wl(layer, h, mask):
    r"""W_h h + W_m (M_W1(h) · M_W2(h)) + b of eq. (40)-(42), zero at the padding: (in_dim, B, n, n) -> (out_dim, B, n, n)."""
    maps = [*layer.M1.maps, *layer.M2.maps]
    weights = [weight for channel_map in maps for weight in (channel_map.weight, channel_map.bias)]
    return ThreeWL.apply(h, mask, layer.M1.last_relu, layer.W_h.weight, layer.W_h.bias, layer.W_m.weight, *weights)


class ThreeWL(Function):
    @staticmethod
    def forward(ctx, h, mask, last_relu, W_h, b, W_m, *weights):
        pairs, outputs, depth = h.flatten(1), [], len(weights) // 4
        for m in range(2 * depth):  # the maps of M_W1, then those of M_W2
            relu = last_relu or m % depth < depth - 1
            outputs.append(
                product(weights[2 * m], outputs[-1] if m % depth else pairs, weights[2 * m + 1][:, None], relu)
            )
        if mask is not None:
            of_pairs(outputs[depth - 1], h).mul_(mask)
        factors = (of_pairs(x, h).flatten(0, 1) for x in (outputs[depth - 1], outputs[-1]))
        M = product(*factors).view(len(W_m), -1)
        out = product(W_h, pairs, b[:, None])
        out = of_pairs(product(W_m, M, out, out=out), h)
        ctx.last_relu = last_relu
        ctx.save_for_backward(h, mask, W_h, W_m, M, *weights, *outputs)
        return out if mask is None else out.mul_(mask)

    @staticmethod
    @once_differentiable
    def backward(ctx, d):
        h, mask, W_h, W_m, M, *rest = ctx.saved_tensors
        weights, outputs = rest[: len(rest) * 2 // 3], rest[len(rest) * 2 // 3 :]
        pairs, depth = h.flatten(1), len(outputs) // 2
        d = (d.contiguous() if mask is None else d * mask).flatten(1)
        d_h = product(W_h.t(), d) if ctx.needs_input_grad[0] else None
        d_maps = [product(d, pairs.t()), d.sum(1), product(d, M.t())]  # of W_h, b, W_m
        first, second = (of_pairs(x, h).flatten(0, 1) for x in (outputs[depth - 1], outputs[-1]))
        d_M = of_pairs(product(W_m.t(), d), h).flatten(0, 1)
        for last, d_x in ((depth - 1, product(d_M, second.mT)), (2 * depth - 1, product(first.mT, d_M))):
            d_x, d_weights = d_x.view_as(M), []
            for m in range(last, last - depth, -1):
                if ctx.last_relu or m < last:
                    torch.ops.aten.threshold_backward.grad_input(d_x, outputs[m], 0, grad_input=d_x)
                elif mask is not None and m == depth - 1:
                    of_pairs(d_x, h).mul_(mask)
                is_first = m == last - depth + 1
                d_weights += [d_x.sum(1), product(d_x, (pairs if is_first else outputs[m - 1]).t())]
                if not is_first:
                    d_x = product(weights[2 * m].t(), d_x)
                elif d_h is not None:
                    product(weights[2 * m].t(), d_x, d_h, out=d_h)
            d_maps += d_weights[::-1]
        return None if d_h is None else of_pairs(d_h, h), None, None, *d_maps


def of_pairs(x, h):
    """x (d, B n n) as (d, B, n, n)."""
    return x.view(-1, *h.shape[1:])


def max_diagonal_and_rest(h, sizes):
    """Concat(max_i h_ii, max_{i≠j} h_ij): (d, B, n, n) -> (B, 2d)."""
    return PairMaxima.apply(h, sizes.int()).permute(1, 2, 0).flatten(1)


class PairMaxima(Function):
    """(d, B, 2)"""

    @staticmethod
    def forward(ctx, h, sizes):
        h, (d, B, n, _) = h.contiguous(), h.shape
        out = h.new_empty(d, B, 2)
        loops().pair_maxima(d * B, B, n, sizes, h, out)
        ctx.save_for_backward(h, sizes, out)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx, d_out):
        h, sizes, out = ctx.saved_tensors
        d, B, n, _ = h.shape
        d_h = torch.empty_like(h)
        loops().pair_maxima_back(d * B, B, n, sizes, h, out, d_out.contiguous(), d_h)
        return d_h, None
