#!/usr/bin/env bash
# Table 7 of the BREC paper: the hyper-parameters as printed; Table 2 has those of the program, which differ for three nets.
# Rows and seeds are in configs/brec/brec_table7.json; arguments choose rows. QUICK=1, JOBS=n, ENGINE=ray ...: see ../common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
run_table brec/brec_table7 "$@"
