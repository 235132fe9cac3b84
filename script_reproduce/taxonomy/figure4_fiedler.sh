#!/usr/bin/env bash
# FiedlerFrag of Figure 4 in its variants: by the adjacency matrix, as in the program, and by the Laplacian, as in the text.
# Rows, perturbations and seeds are in configs/taxonomy/taxonomy_figure4_fiedler.json; arguments choose rows, as MUTAG MUTAG+NoEdges. QUICK=1, JOBS=n,
# ENGINE=ray ...: see ../common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
run_table taxonomy/taxonomy_figure4_fiedler "$@"
