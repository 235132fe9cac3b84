"""One file a layer, each the equation it implements: no state on the graph, no datasets, no config keys."""

import os

os.environ.setdefault("DGLBACKEND", "pytorch")  # or dgl prints a line and writes a file into the home folder
