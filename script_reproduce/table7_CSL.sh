#!/usr/bin/env bash
# Table 7, CSL: positional encodings of GatedGCN, 20 seeds x 5 folds a row.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

seeds 41 95 12 35 1 2 3 4 5 6 7 8 9 10 11 13 14 15 16 17
row T7-CSL-No_PE
row T7-CSL-EigVecs-20
row T7-CSL-Rand_sign_EigVecs
row T7-CSL-Abs_EigVecs
row T7-CSL-Fixed_node_ordering
row T7-CSL-Rand_node_ordering

run_table table7_CSL
