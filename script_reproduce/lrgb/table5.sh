#!/usr/bin/env bash
# Table 5 of the Long Range Graph Benchmark: PCQM-Contact, four seeds.
# Rows and seeds are in configs/lrgb/lrgb_table5.json; arguments choose rows. QUICK=1, JOBS=n, ENGINE=ray ...: see ../common.sh
extras=molecules # its molecules are read from SMILES
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
run_table lrgb/lrgb_table5 "$@"
