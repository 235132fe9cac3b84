"""Datasets: one module a family (read or generate, split, pack) and the packed store they share, `data.packed`."""

import os

os.environ.setdefault("DGLBACKEND", "pytorch")  # or dgl prints a line and writes a file into the home folder
