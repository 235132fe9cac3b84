#!/usr/bin/env bash
# Table 2 of the BREC paper: exact methods, PPGN with ten seeds (the best counts), and nets of ours that the paper does not have.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

seeds 0
row T2-BREC-3-WL
row T2-BREC-SPD-WL
row T2-BREC-S_3
row T2-BREC-S_4
row T2-BREC-N_1
row T2-BREC-N_2
row T2-BREC-M_1
seeds 100 200 300 400 500 600 700 800 900 1000
row T2-BREC-PPGN
row extra-BREC-3WLGNN
row extra-BREC-GIN
row extra-BREC-GIN-LapPE
row extra-BREC-GIN-RWPE
row extra-BREC-GIN-node_index
row extra-BREC-GCN
row extra-BREC-GCN-LapPE
row extra-BREC-GCN-RWPE
row extra-BREC-GCN-node_index

run_table brec_table2
