"""Datasets: one module per family (read or generate, split, pack) and the packed store they share, `data.store`."""

import os

os.environ.setdefault("DGLBACKEND", "pytorch")  # or dgl prints a line and writes a file into the home folder
