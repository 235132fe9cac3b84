#!/usr/bin/env bash
# Table 3 of the Long Range Graph Benchmark: PascalVOC-SP, four seeds. DATASET=PascalVOC-SP-300: on the few photographs at hand, marked as such.
# Rows and seeds are in configs/lrgb/lrgb_table3_VOC.json; arguments choose rows. QUICK=1, JOBS=n, ENGINE=ray ...: see ../common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
run_table lrgb/lrgb_table3_VOC "$@"
