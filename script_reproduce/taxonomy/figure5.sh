#!/usr/bin/env bash
# Figure 5 of the Taxonomy of Benchmarks: GCN on 25 graphs whose nodes are classified, each as it is and under nine perturbations.
# Rows, perturbations and seeds are in configs/taxonomy/taxonomy_figure5.json; arguments choose rows, as MUTAG MUTAG+NoEdges. QUICK=1, JOBS=n,
# ENGINE=ray ...: see ../common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
run_figure figure5 taxonomy/taxonomy_figure5 "$@"
