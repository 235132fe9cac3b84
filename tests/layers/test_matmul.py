"""Our own dense products equal the library's in float64, for any sizes, order in memory and number of threads."""

from unittest import mock

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from layers import fused
from layers.linear import Linear

pytestmark = pytest.mark.skipif(fused.loops() is None, reason="the compiled loops need torch's OpenMP on Linux")

SIZES = [(1, 1, 1), (3, 5, 2), (8, 16, 48), (9, 257, 49), (23, 23, 23), (64, 600, 31), (100, 256, 96), (7, 40, 500)]


@pytest.fixture
def matmul():
    """As on a processor where they are the faster ones, for products of any size."""
    from layers import matmul

    with mock.patch.object(fused, "matrices", lambda: matmul), mock.patch.object(fused, "MANY", 1):
        yield matmul.matmul


def numbers(*shape):
    return torch.from_numpy(np.random.default_rng(sum(shape)).standard_normal(shape, np.float32))


def in_memory(x, order):
    """The same numbers in rows, in columns, or inside a larger array."""
    if order == "columns":
        return x.mT.contiguous().mT
    return F.pad(x, (1, 2))[..., 1:-2] if order == "inside" else x


def close(x, exact, K):
    torch.testing.assert_close(x.double(), exact, rtol=0, atol=2e-6 * K**0.5 * 3)


@pytest.mark.parametrize("order_b", ["rows", "columns", "inside"])
@pytest.mark.parametrize("order_a", ["rows", "columns", "inside"])
@pytest.mark.parametrize("M, K, N", SIZES)
def test_a_product(matmul, M, K, N, order_a, order_b):
    a, b = in_memory(numbers(M, K), order_a), in_memory(numbers(K, N), order_b)
    close(matmul(a, b), a.double() @ b.double(), K)


@pytest.mark.parametrize("M, K, N", SIZES)
def test_a_batch_of_products(matmul, M, K, N):
    a, b = numbers(3, K, M).mT, numbers(3, K, N)
    close(matmul(a, b), a.double() @ b.double(), K)


@pytest.mark.parametrize("M, K, N", SIZES)
@pytest.mark.parametrize("start", ["row", "column", "all", "every second column", "out"])
def test_what_it_is_added_to(matmul, M, K, N, start):
    a, b = numbers(M, K), numbers(K, N)
    out = numbers(M, N) if start == "out" else None
    start = {
        "row": numbers(N),
        "column": numbers(M, 1),
        "all": numbers(M, N),
        "every second column": numbers(M, 2 * N)[:, ::2],
        "out": out,
    }[start]
    exact = (a.double() @ b.double() + start.double()).relu()
    close(matmul(a, b, start, relu=True, out=out), exact, K)


def test_nan_stays_nan(matmul):
    a = numbers(9, 20)
    a[3, 4] = torch.nan
    assert matmul(a, numbers(20, 17), relu=True).isnan().all(1).tolist() == [i == 3 for i in range(9)]


@pytest.mark.parametrize("shapes", [((700, 90), (90, 70)), ((70, 900), (900, 90)), ((6, 30, 30), (6, 30, 30))], ids=str)
def test_the_same_bits_for_any_number_of_threads(matmul, shapes):
    a, b = (numbers(*shape) for shape in shapes)
    threads, results = torch.get_num_threads(), []
    for n in (1, 2, 3):
        torch.set_num_threads(n)
        results.append(matmul(a, b))
    torch.set_num_threads(threads)
    assert all(torch.equal(results[0], x) for x in results[1:])


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(50, 20), (4, 6, 20), (20,)], ids=str)
def test_linear(matmul, shape, bias):
    """Values and gradients of nn.Linear in float64, for any dimensions in front."""
    layer, x, d = Linear(20, 33, bias), numbers(*shape).requires_grad_(), numbers(*shape[:-1], 33)
    with mock.patch.object(fused, "product", wraps=fused.product) as product:
        (layer(x) * d).sum().backward()
    assert product.call_count == (3 if len(shape) > 1 else 0)  # a single row is the library's
    weights = [w.detach().double().requires_grad_() for w in (x, *layer.parameters())]
    exact = F.linear(*weights)
    (exact * d).sum().backward()
    close(layer(x), exact, 20)
    for mine, theirs in zip((x, *layer.parameters()), weights, strict=True):
        close(mine.grad, theirs.grad, 50)


@pytest.mark.parametrize("x", [numbers(0, 20), numbers(3, 20)], ids=["no rows", "three"])
def test_small_products_are_the_librarys(x):
    layer = Linear(20, 33)
    assert torch.equal(layer(x), F.linear(x, layer.weight, layer.bias))
    assert fused.product(x, layer.weight.t()).shape == (len(x), 33)
