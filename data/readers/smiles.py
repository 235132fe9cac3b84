"""Molecules from SMILES, with RDKit: graphs of heavy atoms, and the constrained solubility that ZINC is labelled with (A.5).

RDKit is an optional extra: `bash install.sh requirements-molecules.txt`.
"""

import sys
from functools import cache
from pathlib import Path

import networkx as nx
import numpy as np

from data.errors import DataError

# Mean and deviation of logP, SA and cycle over the 220,011 training molecules of ZINC-full.
NORMALISATION = {"logP": (2.4577998, 1.4334181), "SA": (3.0535715, 0.8346995), "cycle": (0.0482930, 0.2877576)}


@cache
def rdkit():
    """(Chem, Crippen.MolLogP, the SA score), imported when first needed."""
    try:
        from rdkit import Chem, RDLogger
        from rdkit.Chem import Crippen, RDConfig
    except ImportError as error:
        raise DataError(
            "molecules are read from SMILES with RDKit, which is not installed: bash install.sh requirements-molecules.txt"
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


def log_p_and_sa(smiles):
    """(logP, SA): octanol-water partition coefficient and synthetic accessibility score, as float32."""
    Chem, log_p, sa_score = rdkit()
    molecule = Chem.MolFromSmiles(smiles)
    return np.float32(log_p(molecule)), np.float32(sa_score(molecule))


def excess_of_largest_ring(pairs):
    """Atoms beyond six in the largest ring of the cycle basis that is found from the first atom, neighbours in ascending order.

    In fused rings the sizes depend on where the search starts. networkx started at the first atom until version 3.1, and starts
    at the last since 3.2: the root is given, so that every version finds the rings of the paper's time.
    """
    graph = nx.Graph(sorted(sorted(pair) for pair in np.asarray(pairs).tolist()))
    rings = nx.cycle_basis(graph, min(graph)) if graph else []
    return max([0, *(len(ring) - 6 for ring in rings)])


def constrained_solubility(log_p, sa, pairs):
    """logP - SA - cycle of eq. (A.5), each of the three as a z-score over the training molecules. `pairs`: bonded atoms (m, 2)."""
    values = {"logP": log_p, "SA": sa, "cycle": excess_of_largest_ring(pairs)}
    z = {name: (float(values[name]) - mean) / deviation for name, (mean, deviation) in NORMALISATION.items()}
    return z["logP"] - z["SA"] - z["cycle"]
