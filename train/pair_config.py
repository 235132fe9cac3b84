"""The configuration of a run over pairs of graphs (BREC): a net that is trained and tested on each pair, or an exact method."""

from pydantic import Field, field_validator, model_validator

from data.BREC import CATEGORIES
from data.section import NO_IDENTITY, Section
from train.config import AnyNet, BaseConfig, Optimisation, SeededConfig
from train.rpc import threshold

# keys of the sections that the training of a pair does not read: no validation, few epochs, all copies in a few batches
UNREAD = {
    "optimizer": ("clip_norm", "accumulate", "accumulated", "first_step"),
    "schedule": ("of",),
    "stop": ("hours", "min_lr", "patience", "of", "ties"),
}


class PairTrainConfig(Optimisation):
    """The training of section 4.1, with the hyper-parameters of Table 7. The schedule follows the loss of the training."""

    batch_size: int = Field(gt=1, description="graphs per mini-batch, half of them copies of each graph")
    margin: float = Field(0.0, description="cosine similarity that is close enough to different, eq. (1)")

    @model_validator(mode="after")
    def _as_many_of_each(self):
        if self.batch_size % 2:
            raise ValueError(f"batch_size={self.batch_size}: expected an even number, half of it copies of each graph")
        return self

    @model_validator(mode="after")
    def _no_key_without_effect(self):
        for name, keys in UNREAD.items():
            section = getattr(self, name)
            fields = type(section).model_fields
            for key in keys:
                if key in fields and (value := getattr(section, key)) != fields[key].default:
                    raise ValueError(f"{name}.{key}={value!r}: the training of a pair does not know it, leave it out")
        return self


class PairTestConfig(Section):
    """The test of section 4.2, with the settings of appendix J."""

    q: int = Field(32, gt=1, description="copies of each graph, with their nodes renumbered at random")
    d: int = Field(16, gt=0, description="numbers of an embedding, fewer than copies")
    alpha: float = Field(0.95, gt=0, lt=1, description="quantile of the F distribution that gives the threshold")
    threshold: float | None = Field(
        None,
        gt=0,
        description="threshold of the program's statistic, where a script has one of its own; null: by alpha",
    )

    def limit(self, statistic):
        """The threshold of a statistic of train/rpc.py."""
        if statistic == "program" and self.threshold is not None:
            return self.threshold
        return threshold(self.q, self.d, self.alpha)

    @model_validator(mode="after")
    def _enough_copies(self):
        if self.d >= self.q:
            raise ValueError(f"d={self.d} with q={self.q}: the test needs more copies than an embedding has numbers")
        return self


class AnyPairConfig(BaseConfig):
    categories: str | None = Field(
        None,
        description="only the pairs of these categories, as Basic,Regular,Extension: a run of its own; null: all pairs",
    )
    memory: float | None = Field(
        None,
        gt=0,
        description="GB that the processes of a run may use together; a share of what is free when not given",
        json_schema_extra=NO_IDENTITY,
    )
    workers: int | None = Field(
        None,
        gt=0,
        description="processes that work on pairs, with one thread each; as many as a run has threads when not given",
        json_schema_extra=NO_IDENTITY,
    )

    @field_validator("categories")
    @classmethod
    def _in_order(cls, text):
        """One text for one choice, whatever its order; all of them are no choice."""
        names = set(text.split(",")) if text is not None else set(CATEGORIES)
        if wrong := sorted(names - set(CATEGORIES)):
            raise ValueError(f"{wrong[0]!r}: expected some of {', '.join(CATEGORIES)}")
        return ",".join(name for name in CATEGORIES if name in names) if names < set(CATEGORIES) else None


class NetPairConfig(AnyPairConfig, SeededConfig):
    """A net that is trained on each pair, and a test of its embeddings."""

    net: AnyNet
    train: PairTrainConfig
    test: PairTestConfig = PairTestConfig()


class MethodPairConfig(AnyPairConfig):
    """A method without parameters, whose answer needs no test."""

    method: str = Field(description="name of the method")


def schema_of(content):
    """The schema of a row: it names a method or describes a net."""
    return MethodPairConfig if "method" in content else NetPairConfig
