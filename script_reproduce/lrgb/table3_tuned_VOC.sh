#!/usr/bin/env bash
# Beside Table 3: the retuned nets of arXiv:2309.00367 on PascalVOC-SP, four seeds. DATASET=PascalVOC-SP-300: on the few photographs at hand, marked as such.
# Rows and seeds are in configs/lrgb/lrgb_table3_tuned_VOC.json; arguments choose rows. QUICK=1, JOBS=n, ENGINE=ray ...: see ../common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
run_table lrgb/lrgb_table3_tuned_VOC "$@"
