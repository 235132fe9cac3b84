"""The examples in the docstrings of the layers of BREC run."""

import doctest
import importlib

import dgl
import pytest
import torch

MODULES = (
    "closed_gin_layer",
    "deep_sets_layer",
    "dss_layer",
    "sun_layer",
    "sswl_layer",
    "gnn_ak_layer",
    "delta_lgnn_layer",
    "set2set",
    "gated_graph_layer",
    "kp_layer",
    "kc_set_layer",
    "gsn_layer",
    "open_gcn_layer",
    "weighted_gin_layer",
    "edge_selection",
    "graphormer_layer",
)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_run(name):
    module = importlib.import_module(f"layers.{name}")
    seen = doctest.testmod(module, extraglobs={"dgl": dgl, "torch": torch})
    assert seen.attempted and not seen.failed
