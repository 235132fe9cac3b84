#!/usr/bin/env bash
# Figure 3 of the Taxonomy of Benchmarks: principal components of the profiles. The runs are those of Figures 4 and 5.
# QUICK=1, JOBS=n, ENGINE=ray ...: see ../common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
run_figure figure3 taxonomy/taxonomy_figure4,taxonomy/taxonomy_figure5 "$@"
