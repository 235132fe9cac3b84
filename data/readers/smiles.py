"""Molecules from SMILES, with RDKit: graphs of heavy atoms, and the constrained solubility that ZINC is labelled with (A.5).

RDKit is an optional extra: `pip install -r requirements-molecules.txt`.
"""

import sys
from functools import cache
from pathlib import Path

import networkx as nx
import numpy as np

from data.errors import DataError

# Mean and deviation of logP, -SA and -cycle over the 249,455 molecules of ZINC: the target is the sum of the three z-scores.
NORMALISATION = {"logP": (2.45712, 1.43433), "SA": (-3.05329, 0.83488), "cycle": (-0.04879, 0.28797)}


@cache
def rdkit():
    """(Chem, Crippen.MolLogP, the SA score), imported when first needed."""
    try:
        from rdkit import Chem, RDLogger
        from rdkit.Chem import Crippen, RDConfig
    except ImportError as error:
        raise DataError(
            "molecules are read from SMILES with RDKit, which is not installed: pip install -r requirements-molecules.txt"
        ) from error
    RDLogger.DisableLog("rdApp.*")  # a molecule it cannot read is our error, below
    sys.path.append(str(Path(RDConfig.RDContribDir) / "SA_Score"))
    import sascorer

    return Chem, Crippen.MolLogP, sascorer.calculateScore


def atom_name(atom):
    """'C', 'N H1 +', 'O -': element, hydrogens written in the SMILES, charge.

    The hydrogen of [nH] is not named: it only says which aromatic nitrogen has it, and kekulised it need not be written.
    """
    charge = atom.GetFormalCharge()
    hydrogens = 0 if atom.GetIsAromatic() and not charge else atom.GetNumExplicitHs()
    return (
        atom.GetSymbol()
        + (f" H{hydrogens}" if hydrogens else "")
        + (" +" if charge > 0 else " -" if charge < 0 else "")
    )


def read_molecule(smiles):
    """(atom names, bonded pairs (m, 2), bond names) with single, double and triple bonds only (kekulised)."""
    Chem = rdkit()[0]
    molecule = Chem.MolFromSmiles(smiles)
    if molecule is None:
        raise DataError(f"SMILES {smiles!r}: RDKit cannot read it")
    Chem.Kekulize(molecule)
    bonds = list(molecule.GetBonds())
    pairs = np.array([(b.GetBeginAtomIdx(), b.GetEndAtomIdx()) for b in bonds], dtype=np.int64).reshape(-1, 2)
    return [atom_name(a) for a in molecule.GetAtoms()], pairs, [str(b.GetBondType()) for b in bonds]


def constrained_solubility(smiles):
    """logP - SA - cycle of eq. (A.5), each normalised over ZINC; cycle: atoms beyond six in the largest ring of a cycle basis."""
    Chem, log_p, sa_score = rdkit()
    molecule = Chem.MolFromSmiles(smiles)
    rings = nx.cycle_basis(nx.Graph([(b.GetBeginAtomIdx(), b.GetEndAtomIdx()) for b in molecule.GetBonds()]))
    values = {
        "logP": log_p(molecule),
        "SA": -sa_score(molecule),
        "cycle": -max([len(ring) - 6 for ring in rings if len(ring) > 6], default=0),
    }
    return sum((values[name] - mean) / deviation for name, (mean, deviation) in NORMALISATION.items())
