#!/usr/bin/env bash
# Table 3, CSL: with and without Laplacian positional encodings, 20 seeds x 5 folds a row.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

seeds 41 95 12 35 1 2 3 4 5 6 7 8 9 10 11 13 14 15 16 17
row T3-CSL-MLP-LapPE-L4
row T3-CSL-GCN-LapPE-L4
row T3-CSL-GraphSage-LapPE-L4
row T3-CSL-MoNet-LapPE-L4
row T3-CSL-GAT-LapPE-L4
row T3-CSL-GatedGCN-LapPE-L4
row T3-CSL-GIN-LapPE-L4
row T3-CSL-RingGNN-LapPE-L2-100k
row T3-CSL-RingGNN-LapPE-L2-500k
row T3-CSL-3WLGNN-LapPE-L3-100k
row T3-CSL-3WLGNN-LapPE-L3-500k
row T3-CSL-GAT-none-L4
row T3-CSL-GCN-none-L4
row T3-CSL-GIN-none-L4
row T3-CSL-GatedGCN-none-L4
row T3-CSL-GraphSage-none-L4
row T3-CSL-MLP-none-L4
row T3-CSL-MoNet-none-L4
row T3-CSL-RingGNN-none-L2-100k
row T3-CSL-RingGNN-none-L2-500k
row T3-CSL-3WLGNN-none-L3-100k
row T3-CSL-3WLGNN-none-L3-500k

run_table table3
