#!/usr/bin/env bash
# Table 7, ZINC: positional encodings of GatedGCN, 4 seeds a row.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

seeds 41 95 12 35
row T7-ZINC-No_PE
row T7-ZINC-EigVecs-8
row T7-ZINC-Rand_sign_EigVecs
row T7-ZINC-Abs_EigVecs
row T7-ZINC-Fixed_node_ordering
row T7-ZINC-Rand_node_ordering

run_table table7_ZINC
