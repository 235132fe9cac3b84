"""The schema of a configuration: typed keys, each with a description, its range and its default.

Keys marked `identity: False` (folders, device, display) do not change the numbers; all others make up a run's identity
(runs/identity.py). Give a new key a default that reproduces the old behaviour: existing results then still match.
"""

import typing
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from data.dataset import DataConfig
from data.section import NO_IDENTITY, Section
from nets import NETS
from runs.folder import Run
from train.optim import AnyOptimizer, AnySchedule, Constant, Select, Stop

ROOT = Path(__file__).resolve().parent.parent
# any of the nets' own schemas; `model` says which
AnyNet = Annotated[typing.Union[tuple(net.Config for net in NETS.values())], Field(discriminator="model")]  # noqa: UP007


class Optimisation(Section):
    """What any training says: batches, optimizer, schedule, stop."""

    batch_size: int = Field(gt=0, description="graphs per mini-batch")
    optimizer: AnyOptimizer
    schedule: AnySchedule = Constant()
    stop: Stop = Stop()


class TrainConfig(Optimisation):
    """The training of a net on the folds of a dataset."""

    select: Select = Select()
    processes: int = Field(
        1,
        gt=0,
        description="processes that train the net together, each with its part of every batch; torchrun starts them and says how "
        "many. Batch norm depends on it",
    )
    workers: int = Field(
        0, ge=0, description="processes that cut batches; 0: the training process itself", json_schema_extra=NO_IDENTITY
    )


class BaseConfig(Section):
    """What a run of any kind needs to know; a main file whose runs are not a training on folds adds its own sections to it."""

    dataset: str = Field(description="name of the dataset")
    seed: int = Field(
        41,
        ge=0,
        lt=2**63,
        description="seed of the initial weights, the batches and everything else random",
        json_schema_extra=NO_IDENTITY,  # it is kept beside the identity
    )
    device: Literal["auto", "cpu", "cuda"] = Field(
        "auto", description="where to compute; auto: a GPU if there is one", json_schema_extra=NO_IDENTITY
    )
    out_dir: str = Field(str(ROOT / "out"), description="folder of the runs", json_schema_extra=NO_IDENTITY)
    force: bool = Field(
        False, description="run finished runs again; the old ones are moved aside", json_schema_extra=NO_IDENTITY
    )
    progress: bool = Field(True, description="show a progress bar", json_schema_extra=NO_IDENTITY)
    data: DataConfig = DataConfig()

    _name: str = "run"

    @property
    def name(self):
        """The row's name, with the keys that differ from it; for people."""
        return self._name

    def run(self, fold=0):
        """The run of this configuration on one fold."""
        out = Path(self.out_dir).expanduser().resolve()
        return Run(out, self.model_dump(), self._name, self.seed, fold, self.force, self.device, self.progress)


class SeededConfig(BaseConfig):
    """A run whose numbers depend on the seed, so that several may be asked for at once."""

    seeds: list[int] | None = Field(
        None,
        min_length=1,
        description="several seeds, one after the other, in the place of `seed`, as 1,2,3",
        json_schema_extra=NO_IDENTITY,
    )

    @model_validator(mode="after")
    def _each_seed_once(self):
        if self.seeds and (len(set(self.seeds)) < len(self.seeds) or min(self.seeds) < 0 or max(self.seeds) >= 2**63):
            raise ValueError(f"seeds={self.seeds}: expected different numbers >= 0")
        return self

    def each_seed(self):
        """The configuration with each of its seeds."""
        return [self.model_copy(update={"seed": seed}) for seed in self.seeds or [self.seed]]


class Config(SeededConfig):
    """A net that is trained on the folds of a dataset."""

    folds: list[int] | None = Field(
        None,
        min_length=1,
        description="folds of the cross-validation to run, as 0,2; all when not given",
        json_schema_extra=NO_IDENTITY,
    )
    log: list[Literal["tensorboard", "wandb", "mlflow"]] = Field(
        ["tensorboard"],
        description="programs that show the curves, as tensorboard,wandb (train/trackers.py); [] for none",
        json_schema_extra=NO_IDENTITY,
    )
    net: AnyNet
    train: TrainConfig

    @property
    def selects(self):
        """Whether the configurations of a grid are compared (train/selection.py) instead of one being trained."""
        return False

    def runs(self, folds):
        """The runs of all seeds on these folds."""
        return [one.run(fold) for one in self.each_seed() for fold in folds]

    @model_validator(mode="after")
    def _each_fold_once(self):
        if self.folds is not None and len(set(self.folds)) < len(self.folds):
            raise ValueError(f"folds={self.folds}: expected different folds")
        return self

    @model_validator(mode="after")
    def _a_graph_for_each_process(self):
        if self.train.batch_size < self.train.processes:
            raise ValueError(
                f"train.batch_size={self.train.batch_size} with {self.train.processes} processes: expected a graph each"
            )
        return self
