"""The datasets of the Long Range Graph Benchmark by name: molecules (LRGB_molecules.py) and superpixels (LRGB_superpixels.py)."""

from data.LRGB_molecules import DATASETS as MOLECULES

DATASETS = MOLECULES
