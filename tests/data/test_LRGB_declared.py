"""The Long Range Graph Benchmark as the nets see it, before the data is there."""

import pytest

from data.LRGB_declared import ATOM_TYPES, ATOM_TYPES_OGB_136, BOND_TYPES, DECLARED, VERSIONS
from data.registry import declared


def test_ogb_has_173_numbers_for_atoms_and_13_for_bonds():
    assert (sum(ATOM_TYPES), sum(ATOM_TYPES_OGB_136), sum(BOND_TYPES)) == (173, 174, 13)


@pytest.mark.parametrize(
    ("name", "kind", "level", "n_out", "metric"),
    [
        ("Peptides-func", "labels", "graph", 10, "AveragePrecision"),
        ("Peptides-struct", "numbers", "graph", 11, "MAE"),
        ("PCQM-Contact", "labels", "pair", 1, "PairRanks"),
        ("PascalVOC-SP", "classes", "node", 21, "MacroF1"),
        ("COCO-SP", "classes", "node", 81, "MacroF1"),
    ],
)
def test_what_is_asked(name, kind, level, n_out, metric):
    """Table 1; the loss of the superpixels is weighted by class."""
    target = declared(name).target
    assert (target.kind, target.level, target.n_out, target.metrics[0]) == (kind, level, n_out, metric)
    assert target.weighted == (kind == "classes")


def test_the_versions_of_table_a1():
    """Three kinds of graphs times two values of compactness: edges of region adjacency graphs have two numbers, others one."""
    assert len(VERSIONS) == 12 and set(VERSIONS) < set(DECLARED)
    assert "PascalVOC-SP-coo-feat-slic10" in VERSIONS and VERSIONS["COCO-SP"] == ("COCO-SP", "rag", 30)
    for name, (_, graph, _) in VERSIONS.items():
        assert declared(name).node.shape == (14,)
        assert declared(name).edge.shape == ((2,) if graph == "rag" else (1,))
