"""The papers, declared one per module. A new paper: a module like these, and its name in PAPERS."""

from tables.papers import benchmarking_gnns, brec

PAPERS = (benchmarking_gnns.PAPER, brec.PAPER)
