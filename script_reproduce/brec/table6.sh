#!/usr/bin/env bash
# Table 6 of the BREC paper: DropGNN with 100 to 1600 samples.
# Rows and seeds are in configs/brec/brec_table6.json; arguments choose rows. QUICK=1, JOBS=n, ENGINE=ray ...: see ../common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
run_table brec/brec_table6 "$@"
