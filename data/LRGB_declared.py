"""The Long Range Graph Benchmark: five datasets on which distant nodes matter (Tables 1, 2 and A.1 of its paper).

Peptides-func, Peptides-struct   molecules of about 150 atoms: ten functions, or eleven properties of their shape
PCQM-Contact                     smaller molecules with hydrogens: which atoms are near in space though far apart in the graph?
PascalVOC-SP, COCO-SP            superpixels of photographs: which object does each one belong to?

What each of them asks is stated here, so that nets can be built and counted without data.
"""

from data.dataset import Declared, Target, categories, numbers

# OGB's columns: atomic number, chirality, degree, charge, hydrogens, radicals, hybridisation, aromatic, in a ring
ATOM_TYPES = (119, 4, 12, 12, 10, 6, 6, 2, 2)
ATOM_TYPES_OGB_136 = (119, 5, *ATOM_TYPES[2:])  # since OGB 1.3.6 of December 2022 chirality has a fifth value, "misc"
BOND_TYPES = (5, 6, 2)  # kind, stereo, conjugated
NODE_DIM = 14  # of a superpixel: mean, deviation, maximum and minimum of three colours, and its centre
EDGE_DIM = {"rag": 2, "coo": 1, "coo-feat": 1}  # the three kinds of graphs of superpixels
COMPACTNESS = (30, 10)  # of the superpixels


def molecules(target):
    return Declared(categories("node", ATOM_TYPES), categories("edge", BOND_TYPES), target)


def superpixels(n_classes, graph):
    target = Target("classes", "node", n_classes, ("MacroF1",), weighted=True)
    return Declared(numbers("node", NODE_DIM), numbers("edge", EDGE_DIM[graph]), target)


def version_name(name, graph, compactness):
    """PascalVOC-SP for its main version, PascalVOC-SP-coo-slic10 and so on for the others of Table A.1."""
    return name if (graph, compactness) == ("rag", 30) else f"{name}-{graph}-slic{compactness}"


VERSIONS = {  # name: (dataset of the paper, graph, compactness)
    version_name(name, graph, compactness): (name, graph, compactness)
    for name in ("PascalVOC-SP", "COCO-SP")
    for compactness in COMPACTNESS
    for graph in EDGE_DIM
}
N_CLASSES = {"PascalVOC-SP": 21, "COCO-SP": 81}
DECLARED = {
    "Peptides-func": molecules(Target("labels", "graph", 10, ("AveragePrecision",))),
    "Peptides-struct": molecules(Target("numbers", "graph", 11, ("MAE", "R2"))),
    "PCQM-Contact": molecules(Target("labels", "pair", 1, ("PairRanks",))),
    **{name: superpixels(N_CLASSES[paper], graph) for name, (paper, graph, _) in VERSIONS.items()},
}
