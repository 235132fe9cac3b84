#!/usr/bin/env bash
# Table 4, COLLAB: with and without edge features and edge representations, 4 seeds a row.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

seeds 41 95 12 35
row T4-COLLAB-GatedGCN-xx
row T4-COLLAB-GatedGCN-Ex
row T4-COLLAB-GatedGCN-ER
row T4-COLLAB-GatedGCN-E-ER
row T4-COLLAB-GAT-xx
row T4-COLLAB-GAT-Ex
row T4-COLLAB-GAT-ER
row T4-COLLAB-GAT-E-ER

run_table table4_COLLAB
