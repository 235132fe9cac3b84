"""Every layer has an example in its docstring, and all of them run; the index of layers/ names every file."""

import doctest
import importlib
from pathlib import Path

import dgl
import pytest
import torch

import layers

FILES = sorted(path.stem for path in Path(layers.__file__).parent.glob("*.py") if path.stem != "__init__")
NO_EXAMPLE = {
    "fused",
    "fused_attention",
    "fused_pairs",
    "kernels",
    "matmul",
    "ops",
}  # functions, with tests of their own


def modules_of(file):
    """The torch modules that a file defines."""
    found = vars(importlib.import_module(f"layers.{file}")).values()
    return [
        x for x in found if isinstance(x, type) and issubclass(x, torch.nn.Module) and x.__module__ == f"layers.{file}"
    ]


@pytest.mark.parametrize("file", FILES)
def test_the_examples_run(file):
    torch.manual_seed(0)
    module = importlib.import_module(f"layers.{file}")
    seen = doctest.testmod(module, extraglobs={"dgl": dgl, "torch": torch})
    assert not seen.failed and bool(seen.attempted) is (file not in NO_EXAMPLE)


@pytest.mark.parametrize("file", FILES)
def test_every_layer_has_an_example(file):
    without = [x.__name__ for x in modules_of(file) if ">>> " not in (x.__doc__ or "")]
    assert not without


def test_the_index_names_every_file():
    words = layers.__doc__.replace(",", " ").split()
    assert [file for file in FILES if file not in words] == []
