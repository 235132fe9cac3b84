#!/usr/bin/env bash
# Beside Table 4: the retuned nets of arXiv:2309.00367 on Peptides-func, four seeds.
# Rows and seeds are in configs/lrgb/lrgb_table4_tuned_func.json; arguments choose rows. QUICK=1, JOBS=n, ENGINE=ray ...: see ../common.sh
extras=molecules # its molecules are read from SMILES
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
run_table lrgb/lrgb_table4_tuned_func "$@"
