"""Molecules with OGB's columns: values of its own program, molecules that are not sanitised, and contacts of atoms."""

import numpy as np
import pytest

pytest.importorskip("rdkit")

from data.errors import DataError
from data.readers.ogb_molecule import contacts, graph_of_cxsmiles, graph_of_smiles, molecule_graph
from data.readers.smiles import rdkit

GLYCINE = [
    [6, 0, 3, 5, 2, 0, 2, 0, 0],
    [5, 0, 4, 5, 2, 0, 2, 0, 0],
    [5, 0, 3, 5, 0, 0, 1, 0, 0],
    [7, 0, 1, 5, 0, 0, 1, 0, 0],
    [7, 0, 2, 5, 1, 0, 1, 0, 0],
]


def test_glycine_as_ogb_has_it():
    atoms, src, dst, bonds = graph_of_smiles("NCC(=O)O")
    assert atoms.tolist() == GLYCINE
    assert [src.tolist(), dst.tolist()] == [[0, 1, 1, 2, 2, 3, 2, 4], [1, 0, 2, 1, 3, 2, 4, 2]]
    assert bonds.tolist() == [[0, 0, 0]] * 4 + [[1, 0, 1]] * 2 + [[0, 0, 1]] * 2


def test_chirality_and_rings_as_ogb_has_them():
    assert graph_of_smiles("C[C@H](N)C(=O)O")[0][1].tolist() == [5, 2, 4, 5, 1, 0, 2, 0, 0]
    atoms, _, _, bonds = graph_of_smiles("NCCc1c[nH]c2ccccc12")
    assert atoms[5].tolist() == [6, 0, 3, 5, 1, 0, 1, 1, 1] and atoms[11].tolist() == [5, 0, 3, 5, 0, 0, 1, 1, 1]
    assert bonds.tolist() == [[0, 0, 0]] * 6 + [[3, 0, 1]] * 20


def test_a_molecule_as_written():
    """Not sanitised: hybridisation is misc, there are no hydrogens beside the nodes, no conjugated bonds."""
    word = "[H]/[C](=[C](/[H])[C]([H])([H])[H])[C@@]([H])([F])[Cl]"
    atoms, _, _, bonds = molecule_graph(rdkit()[0].MolFromSmiles(word, sanitize=False))
    assert atoms[[0, 1, 8, 11]].tolist() == [
        [0, 0, 1, 5, 0, 0, 5, 0, 0],
        [5, 0, 3, 5, 0, 0, 5, 0, 0],
        [5, 1, 4, 5, 0, 0, 5, 0, 0],
        [16, 0, 1, 5, 0, 0, 5, 0, 0],
    ]
    assert bonds[::2].tolist() == [[0, 0, 0], [1, 0, 0], *[[0, 0, 0]] * 9]


def test_values_that_are_in_no_list():
    """A charge of 6 is misc; a chirality that is not in the list is misc since OGB 1.3.6 only."""
    molecule = rdkit()[0].MolFromSmiles("[U+6]")
    assert molecule_graph(molecule)[0][0, [0, 3]].tolist() == [91, 11]
    octahedral = "C[Co@OH1](F)(Cl)(Br)(I)S"
    with pytest.raises(
        DataError, match=r"chirality CHI_OCTAHEDRAL: OGB has no number for it, only for CHI_UNSPECIFIED"
    ):
        graph_of_smiles(octahedral)
    assert graph_of_smiles(octahedral, misc_chirality=True)[0][1, 1] == 4


def test_no_molecule():
    with pytest.raises(DataError, match=r"SMILES 'C\(': RDKit cannot read it"):
        graph_of_smiles("C(")


@pytest.mark.parametrize(
    ("radius", "pairs"),
    [
        (1.7, [(i, j) for i in range(10) for j in range(i - 4)]),
        (2.5, [(8, 0), (9, 0), (9, 1)]),
    ],
)
def test_the_rule_of_contacts(radius, pairs):
    """A chain of ten atoms on a circle: five bonds are enough, and 3.5 Å is too far."""
    angle = 2 * np.pi * np.arange(10) / 10
    place = radius * np.stack([np.cos(angle), np.sin(angle), 0 * angle], 1)
    steps = np.abs(np.subtract.outer(np.arange(10), np.arange(10)))
    assert sorted(map(tuple, contacts(place, steps).tolist())) == sorted(pairs)


def test_contacts_in_a_cxsmiles():
    """Contact 0 joins atoms 0 and 5, contact 1 atoms 0 and 6; each pair comes in both directions."""
    word = "[C][C][C][C][C][C][C] |atomProp:0.contact.0&#59;1:5.contact.0:6.contact.1|"
    (atoms, src, _, _), pairs = graph_of_cxsmiles(word)
    assert len(atoms) == 7 and len(src) == 12
    assert pairs.tolist() == [[0, 5], [0, 6], [5, 0], [6, 0]]
    assert graph_of_cxsmiles("[C][C]")[1].shape == (0, 2)
    with pytest.raises(DataError, match=r"contact 1 of atoms \[0\]: expected two atoms"):
        graph_of_cxsmiles("[C][C][C] |atomProp:0.contact.0&#59;1:2.contact.0|")


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("[C]C[C]", "atom 1 is not in brackets"),
        ("[C][C] |atomProp:0.contact.x1|", "contact='x1': expected numbers"),
        ("[C][C] |atomProp:0.contact.0&#255;1|", r"contact='\?': expected numbers"),
    ],
)
def test_a_cxsmiles_of_another_kind_is_named(word, message):
    with pytest.raises(DataError, match=f"CXSMILES .*{message}"):
        graph_of_cxsmiles(word)
