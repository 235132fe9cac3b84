#!/usr/bin/env bash
# Table 7, PATTERN: positional encodings of GatedGCN, 4 seeds a row.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

seeds 41 95 12 35
row T7-PATTERN-No_PE
row T7-PATTERN-EigVecs-2
row T7-PATTERN-Rand_sign_EigVecs
row T7-PATTERN-Abs_EigVecs
row T7-PATTERN-Fixed_node_ordering
row T7-PATTERN-Rand_node_ordering

run_table table7_PATTERN
