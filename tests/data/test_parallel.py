"""parallel_map gives what map gives, in order, and a failure in a worker reaches the caller."""

import os
import time
from functools import partial

import pytest

from data.parallel import parallel_map


def square(x):
    if x == 0:
        time.sleep(0.3)  # the first is ready last
    return x * x, os.getpid()


def fail(kind, x):
    if x == 5:
        if kind == "dies":
            os._exit(1)
        raise ValueError("five")
    return x


def test_results_come_in_order_from_several_processes():
    results = list(parallel_map(square, range(40), None, chunk=4, workers=2))
    assert [value for value, _ in results] == [x * x for x in range(40)]
    processes = {process for _, process in results}
    assert len(processes) == 2 and os.getpid() not in processes


def test_one_worker_or_few_items_stay_in_this_process():
    assert {process for _, process in parallel_map(square, range(3), None, workers=1)} == {os.getpid()}
    assert {process for _, process in parallel_map(square, range(3), None, chunk=16, workers=2)} == {os.getpid()}
    assert list(parallel_map(square, [], None)) == []


@pytest.mark.parametrize(("kind", "error", "message"), [("raises", ValueError, "five"), ("dies", RuntimeError, "died")])
def test_failures_reach_the_caller(kind, error, message):
    before = dict(os.environ)
    with pytest.raises(error, match=message):
        list(parallel_map(partial(fail, kind), range(20), None, chunk=2, workers=2))
    assert dict(os.environ) == before
