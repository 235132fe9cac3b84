#!/usr/bin/env bash
# Table 2, ZINC: graph regression, 4 seeds a row.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

seeds 41 95 12 35
row T2-ZINC-MLP-L4
row T2-ZINC-GCN-L4
row T2-ZINC-GCN-L16
row T2-ZINC-GraphSage-L4
row T2-ZINC-GraphSage-L16
row T2-ZINC-MoNet-L4
row T2-ZINC-MoNet-L16
row T2-ZINC-GAT-L4
row T2-ZINC-GAT-L16
row T2-ZINC-GatedGCN-L4
row T2-ZINC-GatedGCN-E-L4
row T2-ZINC-GatedGCN-E-L16
row T2-ZINC-GatedGCN-E-PE-L16
row T2-ZINC-GIN-L4
row T2-ZINC-GIN-L16
row T2-ZINC-RingGNN-L2-100k
row T2-ZINC-RingGNN-E-L2-100k
row T2-ZINC-RingGNN-E-L2-500k
row T2-ZINC-RingGNN-E-L8-500k
row T2-ZINC-3WLGNN-L3-100k
row T2-ZINC-3WLGNN-E-L3-100k
row T2-ZINC-3WLGNN-E-L3-500k
row T2-ZINC-3WLGNN-E-L8-500k

run_table table2_ZINC
