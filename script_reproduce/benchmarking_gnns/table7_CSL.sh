#!/usr/bin/env bash
# Table 7, CSL: positional encodings of GatedGCN, 20 seeds x 5 folds per row.
# Rows and seeds are in configs/benchmarking_gnns/table7_CSL.json; arguments choose rows. QUICK=1, JOBS=n, ENGINE=ray ...: see ../common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
run_table benchmarking_gnns/table7_CSL "$@"
