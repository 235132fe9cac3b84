"""One training on several processes, which torchrun starts: each takes its part of every batch.

    torchrun --nproc_per_node=2 main_SBMs.py --config table2_PATTERN/GCN-L4

The loss of a batch is the sum of what its parts contribute, and so is its gradient: a step is that of one process, to rounding.
What decides anything (losses, metrics, the clock, signals) is the same number in all processes, and the first one alone writes.
Batch norm is the exception: it normalises each part by the part's own statistics, and what it keeps for evaluation is the mean
of the processes'. A net that draws random numbers draws other ones in each process.
"""

import os
import shlex
import sys
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist

from runs.files import RunError
from runs.signals import Interrupted
from train.random_state import seed_all


def number_of_processes():
    """How many processes torchrun has started; 1 without it."""
    return int(os.environ.get("WORLD_SIZE", 1))


def is_first():
    """Whether this process is the one that writes and prints."""
    return int(os.environ.get("RANK", 0)) == 0


def join(number, device):
    """The processes that train together, `number` of them, each on its own GPU where there are any."""
    if number == 1:
        return Alone(device)
    if device.type == "cuda":
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    if not dist.is_initialized():
        dist.init_process_group("gloo" if device.type == "cpu" else "cpu:gloo,cuda:nccl")
    return Several(device)


class Alone:
    """One process: it has all of every batch and asks nobody."""

    share, first = (0, 1), True

    def __init__(self, device):
        self.device = device

    def loss(self, task, part):
        """(loss, number of labels) of a batch; `part` has its scores, labels and penalty."""
        return task.loss(part.scores, part.y) + part.penalty, task.count(part.y)

    def opened(self, run):
        """The folder of a run is held by the process that writes to it."""
        return run.opened()

    def from_first(self, value):
        """The first process's value, in all of them."""
        return value

    def same_weights(self, net):
        """All processes begin with the weights of the first."""

    def agreed(self, check_signals):
        """All processes stop when one of them is told to."""
        return check_signals

    def add_gradients(self, parameters):
        """The gradient of a batch is the sum of those of its parts."""

    def join_metric(self, metric):
        """A metric is of the whole split."""

    def join_statistics(self, net):
        """The statistics that batch norm keeps for evaluation."""

    def seed_pass(self, seed, epoch):
        """What a net draws while training."""

    def description(self, net):
        """What a result says of its processes."""
        return {}

    def command(self):
        """What a user typed to start the program."""
        return shlex.join([Path(sys.executable).name, *sys.argv])

    def leave(self, why):
        """What one process alone has met ends the others."""


class Several(Alone):
    """The processes of torchrun. A process that ends takes the others with it: they go on from the checkpoint."""

    def __init__(self, device):
        super().__init__(device)
        self.rank, self.number = dist.get_rank(), dist.get_world_size()
        self.share, self.first = (self.rank, self.number), self.rank == 0

    def loss(self, task, part):
        """The loss of the whole batch, the same number in all processes, with the gradient of this process's part of it.

        `part` is None where the batch has fewer graphs than there are processes.
        """
        y = torch.empty(0) if part is None else part.y
        labels = torch.cat([torch.tensor([task.count(y)]), task.sizes(y).flatten().cpu()]).double()
        n, sizes = self._sum(labels)[0].item(), labels[1:]
        own = torch.zeros((), device=self.device, requires_grad=True)
        if part is not None:
            own = task.part(part.scores, part.y, max(n, 1), sizes) + part.penalty * (task.count(y) / max(n, 1))
            if not torch.isfinite(part.scores).all():
                own = own * float("nan")  # so that all processes hear of it
        total = self._sum(own.detach().clone())
        return total + (own - own.detach()), int(n)

    def opened(self, run):
        run.progress = run.progress and self.first
        return run.opened() if self.first else nullcontext()

    def from_first(self, value):
        values = [value]
        self._call(dist.broadcast_object_list, values, src=0)
        return values[0]

    def same_weights(self, net):
        for value in net.state_dict().values():
            self._call(dist.broadcast, value, src=0)

    def agreed(self, check_signals):
        def check():
            arrived = torch.zeros((), dtype=torch.int64)
            try:
                check_signals()
            except Interrupted as stop:
                arrived += stop.args[0]
            self._call(dist.all_reduce, arrived, op=dist.ReduceOp.MAX)
            if arrived:
                raise Interrupted(int(arrived))

        return check

    def add_gradients(self, parameters):
        """In one message. A parameter without a gradient in all processes stays without."""
        parameters = list(parameters)
        grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
        there = torch.tensor([p.grad is not None for p in parameters], device=self.device)
        flat = self._sum(torch.cat([*(grad.flatten() for grad in grads), there.to(grads[0].dtype)]))
        *sums, there = flat.split([*(p.numel() for p in parameters), len(parameters)])
        for p, total, n in zip(parameters, sums, there.tolist(), strict=True):
            p.grad = total.view_as(p).to(p.dtype) if n else None

    def join_metric(self, metric):
        states = [None] * self.number
        self._call(dist.all_gather_object, states, metric.state())
        metric.join(states)

    def join_statistics(self, net):
        for norm in batch_norms(net):
            self._sum(norm.running_mean).div_(self.number)
            self._sum(norm.running_var).div_(self.number)
            self._call(dist.broadcast, norm.num_batches_tracked, src=0)

    def seed_pass(self, seed, epoch):
        """Anew for each epoch: a run that goes on needs no process's random state but this rule."""
        seed_all(int(np.random.SeedSequence([seed, epoch, self.rank]).generate_state(1)[0]))

    def description(self, net):
        kept = {"batch_norm": "statistics per process"} if batch_norms(net) else {}
        return {"processes": self.number, **kept}

    def command(self):
        return shlex.join(["torchrun", f"--nproc_per_node={os.environ['LOCAL_WORLD_SIZE']}", *sys.argv])

    def leave(self, why):
        raise RunError(f"process {self.rank} of {self.number}: {why}. The others end with it")

    def _sum(self, tensor):
        """The sum over the processes, in place."""
        self._call(dist.all_reduce, tensor)
        return tensor

    def _call(self, collective, *arguments, **options):
        try:
            collective(*arguments, **options)
        except RuntimeError as error:
            raise RunError(
                f"process {self.rank} of {self.number}: another process of this run has ended ({str(error).splitlines()[0][:80]}). "
                "The same command goes on from the checkpoint"
            ) from error


def batch_norms(net):
    return [module for module in net.modules() if getattr(module, "running_mean", None) is not None]
