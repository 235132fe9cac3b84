"""The schema: every key is explained, sections of several kinds are told apart, and what has no effect is refused."""

import pytest
from pydantic import ValidationError

from runs.table_files import find_row
from train.cli import all_keys, allowed
from train.config import Config, TrainConfig
from train.pair_config import MethodPairConfig, NetPairConfig, PairTrainConfig, schema_of

ADAM = {"kind": "adam", "lr": 0.01}
PLATEAU = {"kind": "plateau", "patience": 5}


@pytest.mark.parametrize(
    ("schema", "row"),
    [
        (Config, "table2_ZINC/GatedGCN-E-PE-L16"),
        (NetPairConfig, "brec_table2/GIN"),
        (MethodPairConfig, "brec_table2/3-WL"),
    ],
)
def test_every_key_is_explained(schema, row):
    keys = all_keys(schema, find_row(row).config)
    assert len(keys) > 10
    for key, field in keys.items():
        assert field.description and allowed(field), key


@pytest.mark.parametrize(
    ("section", "value"),
    [
        ("optimizer", {"kind": "adam"}),
        ("optimizer", {"lr": 0.01}),
        ("optimizer", {**ADAM, "momentum": 0.9}),  # a key of another kind
        ("optimizer", {**ADAM, "lr": 0.0}),
        ("optimizer", {**ADAM, "accumulate": 0}),
        ("optimizer", {**ADAM, "clip_norm": 0}),
        ("schedule", {"kind": "plateau"}),
        ("schedule", {**PLATEAU, "factor": 1.0}),
        ("schedule", {"kind": "milestones", "at": []}),
        ("schedule", {"kind": "milestones", "at": [0]}),
        ("schedule", {"kind": "step", "every": 0}),
        ("schedule", {"kind": "cosine", "warmup": -1}),
        ("stop", {"epochs": 0}),
        ("stop", {"patience": 0}),
        ("stop", {"ties": "loss"}),
        ("select", {"ties": "wait"}),
        ("select", {"epoch": "best"}),
    ],
)
def test_sections_that_cannot_be(section, value):
    good = {"batch_size": 5, "optimizer": ADAM}
    assert TrainConfig(**good).stop.epochs == 1000
    with pytest.raises(ValidationError):
        TrainConfig(**good | {section: value})


def test_a_fold_is_named_once():
    content = find_row("table3/GCN-LapPE-L4").config
    assert Config.model_validate(content | {"folds": [0, 2]}).folds == [0, 2]
    with pytest.raises(ValidationError, match="different folds"):
        Config.model_validate(content | {"folds": [0, 0]})


def test_a_configuration_does_not_change_later():
    config = TrainConfig(batch_size=5, optimizer=ADAM)
    with pytest.raises(ValidationError):
        config.batch_size = 6


def test_a_row_of_pairs_names_a_method_or_describes_a_net():
    assert schema_of(find_row("brec_table2/3-WL").config) is MethodPairConfig
    assert schema_of(find_row("brec_table2/GIN").config) is NetPairConfig


@pytest.mark.parametrize(
    ("section", "value", "message"),
    [
        (
            "optimizer",
            {**ADAM, "clip_norm": 1.0},
            r"optimizer\.clip_norm=1\.0: the training of a pair does not know it",
        ),
        ("optimizer", {**ADAM, "accumulate": 2}, r"optimizer\.accumulate=2"),
        ("schedule", {**PLATEAU, "of": "metric"}, r"schedule\.of='metric'"),
        ("stop", {"patience": 3}, r"stop\.patience=3"),
        ("stop", {"min_lr": 1e-6}, r"stop\.min_lr=1e-06"),
    ],
)
def test_keys_without_effect_on_pairs_are_refused(section, value, message):
    """They would be part of the identity all the same."""
    good = {"batch_size": 4, "optimizer": ADAM, "schedule": PLATEAU, "stop": {"epochs": 2, "loss": 0.2}}
    PairTrainConfig(**good)
    with pytest.raises(ValidationError, match=message):
        PairTrainConfig(**good | {section: value})
