#!/usr/bin/env bash
# Table D.4 of the Long Range Graph Benchmark: PCQM-Contact, two layers, four seeds.
# Rows and seeds are in configs/lrgb/lrgb_tableD4.json; arguments choose rows. QUICK=1, JOBS=n, ENGINE=ray ...: see ../common.sh
extras=molecules # its molecules are read from SMILES
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
run_table lrgb/lrgb_tableD4 "$@"
