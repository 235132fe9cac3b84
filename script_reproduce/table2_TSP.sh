#!/usr/bin/env bash
# Table 2, TSP: edge classification, 4 seeds a row.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

seeds 41 95 12 35
row T2-TSP-MLP-L4
row T2-TSP-GCN-L4
row T2-TSP-GraphSage-L4
row T2-TSP-MoNet-L4
row T2-TSP-GAT-L4
row T2-TSP-GatedGCN-L4
row T2-TSP-GatedGCN-E-L4
row T2-TSP-GatedGCN-E-L16
row T2-TSP-GIN-L4
row T2-TSP-RingGNN-L2-100k
row T2-TSP-RingGNN-L2-500k
row T2-TSP-RingGNN-L8-500k
row T2-TSP-3WLGNN-L3-100k
row T2-TSP-3WLGNN-L3-500k
row T2-TSP-3WLGNN-L8-500k
row T2-TSP-kNN-heuristic
row T2-TSP-RingGNN-48h
row T2-TSP-3WLGNN-48h

run_table table2_TSP
