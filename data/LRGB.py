"""The datasets of the Long Range Graph Benchmark by name: molecules, published superpixels, and superpixels of photographs."""

from data.LRGB_molecules import DATASETS as MOLECULES
from data.LRGB_photographs import DATASETS as PHOTOGRAPHS
from data.LRGB_superpixels import DATASETS as SUPERPIXELS

DATASETS = MOLECULES | SUPERPIXELS | PHOTOGRAPHS
