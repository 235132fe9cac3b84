#!/usr/bin/env bash
# Table 3 of the BREC paper: N_k, the isomorphism types of the k-hop neighbourhoods, for radius k = 1 to 10.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

seeds 0
row T2-BREC-N_1
row T2-BREC-N_2
row T3-BREC-N_3
row T3-BREC-N_4
row T3-BREC-N_5
row T3-BREC-N_6
row T3-BREC-N_7
row T3-BREC-N_8
row T3-BREC-N_9
row T3-BREC-N_10

run_table brec_table3
