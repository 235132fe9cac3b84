#!/usr/bin/env bash
# Table 4, TSP: with and without edge features and edge representations, 4 seeds a row.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

seeds 41 95 12 35
row T4-TSP-GatedGCN-xx
row T4-TSP-GatedGCN-Ex
row T4-TSP-GatedGCN-ER
row T4-TSP-GatedGCN-E-ER
row T4-TSP-GAT-xx
row T4-TSP-GAT-Ex
row T4-TSP-GAT-ER
row T4-TSP-GAT-E-ER

run_table table4_TSP
