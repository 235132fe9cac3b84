#!/usr/bin/env bash
# Table D.2 of the Long Range Graph Benchmark: COCO-SP, two layers, four seeds. DATASET=COCO-SP-188: on the few photographs at hand, marked as such.
# Rows and seeds are in configs/lrgb/lrgb_tableD2_COCO.json; arguments choose rows. QUICK=1, JOBS=n, ENGINE=ray ...: see ../common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
run_table lrgb/lrgb_tableD2_COCO "$@"
