#!/usr/bin/env bash
# Table 5 of the BREC paper: counts of substructures, exact (S_3, S_4) and in a net (GSN).
# Rows and seeds are in configs/brec/brec_table5.json; arguments choose rows. QUICK=1, JOBS=n, ENGINE=ray ...: see ../common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
run_table brec/brec_table5 "$@"
