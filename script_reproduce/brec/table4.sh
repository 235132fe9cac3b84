#!/usr/bin/env bash
# Table 4 of the BREC paper: 3-WL stopped after 1 to 5 iterations.
# Rows and seeds are in configs/brec/brec_table4.json; arguments choose rows. QUICK=1, JOBS=n, ENGINE=ray ...: see ../common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
run_table brec/brec_table4 "$@"
