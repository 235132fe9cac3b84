#!/usr/bin/env bash
# Table 2, CIFAR10: graph classification, 4 seeds a row.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

seeds 41 95 12 35
row T2-CIFAR10-MLP-L4
row T2-CIFAR10-GCN-L4
row T2-CIFAR10-GraphSage-L4
row T2-CIFAR10-MoNet-L4
row T2-CIFAR10-GAT-L4
row T2-CIFAR10-GatedGCN-L4
row T2-CIFAR10-GIN-L4
row T2-CIFAR10-RingGNN-L2-100k
row T2-CIFAR10-RingGNN-L2-500k
row T2-CIFAR10-RingGNN-L8-500k
row T2-CIFAR10-3WLGNN-L3-100k
row T2-CIFAR10-3WLGNN-L3-500k
row T2-CIFAR10-3WLGNN-L8-500k

run_table table2_CIFAR10
