#!/usr/bin/env bash
# Table 7, COLLAB: positional encodings of GatedGCN, 4 seeds per row.
# Rows and seeds are in configs/benchmarking_gnns/table7_COLLAB.json; arguments choose rows. QUICK=1, JOBS=n, ENGINE=ray ...: see ../common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
run_table benchmarking_gnns/table7_COLLAB "$@"
