"""One file per layer, each the equation it implements: no state on the graph, no datasets, no config keys."""

import process  # noqa: F401 - before torch is loaded
