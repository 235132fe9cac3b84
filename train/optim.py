"""What a row says of its optimisation: the optimizer, the schedule of its learning rate, when to stop and which weights to report.

Each is a small section of the configuration; where there are several kinds, `kind` names one. To add a kind, write its class with a
`build` and add it to the union of its section.
"""

import math
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch.optim.lr_scheduler import LambdaLR, ReduceLROnPlateau

from data.section import Section

# --------------------------------------------------------------------------------------------------------------------
# Optimizers


class Optimizer(Section):
    """What all optimizers have."""

    lr: float = Field(gt=0, description="learning rate at the start")
    weight_decay: float = Field(
        0.0, ge=0, description="weight decay: an L2 penalty, with adamw decoupled from the gradient"
    )
    clip_norm: float | None = Field(None, gt=0, description="largest norm of the gradient; null: not clipped")
    accumulate: int = Field(
        1, gt=0, description="batches per step; what is left at the end of an epoch makes a step too"
    )
    accumulated: Literal["mean", "sum"] = Field(
        "mean", description="gradients of the batches of a step: averaged or summed"
    )
    first_step: Literal["full", "alone"] = Field(
        "full",
        description="alone: a step after the first batch, then after every `accumulate` of them, and what is left at the end of "
        "an epoch is dropped: with batch_size 1 and summed gradients this is how the program that made the tables trains WL-GNNs",
    )


class Adam(Optimizer):
    kind: Literal["adam"] = Field("adam", description="kind of optimizer")

    def build(self, parameters, fused=True):
        return torch.optim.Adam(parameters, lr=self.lr, weight_decay=self.weight_decay, **if_fused(parameters, fused))


class AdamW(Optimizer):
    kind: Literal["adamw"] = Field("adamw", description="kind of optimizer")

    def build(self, parameters, fused=True):
        return torch.optim.AdamW(parameters, lr=self.lr, weight_decay=self.weight_decay, **if_fused(parameters, fused))


class SGD(Optimizer):
    kind: Literal["sgd"] = Field("sgd", description="kind of optimizer")
    momentum: float = Field(0.0, ge=0, lt=1, description="momentum")

    def build(self, parameters, fused=True):
        return torch.optim.SGD(parameters, lr=self.lr, weight_decay=self.weight_decay, momentum=self.momentum)


AnyOptimizer = Annotated[Adam | AdamW | SGD, Field(discriminator="kind")]


def if_fused(parameters, wanted):
    """The same Adam in one pass over each parameter, where this torch has it (on CPUs from version 2.4 on)."""
    version = tuple(map(int, torch.__version__.split(".")[:2]))
    return {"fused": True} if wanted and (parameters[0].is_cuda or version >= (2, 4)) else {}


# --------------------------------------------------------------------------------------------------------------------
# Schedules: `build` gives a torch scheduler that is stepped once per epoch


class Plateau(Section):
    """The rate falls when the validation stalls (Benchmarking GNNs, section 3; LRGB, C.1; Taxonomy)."""

    kind: Literal["plateau"] = Field("plateau", description="kind of schedule")
    patience: int = Field(ge=0, description="epochs without a better value before the rate is reduced")
    factor: float = Field(0.5, gt=0, lt=1, description="the rate is multiplied by this")
    of: Literal["loss", "metric"] = Field("loss", description="which value of the validation must improve")
    threshold: float = Field(1e-4, ge=0, description="smallest relative improvement that counts")
    min_lr: float = Field(0.0, ge=0, description="the rate never falls below this")

    def build(self, optimizer, stop, better):
        mode = "min" if self.of == "loss" else better
        return ReduceLROnPlateau(
            optimizer, mode, factor=self.factor, patience=self.patience, threshold=self.threshold, min_lr=self.min_lr
        )


class Step(Section):
    """A factor every few epochs (Fair Comparison, GIN)."""

    kind: Literal["step"] = Field("step", description="kind of schedule")
    every: int = Field(gt=0, description="epochs between two reductions")
    factor: float = Field(0.5, gt=0, lt=1, description="the rate is multiplied by this")

    def build(self, optimizer, stop, better):
        return LambdaLR(optimizer, lambda epoch: self.factor ** (epoch // self.every))


class Milestones(Section):
    """A factor at given epochs (Fair Comparison, ECC)."""

    kind: Literal["milestones"] = Field("milestones", description="kind of schedule")
    at: list[Annotated[int, Field(gt=0)]] = Field(
        min_length=1, description="epochs after which the rate is reduced, as [25,35,45]"
    )
    factor: float = Field(0.1, gt=0, lt=1, description="the rate is multiplied by this")

    def build(self, optimizer, stop, better):
        return LambdaLR(optimizer, lambda epoch: self.factor ** sum(epoch >= place for place in self.at))


class Cosine(Section):
    """Half a cosine down to zero at the last epoch, after a linear warm-up (the tuned rows of LRGB)."""

    kind: Literal["cosine"] = Field("cosine", description="kind of schedule")
    warmup: int = Field(0, ge=0, description="epochs of the warm-up")

    def build(self, optimizer, stop, better):
        def share(epoch):
            if epoch < self.warmup:
                return max(1e-6, epoch / self.warmup)
            return 0.5 * (1 + math.cos(math.pi * (epoch - self.warmup) / max(1, stop.epochs - self.warmup)))

        return LambdaLR(optimizer, share)


class Constant(Section):
    """The rate stays."""

    kind: Literal["constant"] = Field("constant", description="kind of schedule")

    def build(self, optimizer, stop, better):
        return LambdaLR(optimizer, lambda epoch: 1.0)


AnySchedule = Annotated[Plateau | Step | Milestones | Cosine | Constant, Field(discriminator="kind")]


# --------------------------------------------------------------------------------------------------------------------
# The end


class Stop(Section):
    """When the training is over: whatever comes first."""

    epochs: int = Field(1000, gt=0, description="stop after this many epochs")
    hours: float = Field(12.0, gt=0, description="stop after this many hours of training, interruptions not counted")
    min_lr: float | None = Field(None, gt=0, description="stop when the learning rate falls below this; null: never")
    loss: float | None = Field(
        None, description="stop when the training loss of an epoch falls below this; null: never"
    )
    patience: int | None = Field(
        None, gt=0, description="stop after this many epochs without a better validation; null: never"
    )
    of: Literal["loss", "metric"] = Field(
        "loss", description="with patience: which value of the validation must improve"
    )
    ties: Literal["wait", "renew"] = Field(
        "wait", description="with patience: an equally good epoch counts as no improvement (wait) or as one (renew)"
    )


class Select(Section):
    """Whose epoch's weights a table reports. Results hold both, the last epoch's and the best validation's."""

    epoch: Literal["last", "best_val"] = Field("last", description="epoch whose weights the table reports")
    of: Literal["metric", "loss"] = Field("metric", description="which value of the validation is the best")
    ties: Literal["loss", "first", "latest"] = Field(
        "loss", description="among equally good epochs: the one of the lowest validation loss, the first or the latest"
    )
    digits: int | None = Field(
        None, ge=0, description="validations are compared after rounding to so many digits; null: as they are"
    )
    every: int = Field(
        1,
        gt=0,
        description="validate after the first epoch and every so many; in between the schedule is given the last validation again",
    )
