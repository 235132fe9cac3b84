"""Atoms and bonds of a molecule of RDKit as the columns of whole numbers that OGB gives them, without OGB's package.

A column has a number per value in its list; where the list ends in "misc", that is the number of any other value.
"""

import re
from functools import cache

import numpy as np

from data.errors import REMEDY, DataError
from data.readers.smiles import rdkit

CHIRALITY = ("CHI_UNSPECIFIED", "CHI_TETRAHEDRAL_CW", "CHI_TETRAHEDRAL_CCW", "CHI_OTHER")
HYBRIDISATION = ("SP", "SP2", "SP3", "SP3D", "SP3D2")
BOND_KIND = ("SINGLE", "DOUBLE", "TRIPLE", "AROMATIC")
STEREO = ("STEREONONE", "STEREOZ", "STEREOE", "STEREOCIS", "STEREOTRANS", "STEREOANY")


class Column:
    """The number of a value of RDKit; `misc` says that values outside the list have a number too."""

    def __init__(self, what, names, kinds, misc):
        self.what, self.names, self.misc = what, names, misc
        self.number = {kinds.names[name]: k for k, name in enumerate(names)}

    def __getitem__(self, value):
        number = self.number.get(value, len(self.names) if self.misc else None)
        if number is None:
            expected = ", ".join(self.names)
            raise DataError(f"{self.what} {value}: OGB has no number for it, only for {expected}")
        return number


@cache
def columns(misc_chirality):
    Chem = rdkit()[0]
    return (
        Column("chirality", CHIRALITY, Chem.ChiralType, misc_chirality),
        Column("hybridisation", HYBRIDISATION, Chem.HybridizationType, True),
        Column("bond", BOND_KIND, Chem.BondType, True),
        Column("stereo", STEREO, Chem.BondStereo, False),
    )


def whole(value, low, high):
    """The place of a number in low, …, high, misc."""
    return value - low if low <= value <= high else high - low + 1


def molecule_graph(molecule, misc_chirality=False):
    """(atoms (n, 9), src, dst, bonds (E, 3)): each bond in both directions, one after the other.

    `misc_chirality`: as since OGB 1.3.6, where a chirality that is not in the list has the number 4; before, it was an error.
    """
    chirality, hybridisation, kind, stereo = columns(misc_chirality)
    atoms = [
        (
            whole(atom.GetAtomicNum(), 1, 118),
            chirality[atom.GetChiralTag()],
            whole(atom.GetTotalDegree(), 0, 10),
            whole(atom.GetFormalCharge(), -5, 5),
            whole(atom.GetTotalNumHs(), 0, 8),
            whole(atom.GetNumRadicalElectrons(), 0, 4),
            hybridisation[atom.GetHybridization()],
            atom.GetIsAromatic(),
            atom.IsInRing(),
        )
        for atom in molecule.GetAtoms()
    ]
    bonds = [
        (
            bond.GetBeginAtomIdx(),
            bond.GetEndAtomIdx(),
            kind[bond.GetBondType()],
            stereo[bond.GetStereo()],
            bond.GetIsConjugated(),
        )
        for bond in molecule.GetBonds()
    ]
    bonds = np.array(bonds, dtype=np.uint16).reshape(-1, 5)
    ends, types = bonds[:, :2], bonds[:, 2:].astype(np.uint8)
    src, dst = np.stack([ends, ends[:, ::-1]], 1).reshape(-1, 2).T
    return np.array(atoms, dtype=np.uint8).reshape(-1, 9), src, dst, np.repeat(types, 2, axis=0)


def graph_of_smiles(smiles, misc_chirality=False):
    """The graph of heavy atoms of a SMILES."""
    molecule = rdkit()[0].MolFromSmiles(smiles)
    if molecule is None:
        raise DataError(f"SMILES {smiles!r}: RDKit cannot read it")
    return molecule_graph(molecule, misc_chirality)


def graph_of_cxsmiles(cxsmiles, misc_chirality=False):
    """(the graph, true pairs (m, 2)) of a CXSMILES that names contacts: all atoms as written, hydrogens too, nothing sanitised.

    Each contact has a number. The property `contact` of an atom lists those it takes part in, separated by semicolons. Pairs
    come in both directions, sorted.
    """
    molecule = rdkit()[0].MolFromSmiles(cxsmiles, sanitize=False)
    if molecule is None:
        raise DataError(f"CXSMILES {cxsmiles[:80]!r}…: RDKit cannot read it")
    members = {}
    for atom in molecule.GetAtoms():
        if not atom.GetNoImplicit() and atom.NeedsUpdatePropertyCache():  # RDKit would have to guess its hydrogens
            raise DataError(f"CXSMILES {cxsmiles[:80]!r}…: atom {atom.GetIdx()} is not in brackets: {REMEDY}")
        try:
            text = atom.GetProp("contact") if atom.HasProp("contact") else ""
        except UnicodeDecodeError:  # &#255; stands for a byte that is no text
            text = "?"
        if not re.fullmatch(r"([0-9]{1,9}(;[0-9]{1,9})*)?", text):
            raise DataError(f"CXSMILES {cxsmiles[:80]!r}…: contact={text[:80]!r}: expected numbers: {REMEDY}")
        for number in text.split(";") if text else ():
            members.setdefault(int(number), []).append(atom.GetIdx())
    wrong = next((number for number, atoms in members.items() if len(atoms) != 2), None)
    if wrong is not None:
        raise DataError(f"CXSMILES {cxsmiles[:80]!r}…: contact {wrong} of atoms {members[wrong]}: expected two atoms")
    pairs = np.array(list(members.values()), dtype=np.int64).reshape(-1, 2)
    return molecule_graph(molecule, misc_chirality), np.unique(np.concatenate([pairs, pairs[:, ::-1]]), axis=0)


def contacts(positions, path_lengths, nearer_than=3.5, farther_than=5):
    """(m, 2) pairs i > j of atoms that are nearer than 3.5 Å in space and at least 5 bonds apart in the graph.

    Deviation: the text says more than 5 bonds; the program, and so the published file, has 5 or more.
    """
    distance = np.sqrt(((positions[:, None] - positions[None]) ** 2).sum(-1))
    near = (distance < nearer_than) & (path_lengths >= farther_than)
    return np.argwhere(np.tril(near, -1))
