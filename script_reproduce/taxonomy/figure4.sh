#!/usr/bin/env bash
# Figure 4 of the Taxonomy of Benchmarks: GCN on 21 datasets of many graphs, each as it is and under eleven perturbations.
# Rows, perturbations and seeds are in configs/taxonomy/taxonomy_figure4.json; arguments choose rows, as MUTAG MUTAG+NoEdges. QUICK=1, JOBS=n,
# ENGINE=ray ...: see ../common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
run_figure figure4 taxonomy/taxonomy_figure4 "$@"
