"""A misspelt name finds the right one, and never a wrong one."""

import pytest

from data.registry import DATASETS
from runs.errors import distance, nearest, similar


@pytest.mark.parametrize(
    ("a", "b", "n"),
    [("", "", 0), ("abc", "", 3), ("gnc", "gcn", 1), ("zink", "zinc", 1), ("kitten", "sitting", 3), ("ab", "ba", 1)],
)
def test_typing_errors_are_counted(a, b, n):
    """Of Damerau's kinds: a letter added, dropped, replaced, exchanged with the next."""
    assert distance(a, b) == distance(b, a) == n


def test_what_is_near():
    assert nearest("zinc", DATASETS) == " Did you mean ZINC?"
    assert nearest("NCI109", DATASETS) == ""  # once: CIFAR10
    assert nearest("PROTEIN", DATASETS) == " Did you mean PROTEINS?"
    assert similar("cifar", ["MNIST", "CIFAR10", "CIFAR10-4k"]) == ["CIFAR10", "CIFAR10-4k"]
    assert similar("GNC", ["GIN", "GCN"]) == ["GCN"]
    assert similar("lr", ["L", "lr"]) == ["lr"] and similar("lr", ["L"]) == []
