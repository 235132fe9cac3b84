#!/usr/bin/env bash
# Table 3 of the BREC paper: N_k, the isomorphism types of the k-hop neighbourhoods, for radius k = 1 to 10.
# Rows and seeds are in configs/brec/brec_table3.json; arguments choose rows. QUICK=1, JOBS=n, ENGINE=ray ...: see ../common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
run_table brec/brec_table3 "$@"
