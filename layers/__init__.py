"""One file a layer, each the equation it implements: no state on the graph, no datasets, no config keys."""
