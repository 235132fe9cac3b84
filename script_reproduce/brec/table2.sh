#!/usr/bin/env bash
# Table 2 of the BREC paper: exact methods, nets, the best of ten seeds, and nets of ours that the paper does not have.
# Rows and seeds are in configs/brec/brec_table2.json; arguments choose rows. QUICK=1, JOBS=n, ENGINE=ray ...: see ../common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
run_table brec/brec_table2 "$@"
