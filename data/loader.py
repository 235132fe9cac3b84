"""Mini-batches of a packed store: each is one block-diagonal DGLGraph, cut out when it is asked for."""

import os
import warnings

import numpy as np
import torch

from process import all_cores


def _use_all_cores(worker):
    if cores := all_cores():
        os.sched_setaffinity(0, cores)


class Loader:
    """Iterate over batches (g, of, y) of the graphs numbered `indices`.

    With `shuffle` the order of every pass is drawn from `generator`, whose state is all that must be saved to go on later.
    With `workers` processes cut the batches; the store is memory-mapped, so each costs no copy of the data, and the order
    and content of the batches stay the same.
    `share` (k, n): of each batch the k-th of n parts, in the order of the batch and as equal as can be; None for an empty one.
    """

    def __init__(self, store, indices, batch_size, shuffle=False, generator=None, workers=0, share=(0, 1)):
        self.store, self.indices, self.batch_size = store, np.asarray(indices, dtype=np.int64), batch_size
        self.shuffle, self.generator, self.workers, self.share = shuffle, generator, workers, share

    def __len__(self):
        return -(-len(self.indices) // self.batch_size)

    def __iter__(self):
        order = self.indices
        if self.shuffle:
            order = order[torch.randperm(len(order), generator=self.generator).numpy()]
        batches = [order[start : start + self.batch_size] for start in range(0, len(order), self.batch_size)]
        k, n = self.share
        if n > 1:
            batches = [np.array_split(batch, n)[k] for batch in batches]
        batches = _Batches(self.cutter(), batches)
        if self.workers == 0:
            return map(batches.__getitem__, range(len(batches)))
        with warnings.catch_warnings():
            # torch's warning of too many workers counts the bound thread's core only
            warnings.filterwarnings("ignore", message="This DataLoader will create")
            loader = torch.utils.data.DataLoader(
                batches,
                batch_size=None,
                num_workers=self.workers,
                worker_init_fn=_use_all_cores,
                # its own, so that starting workers draws nothing from the generator of the training
                generator=torch.Generator(),
            )
            return iter(loader)

    def cutter(self):
        """The function from graph numbers to a batch, for one pass."""
        return self.store.batch


class _Batches(torch.utils.data.Dataset):
    """Batch number -> batch, the form in which torch's workers ask for it."""

    def __init__(self, cut, batches):
        self.cut, self.batches = cut, batches

    def __len__(self):
        return len(self.batches)

    def __getitem__(self, i):
        return self.cut(self.batches[i]) if len(self.batches[i]) else None
