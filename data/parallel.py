"""Computes one function of many graphs on all cores: building datasets and positional encodings."""

import itertools
import multiprocessing
import os
import threading
import time
from collections import deque
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager

from threadpoolctl import ThreadpoolController
from tqdm import tqdm

from process import all_cores

# Each worker computes with one thread, wherever the system lets it, however the parent is bound.
WORKER_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
PATIENCE = 3.0  # seconds of work before other processes are started
_work = None  # in a worker: the function it computes


def parallel_map(function, items, description, unit=" graphs", chunk=16, workers=None, total=None, settings="off"):
    """Yields function(item) of each item, in order, with a progress bar (none if there is no description).

    The function must be picklable: of a module, or a functools.partial of one. Results wait for their turn in bounded number,
    so memory stays flat; with `total`, about their number, items are taken from an iterator when they are needed. Starting
    workers takes seconds, so this process computes alone at first; a small task is done by then. `settings` are those of
    process.py in the workers, "on" for those that train.
    """
    items, begin, libraries = items if total else list(items), time.monotonic(), ThreadpoolController()
    total = total or len(items)
    workers = min(workers or len(all_cores() or ()) or os.cpu_count(), -(-total // chunk))
    with tqdm(total=total, desc=description, unit=unit, disable=True if description is None else None) as bar:
        items = iter(items)
        for i, item in enumerate(items):
            if workers > 1 and time.monotonic() - begin > PATIENCE and total - i > chunk:
                for result in _in_processes(function, itertools.chain([item], items), chunk, workers, settings):
                    yield result
                    bar.update()
                return
            with libraries.limit(limits=1):  # as in a worker: with more threads an eigenvector may come out another one
                result = function(item)
            yield result
            bar.update()


def _in_processes(function, items, chunk, workers, settings):
    chunks = iter(lambda: list(itertools.islice(items, chunk)), [])
    context = multiprocessing.get_context("spawn")  # a fork would copy locks that other threads hold
    begin, environment = (function, all_cores()), {**WORKER_ENVIRONMENT, "GNN_PROCESS_SETTINGS": settings}
    with _environment(environment), ProcessPoolExecutor(workers, context, _begin, begin) as pool:
        waiting = deque()
        try:
            for _ in range(3 * workers):
                if (next_chunk := next(chunks, None)) is not None:
                    waiting.append(pool.submit(_compute, next_chunk))
            while waiting:
                yield from waiting.popleft().result()
                if (next_chunk := next(chunks, None)) is not None:
                    waiting.append(pool.submit(_compute, next_chunk))
        except BrokenProcessPool as error:
            raise RuntimeError(
                "a worker process died (killed, or out of memory): start again, with fewer workers (--data.workers, --workers) if "
                "memory is short"
            ) from error
        finally:
            pool.shutdown(cancel_futures=True)


def _begin(function, cores):
    global _work
    _work = function
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if cores:
        os.sched_setaffinity(0, cores)


def _end_with_parent():
    """Ends this worker when its parent was killed: it would wait for work for ever."""
    multiprocessing.parent_process().join()
    os._exit(1)


def _compute(chunk):
    return [_work(item) for item in chunk]


@contextmanager
def _environment(variables):
    """These environment variables while workers are started."""
    old = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in old.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
