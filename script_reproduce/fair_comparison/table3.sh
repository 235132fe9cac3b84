#!/usr/bin/env bash
# Table 3 of A Fair Comparison: chemical datasets, model selection on a grid in each of ten folds.
# Rows are in configs/fair_comparison/fair_table3.json, their grids in the files that it names; arguments choose rows. GRID=reduced: a grid of
# eight configurations, results of their own. SLICES=n, QUICK=1, JOBS=n, ENGINE=ray ...: see ../common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
run_table fair_comparison/fair_table3 "$@"
