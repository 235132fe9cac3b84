#!/usr/bin/env bash
# Table 7, CLUSTER: positional encodings of GatedGCN, 4 seeds a row.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

seeds 41 95 12 35
row T7-CLUSTER-No_PE
row T7-CLUSTER-EigVecs-20
row T7-CLUSTER-Rand_sign_EigVecs
row T7-CLUSTER-Abs_EigVecs
row T7-CLUSTER-Fixed_node_ordering
row T7-CLUSTER-Rand_node_ordering

run_table table7_CLUSTER
