#!/usr/bin/env bash
# Table 4 of the Long Range Graph Benchmark: Peptides-func, four seeds.
# Rows and seeds are in configs/lrgb/lrgb_table4_func.json; arguments choose rows. QUICK=1, JOBS=n, ENGINE=ray ...: see ../common.sh
extras=molecules # its molecules are read from SMILES
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
run_table lrgb/lrgb_table4_func "$@"
