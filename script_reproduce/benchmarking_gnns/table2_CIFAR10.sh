#!/usr/bin/env bash
# Table 2, CIFAR10: graph classification, 4 seeds per row.
# Rows and seeds are in configs/benchmarking_gnns/table2_CIFAR10.json; arguments choose rows. QUICK=1, JOBS=n, ENGINE=ray ...: see ../common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
run_table benchmarking_gnns/table2_CIFAR10 "$@"
