#!/usr/bin/env bash
# Table 2, COLLAB: link prediction, 4 seeds a row.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

seeds 41 95 12 35
row T2-COLLAB-MLP-L3
row T2-COLLAB-GCN-L3
row T2-COLLAB-GraphSage-L3
row T2-COLLAB-MoNet-L3
row T2-COLLAB-GAT-L3
row T2-COLLAB-GatedGCN-L3
row T2-COLLAB-GatedGCN-PE-L3
row T2-COLLAB-GatedGCN-E-L3
row T2-COLLAB-GIN-L3
row T2-COLLAB-MatrixFact-L0

run_table table2_COLLAB
