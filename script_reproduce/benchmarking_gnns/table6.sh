#!/usr/bin/env bash
# Table 6, ENZYMES, DD, PROTEINS: 10 folds, the two seeds of the paper's two columns.
# Rows and seeds are in configs/benchmarking_gnns/table6.json; arguments choose rows. QUICK=1, JOBS=n, ENGINE=ray ...: see ../common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
run_table benchmarking_gnns/table6 "$@"
