#!/usr/bin/env bash
# Table 4 of the BREC paper: 3-WL stopped after 1 to 5 iterations.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

seeds 0
row T4-BREC-3-WL-iterations-1
row T4-BREC-3-WL-iterations-2
row T4-BREC-3-WL-iterations-3
row T4-BREC-3-WL-iterations-4
row T4-BREC-3-WL-iterations-5

run_table brec_table4
