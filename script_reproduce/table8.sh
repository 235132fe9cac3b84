#!/usr/bin/env bash
# Table 8, COLLAB: edge features, edge representations and aggregation, 4 seeds a row.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

seeds 41 95 12 35
row T8-COLLAB-GatedGCN-xx
row T8-COLLAB-GatedGCN-Ex
row T8-COLLAB-GatedGCN-ER
row T8-COLLAB-GatedGCN-E-ER
row T8-COLLAB-GAT-xx
row T8-COLLAB-GAT-Ex
row T8-COLLAB-GAT-ER
row T8-COLLAB-GAT-E-ER
row T8-COLLAB-GraphSage-xx
row T8-COLLAB-GraphSage-Ex
row T8-COLLAB-GraphSage-ER
row T8-COLLAB-GraphSage-E-ER

run_table table8
