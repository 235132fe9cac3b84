#!/usr/bin/env bash
# Table 7, COLLAB: positional encodings of GatedGCN, 4 seeds a row.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

seeds 41 95 12 35
row T7-COLLAB-No_PE
row T7-COLLAB-EigVecs-20
row T7-COLLAB-Rand_sign_EigVecs
row T7-COLLAB-Abs_EigVecs

run_table table7_COLLAB
