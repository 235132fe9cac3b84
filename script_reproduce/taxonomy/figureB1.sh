#!/usr/bin/env bash
# Figure B.1 of the Taxonomy of Benchmarks: the cells of Figure 4 with GIN.
# Rows, perturbations and seeds are in configs/taxonomy/taxonomy_figure4.json; arguments choose rows, as MUTAG MUTAG+NoEdges. QUICK=1, JOBS=n,
# ENGINE=ray ...: see ../common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
run_figure figureB1 taxonomy/taxonomy_figureB1 "$@"
