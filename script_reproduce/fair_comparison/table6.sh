#!/usr/bin/env bash
# Table 6 of A Fair Comparison: the layers of the selected models. The runs are those of Table 4.
# Rows are in configs/fair_comparison/fair_table6.json, their grids in the files that it names; arguments choose rows. GRID=reduced: a grid of
# eight configurations, results of their own. SLICES=n, QUICK=1, JOBS=n, ENGINE=ray ...: see ../common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
run_table fair_comparison/fair_table6 "$@"
