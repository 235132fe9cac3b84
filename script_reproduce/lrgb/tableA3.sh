#!/usr/bin/env bash
# Table A.3 of the Long Range Graph Benchmark: MAE and R² on Peptides-struct, of the runs of Table 4, four seeds.
# Rows and seeds are in configs/lrgb/lrgb_tableA3.json; arguments choose rows. QUICK=1, JOBS=n, ENGINE=ray ...: see ../common.sh
extras=molecules # its molecules are read from SMILES
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
run_table lrgb/lrgb_tableA3 "$@"
